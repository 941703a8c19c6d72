"""Rehearsals over HTTP: asked for by a header, the service and the command, what fails and what names itself (docs/rehearsals.md).

What each fault does to pages, queries and saves is the matter of the suites in Tests/RecordStoreTests/FaultInjection, and what correct clients make of
it that of CloudKitClientTests and RemoteRecordsTests.
"""

import concurrent.futures
import http.client
import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from server_binary import binary
from waiting import until

CONTAINER = "iCloud.com.example.Rehearsed"
NOTIFICATIONS = [
    "lost-notifications", "late-notifications", "doubled-notifications", "shuffled-notifications", "coalesced-notifications", "own-notifications",
]
READINGS = ["pages-of-one", "empty-pages", "children-first", "lagging-index", "deleted-zone-changed", "slow", *NOTIFICATIONS]
FAILURES = [
    "throttled", "expired-token", "zone-busy", "conflict", "quota-exceeded", "partial-failure", "sign-in-expired", "asset-gone", "try-again-later",
    "dropped-before", "dropped-after",
]
HOWS = ["header", "service", "command"]
ACTS = ["expire-tokens", "purge-zone", "reset-zone"]


class Failed(Exception):
    """An error answer."""

    def __init__(self, status, body, headers):
        super().__init__(f"{status} {body}")
        self.status, self.code, self.reason = status, body.get("serverErrorCode"), body.get("reason", "")
        self.retry_after, self.headers = body.get("retryAfter"), headers


class Client:
    """A plain client with its own zone: one request, one answer."""

    def __init__(self, server, zone, header=None, **headers):
        self.address, self.zone = server, zone
        self.headers = {"Content-Type": "text/plain", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if header:
            self.headers["X-Skylight-Rehearse"] = header
        self.shaped = None

    def send(self, path, body=None):
        host = urllib.parse.urlsplit(self.address).netloc
        connection = http.client.HTTPConnection(host, timeout=60)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request("GET" if data is None else "POST", path, data, self.headers)
            answer = connection.getresponse()
            text = answer.read()
            self.shaped = answer.headers.get("X-Skylight-Rehearsal")
            if answer.status != 200:
                raise Failed(answer.status, json.loads(text), answer.headers)
            return json.loads(text)
        finally:
            connection.close()

    def ask(self, action, **body):
        return self.send(f"/database/1/{CONTAINER}/development/private/{action}", body)

    def zones(self, operation, zone=None):
        answer = self.ask("zones/modify", operations=[{"operationType": operation, "zone": {"zoneID": {"zoneName": zone or self.zone}}}])
        assert "serverErrorCode" not in answer["zones"][0], answer
        return answer

    def save(self, *names, parent=None, **fields):
        records = [{"recordName": name, "recordType": "Item", "fields": {key: {"value": value} for key, value in fields.items()}} for name in names]
        if parent:
            records = [record | {"parent": {"recordName": parent}} for record in records]
        operations = [{"operationType": "forceUpdate", "record": record} for record in records]
        return self.ask("records/modify", zoneID={"zoneName": self.zone}, operations=operations)["records"]

    def lookup(self, *names):
        answer = self.ask("records/lookup", zoneID={"zoneName": self.zone}, records=[{"recordName": name} for name in names])
        return [record.get("recordName") if "serverErrorCode" not in record else None for record in answer["records"]]

    def changes(self, token=None):
        zone = {"zoneID": {"zoneName": self.zone}, **({"syncToken": token} if token else {})}
        item = self.ask("changes/zone", zones=[zone])["zones"][0]
        if "serverErrorCode" in item:
            raise Failed(200, item, {})
        return item

    def pages(self):
        """The names of the records of each page of a pull."""
        pages, token, more = [], None, True
        while more:
            page = self.changes(token)
            pages.append([record["recordName"] for record in page["records"]])
            token, more = page["syncToken"], page["moreComing"]
            assert len(pages) < 500, "the pull does not end"
        return pages

    def database(self, token=None):
        return self.ask("changes/database", **({"syncToken": token} if token else {}))


def rehearsals(server, **body):
    """The fault injection service: the list, or the answer to a start or stop."""
    return Client(server, "").send("/skylight/1/rehearsals", body or None)


def start(server, name, count=None, **place):
    return rehearsals(server, start=name, container=CONTAINER, **({"count": count} if count else {}), **place)


def skylight(*arguments, status=0):
    result = subprocess.run([binary(), *arguments], capture_output=True, text=True, timeout=60)
    assert result.returncode == status, (arguments, result.stdout, result.stderr)
    return result.stdout if status == 0 else result.stderr


@pytest.fixture(autouse=True)
def nothing_is_on(server):
    rehearsals(server, stop="all")
    yield
    rehearsals(server, stop="all")


def begin(server, how, name, zone=None, count=None):
    """Starts a fault for all clients, as often as `count` says, or makes a client that asks for it in each request."""
    if how == "service":
        start(server, name, count, **({"zone": zone} if zone else {}))
    elif how == "command":
        place = ["--zone", zone] if zone else []
        skylight("rehearse", "start", f"{name}={count}" if count else name, "--url", server, "--container", CONTAINER, *place)
    return Client(server, zone, header=name if how == "header" else None)


def made(server, zone, *names):
    """A client without faults, and its zone with records of rank 0, 1, 2…"""
    client = Client(server, zone)
    client.zones("create")
    for rank, name in enumerate(names):
        assert "serverErrorCode" not in client.save(name, rank=rank)[0]
    return client


def indexed(server, zone):
    client = made(server, zone, "a")
    for index in ["___recordID:QUERYABLE", "rank:SORTABLE"]:
        form = urllib.parse.urlencode({"type": "Item", "add": index}).encode()
        urllib.request.urlopen(f"{server}/c/{CONTAINER}/development/private/type/indexes", form).read()
    return client


def family(server, zone):
    """A zone whose feed has a parent before its child. The first save of a child changes its parent, too."""
    client = made(server, zone, "parent")
    for _ in range(2):
        client.save("child", parent="parent")


# Reading


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    ("name", "pages"),
    [("pages-of-one", [["parent"], ["child"]]), ("empty-pages", [[], ["parent", "child"]]), ("children-first", [["child", "parent"]])],
)
def test_a_pull_is_shaped_and_says_so(server, how, name, pages):
    zone = f"{name}-{how}"
    family(server, zone)
    client = begin(server, how, name, zone)
    assert client.pages() == pages and client.shaped == name


@pytest.mark.parametrize("how", HOWS)
def test_a_deleted_zone_is_listed_as_changed(server, how):
    plain = made(server, f"Ghost-{how}")
    token = plain.database()["syncToken"]
    plain.zones("delete")
    client = begin(server, how, "deleted-zone-changed")
    [listed] = client.database(token)["zones"]
    assert listed["zoneID"]["zoneName"] == plain.zone and "deleted" not in listed and client.shaped == "deleted-zone-changed"


def test_playback_rehearses_as_well(server):
    family(server, "Streams")

    def playback(asked):
        query = urllib.parse.urlencode({"zone": "Streams", "skylightRehearse": asked})
        with urllib.request.urlopen(f"{server}/skylight/1/{CONTAINER}/development/private/changes/playback?{query}") as answer:
            lines = [json.loads(line) for line in answer]
        return answer.headers["X-Skylight-Rehearsal"], [line["record"]["recordName"] for line in lines if "change" in line]

    assert playback("children-first,empty-pages") == ("empty-pages, children-first", ["child", "parent"])
    start(server, "children-first")
    assert playback("none") == (None, ["parent", "child"])


# Failing


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    ("name", "status", "code", "pause"),
    [
        ("throttled", 429, "THROTTLED", 2), ("zone-busy", 503, "ZONE_BUSY", 2), ("try-again-later", 503, "TRY_AGAIN_LATER", None),
        ("sign-in-expired", 421, "AUTHENTICATION_REQUIRED", None),
    ],
)
def test_requests_are_refused(server, how, name, status, code, pause):
    zone = f"{name}-{how}"
    plain = made(server, zone, "a")
    client = begin(server, how, name, zone, 2)
    for request in [lambda: client.lookup("a"), lambda: client.save("b")]:
        with pytest.raises(Failed) as failed:
            request()
        assert (failed.value.status, failed.value.code, failed.value.retry_after) == (status, code, pause)
        assert failed.value.headers["Retry-After"] == (pause and str(pause)) and client.shaped == name
    # Two requests were to fail, and they changed nothing.
    assert plain.lookup("a", "b") == ["a", None] and rehearsals(server)["on"] == []


def test_a_busy_zone_is_an_item_in_changes_zone(server):
    made(server, "Busy", "a"), made(server, "Idle", "b")
    start(server, "zone-busy", 1, zone="Busy")
    zones = Client(server, "").ask("changes/zone", zones=[{"zoneID": {"zoneName": zone}} for zone in ["Busy", "Idle"]])["zones"]
    assert zones[0]["serverErrorCode"] == "ZONE_BUSY" and zones[0]["retryAfter"] == 2
    assert [record["recordName"] for record in zones[1]["records"]] == ["b"]


@pytest.mark.parametrize("how", HOWS)
def test_a_token_expires_for_a_while(server, how):
    zone = f"expired-{how}"
    plain = made(server, zone, "a")
    token = plain.changes()["syncToken"]
    client = begin(server, how, "expired-token", zone, 2)
    # Without a token a pull works, and does not count.
    assert client.changes()["records"] and client.shaped is None
    for _ in range(2):
        with pytest.raises(Failed) as failed:
            client.changes(token)
        assert (failed.value.code, failed.value.reason) == ("BAD_REQUEST", "client knowledge differs from server knowledge")
        assert client.shaped == "expired-token"
    # The token was good all the time.
    assert plain.changes(token)["records"] == []


def test_an_answer_is_late_but_the_save_is_not(server):
    plain = made(server, "slow")
    client = Client(server, "slow", header="slow")
    with concurrent.futures.ThreadPoolExecutor() as threads:
        saved = threads.submit(client.save, "a")
        until(lambda: plain.lookup("a") == ["a"])
        [record] = saved.result()
    late = time.time() - record["modified"]["timestamp"] / 1000
    assert record["recordName"] == "a" and client.shaped == "slow"
    # Five seconds, and a bit for a clock that is set meanwhile.
    assert late > 4.9


@pytest.mark.parametrize("header", ["X_Skylight_Client", "X_Skylight_Device", "User_Agent"])
@pytest.mark.parametrize("how", ["service", "command"])
def test_one_client_alone_fails(server, how, header):
    zone = f"of-{header}-{how}"
    plain, client = made(server, zone, "a"), Client(server, zone, **{header: "Tablet/1 (x)"})
    if how == "service":
        start(server, "throttled", 2, client="Tablet/1 (x)", minutes=5)
    else:
        said = skylight(
            "rehearse", "start", "throttled=2", "--client", "Tablet/1 (x)", "--minutes", "5", "--url", server, "--container", CONTAINER
        )
        assert f"on: throttled in {CONTAINER}, client Tablet/1 (x), 2 more times, until 20" in said
    [on] = rehearsals(server)["on"]
    assert on["client"] == "Tablet/1 (x)" and on["until"] == on["since"] + 300_000
    for _ in range(2):
        assert plain.lookup("a") == ["a"] and plain.shaped is None
        with pytest.raises(Failed) as failed:
            client.lookup("a")
        assert failed.value.code == "THROTTLED"
    assert client.lookup("a") == ["a"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("name", "code"), [("conflict", "CONFLICT"), ("quota-exceeded", "QUOTA_EXCEEDED")])
def test_a_save_fails(server, how, name, code):
    zone = f"{name}-{how}"
    plain = made(server, zone)
    client = begin(server, how, name, zone, 2)
    for record in ["a", "b"]:
        assert [item["serverErrorCode"] for item in client.save(record)] == [code] and client.shaped == name
    assert plain.lookup("a", "b") == [None, None] and rehearsals(server)["on"] == []


@pytest.mark.parametrize("how", HOWS)
def test_some_items_of_a_batch_fail(server, how):
    zone = f"partial-{how}"
    plain = made(server, zone)
    if how == "service":
        [on] = start(server, "partial-failure", 2, zone=zone, every=3, code="ZONE_BUSY")["on"]
        assert (on["count"], on["every"], on["code"]) == (2, 3, "ZONE_BUSY")
    elif how == "command":
        skylight(
            "rehearse", "start", "partial-failure", "--count", "2", "--every", "3", "--code", "ZONE_BUSY", "--url", server, "--container", CONTAINER,
            "--zone", zone,
        )
        assert skylight("rehearse", "list", "--url", server).rstrip().endswith("2 more times")
    client = Client(server, zone, header="pages-of-one, partial-failure;every=3;code=ZONE_BUSY" if how == "header" else None)
    operations = [{"operationType": "forceUpdate", "record": {"recordName": name, "recordType": "Item"}} for name in "abcd"]
    expected = [None, None, "ZONE_BUSY", None]
    answers = client.ask("records/modify", zoneID={"zoneName": zone}, operations=operations, atomic=False)["records"]
    assert [record.get("serverErrorCode") for record in answers] == expected and client.shaped == "partial-failure"
    assert answers[2]["retryAfter"] == 2 and plain.lookup(*"abcd") == ["a", "b", None, "d"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", ["dropped-before", "dropped-after"])
def test_the_connection_is_dropped(server, how, name):
    zone = f"{name}-{how}"
    plain = made(server, zone, "a")
    client = begin(server, how, name, zone, 2)
    for request in [lambda: client.save("b", text="x" * 100_000), lambda: client.lookup("a")]:
        with pytest.raises(http.client.RemoteDisconnected):
            request()
    assert plain.lookup("a", "b") == ["a", "b" if name == "dropped-after" else None]


def test_a_zone_is_found_wherever_a_request_names_it(server):
    plain, other = indexed(server, "Reach"), made(server, "Reach-other", "a")
    token = plain.changes()["syncToken"]
    zone, query = {"zoneName": "Reach"}, {"recordType": "Item"}
    record = {"recordName": "a", "recordType": "Item"}
    concerned = [
        ("records/query", {"query": query, "zoneID": zone}), ("records/query", {"query": query, "zoneWide": True}),
        ("records/lookup", {"zoneID": zone, "records": [{"recordName": "a"}]}), ("records/lookup", {"records": [{"recordName": "a", "zoneID": zone}]}),
        ("records/modify", {"operations": [{"operationType": "forceUpdate", "record": {**record, "zoneID": zone}}]}),
        ("records/changes", {"zoneID": zone, "syncToken": token}), ("changes/zone", {"zones": [{"zoneID": {"zoneName": "Reach-other"}}, {"zoneID": zone}]}),
        ("zones/lookup", {"zones": [zone]}), ("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": zone}}]}),
    ]
    not_concerned = [
        ("records/query", {"query": query}), ("records/lookup", {"records": [{"recordName": "a"}]}), ("changes/database", {}), ("zones/list", {}),
        ("records/modify", {"zoneID": {"zoneName": "Reach-other"}, "operations": [{"operationType": "forceUpdate", "record": record}]}),
        ("changes/zone", {"zones": [{"zoneID": {"zoneName": "Reach-other"}}]}),
    ]
    start(server, "throttled", 1000, zone="Reach")
    for action, body in concerned:
        with pytest.raises(Failed) as failed:
            plain.ask(action, **body)
        assert failed.value.code == "THROTTLED", action
    for action, body in not_concerned:
        other.ask(action, **body)
    # A request without a zone means the default zone.
    start(server, "throttled", 1000, zone="_defaultZone")
    for action, body in not_concerned[:2]:
        with pytest.raises(Failed):
            plain.ask(action, **body)
    for path in ["token/current", "changes/playback"]:
        with pytest.raises(Failed) as failed:
            plain.send(f"/skylight/1/{CONTAINER}/development/private/{path}?zone=Reach")
        assert failed.value.code == "THROTTLED"
    plain.send(f"/skylight/1/{CONTAINER}/development/private/token/current?zone=Reach-other")
    assert [item["count"] for item in rehearsals(server)["on"]] == [1000 - len(concerned) - 2, 998]


def test_counts_are_exact_when_many_ask_at_once(server):
    plain = made(server, "Crowd", "a")
    start(server, "throttled", 50, zone="Crowd")

    def ask(_):
        try:
            return plain.lookup("a") and "answered"
        except Failed as failure:
            return failure.code

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(200)))
    assert answers.count("THROTTLED") == 50 and answers.count("answered") == 150
    assert rehearsals(server)["on"] == []


# Acts


def act(server, how, name, **place):
    if how == "service":
        answer = rehearsals(server, start=name, container=CONTAINER, **place)
        assert answer["done"] == name
    else:
        zone = ["--zone", place["zone"]] if "zone" in place else []
        said = skylight("rehearse", "start", name, "--url", server, "--container", CONTAINER, *zone, "--yes")
        assert said.startswith("Done: ")


@pytest.mark.parametrize("how", ["service", "command"])
def test_what_happens_once(server, how):
    plain = made(server, "Once" + how, "a")
    token = plain.changes()["syncToken"]
    act(server, how, "expire-tokens")
    with pytest.raises(Failed) as failed:
        plain.changes(token)
    assert failed.value.reason == "client knowledge differs from server knowledge"
    act(server, how, "reset-zone", zone=plain.zone)
    assert plain.changes()["records"] == []
    act(server, how, "purge-zone", zone=plain.zone)
    with pytest.raises(Failed) as failed:
        plain.changes()
    assert failed.value.code == "ZONE_NOT_FOUND"


# The service and the command


def test_the_list_says_what_there_is_and_what_is_on(server):
    listed = rehearsals(server)
    assert [item["name"] for item in listed["rehearsals"]] == ACTS + READINGS + FAILURES
    assert {item["kind"] for item in listed["rehearsals"]} == {"act", "reading", "failure"}
    assert all(item["effect"] and item["advice"] for item in listed["rehearsals"])
    assert listed["on"] == []
    begun = start(server, "throttled", 3, environment="development", database="private", zone="Nowhere")
    assert begun["started"] == "throttled=3"
    on = rehearsals(server)["on"]
    assert len(on) == 1 and on[0].pop("since") > 1_600_000_000_000
    assert on[0] == {
        "rehearsal": "throttled", "count": 3, "container": CONTAINER, "environment": "development", "database": "private", "zone": "Nowhere",
    }
    start(server, "pages-of-one")
    assert rehearsals(server, stop="throttled")["stopped"] == 1
    assert [item["rehearsal"] for item in rehearsals(server)["on"]] == ["pages-of-one"]
    assert rehearsals(server, stop="pages-of-one", container="iCloud.com.example.Other")["stopped"] == 0
    assert rehearsals(server, stop="all") == {"stopped": 1, "on": []}


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        ({"start": "nothing"}, "BAD_REQUEST", "There is no rehearsal 'nothing'; choose one of expire-tokens"),
        ({"stop": "nothing"}, "BAD_REQUEST", "There is no rehearsal 'nothing'"),
        ({"count": 3}, "BAD_REQUEST", "Expected either 'start' or 'stop'"),
        ({"start": "throttled", "stop": "all"}, "BAD_REQUEST", "Expected either 'start' or 'stop'"),
        ({"start": 1}, "BAD_REQUEST", "Expected 'start' to be a string"),
        ({"start": "throttled", "count": 0}, "BAD_REQUEST", "from 1 to 1000000"),
        ({"start": "throttled", "count": 1.5}, "BAD_REQUEST", "Expected 'count' to be a whole number"),
        ({"start": "throttled", "count": 10**18}, "BAD_REQUEST", "from 1 to 1000000"),
        ({"start": "pages-of-one", "count": 3}, "BAD_REQUEST", "takes no count"),
        ({"start": "throttled", "every": 3}, "BAD_REQUEST", "takes no 'every' and no 'code'"),
        ({"start": "partial-failure", "every": 0}, "BAD_REQUEST", "from 1 to 200"),
        ({"start": "partial-failure", "every": 10**18}, "BAD_REQUEST", "from 1 to 200"),
        ({"start": "partial-failure", "every": "3"}, "BAD_REQUEST", "Expected 'every' to be a whole number"),
        ({"start": "partial-failure", "code": "NONE"}, "BAD_REQUEST", "choose one of CONFLICT, ACCESS_DENIED"),
        ({"start": "asset-gone", "zone": "Notes"}, "BAD_REQUEST", "takes no database and no zone"),
        ({"start": "pages-of-one", "user": "ada"}, "BAD_REQUEST", "takes no user"),
        ({"start": "lost-notifications", "client": "x"}, "BAD_REQUEST", "takes no client"),
        ({"start": "slow", "count": 2}, "BAD_REQUEST", "takes no count"),
        ({"start": "slow", "minutes": 0}, "BAD_REQUEST", "'minutes' is a whole number from 1 to 10080"),
        ({"start": "slow", "minutes": 10**18}, "BAD_REQUEST", "from 1 to 10080"),
        ({"start": "slow", "minutes": "5"}, "BAD_REQUEST", "Expected 'minutes' to be a whole number"),
        ({"start": "throttled", "container": "x"}, "BAD_REQUEST", "Expected 'container'"),
        ({"start": "throttled", "environment": "x"}, "BAD_REQUEST", "Expected 'environment'"),
        ({"start": "throttled", "database": "x"}, "BAD_REQUEST", "Expected 'database'"),
        ({"start": "expire-tokens"}, "BAD_REQUEST", "needs one container"),
        ({"start": "purge-zone", "container": CONTAINER}, "BAD_REQUEST", "needs a zone"),
        ({"start": "purge-zone", "container": "iCloud.com.example.Nowhere", "zone": "x"}, "NOT_FOUND", "There is no container"),
        ({"start": "reset-zone", "container": CONTAINER, "zone": "Missing"}, "ZONE_NOT_FOUND", "Zone does not exist"),
        ({"start": "reset-zone", "container": CONTAINER, "zone": "_defaultZone"}, "BAD_REQUEST", "default zone"),
    ],
)
def test_what_can_not_be_is_refused(server, body, code, reason):
    made(server, "Refusals")
    with pytest.raises(Failed) as failed:
        rehearsals(server, **body)
    assert failed.value.code == code and reason in failed.value.reason
    assert rehearsals(server)["on"] == []


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("nothing", "There is no rehearsal"),
        ("throttled=3", "takes no count"),
        ("purge-zone", "is a one-time event"),
        ("late-notifications", "is about notifications"),
        ("pages-of-one, x", "There is no rehearsal 'x'"),
    ],
)
def test_a_header_that_can_not_be_is_refused(server, header, reason):
    with pytest.raises(Failed) as failed:
        Client(server, "x", header=header).ask("zones/list")
    assert failed.value.status == 400 and reason in failed.value.reason


def test_notifications_of_one_user(server):
    [on] = rehearsals(server, start="own-notifications", user="_ada00000000000000000000000000000")["on"]
    assert on["rehearsal"] == "own-notifications" and on["user"] == "_ada00000000000000000000000000000"
    rehearsals(server, stop="own-notifications", user="somebody")
    assert len(rehearsals(server)["on"]) == 1
    rehearsals(server, stop="all")
    assert rehearsals(server)["on"] == []


def test_the_console_and_the_service_itself_never_fail(server):
    made(server, "Shown", *"abc")
    for name in ["throttled", "try-again-later", "dropped-before", "pages-of-one", "children-first"]:
        start(server, name)
    for _ in range(3):
        page = urllib.request.urlopen(f"{server}/c/{CONTAINER}/development/private/changes?zone=Shown").read().decode()
        assert page.count("<b>3") or "3 changes" in page
        assert "Active rehearsals" in page
        assert len(rehearsals(server)["on"]) == 5
    urllib.request.urlopen(f"{server}/skylight/1/health").read()
    assert len(rehearsals(server)["on"]) == 5


def test_the_command_says_what_it_does(server):
    said = skylight("rehearse", "list", "--url", server)
    for name in ACTS + READINGS + FAILURES:
        assert f"\n{name}\n" in "\n" + said
    assert said.rstrip().endswith("No rehearsal is active.")
    said = skylight("rehearse", "start", "throttled", "--count", "3", "--container", CONTAINER, "--url", server)
    assert said == f"on: throttled in {CONTAINER}, 3 more times\n"
    listed = json.loads(skylight("rehearse", "list", "--json", "--url", server))
    assert [(item["rehearsal"], item["count"]) for item in listed["on"]] == [("throttled", 3)]
    assert skylight("rehearse", "stop", "throttled", "--url", server) == "No rehearsal is active.\n"
    for arguments in [["start", "nothing"], ["start", "purge-zone", "--yes"], ["start", "expire-tokens", "--container", CONTAINER], ["stop", "x"]]:
        assert "Error" in skylight("rehearse", *arguments, "--url", server, status=64)


def test_the_command_finds_the_server_of_a_folder():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SKYLIGHT_URL": ""}
        assert "no running server" in skylight("rehearse", "list", "--data", folder, status=69)
        process = subprocess.Popen([binary(), "serve", "--port", "0", "--data", folder], stdout=subprocess.PIPE, text=True, env=environment)
        try:
            address = process.stdout.readline().split()[-1]
            assert skylight("rehearse", "start", "pages-of-one", "--data", folder) == "on: pages-of-one everywhere\n"
            assert [item["rehearsal"] for item in rehearsals(address)["on"]] == ["pages-of-one"]
        finally:
            process.terminate()
            assert process.wait(timeout=60) == 0


def test_every_rehearsal_is_documented():
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/rehearsals.md").read_text()
    for name in ACTS + READINGS + FAILURES:
        assert f"| `{name}` |" in text
