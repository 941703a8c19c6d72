"""The browser for the tests."""

import os
import shutil

import pytest


def chromium() -> str:
    # The first one is Chromium's headless shell. It renders pages like the second one, and opens them three times as fast.
    names = ["chromium-headless-shell", "chromium", "chromium-browser"]
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not path:
        pytest.exit("There is no Chromium: run 'make test', or install the package chromium", returncode=2)
    return path
