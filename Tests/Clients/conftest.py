"""A running server with the demo data, for clients to talk to."""

import signal
import subprocess

import demo_clients
import pytest
from server_binary import binary


@pytest.fixture(scope="session")
def server_process():
    """A server that ends with the tests."""
    process = subprocess.Popen(
        [binary(), "serve", "--demo", "--ephemeral", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
    process.address = line.split()[-1]
    demo_clients.wait_until_they_have_asked(process.address)
    yield process
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0, "The server did not end as it should"


@pytest.fixture(scope="session")
def server(server_process):
    """The address of the server."""
    return server_process.address
