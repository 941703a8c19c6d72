"""Extreme numbers in every parameter, form field, header and JSON member: none ends the server or is its fault.

The requests follow from the seed; only tokens and ids are the server's. SKYLIGHT_TIMES=28 sends more than 20,000, in two minutes. The printed
line has the statuses and the slowest answers. No time is a fault, because a busy machine takes any; a service that should not wait is read there.
"""

import collections
import copy
import heapq
import http.client
import http.server
import io
import json
import random
import re
import signal
import socket
import subprocess
import tarfile
import threading
import time
import urllib.parse

import demo_clients
import number_routes
import pytest
import requests
from number_routes import PLACE, Route
from chance import SEED, times
from server_binary import binary
from waiting import until

COUNT = times(750)
GREATEST = "9223372036854775807"
TEXTS = [
    "0", "-1", "2147483647", "2147483648", "4294967296", "9007199254740992", GREATEST, "-9223372036854775808", "9223372036854775808",
    "18446744073709551616", "1e308", "-1e308", "1e-308", "NaN", "Infinity", "", " 1", "+1", "1.0", "0x10", "１", "9" * 400,
]
VALUES = [
    0, -1, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), 2**63, 2**64, 10**400, 1e308, -1e308, 1e-308, 1.0, float("nan"), float("inf"), None, [], {},
    *TEXTS,
]
# Requests after which others find less to do. They come last.
DESTRUCTIVE = re.compile(
    r"delete|remove|purge|reset|revoke|leave|stop|take|rename|expire|unshare|restore|sweep|forget|password|sign-out|rehearsals|zones/modify|users/user")
BUSY = {"TRY_AGAIN_LATER", "ZONE_BUSY", "THROTTLED"}


class Server:
    """A server of its own, because a fault would end it. Requests go over one connection, so that they follow each other."""

    def __init__(self, *arguments):
        options = ["serve", "--ephemeral", "--port", "0", "--log-level", "error", "--throttle", "0", *arguments]
        self.process = subprocess.Popen([binary(), *options], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
        self.address = line.split()[-1]
        self.host = urllib.parse.urlsplit(self.address).netloc
        self.connection = None

    def ask(self, method, target, body=None, headers=None, timeout=60, is_endless=False):
        """The status and the body of an answer; None if there is none, because the service waits."""
        for _ in range(2):
            # A connection that the server has closed meanwhile is opened anew.
            is_new = self.connection is None
            if is_new:
                self.connection = http.client.HTTPConnection(self.host, timeout=timeout)
            try:
                if self.connection.sock:
                    self.connection.sock.settimeout(timeout)
                # The seed decides over rehearsals too, which let requests fail on purpose.
                self.connection.request(method, target, body, {"X-Skylight-Rehearse": "none", **(headers or {})})
                answer = self.connection.getresponse()
                text = b"" if is_endless else answer.read()
                if is_endless or answer.will_close:
                    self.close()
                return answer.status, text, answer.headers
            except TimeoutError:
                self.close()
                return None
            except (ConnectionError, http.client.HTTPException):
                self.close()
                if is_new:
                    raise
        raise ConnectionError(f"{method} {target} has no answer")

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def end(self):
        self.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(timeout=60) == 0, "The server did not end as it should"


class Refusal(http.server.BaseHTTPRequestHandler):
    """The stand-in for iCloud. It refuses every request, with numbers as large as they get."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.dumps({"serverErrorCode": "AUTHENTICATION_FAILED", "reason": "This is no iCloud", "retryAfter": 2**63}).encode()
        self.send_response(401)
        for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("Retry-After", GREATEST)):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        """Says nothing."""


@pytest.fixture
def icloud(monkeypatch):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        for name in ("server", "address"):
            monkeypatch.setitem(number_routes.KNOWN, name, f"http://127.0.0.1:{listener.server_port}")
        yield
        listener.shutdown()


@pytest.fixture
def server():
    server = Server("--demo")
    demo_clients.wait_until_they_have_asked(server.address)
    yield server
    server.end()


@pytest.fixture
def empty_server():
    server = Server()
    yield server
    server.end()


# Requests


class Case:
    """A request with some values replaced."""

    def __init__(self, route, target, body=None, headers=None, what=""):
        self.route, self.target, self.body, self.headers, self.what = route, target, body, headers or {}, what

    def __str__(self):
        shown = self.body if isinstance(self.body, str) else (self.body or b"").decode("utf-8", "replace")
        return f"{self.route.method} {self.target[:600]} {json.dumps(self.headers)} {shown[:600]}"

    @property
    def is_destructive(self):
        return self.route.method != "GET" and bool(DESTRUCTIVE.search(self.route.path))


def encoded(fields):
    return urllib.parse.urlencode(fields, encoding="utf-8", errors="surrogatepass")


def sent(route, fields, headers=None):
    """The request of a page, a form, or a service with parameters."""
    if route.method == "GET" or route.body is not None:
        target = f"{route.path}?{encoded(fields)}" if fields else route.path
        body = None if route.body is None else json.dumps(route.body)
        return Case(route, target, body, {**({"Content-Type": "application/json"} if body else {}), **(headers or {})})
    # What the form lacks may be read from its address, too.
    address = [(name, value) for name, value in fields if name in route.address or name not in route.names]
    target = f"{route.path}?{encoded(address)}" if address else route.path
    if route.is_multipart:
        parts = "".join(f'--b0undary\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields if name != "file")
        head = '--b0undary\r\nContent-Disposition: form-data; name="file"; filename="rows.csv"'
        parts += "".join(f"{head}\r\n\r\nid,number\r\na,{value}\r\n\r\n" for name, value in fields if name == "file")
        headers = {"Content-Type": "multipart/form-data; boundary=b0undary", **(headers or {})}
        return Case(route, target, (parts + "--b0undary--\r\n").encode(), headers)
    headers = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
    return Case(route, target, encoded(fields), headers)


def with_value(fields, name, value):
    """The fields with another value of one, which may be missing yet."""
    if not any(known == name for known, _ in fields):
        return [*fields, (name, value)]
    return [(known, value if known == name else old) for known, old in fields]


def leaves(value, path=()):
    """The ways to all values in a body, and to its objects and arrays."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from leaves(part, (*path, key))


def replaced(body, path, value):
    body = copy.deepcopy(body)
    place = body
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return body


def cases(routes, numbers, headers, chance):
    """Requests to one kind of route, without end: each value in each place, then several at once."""
    def fields_with(route, changes):
        fields = route.fields
        for name, value in changes:
            fields = with_value(fields, name, value) if name not in number_routes.FIXED else fields
        return fields

    def bodied(route, changes):
        body = route.body
        for path, value in changes:
            body = replaced(body, path, value) if path[-1] not in number_routes.FIXED else body
        case = sent(Route(route.method, route.path, route.fields, body, is_endless=route.is_endless), route.fields)
        case.route = route
        return case

    # The most dangerous number first, in each parameter that is read as a number.
    for route in routes:
        if route.body is None:
            yield sent(route, fields_with(route, [(name, GREATEST) for name in numbers]))
        elif not isinstance(route.body, str):
            ways = [path for path in leaves(route.body) if isinstance(number_at(route.body, path), (int, float))]
            yield bodied(route, [(path, 2**63 - 1) for path in ways])
    single = []
    for index, route in enumerate(routes):
        names = [name for name in route.names if name not in number_routes.FIXED]
        single += [(index, "field", name, value) for name in names for value in TEXTS]
        if route.body is None:
            single += [(index, "numbers", None, value) for value in TEXTS]
        elif not isinstance(route.body, str):
            single += [(index, "body", path, value) for path in leaves(route.body) if path[-1] not in number_routes.FIXED for value in VALUES]
        single += [(index, "doubled", name, None) for name in names] + [(index, "header", pair, value) for pair in headers for value in TEXTS]
    chance.shuffle(single)
    # Headers are the same for every route, so they are few among the first ones.
    single.sort(key=lambda item: item[1] == "header" and chance.random() < 0.9)
    for index, way, place, value in single:
        route = routes[index]
        match way:
            case "field": yield sent(route, fields_with(route, [(place, value)]))
            case "numbers": yield sent(route, fields_with(route, [(name, value) for name in numbers]))
            case "body": yield bodied(route, [(place, value)])
            case "doubled":
                one, other = chance.choices(TEXTS, k=2)
                yield sent(route, [*fields_with(route, [(place, one)]), (place, other), (f"{place}[]", one), (f"{place}[0]", other)])
            case "header":
                if value.isascii() and (value or place[1] != "{}"):
                    yield sent(route, route.fields, {place[0]: place[1].format(value)})
    while True:
        route = chance.choice(routes)
        if isinstance(route.body, (dict, list)) and list(leaves(route.body)) and chance.random() < 0.8:
            ways = [path for path in leaves(route.body) if not isinstance(number_at(route.body, path), (dict, list))] or list(leaves(route.body))
            yield bodied(route, [(path, chance.choice(VALUES)) for path in chance.sample(ways, min(len(ways), chance.randint(1, 4)))])
        else:
            names = [*route.names, *numbers]
            yield sent(route, fields_with(route, [(name, chance.choice(TEXTS)) for name in chance.sample(names, min(len(names), chance.randint(1, 5)))]))


def number_at(body, path):
    for key in path:
        body = body[key]
    return body


def known_values(server):
    """Tokens and names that make sense to the server."""
    root = "/iCloud.com.example.Chat/development/private"
    def post(path, body):
        return requests.post(f"{server.address}{path}", json=body, timeout=60).json()

    token = requests.get(f"{server.address}/skylight/1{root}/token/current", params={"zone": "Chats"}, timeout=60).json()["syncToken"]
    page = post(f"/database/1{root}/records/query", {"query": {"recordType": "Message"}, "zoneID": {"zoneName": "Chats"}, "resultsLimit": 1})
    meta = post(f"/database/1{root}/zones/changes", {})["metaSyncToken"]
    journal = post(f"/skylight/1{root}/records/journal", {"recordName": "Room/general", "zoneID": {"zoneName": "Chats"}})
    record = page["records"][0]
    return {
        "syncToken": token, "since": token, "token": token, "metaSyncToken": meta, "continuationMarker": page.get("continuationMarker", ""),
        "recordName": record["recordName"], "recordChangeTag": record["recordChangeTag"], "position": journal["changes"][0]["position"],
        "userRecordName": record["created"]["userRecordName"],
    }


def plan(server, chance):
    """The requests in their order, which destroy nothing before others have asked for it."""
    document = json.loads(server.ask("GET", "/openapi.json")[1])
    routes = number_routes.pages(lambda url: page(server, url))
    found = len(routes)
    for route in number_routes.declared():
        routes.add(route)
    for route in number_routes.services(document, known_values(server)):
        routes.add(route)
    numbers, headers = number_routes.numbers(), number_routes.headers()
    assert {"page", "limit", "before", "after", "index"} <= set(numbers), numbers
    assert found > 90 and len(routes) > 250, (found, len(routes))
    made = [cases(alike, numbers, headers, random.Random(f"{SEED} {alike[0].key}")) for alike in routes]
    chosen = []
    while len(chosen) < COUNT:
        chosen += [next(case) for case in made]
    chance.shuffle(chosen)
    chosen.sort(key=lambda case: (case.route.method != "GET", case.is_destructive))
    return chosen, routes


def page(server, url):
    status, body, headers = server.ask("GET", url)
    assert status < 500, (url, status)
    return headers.get("Content-Type", "") if status == 200 else "", body.decode("utf-8", "replace")


def waits(case):
    """True for the services that are documented to wait for a change."""
    return case.route.is_endless or "wait" in case.route.names or "keyvalues/changes" in case.route.path


def fault(server, case, statuses):
    """What is wrong with the answer to a request; None if nothing is. The answer's status is counted."""
    try:
        answer = server.ask(
            case.route.method, case.target, case.body, case.headers, timeout=1 if waits(case) else 600, is_endless=case.route.is_endless)
    except (ConnectionError, http.client.HTTPException) as error:
        # The process may end a moment after its connections.
        time_left = time.monotonic() + 2
        while server.process.poll() is None and time.monotonic() < time_left:
            server.process.poll()
        return f"the server ended with status {server.process.poll()}" if server.process.poll() is not None else f"no answer: {error!r}"
    if answer is None:
        return None if waits(case) else "no answer in ten minutes"
    status, body, _ = answer
    statuses[status] += 1
    if status >= 500 and not (status == 503 and any(code.encode() in body for code in BUSY)):
        return f"status {status}: {body[:500]!r}"
    return None


# Tests


def test_extreme_numbers_end_nothing(server, icloud):
    chosen, routes = plan(server, random.Random(SEED))
    faults, methods, statuses, slowest = [], collections.Counter(), collections.Counter(), []
    for number, case in enumerate(chosen):
        begun = time.monotonic()
        found = fault(server, case, statuses)
        if not waits(case):
            slowest = heapq.nlargest(5, [*slowest, (round(time.monotonic() - begun, 2), f"{case.route.method} {case.route.path}")])
        methods[case.route.method] += 1
        if found:
            faults.append(f"{found}\n  {case}")
        if server.process.poll() is not None or len(faults) >= 20:
            break
    print(json.dumps({"seed": SEED, "requests": number + 1, "routes": len(routes), **methods, "statuses": sorted(statuses.items()), "slowest": slowest}))
    assert not faults, f"seed {SEED}, {len(faults)} faults:\n" + "\n".join(faults)
    assert server.ask("GET", "/health")[0] == 200 and server.ask("GET", "/")[0] == 200


def test_bodies_of_any_declared_length_are_answered_or_refused(empty_server):
    """The parser of HTTP refuses most of them. Those with a length that never comes are given up by the client."""
    for number in TEXTS:
        for target in ("/database/1/iCloud.com.example.X/development/private/zones/list", "/containers", "/skylight/1/rehearsals"):
            with socket.create_connection(empty_server.host.split(":"), timeout=60) as line:
                head = f"POST {target} HTTP/1.1\r\nHost: {empty_server.host}\r\nContent-Type: application/json\r\nContent-Length: {number}\r\n\r\n"
                try:
                    line.sendall(head.encode() + b"{}")
                    line.shutdown(socket.SHUT_WR)
                    answer = line.recv(1 << 16)
                except ConnectionError:
                    # A refusal without reading the body may reset the connection.
                    answer = b""
            assert not re.match(rb"HTTP/1.1 5", answer), answer
            assert empty_server.process.poll() is None, (target, number)
    assert empty_server.ask("GET", "/health")[0] == 200


def shared_file(server):
    answer = requests.get(f"{server.address}{PLACE}/snapshots/file", params={"name": "Counted"}, timeout=60)
    return answer if "tar" in answer.headers["Content-Type"] else None


def test_the_counts_of_a_shared_snapshot_may_be_any(server):
    """Snapshots come from other people. The page that lists them would end the server at every visit."""
    assert requests.post(f"{server.address}{PLACE}/snapshots/save", data={"name": "Counted"}, timeout=60).status_code == 200
    # The snapshot is saved in the background, and has no file until it is complete.
    file = until(lambda: shared_file(server))
    doctored = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(file.content)) as old, tarfile.open(fileobj=doctored, mode="w", format=tarfile.USTAR_FORMAT) as new:
        for member in old:
            content = old.extractfile(member).read()
            if member.name.endswith("snapshot.json"):
                manifest = json.loads(content)
                manifest["name"], manifest["records"] = "Doctored", {"Message": 2**63 - 1, "Person": 2**63 - 1}
                manifest["assets"] = dict.fromkeys(manifest["assets"], 2**63 - 1)
                content = json.dumps(manifest).encode()
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    added = requests.post(f"{server.address}{PLACE}/snapshots/import", files={"file": ("shared.tar", doctored.getvalue())}, timeout=60)
    assert added.status_code == 200 and "Doctored" in added.text
    assert server.process.poll() is None
    deletion = requests.get(f"{server.address}{PLACE}/snapshots/delete", params={"name": "Doctored"}, timeout=60)
    assert "9,223,372,036,854,775,807 records" in deletion.text
