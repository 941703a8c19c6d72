"""Assets through independent clients: pyicloud and curl, and what large ones cost.

SKYLIGHT_ASSET_MEGABYTES says how large the large file is.
"""

import gzip
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import urllib.parse
import uuid
import zlib

import pytest
import requests
from pyicloud.common.cloudkit import CKModifyOperation, CKWriteRecord, CKZoneIDReq
from pyicloud.common.cloudkit import client as pyicloud_client
from pyicloud.common.cloudkit.client import CloudKitContainerClient
from server_binary import binary
from waiting import until

SIZE = int(os.environ.get("SKYLIGHT_ASSET_MEGABYTES", "64")) << 20
# The maximum growth of the server's memory, in bytes.
GROWTH = 32 << 20
PLACE = "iCloud.com.example.Files/development"


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """A server that takes large files, and ends with the tests."""
    folder = tmp_path_factory.mktemp("assets")
    process = subprocess.Popen(
        [binary(), "serve", "--data", str(folder / "data"), "--port", "0", "--asset-size-limit", "2GB"], stdout=subprocess.PIPE, text=True
    )
    line = process.stdout.readline()
    assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
    process.address = line.split()[-1]
    yield process
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0, "The server did not end as it should"
    shutil.rmtree(folder)


@pytest.fixture
def folder(tmp_path):
    """A folder for files that are too large to keep."""
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.fixture(scope="module")
def database(process):
    """The address of a database's services."""
    return f"{process.address}/database/1/{PLACE}/private"


def resident(process) -> int:
    """The memory of a process, in bytes."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def forget_peak(process):
    """Resets the peak memory of the process."""
    pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")


def peak(process) -> int:
    """The peak memory of a process, in bytes."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def digest(path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def upload_address(database: str, record: str) -> str:
    body = {"tokens": [{"recordType": "File", "fieldName": "file", "recordName": record}]}
    return requests.post(f"{database}/assets/upload", json=body, timeout=60).json()["tokens"][0]["url"]


def save(database: str, record: str, asset: dict) -> str:
    """Saves a record with an asset, and returns its download address."""
    fields = {"file": {"value": asset, "type": "ASSETID"}}
    operation = {"operationType": "forceReplace", "record": {"recordType": "File", "recordName": record, "fields": fields}}
    [saved] = requests.post(f"{database}/records/modify", json={"operations": [operation]}, timeout=60).json()["records"]
    return saved["fields"]["file"]["value"]["downloadURL"]


def curl(*arguments: str) -> str:
    return subprocess.run(["curl", "-sS", "--fail-with-body", *arguments], check=True, capture_output=True, text=True, timeout=600).stdout


# MARK: pyicloud


def test_pyicloud_uploads_and_downloads(database, monkeypatch):
    # It only sends files to https addresses; addresses of this machine are safe as well.
    split = pyicloud_client.urlsplit
    monkeypatch.setattr(pyicloud_client, "urlsplit", lambda url: split(url)._replace(scheme="https"))
    client = CloudKitContainerClient(database, requests.Session(), {"clientId": str(uuid.uuid4())}, timeout=60)
    content = "Käsefondue 🫕\n".encode() * 5000
    zone = CKZoneIDReq(zoneName="_defaultZone")
    token = client.upload_asset(record_type="File", field_name="file", record_name="from pyicloud", data=content, zone_id=zone)
    record = CKWriteRecord(
        recordName="from pyicloud", recordType="File", fields={"file": {"type": "ASSETID", "value": token.model_dump(mode="json", exclude_none=True)}}
    )
    client.modify(operations=[CKModifyOperation(operationType="create", record=record)], zone_id=zone, atomic=False)
    [read] = client.lookup(["from pyicloud"], zone_id=zone).records
    asset = read.fields["file"].value
    assert asset.size == len(content)
    assert client.download_asset_bytes(asset.downloadURL) == content
    assert b"".join(client.download_asset_stream(asset.downloadURL, chunk_size=1000)) == content


# MARK: curl


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """A large text file that compresses well."""
    path = tmp_path_factory.mktemp("large") / "large file.txt"
    source = random.Random(1)
    with open(path, "wb") as file:
        while file.tell() < SIZE:
            block = source.randbytes(128 << 10).hex().encode()
            file.write(block[: SIZE - file.tell()])
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def large_asset(database, large_file):
    """The download address of the large file after its upload by curl."""
    address = upload_address(database, "large")
    answer = json.loads(curl("-H", "X-Skylight-File-Name: large%20file.txt", "-H", "Expect: 100-continue", "-T", str(large_file), "-X", "POST", address))
    asset = answer["singleFile"]
    assert asset["size"] == SIZE and asset["fileChecksum"] == digest(large_file)
    return save(database, "large", asset)


def head(address: str, *codings: str) -> dict:
    return {name.lower(): value for name, value in requests.head(address, headers={"Accept-Encoding": ", ".join(codings) or "identity"}, timeout=60).headers.items()}


def wait_for_compressed_form(address: str) -> dict:
    """Large files are compressed in the background. Until then they are sent uncompressed."""

    def headers():
        fields = head(address, "gzip")
        return fields if fields.get("content-encoding") == "gzip" else None

    return until(headers, seconds=120 + SIZE / (2 << 20), pause=0.2)


def break_off(address: str, path, *arguments: str):
    """Downloads with curl until a part of the file has arrived, and kills it."""
    with subprocess.Popen(["curl", "-sS", "--limit-rate", str(max(SIZE // 20, 1 << 20)), "-o", str(path), *arguments, address]) as download:
        until(lambda: download.poll() is not None or path.exists() and path.stat().st_size >= SIZE // 8, pause=0.02)
        download.kill()
    assert 0 < path.stat().st_size < SIZE


def test_curl_resumes_a_download(large_file, large_asset, folder):
    path = folder / "copy"
    headers = head(large_asset)
    assert int(headers["content-length"]) == int(headers["x-skylight-size"]) == SIZE and "content-encoding" not in headers
    break_off(large_asset, path)
    curl("-C", "-", "-H", f"If-Range: {headers['etag']}", "-o", str(path), large_asset)
    assert digest(path) == digest(large_file)


def test_curl_resumes_a_compressed_download(large_file, large_asset, folder):
    path = folder / "copy.gz"
    headers = wait_for_compressed_form(large_asset)
    assert int(headers["x-skylight-size"]) == SIZE and int(headers["content-length"]) < SIZE * 0.9
    break_off(large_asset, path, "-H", "Accept-Encoding: gzip")
    curl("-C", "-", "-H", "Accept-Encoding: gzip", "-H", f"If-Range: {headers['etag']}", "-o", str(path), large_asset)
    assert path.stat().st_size == int(headers["content-length"])
    with gzip.open(path) as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == digest(large_file)
    # The same as a browser would do it.
    inflated = folder / "copy"
    curl("--compressed", "-o", str(inflated), large_asset)
    assert digest(inflated) == digest(large_file)


def test_curl_uploads_compressed(database, large_file, folder):
    compressed = folder / "large.gz"
    with open(compressed, "wb") as file:
        subprocess.run(["gzip", "-1", "-c", str(large_file)], stdout=file, check=True)
    address = upload_address(database, "compressed")
    answer = json.loads(curl("-H", "Content-Encoding: gzip", "-T", str(compressed), "-X", "POST", address))
    assert answer["singleFile"]["size"] == SIZE and answer["singleFile"]["fileChecksum"] == digest(large_file)


def test_curl_uploads_a_large_form(process, database, large_file):
    forget_peak(process)
    before = resident(process)
    asset = json.loads(curl("-F", "note=hello", "-F", f"files=@{large_file}", upload_address(database, "large form")))["singleFile"]
    assert asset["size"] == SIZE and asset["fileChecksum"] == digest(large_file)
    assert peak(process) < before + GROWTH


# MARK: Memory


def test_a_bomb_is_refused_early(server_process):
    # Ten gigabytes of zeroes in ten megabytes: the same ten megabytes repeated.
    process, database = server_process, f"{server_process.address}/database/1/{PLACE}/private"
    deflater = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(10 << 20)
    first = deflater.compress(zeros) + deflater.flush(zlib.Z_FULL_FLUSH)
    again = (deflater.compress(zeros) + deflater.flush(zlib.Z_FULL_FLUSH)) * 1024
    requests.get(f"{process.address}/skylight/1/health", timeout=60)
    for address, code in [(upload_address(database, "bomb"), "QUOTA_EXCEEDED"), (f"{database}/records/modify", "BAD_REQUEST")]:
        url = urllib.parse.urlsplit(address)
        forget_peak(process)
        before = resident(process)
        with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
            connection.sendall(
                f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Encoding: gzip\r\nContent-Length: {len(first) + len(again)}\r\n\r\n".encode()
            )
            # A hundredth, which expands to a hundred megabytes, suffices for the answer.
            connection.sendall((first + again)[:100_000])
            answer = b""
            while b"serverErrorCode" not in answer and (part := connection.recv(4096)):
                answer += part
        assert b" 413 " in answer.split(b"\r\n")[0] and code.encode() in answer
        assert peak(process) - before < 16 << 20
    verification = requests.get(f"{process.address}/skylight/1/{PLACE}/assets/verify", timeout=600).text.splitlines()
    assert json.loads(verification[-1])["verification"] == "finished" and json.loads(verification[-1])["problems"] == []
