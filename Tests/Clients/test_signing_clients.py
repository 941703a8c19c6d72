"""Server-to-server keys: requests signed by openssl and by a client from PyPI, against a server that requires credentials."""

import base64
import hashlib
import json
import tempfile
import types

import pytest
import requests
import requests_cloudkit.cloudkit
from requests_cloudkit import CloudKitAuth
from required_server import RequiredServer
from signing_tools import DATE, KEY_ID, SIGNATURE, Signer, send

CONTAINER = "iCloud.com.example.Signed"
PUBLIC = f"/database/1/{CONTAINER}/development/public"
CLIENT = "?ckjsBuildVersion=2310ProjectDev27&ckjsVersion=2.6.4&clientId=6b1f7b6c-4a0f"


@pytest.fixture(scope="module")
def server():
    with RequiredServer() as server:
        yield server


@pytest.fixture(scope="module")
def signer(server, tmp_path_factory):
    """A registered key, made with the two commands that Apple's documentation has."""
    signer = Signer(tmp_path_factory.mktemp("keys"))
    place = ["--container", CONTAINER, "--environment", "development"]
    signer.key_id = json.loads(server.command("key", "register", "--file", str(signer.public), *place, "--name", "A script", "--json"))["key"]["keyID"]
    assert len(signer.key_id) == 64
    return signer


def seen(server, answer):
    """The log entry of the request."""
    request_id = answer.headers["X-Skylight-Request"]
    noted = requests.get(f"{server.address}/skylight/1/requests/{request_id}", auth=server.administrator, timeout=60)
    assert noted.status_code == 200, noted.text
    return noted.json()


def refused(server, answer, kind):
    """Asserts that a request was refused in CloudKit's words, and returns the details from the log."""
    assert answer.status_code == 401, answer.text
    body = answer.json()
    assert (body["serverErrorCode"], body["reason"]) == ("AUTHENTICATION_FAILED", "no auth method found")
    problem = seen(server, answer)["authentication"]["problem"]
    assert problem["problem"] == kind, problem
    assert problem["sentence"] and problem["remedy"]
    return problem


SAVE = {"operations": [{"operationType": "forceReplace", "record": {"recordName": "note", "recordType": "Note", "fields": {"text": {"value": "Größe"}}}}]}


@pytest.mark.parametrize("query", ["", CLIENT, "?a=%2B%20b&c"], ids=["plain", "client", "encoded"])
def test_openssl_signs_a_change(server, signer, query):
    body = json.dumps(SAVE).encode()
    target = f"{PUBLIC}/records/modify{query}"
    answer = send(server.address, "POST", target, body, signer.headers(target, body))
    assert answer.status_code == 200, seen(server, answer)["authentication"]
    record = answer.json()["records"][0]
    assert record["fields"]["text"]["value"] == "Größe"
    way = seen(server, answer)["authentication"]
    assert (way["way"], way["credential"], way.get("problem")) == ("serverKey", signer.key_id, None)
    assert seen(server, answer)["userRecordName"] == record["modified"]["userRecordName"]


@pytest.mark.parametrize("query", ["", CLIENT])
@pytest.mark.parametrize("body_hash", [None, ""], ids=["hash of nothing", "nothing"])
def test_openssl_signs_a_question_without_a_body(server, signer, query, body_hash):
    target = f"{PUBLIC}/users/caller{query}"
    answer = send(server.address, "GET", target, headers=signer.headers(target, body_hash=body_hash))
    assert answer.status_code == 200, seen(server, answer)["authentication"]
    assert answer.json()["userRecordName"].startswith("_")


@pytest.mark.parametrize("query", ["", CLIENT])
def test_a_body_changed_by_a_byte_is_refused_and_the_log_says_so(server, signer, query):
    body = json.dumps(SAVE).encode()
    target = f"{PUBLIC}/records/modify{query}"
    headers = signer.headers(target, body)
    assert send(server.address, "POST", target, body, headers).status_code == 200
    changed = body.replace(b"note", b"nota", 1)
    problem = refused(server, send(server.address, "POST", target, changed, headers), "body")
    assert "body hash differs" in problem["sentence"], problem
    parts = {part["part"]: part for part in problem["parts"]}
    assert parts["body hash"]["state"] == "differs"
    assert parts["body hash"]["expected"] == Signer.body_hash(changed)
    assert parts["body hash"]["received"] == Signer.body_hash(body)
    assert parts["date"]["state"] == parts["target"]["state"] == "matches"
    assert problem["certain"] is True


# MARK: requests-cloudkit


@pytest.fixture
def python_2_strings(monkeypatch):
    """requests-cloudkit is of 2018 and for Python 2, whose strings are bytes. Its own code stays as it is; the modules that it hands strings to take
    and return them as they did then."""

    def sha256(data=b""):
        return hashlib.sha256(data.encode() if isinstance(data, str) else data)

    class TextFile:
        def __init__(self):
            self.file = tempfile.NamedTemporaryFile()
            self.seek, self.read = self.file.seek, self.file.read

        def write(self, text):
            self.file.write(text.encode())

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

    text = types.SimpleNamespace(b64encode=lambda data: base64.b64encode(data).decode())
    monkeypatch.setattr(requests_cloudkit.cloudkit, "base64", text)
    monkeypatch.setattr(requests_cloudkit.cloudkit, "hashlib", types.SimpleNamespace(sha256=sha256))
    monkeypatch.setattr(requests_cloudkit.cloudkit, "tempfile", types.SimpleNamespace(NamedTemporaryFile=TextFile))


def test_requests_cloudkit_saves_finds_and_deletes(server, signer, python_2_strings):
    auth = CloudKitAuth(key_id=signer.key_id, key_file_name=str(signer.private))

    def ask(action, body):
        answer = requests.post(f"{server.address}{PUBLIC}/{action}", data=json.dumps(body), auth=auth, timeout=60)
        assert answer.status_code == 200, seen(server, answer)["authentication"]
        return answer.json()["records"]

    fields = {"name": {"value": "Alexanderplatz"}, "rank": {"value": 3}}
    saved = ask("records/modify", {"operations": [{"operationType": "create", "record": {"recordName": "alex", "recordType": "Stop", "fields": fields}}]})
    assert saved[0]["fields"]["rank"] == {"value": 3, "type": "INT64"}
    assert ask("records/lookup", {"records": [{"recordName": "alex"}]})[0]["recordChangeTag"] == saved[0]["recordChangeTag"]
    # A type that a save has made has an index on each field.
    by_name = {"fieldName": "name", "comparator": "EQUALS", "fieldValue": {"value": "Alexanderplatz"}}
    found = ask("records/query", {"query": {"recordType": "Stop", "filterBy": [by_name]}})
    assert [record["recordName"] for record in found] == ["alex"]
    deleted = ask("records/modify", {"operations": [{"operationType": "delete", "record": {"recordName": "alex", "recordChangeTag": saved[0]["recordChangeTag"]}}]})
    assert deleted == [{"recordName": "alex", "deleted": True}]
    caller = requests.get(f"{server.address}{PUBLIC}/users/caller", auth=auth, timeout=60)
    assert caller.json()["userRecordName"] == saved[0]["created"]["userRecordName"]


def test_requests_cloudkit_with_a_wrong_key_is_refused(server, signer, python_2_strings, tmp_path):
    other = Signer(tmp_path, "other")
    auth = CloudKitAuth(key_id=signer.key_id, key_file_name=str(other.private))
    answer = requests.post(f"{server.address}{PUBLIC}/records/lookup", data=json.dumps({"records": [{"recordName": "alex"}]}), auth=auth, timeout=60)
    assert answer.status_code == 401
    assert seen(server, answer)["authentication"]["problem"]["problem"] in ("key", "undetermined", "body")


def test_the_message_is_what_apple_documents(signer):
    """Computes the parts without openssl, so that the tests above cannot share a mistake with the server."""
    body = b"{}"
    assert Signer.body_hash(body) == base64.b64encode(hashlib.sha256(body).digest()).decode()
    assert set(signer.headers("/x", body)) == {KEY_ID, DATE, SIGNATURE}
