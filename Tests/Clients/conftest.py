"""A running server with the demo data, for clients to talk to."""

import os
import pathlib
import signal
import subprocess

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


def binary() -> str:
    """The server that `make test` built; named by SKYLIGHT_BIN."""
    path = os.environ.get("SKYLIGHT_BIN", str(PACKAGE / ".build/debug/skylight"))
    if not os.access(path, os.X_OK):
        pytest.exit(f"There is no binary at {path}: run 'make test', or 'swift build' first", returncode=2)
    return path


@pytest.fixture(scope="session")
def server_process():
    """A server that is gone when the tests are."""
    process = subprocess.Popen(
        [binary(), "serve", "--demo", "--ephemeral", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
    process.address = line.split()[-1]
    yield process
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0, "The server did not end as it should"


@pytest.fixture(scope="session")
def server(server_process):
    """The address of the server."""
    return server_process.address
