"""A full disk: an upload is refused with a clear error, leaves no files, and the server continues."""

import random
import subprocess
from pathlib import Path

import pytest

from process import CONTAINER, Server
from uploads import ZONE, Client, Refused, checksum

SIZE = 24 << 20
FILE = 3 << 20
BALLAST = 1 << 20


@pytest.fixture
def small(binary, tmp_path):
    """A server on a disk of 24 MB, which is removed with it."""
    data = tmp_path / "data"
    data.mkdir()
    # A mount in its own namespace: it is invisible to others, and needs no privileges and no cleanup.
    mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'mount -t tmpfs -o size={SIZE} tmpfs "$0" && exec "$@"', str(data)]
    try:
        is_possible = subprocess.run(mount + ["true"], capture_output=True, check=False).returncode == 0
    except OSError:
        is_possible = False
    if not is_possible:
        pytest.skip("no small disk can be mounted here")
    server = Server(binary, data, before=mount)
    assert server.listens(), server.complaint
    yield server
    server.kill()


def refused(status, answer):
    """True if a request was refused with an error that names the full disk."""
    if status == 200:
        return False
    assert status == 413 and answer["serverErrorCode"] == "QUOTA_EXCEEDED" and "The disk is full" in answer["reason"], answer
    return True


def filled(small, contents):
    """Uploads and saves files until the grant, the upload or the save is refused."""
    for number in range(20):
        client, name = Client(small), f"file {number}"
        content = random.Random(number).randbytes(FILE)
        try:
            status, answer = client.upload(name, content, in_parts=number % 2 == 1)
            if refused(status, answer):
                return True
            assert "serverErrorCode" not in client.save({name: answer["singleFile"]})[0]
        except Refused as refusal:
            return refused(refusal.status, refusal.answer)
        contents[name] = content
    return False


def test_a_full_disk_is_reported_and_survived(small):
    client = Client(small)
    client.call("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": ZONE}}])
    # Space that is freed later, as a user would do. Only the server sees the mount.
    ballast = Path(f"/proc/{small.process.pid}/root{small.file.parent.parent}/ballast")
    ballast.write_bytes(bytes(BALLAST))
    contents = {}
    assert filled(small, contents) and len(contents) > 3
    # Files that do not fit are refused each time, and take no space. (A file smaller than three may fit after all: compressing one takes space for a
    # while.)
    for _ in range(6):
        # The server may have closed the connection after it refused an upload.
        try:
            assert refused(*Client(small).upload("once more", random.Random(99).randbytes(3 * FILE), in_parts=True))
        except Refused as refusal:
            assert refused(refusal.status, refusal.answer)
    client = Client(small)
    status, answer = client.ask("GET", "/skylight/1/health")
    assert status == 200, answer
    ballast.unlink()
    # With some space, records are saved again, and smaller files fit.
    assert "serverErrorCode" not in client.save({"no file": None})[0]
    status, answer = client.upload("small", b"still here")
    assert status == 200, answer
    assert "serverErrorCode" not in client.save({"small": answer["singleFile"]})[0]
    contents["small"] = b"still here"
    for name, asset in client.records().items():
        if asset:
            status, content = client.download(asset)
            assert status == 200 and checksum(content) == checksum(contents[name]), name
    found = client.verify()
    # The last file may have been accepted while its record was refused. Its receipt keeps it in use.
    assert not found["problems"] and found["filesDone"] - len(contents) in (0, 1) and found["unusedFiles"] == 0, found
    assert CONTAINER in str(small.assets)
