"""The server binary for the client tests."""

import os
import pathlib

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


def binary() -> str:
    """The server that `make test` built; named by SKYLIGHT_BIN."""
    path = os.environ.get("SKYLIGHT_BIN", str(PACKAGE / ".build/release/skylight"))
    if not os.access(path, os.X_OK):
        pytest.exit(f"There is no binary at {path}: run 'make test', or 'swift build' first", returncode=2)
    return path
