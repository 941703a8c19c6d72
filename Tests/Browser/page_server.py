"""The server for the browser tests."""

import json
import os
import pathlib
import signal
import subprocess
import urllib.parse
import urllib.request

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2]
# The administrator's on a server that requires credentials.
PASSWORD = "correct horse battery"


def binary() -> str:
    """The server to test, named by SKYLIGHT_BIN."""
    path = os.environ.get("SKYLIGHT_BIN", str(PACKAGE / ".build/release/skylight"))
    if not os.access(path, os.X_OK):
        pytest.exit(f"There is no binary at {path}: run 'make test', or 'swift build' first", returncode=2)
    return path


class Server:
    """A server that stores nothing permanently, unless it is told a place."""

    def __init__(self, *arguments: str, place: tuple = ("--ephemeral",), **environment: str):
        # Not the package's folder, because pages and files are in the binary.
        self.process = subprocess.Popen(
            [binary(), "serve", *place, "--port", "0", *arguments], stdout=subprocess.PIPE, text=True, cwd="/", env=os.environ | environment
        )
        line = self.process.stdout.readline()
        assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
        self.address = line.split()[-1]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0, "The server did not end as it should"

    def ask(self, path: str, body: dict) -> dict:
        """A request to the web services."""
        request = urllib.request.Request(
            self.address + "/database/1" + path, data=json.dumps(body).encode(), headers={"Content-Type": "text/plain"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def save(self, container: str, zone: str, *records: dict) -> list:
        """Saves records in a custom zone of the developer's private database, and creates the zone if necessary."""
        path = f"/{container}/development/private"
        self.ask(path + "/zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}]})
        operations = [{"operationType": "forceReplace", "record": record} for record in records]
        answer = self.ask(path + "/records/modify", {"zoneID": {"zoneName": zone}, "operations": operations})
        assert all("serverErrorCode" not in record for record in answer["records"]), answer
        return answer["records"]

    def values(self, container: str, zone: str, record_name: str) -> dict:
        """The values of a record of the developer's private database; empty if it is not there."""
        lookup = {"zoneID": {"zoneName": zone}, "records": [{"recordName": record_name}]}
        record = self.ask(f"/{container}/development/private/records/lookup", lookup)["records"][0]
        return {field: value["value"] for field, value in record.get("fields", {}).items()}

    def upload(self, container: str, zone: str, record_type: str, record_name: str, field: str, *files: tuple[str, bytes]) -> list:
        """Uploads named files for a field of a record, and returns the values to save."""
        token = {"recordType": record_type, "recordName": record_name, "fieldName": field}
        path = f"/{container}/development/private"
        self.ask(path + "/zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}]})
        grants = self.ask(path + "/assets/upload", {"tokens": [token] * len(files), "zoneID": {"zoneName": zone}})["tokens"]
        assets = []
        for (name, content), grant in zip(files, grants):
            request = urllib.request.Request(grant["url"], content, {"X-Skylight-File-Name": urllib.parse.quote(name, safe="")})
            with urllib.request.urlopen(request, timeout=120) as answer:
                assets.append(json.load(answer)["singleFile"])
        return assets

    def attach(self, container: str, zone: str, record_name: str, *files: tuple[str, bytes], record_type: str = "Note", more: dict | None = None) -> list:
        """Saves a record with a file in its field file, or with several in its field files."""
        field = "file" if len(files) == 1 else "files"
        assets = self.upload(container, zone, record_type, record_name, field, *files)
        value = {"value": assets[0], "type": "ASSETID"} if len(files) == 1 else {"value": assets, "type": "ASSETID_LIST"}
        self.save(container, zone, {"recordType": record_type, "recordName": record_name, "fields": {field: value, **(more or {})}})
        return assets
