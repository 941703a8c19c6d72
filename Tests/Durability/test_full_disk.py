"""A disk that is full: an upload is refused in words that say so, nothing of it is left, and the server goes on."""

import random
import subprocess

import pytest

from process import CONTAINER, Server
from uploads import ZONE, Client, checksum

SIZE = 24 << 20
FILE = 3 << 20


@pytest.fixture
def small(binary, tmp_path):
    """A server on a disk of 24 MB, which is gone with it."""
    data = tmp_path / "data"
    data.mkdir()
    # A mount in a namespace of its own: nobody else sees it, and it needs no rights and no cleaning up.
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


def test_a_full_disk_is_told_and_survived(small):
    client = Client(small)
    client.call("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": ZONE}}])
    contents, refused = {}, None
    for number in range(20):
        name = f"file {number}"
        content = random.Random(number).randbytes(FILE)
        status, answer = client.upload(name, content, in_parts=number % 2 == 1)
        if status != 200:
            refused = answer
            break
        assert "serverErrorCode" not in client.save({name: answer["singleFile"]})[0]
        contents[name] = content
    assert len(contents) > 3 and refused is not None
    assert status == 413 and refused["serverErrorCode"] == "QUOTA_EXCEEDED", refused
    assert "The disk is full" in refused["reason"], refused
    # What does not fit is refused again and again, and takes no room. The first refusal may have been for want of a page in the database,
    # so that one more file fits after all; its receipt keeps it in use.
    extra = 0
    for _ in range(6):
        # The server may have closed the connection on which it refused an upload.
        client = Client(small)
        status, answer = client.upload("once more", random.Random(99).randbytes(FILE), in_parts=True)
        if status == 200 and extra == 0:
            extra = 1
            continue
        assert status == 413 and answer["serverErrorCode"] == "QUOTA_EXCEEDED", answer
    client = Client(small)
    status, answer = client.ask("GET", "/skylight/1/health")
    assert status == 200, answer
    # Records are still saved, and smaller files still fit.
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
    assert not found["problems"] and found["filesDone"] == len(contents) + extra and found["unusedFiles"] == 0, found
    assert CONTAINER in str(small.assets)
