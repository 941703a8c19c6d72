"""Screenshots of the pages, kept after a test run for viewing. They are not compared."""

import os
import pathlib
import re

FOLDER = pathlib.Path(os.environ.get("SKYLIGHT_SCREENSHOTS") or pathlib.Path(__file__).resolve().parents[2] / ".build/screenshots")


def keep(page, name: str):
    """Saves a screenshot under a name."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=FOLDER / (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".png"), animations="disabled")
