"""The server whose pages are looked at."""

import json
import os
import pathlib
import signal
import subprocess
import urllib.request

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


def binary() -> str:
    """The server to test, named by SKYLIGHT_BIN."""
    path = os.environ.get("SKYLIGHT_BIN", str(PACKAGE / ".build/debug/skylight"))
    if not os.access(path, os.X_OK):
        pytest.exit(f"There is no binary at {path}: run 'make test', or 'swift build' first", returncode=2)
    return path


class Server:
    """A server that keeps nothing."""

    def __init__(self, *arguments: str):
        # Another folder than the package: pages and files are in the binary.
        self.process = subprocess.Popen(
            [binary(), "serve", "--ephemeral", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True, cwd="/"
        )
        line = self.process.stdout.readline()
        assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
        self.address = line.split()[-1]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=20) == 0, "The server did not end as it should"

    def ask(self, path: str, body: dict) -> dict:
        """A request to the web services."""
        request = urllib.request.Request(
            self.address + "/database/1" + path, data=json.dumps(body).encode(), headers={"Content-Type": "text/plain"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def save(self, container: str, zone: str, *records: dict) -> list:
        """Saves records in a custom zone of the developer's private database, which is made if need be."""
        path = f"/{container}/development/private"
        self.ask(path + "/zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}]})
        operations = [{"operationType": "forceReplace", "record": record} for record in records]
        answer = self.ask(path + "/records/modify", {"zoneID": {"zoneName": zone}, "operations": operations})
        assert all("serverErrorCode" not in record for record in answer["records"]), answer
        return answer["records"]
