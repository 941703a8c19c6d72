"""A server that passes the requests for a container on: what arrives, what comes back, and what its log says."""

import collections
import gzip
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading

import pytest
import requests
from required_server import RequiredServer
from server_binary import binary
from test_as_icloud import HOST, NODE, PYTHON, Place
from test_tls import certificate  # noqa: F401, a fixture
from waiting import PATIENCE, until

CONTAINER = "iCloud.com.example.Passed"
ROOT = f"/database/1/{CONTAINER}/development/private/"
# About one connection, or about how a body's length is told on it. Nothing else may differ.
HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}


def headers_of(pairs):
    return sorted((name.lower(), value) for name, value in pairs if name.lower() not in HOP)


class Exchange(collections.namedtuple("Exchange", "method target sent body status reason received answer")):
    """A request and its answer, with the headers that belong to them and not to a connection."""

    @classmethod
    def of(cls, method, target, sent, body, status, reason, received, answer):
        return cls(method, target, headers_of(sent), body, status, reason, headers_of(received), answer)


class Listener:
    """A server on a socket. Each connection runs in a thread."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as reader:
            try:
                while (request := self.read(reader)) and self.answer(connection, *request):
                    pass
            except ConnectionError:
                # The other side is gone, or was killed.
                pass

    @staticmethod
    def read(reader):
        """Method, target, headers and body of a request; `None` if it does not come whole."""
        line = reader.readline()
        if not line:
            return None
        method, target, _ = line.decode().split()
        headers = []
        while (line := reader.readline()) not in (b"\r\n", b""):
            name, value = line.decode().rstrip("\r\n").split(":", 1)
            headers.append((name, value.strip()))
        length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
        body = reader.read(length)
        return (method, target, headers, body) if len(body) == length else None

    def close(self):
        self.socket.close()


class Recorder(Listener):
    """Stands between the proxy and its origin, and writes down what goes by."""

    def __init__(self, origin):
        self.origin = origin.removeprefix("http://")
        self.arrived, self.exchanges = [], []
        super().__init__()

    def answer(self, connection, method, target, headers, body):
        self.arrived.append(target)
        onwards = http.client.HTTPConnection(self.origin, timeout=PATIENCE)
        onwards.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            onwards.putheader(name, self.origin if name.lower() == "host" else value)
        onwards.endheaders(body)
        got = onwards.getresponse()
        content = got.read()
        self.exchanges.append(Exchange.of(method, target, headers, body, got.status, got.reason, got.getheaders(), content))
        head = [f"HTTP/1.1 {got.status} {got.reason}"] + [f"{n}: {v}" for n, v in got.getheaders() if n.lower() not in HOP]
        length = got.getheader("Content-Length") if method == "HEAD" else len(content)
        if length is not None and got.status != 204:
            head.append(f"Content-Length: {length}")
        connection.sendall("\r\n".join([*head, "", ""]).encode("latin-1") + content)
        onwards.close()
        return True


class Client:
    """Sends bytes of its own choice through the tunnel, and keeps what came back as it came."""

    def __init__(self, place):
        context = ssl.create_default_context(cafile=place.authority)
        plain = place.connect()
        plain.settimeout(PATIENCE)
        plain.sendall(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode())
        assert plain.recv(4096).startswith(b"HTTP/1.1 200")
        self.socket = context.wrap_socket(plain, server_hostname=HOST)
        self.exchanges = []

    def send(self, method, target, headers=(), body=b""):
        head = [f"{method} {target} HTTP/1.1", f"Host: {HOST}", *(f"{name}: {value}" for name, value in headers)]
        if body:
            head.append(f"Content-Length: {len(body)}")
        self.socket.sendall("\r\n".join([*head, "", ""]).encode() + body)
        got = http.client.HTTPResponse(self.socket, method=method)
        got.begin()
        content = got.read()
        self.exchanges.append(Exchange.of(method, target, headers, body, got.status, got.reason, got.getheaders(), content))
        self.last = got
        return content

    def ask(self, action, _headers=(), **body):
        content = self.send("POST", ROOT + action, [("Content-Type", "text/plain"), *_headers], json.dumps(body).encode())
        return json.loads(content)

    def save(self, *records, kind="forceUpdate", zone="Notes", headers=(), **options):
        operations = [{"operationType": kind, "record": record} for record in records]
        return self.ask("records/modify", headers, zoneID={"zoneName": zone}, operations=operations, **options)["records"]

    def close(self):
        self.socket.close()


def note(name, **fields):
    return {"recordType": "Note", "recordName": name, "fields": {key: {"value": value} for key, value in fields.items()}}


class Stage:
    """A client, a proxy, a recorder, and another Skylight that speaks the protocol alone."""

    def __init__(self, proxy, recorder):
        self.proxy, self.recorder, self.place = proxy, recorder, Place(proxy)

    def client(self):
        return Client(self.place)

    def noted(self, **parameters):
        answer = requests.get(
            self.proxy.address + "/skylight/1/requests", params={"resultsLimit": 1000, **parameters}, auth=RequiredServer.administrator, timeout=PATIENCE
        )
        return answer.json()["requests"][::-1]

    def whole(self, request):
        path = f"/skylight/1/requests/{request['id']}"
        return requests.get(self.proxy.address + path, params={"bodies": 1}, auth=RequiredServer.administrator, timeout=PATIENCE).json()


def proxy_to(address, *arguments, **environment):
    return RequiredServer("--auth", "open", "--proxy", CONTAINER, "--origin", address, "--icloud-port", "0", *arguments, environment=environment)


@pytest.fixture(scope="module")
def stage():
    with RequiredServer("--auth", "open", "--protocol-only") as origin:
        recorder = Recorder(origin.address)
        with proxy_to(recorder.address) as proxy:
            yield Stage(proxy, recorder)
        recorder.close()


def test_both_sides_see_the_same(stage):
    """A session of some hundred requests. What the origin got and sent is what the client sent and got."""
    client, first = stage.client(), len(stage.recorder.exchanges)
    client.ask("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": {"zoneName": "Notes"}}}])
    for number in range(40):
        client.save(note(f"n{number}", title=f"Grüße {number} \u2028 ‘", rank=number), kind="create")
    client.save(*(note(f"b{number}", rank=number) for number in range(100)))
    client.save(*(note(f"l{number}", title="x" * 25_000) for number in range(200)))
    conflict = client.save({**note("n1", rank=7), "recordChangeTag": "none"}, kind="update")
    assert conflict[0]["serverErrorCode"]
    for number in range(20):
        client.ask("records/lookup", zoneID={"zoneName": "Notes"}, records=[{"recordName": f"n{number}"}, {"recordName": f"no{number}"}])
    assert client.ask("records/query", query={"recordType": "Note"}, zoneID={"zoneName": "Notes"})["serverErrorCode"] == "BAD_REQUEST"
    token, pages = None, 0
    while True:
        zone = {"zoneID": {"zoneName": "Notes"}, "resultsLimit": 20, **({"syncToken": token} if token else {})}
        page = client.ask("changes/zone", zones=[zone])["zones"][0]
        token, pages = page["syncToken"], pages + 1
        if not page["moreComing"]:
            break
    assert pages == 17
    # More than a megabyte, so it is streamed.
    whole = client.ask("changes/zone", zones=[{"zoneID": {"zoneName": "Notes"}}, {"zoneID": {"zoneName": "Nowhere"}}])
    assert len(client.exchanges[-1].answer) > 1 << 20 and whole["zones"][1]["serverErrorCode"]
    client.ask("changes/zone", zones=[{"zoneID": {"zoneName": "Notes"}, "syncToken": "unknown"}])
    client.ask("changes/database")
    for name in ("users/caller", "zones/list", "subscriptions/list"):
        client.ask(name)
        client.send("GET", ROOT + name, [("Accept", "*/*")])
        client.send("HEAD", ROOT + name)
    # Bytes and headers that a client may send, and that nothing may change.
    client.send("POST", ROOT + "zones/list", [("Accept-Encoding", "gzip"), ("Cookie", "a=1; b=2"), ("X-Two", "1"), ("X-Two", "2")], b"{}")
    lookup = json.dumps({"records": [{"recordName": f"l{n}"} for n in range(9)], "zoneID": {"zoneName": "Notes"}}).encode()
    client.send("POST", ROOT + "records/lookup", [("Accept-Encoding", "gzip")], lookup)
    assert client.last.getheader("Content-Encoding") == "gzip" and gzip.decompress(client.exchanges[-1].answer)
    client.send("POST", ROOT + "records/lookup", [("Content-Encoding", "gzip")], gzip.compress(lookup))
    client.send("POST", ROOT + "records/modify", body=b"{not json")
    client.send("POST", ROOT + "zones/list?ckAPIToken=a%2Bb+c%2F&x=%7B&&empty=", [("X-Apple-CloudKit-Request-KeyID", "k")], b"{}")
    client.send("POST", ROOT + "none/at%20all", body=b"{}")
    client.send("PUT", ROOT + "zones/list")
    client.send("OPTIONS", ROOT + "zones/list", [("Origin", "https://app.example"), ("Access-Control-Request-Method", "POST")])
    client.send("POST", f"/device/1/{CONTAINER}/development/tokens/create", body=b'{"apnsEnvironment":"development"}')
    client.close()
    behind = stage.recorder.exchanges[first:]
    assert len(client.exchanges) == len(behind) > 100
    for before, after in zip(client.exchanges, behind):
        assert before == after, (before.method, before.target)


def test_the_log_has_what_the_answers_say(stage):
    client = stage.client()
    logged = stage.noted()[-1]["id"] if stage.noted() else None
    zone = {"zoneName": "Logged"}
    client.ask("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": zone}}])
    saved = client.save(note("one", rank=1), note("two", rank=2), zone="Logged")
    client.save({**note("one", rank=3), "recordChangeTag": "old"}, note("two", rank=3), kind="update", zone="Logged", atomic=False)
    client.ask("records/lookup", zoneID=zone, records=[{"recordName": "one"}, {"recordName": "none"}])
    first = client.ask("changes/zone", zones=[{"zoneID": zone, "resultsLimit": 1}])["zones"][0]
    client.ask("changes/zone", zones=[{"zoneID": zone, "resultsLimit": 1}])
    client.ask("records/query", query={"recordType": "None"}, zoneID=zone)
    client.close()
    found = stage.noted()
    found = found[[request["id"] for request in found].index(logged) + 1 :] if logged else found
    assert all(request["passedOn"] and request["container"] == CONTAINER and request["database"] == "private" for request in found)
    created, made, refused, looked, pulled, again, asked = found
    assert [request["operation"] for request in found] == [
        "zones/modify", "records/modify", "records/modify", "records/lookup", "changes/zone", "changes/zone", "records/query",
    ]
    assert created["zoneIDs"][0]["zoneName"] == "Logged" and created["records"] == 0
    assert made["records"] == len(saved) == 2 and made["status"] == 200
    assert [(error["name"], error["serverErrorCode"]) for error in refused["itemErrors"]][0] == ("one", "CONFLICT")
    assert looked["records"] == 1 and looked["itemErrors"][0]["name"] == "none"
    assert pulled["pulls"][0]["given"] == first["syncToken"] and pulled["pulls"][0]["moreComing"] and pulled["pulls"][0]["changes"] == 1
    # A mistake that shows across two requests.
    assert again["warnings"] == ["moreComingNotFollowed"]
    assert asked["status"] != 200 and asked["error"]["reason"]
    assert json.loads(stage.whole(made)["requestBody"]["text"])["operations"][0]["record"]["recordName"] == "one"
    assert json.loads(stage.whole(made)["responseBody"]["text"])["records"] == saved
    # Users of iCloud are not known here.
    assert "userRecordName" not in made and made["authentication"] == {"way": "nothing"}
    pages = f"{stage.proxy.address}/c/{CONTAINER}/development/private/requests"
    page = requests.get(pages, auth=RequiredServer.administrator, timeout=PATIENCE).text
    assert "Passed on to iCloud" in page and "records/modify</a> <span class=\"pill\"" in page
    page = requests.get(pages, params={"id": made["id"]}, auth=RequiredServer.administrator, timeout=PATIENCE).text
    assert "iCloud does not say" in page
    # Its tokens are opaque, so the page says which answer gave them.
    page = requests.get(pages.replace("/requests", "/clients"), auth=RequiredServer.administrator, timeout=PATIENCE).text
    assert "as a user of iCloud" in page and "more pages to fetch" in page and "no token" in page and ">a new one</a>" in page


def test_a_replay_goes_to_this_machine_alone(stage):
    """To the mirror, or to the container of the same name here. The origin gets nothing."""
    client = stage.client()
    client.save(note("replayed", rank=1), zone="_defaultZone")
    client.ask("records/lookup", records=[{"recordName": "replayed"}])
    client.close()
    saved, looked = stage.noted()[-2:]
    pages, before = f"{stage.proxy.address}/c/{CONTAINER}/development/private/requests", len(stage.recorder.exchanges)

    def page(path="", **parameters):
        return requests.get(pages + path, params=parameters, auth=RequiredServer.administrator, timeout=PATIENCE).text

    def replay(request):
        answer = requests.post(
            pages + "/replay", data={"id": request["id"]}, auth=RequiredServer.administrator, timeout=PATIENCE, allow_redirects=False
        )
        assert answer.status_code == 303, answer.text
        again = stage.noted()[-1]
        assert again["client"]["name"] == "Skylight replay" and not again.get("passedOn") and again["id"] != request["id"]
        return again

    assert "Replay on this machine…" in page(id=saved["id"]) and ">Replay on this machine</button>" in page(id=looked["id"])
    asked = page("/replay", id=saved["id"])
    assert "as the developer" in asked and "Nothing is sent to iCloud" in asked
    assert replay(looked)["itemErrors"][0]["serverErrorCode"] == "NOT_FOUND"
    assert replay(saved)["status"] == 200 and replay(looked)["records"] == 1
    # The mirror comes first.
    mirror = f"{stage.proxy.address}/database/1/{CONTAINER}.mirror/development/private/"
    requests.post(mirror + "records/modify", json={"operations": [{"operationType": "create", "record": note("other")}]}, timeout=PATIENCE)
    again = replay(looked)
    assert again["container"] == CONTAINER + ".mirror" and again["itemErrors"][0]["serverErrorCode"] == "NOT_FOUND"
    assert len(stage.recorder.exchanges) == before


def test_a_conversation_is_a_file_that_another_server_opens(stage, tmp_path):
    client = stage.client()
    client.save(note("shared", rank=1), zone="_defaultZone")
    client.close()
    pages, administrator = f"{stage.proxy.address}/c/{CONTAINER}/development/private/", RequiredServer.administrator
    requests.post(pages + "snapshots/save", data={"name": "Talk", "requests": "on"}, auth=administrator, timeout=PATIENCE)
    file = tmp_path / "Talk"
    until(lambda: "Talk" in stage.proxy.command("snapshot", "list", "--container", CONTAINER))
    stage.proxy.command("snapshot", "export", "Talk", "--container", CONTAINER, "--output", str(file))
    with RequiredServer("--auth", "open") as other:
        other.command("snapshot", "import", str(file))
        page = requests.get(
            f"{other.address}/c/{CONTAINER}/development/private/snapshots/requests", params={"name": "Talk"}, auth=administrator, timeout=PATIENCE
        ).text
    assert "records/modify" in page and "passed on to iCloud" in page and "shared" in page


def test_programs_with_the_host_compiled_in(stage):
    before = len(stage.recorder.exchanges)
    program = PYTHON.replace("iCloud.com.example.Fixed", CONTAINER)
    done = stage.place.run(sys.executable, "-c", program, REQUESTS_CA_BUNDLE=stage.place.authority)
    assert done.returncode == 0, done.stderr
    # The answers are the origin's: they name its host, not this one.
    assert all(HOST not in address for address in done.stdout.split())
    assert len(stage.recorder.exchanges) == before + 4
    if shutil.which("node"):
        done = stage.place.run("node", "-e", NODE.replace("iCloud.com.example.Fixed", CONTAINER), NODE_EXTRA_CA_CERTS=stage.place.authority)
        assert "zones" in json.loads(done.stdout), done.stderr
        assert len(stage.recorder.exchanges) == before + 5


def test_an_origin_over_tls(certificate):  # noqa: F811
    with RequiredServer("--auth", "open", "--protocol-only", "--tls-cert", str(certificate[0]), "--tls-key", str(certificate[1])) as origin:
        with proxy_to(origin.address, SKYLIGHT_TLS_CA=str(certificate[0])) as proxy:
            client = Client(Place(proxy))
            assert "zones" in client.ask("zones/list")
            client.close()
        with proxy_to(origin.address) as proxy:
            client = Client(Place(proxy))
            answer = client.ask("zones/list")
            assert client.last.status == 502 and "certificate is not trusted" in answer["reason"]
            client.close()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root, and unshare")
def test_the_proxy_as_it_is_started_for_icloud(tmp_path):
    """In a network namespace of its own, the origin has iCloud's name, port and TLS."""
    namespace = ["unshare", "--net", "--mount"]
    if subprocess.run([*namespace, "true"], capture_output=True).returncode != 0:
        pytest.skip("this system allows no namespaces")
    script = pathlib.Path(__file__).with_name("in_namespace.py")
    done = subprocess.run([*namespace, sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert all(address.startswith(f"https://{HOST}/") for address in said["direct"]), said
    # What was saved directly and what went through the proxy is in one place; other containers are the proxy's own.
    assert [record.get("serverErrorCode") for record in said["passed"]] == [None, None], said
    assert [record.get("serverErrorCode") for record in said["stored"]] == ["NOT_FOUND", None], said


def test_everything_else_is_answered_here(stage):
    client, before = stage.client(), len(stage.recorder.exchanges)
    other = ROOT.replace(CONTAINER, "iCloud.com.example.Here")
    assert "zones" in json.loads(client.send("POST", other + "zones/list", body=b"{}"))
    client.close()
    # Not the host that is stood in for.
    assert "zones" in requests.post(stage.proxy.address + ROOT + "zones/list", json={}, timeout=PATIENCE).json()
    assert len(stage.recorder.exchanges) == before
    assert [request.get("passedOn", False) for request in stage.noted()[-2:]] == [False, False]


def rehearse(stage, body):
    answer = requests.post(stage.proxy.address + "/skylight/1/rehearsals", json=body, auth=RequiredServer.administrator, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "name, status, code, item",
    [
        ("throttled", 429, "THROTTLED", None), ("try-again-later", 503, "TRY_AGAIN_LATER", None), ("zone-busy", 503, "ZONE_BUSY", None),
        ("conflict", 200, None, ["CONFLICT", "CONFLICT"]), ("quota-exceeded", 200, None, ["QUOTA_EXCEEDED", "QUOTA_EXCEEDED"]),
        # No item is passed on, so that the request is not half done.
        ("partial-failure", 200, None, ["TRY_AGAIN_LATER", "CONFLICT"]),
    ],
)
def test_a_rehearsal_answers_before_anything_is_passed_on(stage, name, status, code, item):
    client = stage.client()
    client.ask("zones/list")
    before = len(stage.recorder.exchanges)
    rehearse(stage, {"start": name, "count": 1, "container": CONTAINER})
    body = {"operations": [{"operationType": "forceUpdate", "record": note(f"r{number}")} for number in range(2)], "atomic": False}
    answer = client.ask("records/modify", **body)
    assert client.last.status == status and client.last.getheader("X-Skylight-Rehearsal") == name
    assert answer.get("serverErrorCode") == code
    if item:
        assert [record["serverErrorCode"] for record in answer["records"]] == item
    assert len(stage.recorder.exchanges) == before
    noted = stage.noted()[-1]
    assert noted["rehearsals"] == name and "passedOn" not in noted and noted["status"] == status
    # It was for one request, and this is the next.
    assert "serverErrorCode" not in client.ask("records/modify", **body) and client.last.getheader("X-Skylight-Rehearsal") is None
    assert len(stage.recorder.exchanges) == before + 1 and stage.noted()[-1]["passedOn"]
    client.close()


def test_a_dropped_connection_is_dropped_before_or_after(stage):
    for name, passed in [("dropped-before", 0), ("dropped-after", 1)]:
        client, before = stage.client(), len(stage.recorder.exchanges)
        with pytest.raises((http.client.HTTPException, ConnectionError, ssl.SSLError)):
            client.save(note(name), headers=[("X-Skylight-Rehearse", name)], zone="_defaultZone")
        client.close()
        assert len(stage.recorder.exchanges) == before + passed
    until(lambda: stage.noted()[-1].get("rehearsals") == "dropped-after" and stage.noted()[-1]["brokenOff"])
    # The header was for the proxy.
    assert all(name != "x-skylight-rehearse" for name, _ in stage.recorder.exchanges[-1].sent)


def test_a_token_expires_before_anything_is_passed_on(stage):
    client = stage.client()
    token = client.ask("changes/database")["syncToken"]
    for name, body in [("changes/database", {"syncToken": token}), ("changes/zone", {"zones": [{"zoneID": {"zoneName": "Notes"}, "syncToken": "AQID"}]})]:
        before = len(stage.recorder.exchanges)
        answer = client.ask(name, [("X-Skylight-Rehearse", "expired-token")], **body)
        assert client.last.getheader("X-Skylight-Rehearsal") == "expired-token" and len(stage.recorder.exchanges) == before
        item = answer["zones"][0] if name == "changes/zone" else answer
        assert item["reason"] == "client knowledge differs from server knowledge"
    # Without a token it is passed on.
    client.ask("changes/database", [("X-Skylight-Rehearse", "expired-token")])
    assert client.last.getheader("X-Skylight-Rehearsal") is None and stage.noted()[-1]["passedOn"]
    client.close()


def test_a_slow_answer_is_that_of_the_origin(stage):
    client, before = stage.client(), len(stage.recorder.exchanges)
    assert "zones" in client.ask("zones/list", [("X-Skylight-Rehearse", "slow")])
    assert client.last.getheader("X-Skylight-Rehearsal") == "slow" and len(stage.recorder.exchanges) == before + 1
    # A connection that was dropped before may be logged after it.
    [noted] = [request for request in stage.noted() if request.get("rehearsals") == "slow"]
    assert noted["passedOn"] and noted["operation"] == "zones/list"
    client.close()


def test_what_needs_a_store_can_not_be_rehearsed(stage):
    client, before = stage.client(), len(stage.recorder.exchanges)
    answer = client.ask("zones/list", [("X-Skylight-Rehearse", "pages-of-one")])
    assert client.last.status == 400 and "can't be rehearsed on a request that is passed on" in answer["reason"]
    assert len(stage.recorder.exchanges) == before
    client.close()


# What a hostile origin says, and what the client hears of it.
ENDINGS = {
    "nothing": b"",
    "noise": b"\x00\x01\x02\r\n\r\n",
    "half": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
    "chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "status": b"HTTP/1.1 700 Odd\r\nContent-Length: 2\r\n\r\n{}",
    "lie": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}",
}


# Bytes of an answer that must not be in memory.
HUGE = 256 << 20


class Hostile(Listener):
    """Says that it ends a connection after a whole answer: one that ended unannounced may be taken for the next request, which then fails."""

    def __init__(self):
        self.asked = []
        super().__init__()

    def answer(self, connection, method, target, headers, body):
        self.asked.append(target)
        word = target.rsplit("/", 1)[-1]
        if word in ENDINGS:
            connection.sendall(ENDINGS[word])
        elif word == "redirect":
            connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {self.address}/elsewhere\r\nContent-Length: 0\r\n\r\n".encode())
            return True
        elif word == "more":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")
        elif word == "mark":
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Skylight-Passed-On: never\r\nConnection: X-Gone, close\r\nX-Gone: 1\r\nContent-Length: 2\r\n\r\n{}")
        elif word == "long":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n" + bytes(3_000_000))
        elif word == "huge":
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % HUGE)
            part = bytes(1 << 20)
            for _ in range(HUGE // len(part)):
                connection.sendall(part)
        elif word == "items":
            # More items than were asked for, of no known form.
            items = b'{"records":[{"serverErrorCode":"ODD","reason":"odd"},{},{"recordName":7}],"moreComing":"no","syncToken":[]}'
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(items), items))
        return False


@pytest.fixture(scope="module")
def hostile():
    origin = Hostile()
    with proxy_to(origin.address) as proxy:
        yield Stage(proxy, origin)
    origin.close()


@pytest.mark.parametrize("word", ENDINGS)
def test_half_an_answer_is_one_error(hostile, word):
    client = hostile.client()
    answer = json.loads(client.send("POST", ROOT + "records/" + word, body=b"{}"))
    assert client.last.status == 502 and answer["serverErrorCode"] == "INTERNAL_ERROR"
    assert answer["reason"].startswith("CloudKit did not answer: ")
    noted = hostile.noted()[-1]
    assert noted["status"] == 502 and noted["passedOn"] and noted["error"]["reason"] == answer["reason"]
    # The connection still serves.
    client.send("POST", ROOT + "records/" + word, body=b"{}")
    client.close()


def test_a_long_answer_that_breaks_off_is_not_whole(hostile):
    client = hostile.client()
    with pytest.raises((http.client.IncompleteRead, ConnectionError, ssl.SSLError)):
        client.send("POST", ROOT + "records/long", body=b"{}")
    client.close()
    noted = until(lambda: [request for request in hostile.noted() if request["operation"].endswith("records/long")])[-1]
    assert noted["brokenOff"] and noted["bytesOut"] >= 1 << 20


def test_a_file_is_streamed(hostile):
    client, process = hostile.client(), f"/proc/{hostile.proxy.process.pid}/status"
    if not os.path.exists(process):
        pytest.skip("memory is read from /proc")

    def most():
        return int(pathlib.Path(process).read_text().split("VmHWM:")[1].split()[0]) << 10

    client.send("POST", ROOT + "records/query", body=b"{}")
    before = most()
    assert len(client.send("GET", ROOT + "records/huge")) == HUGE
    client.close()
    assert most() - before < 32 << 20
    assert hostile.noted()[-1]["bytesOut"] == HUGE


def test_a_redirect_is_an_answer_and_extra_bytes_are_none(hostile):
    client = hostile.client()
    assert client.send("POST", ROOT + "records/redirect", body=b"{}") == b"" and client.last.status == 302
    assert client.last.getheader("Location") == hostile.recorder.address + "/elsewhere"
    assert client.send("POST", ROOT + "records/more", body=b"{}") == b"{}"
    client.send("POST", ROOT + "records/odd|target", body=b"{}")
    assert client.last.status == 400
    client.send("POST", ROOT + "records/mark", body=b"{}")
    assert client.last.getheader("X-Skylight-Passed-On") is None and client.last.getheader("X-Gone") is None
    assert not any("elsewhere" in target for target in hostile.recorder.asked)
    for action in ("lookup", "modify", "query", "changes"):
        body = json.dumps({"records": [], "operations": [], "query": {"recordType": "T"}}).encode()
        assert b"ODD" in client.send("POST", ROOT + f"records/{action}?/items", body=body)
    client.close()


def test_an_origin_that_is_not_there(stage):
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    with proxy_to(f"http://127.0.0.1:{port}") as proxy:
        client = Client(Place(proxy))
        answer = client.ask("zones/list")
        assert client.last.status == 503 and answer["serverErrorCode"] == "TRY_AGAIN_LATER" and "refused" in answer["reason"]
        client.close()


def test_a_killed_proxy_saves_nothing_twice():
    """Each save is at the origin or was not answered. None got there twice."""
    with RequiredServer("--auth", "open", "--protocol-only") as origin:
        recorder = Recorder(origin.address)
        proxy = proxy_to(recorder.address)
        place, answered, unanswered, threads = Place(proxy), [], [], 4

        def save(thread):
            client = Client(place)
            for number in range(1000):
                name = f"k{thread}-{number}"
                try:
                    record = client.save(note(name), kind="create", zone="_defaultZone")[0]
                    assert record["recordName"] == name and "serverErrorCode" not in record, record
                    answered.append(name)
                except (http.client.HTTPException, ConnectionError, ssl.SSLError):
                    unanswered.append(name)
                    return

        workers = [threading.Thread(target=save, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        until(lambda: len(answered) > 60)
        os.kill(proxy.process.pid, signal.SIGKILL)
        for worker in workers:
            worker.join(PATIENCE)
        proxy.process.wait(PATIENCE)
        proxy.process.stdout.close()
        until(lambda: len(recorder.exchanges) == len(recorder.arrived))
        recorder.close()
        arrived = collections.Counter(json.loads(exchange.body)["operations"][0]["record"]["recordName"] for exchange in recorder.exchanges)
        assert len(unanswered) == threads and set(arrived.values()) == {1}
        assert set(answered) <= set(arrived) <= set(answered) | set(unanswered)
        records = [{"recordName": name} for name in answered[:200]]
        found = requests.post(origin.address + ROOT + "records/lookup", json={"records": records}, timeout=PATIENCE).json()["records"]
        assert all("serverErrorCode" not in record for record in found)


class Confiding(Listener):
    """Answers with secrets, as iCloud does."""

    def __init__(self):
        self.asked = []
        super().__init__()

    def answer(self, connection, method, target, headers, body):
        self.asked.append((method, target, dict(headers), body))
        word = target.split("?")[0].rsplit("/", 1)[-1]
        head, content = "200 OK", b'{"zones":[]}'
        if word == "create":
            content = b'{"apnsEnvironment":"development","apnsToken":"SECRET-apns","webcourierURL":"https://webcourier.push.apple.com/aps?tok=SECRET-courier"}'
        elif word == "caller":
            head, content = "421 Misdirected Request", (
                b'{"uuid":"u","serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"request needs authorization",'
                b'"redirectURL":"https://idmsa.apple.com/IDMSWebAuth/auth?oauth_token=SECRET-oauth"}'
            )
        connection.sendall(
            f"HTTP/1.1 {head}\r\nX-Apple-CloudKit-Web-Auth-Token: SECRET-next\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
        )
        return True


def test_a_sign_in_expires_as_the_origin_says_it():
    """The origin is asked for the current user, without the web auth token and without anything else of the request."""
    origin = Confiding()
    with proxy_to(origin.address) as proxy:
        stage = Stage(proxy, origin)
        client = stage.client()
        rehearse(stage, {"start": "sign-in-expired", "container": CONTAINER})
        # Only who is signed in can be signed out.
        client.send("POST", ROOT + "zones/list?ckAPIToken=a%2Bb", body=b"{}")
        assert client.last.status == 200 and len(origin.asked) == 1
        path = ROOT + "records/modify?ckAPIToken=a%2Bb&ckWebAuthToken=secret%2Bword"
        answer = json.loads(client.send("POST", path, [("Cookie", "secret"), ("Origin", "https://app.example")], b'{"operations":[]}'))
        assert client.last.status == 421 and client.last.getheader("X-Skylight-Rehearsal") == "sign-in-expired"
        assert answer["redirectURL"] == "https://idmsa.apple.com/IDMSWebAuth/auth?oauth_token=SECRET-oauth"
        method, target, headers, body = origin.asked[1]
        assert (method, target, body) == ("GET", f"/database/1/{CONTAINER}/development/public/users/caller?ckAPIToken=a%2Bb", b"")
        assert headers["Origin"] == "https://app.example" and "secret" not in str(headers)
        noted = stage.noted()[-1]
        assert (noted["status"], noted["operation"], noted["rehearsals"]) == (421, "records/modify", "sign-in-expired")
        client.send("POST", path, body=b'{"operations":[]}')
        assert client.last.status == 200 and origin.asked[2][1] == path
        client.close()
    origin.close()


def test_no_secret_is_kept():
    origin = Confiding()
    with proxy_to(origin.address, "--log-level", "trace") as proxy:
        stage = Stage(proxy, origin)
        client = stage.client()
        tokens = "?ckAPIToken=SECRET-api&ckWebAuthToken=SECRET%2Dweb&ckSession=SECRET-session"
        signed = [
            ("X-Apple-CloudKit-Request-KeyID", "SECRET-key"), ("X-Apple-CloudKit-Request-SignatureV1", "SECRET-signature"),
            ("X-Apple-CloudKit-Web-Auth-Token", "SECRET-header"), ("Cookie", "SECRET-cookie"), ("Authorization", "Basic SECRET-basic"),
        ]
        for path in (ROOT + "zones/list", ROOT + "users/caller", f"/device/1/{CONTAINER}/development/tokens/create", ROOT + "odd%20path"):
            assert b"{" in client.send("POST", path + tokens, signed, b"{}")
        assert b"SECRET-oauth" in client.exchanges[1].answer
        client.close()
        said = proxy.log
        # A conversation that is saved is one of the files below.
        pages = f"{proxy.address}/c/{CONTAINER}/development/private/snapshots/save"
        requests.post(pages, data={"name": "Talk", "requests": "on"}, auth=RequiredServer.administrator, timeout=PATIENCE)
        until(lambda: any(b"users/caller" in file.read_bytes() for file in proxy.data.rglob("requests.ndjson")))
        for request in stage.noted():
            said += json.dumps(stage.whole(request))
            page = f"{proxy.address}/c/{CONTAINER}/development/private/requests"
            for parameters in ({}, {"id": request["id"], "values": "1"}):
                said += requests.get(page, params=parameters, auth=RequiredServer.administrator, timeout=PATIENCE).text
        assert said.count("users/caller") and "hidden" in said
        for file in proxy.data.rglob("*"):
            if file.is_file():
                said += file.read_bytes().decode("latin-1")
        assert "SECRET" not in said, said[said.index("SECRET") - 200 :][:400]
    origin.close()


def test_the_options():
    def refused(*arguments):
        done = subprocess.run([binary(), "serve", "--ephemeral", *arguments], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 64, done
        return done.stderr

    assert "--origin belongs to --proxy" in refused("--origin", "http://127.0.0.1:9")
    assert "without TLS" in refused("--proxy", CONTAINER, "--origin", "http://icloud.example")
    assert "container" in refused("--proxy", "no container")
