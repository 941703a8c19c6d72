"""A TLS server: its certificate and its addresses."""

import subprocess

import pytest
import requests
from required_server import PASSWORD, RequiredServer

PRIVATE = "/database/1/iCloud.com.example.Chat/development/private/"
OWNER = {"X-Skylight-Access": "owner"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate made as docs/security.md describes."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "box.key", "-out", folder / "box.pem"],
        check=True, capture_output=True,
    )
    return folder / "box.pem", folder / "box.key"


@pytest.fixture(scope="module")
def server(certificate):
    with RequiredServer("--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1])) as server:
        assert server.address.startswith("https://")
        yield server


@pytest.fixture
def session(certificate):
    with trusting(certificate[0]) as session:
        yield session


def trusting(certificate):
    """A client that trusts one certificate, regardless of the environment."""
    session = requests.Session()
    session.trust_env = False
    session.verify = str(certificate)
    return session


def test_the_certificate_is_the_one_that_was_given(server, session):
    assert session.get(server.address + "/health").status_code == 200
    with requests.Session() as anybody, pytest.raises(requests.exceptions.SSLError):
        anybody.get(server.address + "/health")
    # Plain HTTP is refused.
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(server.address.replace("https", "http") + "/health")


def test_addresses_begin_with_https(server, session):
    needs_user = session.post(server.address + PRIVATE + "records/query", json={"query": {"recordType": "Note"}})
    assert needs_user.status_code == 421
    assert needs_user.json()["redirectURL"].startswith(server.address + "/sign-in?ticket=")
    # A file is uploaded and downloaded at the addresses from the server.
    session.auth = server.administrator
    granted = session.post(
        server.address + PRIVATE + "assets/upload", headers=OWNER, json={"tokens": [{"recordType": "Note", "fieldName": "file", "recordName": "one"}]}
    ).json()
    url = granted["tokens"][0]["url"]
    assert url.startswith(server.address + "/assets/")
    content = bytes(range(256)) * 40_000
    with trusting(session.verify) as plain:
        asset = plain.post(url, data=content).json()["singleFile"]
    record = {"recordType": "Note", "recordName": "one", "fields": {"file": {"value": asset}}}
    saved = session.post(
        server.address + PRIVATE + "records/modify", headers=OWNER, json={"operations": [{"operationType": "create", "record": record}]}
    ).json()
    download = saved["records"][0]["fields"]["file"]["value"]["downloadURL"]
    assert download.startswith(server.address + "/assets/")
    with trusting(session.verify) as plain:
        assert plain.get(download).content == content


def test_the_cookie_is_secure(server, session):
    answer = session.post(server.address + "/admin/sign-in", data={"password": PASSWORD, "next": "/find"}, allow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/find")
    port = server.address.rsplit(":", 1)[1]
    name, *attributes = answer.headers["Set-Cookie"].split("; ")
    assert name.startswith(f"__Host-skylight-{port}=")
    assert attributes == ["Path=/", "HttpOnly", "SameSite=Strict", "Secure"]
    assert session.get(server.address + "/").status_code == 200


def test_commands_find_the_server_by_its_folder(server):
    assert "Note" in server.command("schema", "show", "--container", "iCloud.com.example.Chat")
