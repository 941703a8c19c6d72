"""Waiting for conditions that no locator can express. The console's Content-Security-Policy forbids Playwright's `wait_for_function` on its pages."""

import time

# Seconds. The limit is for tests that fail: no machine is so busy that it needs the whole time.
PATIENCE = 120


def until(condition, page=None, seconds: float = PATIENCE, pause: float = 0.05):
    """Returns the condition's value when it is true.

    With a page, its events are handled meanwhile.
    """
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"nothing came in {seconds} seconds"
        if page:
            page.wait_for_timeout(1000 * pause)
        else:
            time.sleep(pause)
    return value
