"""Pictures of pages, left behind by a run of the tests: nothing compares them, they are there to be looked at."""

import os
import pathlib
import re

FOLDER = pathlib.Path(os.environ.get("SKYLIGHT_SCREENSHOTS") or pathlib.Path(__file__).resolve().parents[2] / ".build/screenshots")


def keep(page, name: str):
    """Keeps what the window shows now under a name."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=FOLDER / (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".png"), animations="disabled")
