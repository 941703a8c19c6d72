"""The browser to look with."""

import os
import shutil

import pytest


def chromium() -> str:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        pytest.exit("There is no Chromium: run 'make test', or install the package chromium", returncode=2)
    return path
