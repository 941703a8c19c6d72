"""Waiting for conditions that no locator can express. The console's Content-Security-Policy forbids Playwright's `wait_for_function` on its pages."""

import time


def until(condition, seconds: float = 60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"nothing came in {seconds} seconds"
        time.sleep(0.05)
