"""Waiting for conditions that no locator can express."""

import time


def until(condition, seconds: float = 60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"nothing came in {seconds} seconds"
        time.sleep(0.05)
