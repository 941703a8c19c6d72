"""Shared fixtures of the durability tests: a data folder, and its server."""

import os
import pathlib

import pytest

from process import Server

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def binary():
    """The server that `make test` built; named by SKYLIGHT_BIN."""
    path = os.environ.get("SKYLIGHT_BIN", str(PACKAGE / ".build/release/skylight"))
    if not os.access(path, os.X_OK):
        pytest.exit(f"There is no binary at {path}: run 'make test', or 'swift build' first", returncode=2)
    return path


@pytest.fixture
def start(binary, tmp_path):
    """Starts servers on one data folder, and ends them after the test."""
    servers = []

    def start():
        servers.append(Server(binary, tmp_path / "data"))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()
