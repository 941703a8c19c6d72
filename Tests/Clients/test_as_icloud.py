"""Clients that have CloudKit's host compiled in, at a server that answers in iCloud's place."""

import datetime
import ipaddress
import json
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from required_server import RequiredServer
from server_binary import binary

HOST = "api.apple-cloudkit.com"

# Programs as they are written for iCloud. Nothing in them says where the server is.
PYTHON = '''
import requests
root = "https://api.apple-cloudkit.com/database/1/iCloud.com.example.Fixed/development/private/"
def call(name, body):
    answer = requests.post(root + name, json=body, timeout=60)
    answer.raise_for_status()
    return answer.json()
content = bytes(range(256)) * 8000
url = call("assets/upload", {"tokens": [{"recordType": "Note", "fieldName": "file", "recordName": "one"}]})["tokens"][0]["url"]
asset = requests.post(url, data=content, timeout=60).json()["singleFile"]
record = {"recordType": "Note", "recordName": "one", "fields": {"file": {"value": asset}}}
saved = call("records/modify", {"operations": [{"operationType": "forceReplace", "record": record}]})
found = call("records/lookup", {"records": [{"recordName": "one"}]})["records"][0]
download = found["fields"]["file"]["value"]["downloadURL"]
assert requests.get(download, timeout=60).content == content
token = requests.post("https://api.apple-cloudkit.com/device/1/iCloud.com.example.Fixed/development/tokens/create", json={"apnsEnvironment": "development"}, timeout=60).json()
print(url, download, token["webcourierURL"], sep="\\n")
'''

NODE = '''
const tls = require("tls"), http = require("http"), https = require("https")
const proxy = new URL(process.env.HTTPS_PROXY)
http.request({ host: proxy.hostname, port: proxy.port, method: "CONNECT", path: "api.apple-cloudkit.com:443" })
  .on("connect", (answer, socket) => {
    if (answer.statusCode !== 200) throw new Error(answer.statusCode)
    https.request("https://api.apple-cloudkit.com/database/1/iCloud.com.example.Fixed/development/private/zones/list",
      { method: "POST", createConnection: () => tls.connect({ socket, servername: "api.apple-cloudkit.com" }) },
      answer => { let text = ""; answer.on("data", part => text += part).on("end", () => { console.log(text); process.exit() }) })
      .end("{}")
  }).end()
'''


class Place:
    def __init__(self, server):
        self.server = server
        answer = json.loads(server.command("as-icloud", "--json"))
        self.address, self.authority = answer["address"], answer["authority"]
        self.lines = {way["client"]: way["line"] for way in answer["clients"]}
        self.proxy = self.address.replace("https:", "http:")
        self.port = int(self.address.rsplit(":", 1)[1])

    def run(self, *command, **environment):
        bare = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        return subprocess.run(
            command, env={**bare, "HTTPS_PROXY": self.proxy, **environment}, capture_output=True, text=True, timeout=120
        )

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


@pytest.fixture(scope="module")
def place():
    with RequiredServer("--auth", "open", "--as-icloud", "--icloud-port", "0") as server:
        yield Place(server)


def test_a_python_program_with_the_host_compiled_in(place):
    done = place.run(sys.executable, "-c", PYTHON, REQUESTS_CA_BUNDLE=place.authority)
    assert done.returncode == 0, done.stderr
    upload, download, courier = done.stdout.split()
    # The addresses in answers lead through the same proxy.
    for address in (upload, download, courier):
        assert address.startswith(f"https://{HOST}/"), address


def test_a_python_program_without_the_authority_refuses(place):
    done = place.run(sys.executable, "-c", PYTHON)
    assert done.returncode != 0 and "CERTIFICATE_VERIFY_FAILED" in done.stderr


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_a_node_program(place):
    done = place.run("node", "-e", NODE, NODE_EXTRA_CA_CERTS=place.authority)
    assert "zones" in json.loads(done.stdout), done.stderr


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_curl(place):
    url = f"https://{HOST}/database/1/iCloud.com.example.Fixed/development/private/zones/list"
    done = place.run("curl", "-sS", "--cacert", place.authority, "-d", "{}", url)
    assert "zones" in json.loads(done.stdout), done.stderr
    # Without a proxy, at the port itself.
    direct = place.run(
        "curl", "-sS", "--noproxy", "*", "--connect-to", f"{HOST}:443:127.0.0.1:{place.port}", "--cacert", place.authority, "-d", "{}", url
    )
    assert "zones" in json.loads(direct.stdout), direct.stderr
    elsewhere = place.run("curl", "-sSv", "--cacert", place.authority, "https://www.example.com/")
    assert elsewhere.returncode != 0
    assert f"403 Skylight leads to {HOST} alone" in elsewhere.stderr


def test_the_console_is_not_at_icloud_s_name(place):
    for path, status in [("/", 404), ("/health", 404), ("/skylight/1/health", 404), ("/static/none", 404)]:
        done = place.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", place.authority, f"https://{HOST}{path}")
        assert done.stdout == str(status), path
    # Without TLS it is not the server's name.
    plain = place.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Host: {HOST}", place.server.address + "/")
    assert plain.stdout == "403"


def test_what_is_neither_tls_nor_a_tunnel_is_refused(place):
    for sent, status in [(b"GET / HTTP/1.1\r\n\r\n", b"400"), (b"CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n", b"403"), (b"\x00\x01", b"400")]:
        with place.connect() as connection:
            connection.sendall(sent)
            assert connection.recv(4096).split()[1] == status
    with place.connect() as connection:
        connection.sendall(b"\x16\x03\x01\x00\x05hello")
        connection.recv(4096)
    assert place.server.process.poll() is None


def test_the_key_is_the_user_s_alone(place):
    files = list(place.server.data.glob("icloud-authority*"))
    assert {file.name for file in files} == {"icloud-authority.pem", "icloud-authority.key"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_the_authority_is_worth_nothing_for_other_hosts(place, tmp_path):
    authority = x509.load_pem_x509_certificate((place.server.data / "icloud-authority.pem").read_bytes())
    key = serialization.load_pem_private_key((place.server.data / "icloud-authority.key").read_bytes(), None)
    constraints = authority.extensions.get_extension_for_class(x509.NameConstraints)
    assert constraints.critical and [name.value for name in constraints.value.permitted_subtrees] == [HOST]
    own = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.timezone.utc)

    def verifies(name):
        certificate = (
            x509.CertificateBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])).issuer_name(authority.subject)
            .public_key(own.public_key()).serial_number(7).not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([name]), False).sign(key, hashes.SHA256())
        )
        file = tmp_path / "leaf.pem"
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return subprocess.run(["openssl", "verify", "-CAfile", place.authority, file], capture_output=True).returncode == 0

    assert verifies(x509.DNSName(HOST))
    assert not verifies(x509.DNSName("www.apple.com")) and not verifies(x509.DNSName("apple-cloudkit.com"))
    assert not verifies(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))


def test_the_server_s_certificate_is_strictly_valid(place):
    context = ssl.create_default_context(cafile=place.authority)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with place.connect() as connection, context.wrap_socket(connection, server_hostname=HOST) as encrypted:
        names = encrypted.getpeercert()["subjectAltName"]
    assert names == (("DNS", HOST),)


def test_the_lines_hold_across_starts():
    with RequiredServer("--auth", "open", "--as-icloud", "--icloud-port", "0") as server:
        first = Place(server)
        authority = (server.data / "icloud-authority.pem").read_bytes()
        server.process.terminate()
        assert server.process.wait(timeout=60) == 0
        server.process.stdout.close()
        server.process = subprocess.Popen(
            [binary(), "serve", "--port", "0", "--data", str(server.data), "--as-icloud", "--icloud-port", str(first.port)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        server.process.stdout.readline()
        assert (server.data / "icloud-authority.pem").read_bytes() == authority
        # With the hash of the server's key, which browsers are told.
        assert Place(server).lines == first.lines


def test_the_command_needs_such_a_server():
    with RequiredServer() as server:
        done = subprocess.run([binary(), "as-icloud", "--data", str(server.data)], capture_output=True, text=True)
        assert done.returncode == 69 and "skylight serve --as-icloud" in done.stderr
