"""Each injected fault works as documented, for a plain client and for a correct sync client (docs/rehearsals.md)."""

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
ACTS = ["expire-tokens", "purge-zone", "reset-zone"]


class Failed(Exception):
    """An error answer."""

    def __init__(self, status, body, headers):
        super().__init__(f"{status} {body}")
        self.status, self.code, self.reason = status, body.get("serverErrorCode"), body.get("reason", "")
        self.retry_after, self.headers = body.get("retryAfter"), headers


class Client:
    """A plain client with its own zone: one request, one answer."""

    def __init__(self, server, zone, header=None, user=None, **headers):
        self.address, self.zone = server, zone
        self.headers = {"Content-Type": "text/plain", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if header:
            self.headers["X-Skylight-Rehearse"] = header
        if user:
            self.headers["X-Skylight-User"] = user
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

    def save(self, *names, kind="forceUpdate", parent=None, tag=None, **fields):
        records = [{"recordName": name, "recordType": "Item", "fields": {key: {"value": value} for key, value in fields.items()}} for name in names]
        for record in records:
            if parent:
                record["parent"] = {"recordName": parent}
            if tag:
                record["recordChangeTag"] = tag
        operations = [{"operationType": kind, "record": record} for record in records]
        return self.ask("records/modify", zoneID={"zoneName": self.zone}, operations=operations)["records"]

    def delete(self, name):
        return self.ask(
            "records/modify", zoneID={"zoneName": self.zone}, operations=[{"operationType": "forceDelete", "record": {"recordName": name}}]
        )["records"]

    def lookup(self, *names):
        answer = self.ask("records/lookup", zoneID={"zoneName": self.zone}, records=[{"recordName": name} for name in names])
        return [record.get("recordName") if "serverErrorCode" not in record else None for record in answer["records"]]

    def changes(self, token=None, limit=200):
        zone = {"zoneID": {"zoneName": self.zone}, "resultsLimit": limit}
        if token:
            zone["syncToken"] = token
        item = self.ask("changes/zone", zones=[zone])["zones"][0]
        if "serverErrorCode" in item:
            raise Failed(200, item, {})
        return item

    def pages(self, token=None, limit=200, most=500):
        pages = []
        while not pages or pages[-1]["moreComing"]:
            pages.append(self.changes(pages[-1]["syncToken"] if pages else token, limit))
            assert len(pages) < most, "the pull does not end"
        return pages

    def database(self, token=None):
        return self.ask("changes/database", **({"syncToken": token} if token else {}))

    def query_pages(self, limit=200):
        pages, marker = [], None
        while not pages or marker:
            body = {"query": {"recordType": "Item", "sortBy": [{"fieldName": "rank"}]}, "zoneID": {"zoneName": self.zone}, "resultsLimit": limit}
            if marker:
                body["continuationMarker"] = marker
            answer = self.ask("records/query", **body)
            pages.append(answer["records"])
            marker = answer.get("continuationMarker")
            assert len(pages) < 500, "the query does not end"
        return pages

    def query(self, limit=200):
        return [record["recordName"] for page in self.query_pages(limit) for record in page]


class RightClient(Client):
    """Keeps a copy of a zone as the documentation advises. The copy must become correct with any injected fault."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.token, self.records, self.orphans = None, {}, set()
        self.waited, self.retried = 0, 0

    def send(self, path, body=None):
        pause = 0.05
        for _ in range(20):
            try:
                return super().send(path, body)
            except Failed as failure:
                if failure.code not in ("THROTTLED", "ZONE_BUSY", "TRY_AGAIN_LATER"):
                    raise
                self.waited += failure.retry_after or pause
                # The tests wait less than a real client would.
                time.sleep(0.01)
            except (http.client.HTTPException, ConnectionError):
                time.sleep(pause)
            self.retried += 1
            pause *= 2
        raise AssertionError("the server never answered")

    def changes(self, token=None, limit=200):
        for _ in range(20):
            try:
                return super().changes(token, limit)
            except Failed as failure:
                if failure.code != "ZONE_BUSY":
                    raise
                self.waited += failure.retry_after
                self.retried += 1
        raise AssertionError("the zone is always busy")

    def pull(self, limit=3):
        try:
            self.take(self.pages(self.token, limit))
        except Failed as failure:
            if failure.code == "ZONE_NOT_FOUND":
                self.token, self.records = None, {}
                return
            assert failure.reason == "client knowledge differs from server knowledge", failure
            stale, self.token, self.records = self.records, None, {}
            self.take(self.pages(None, limit))
            self.removed = set(stale) - set(self.records)

    def take(self, pages):
        for page in pages:
            for record in page["records"]:
                name = record["recordName"]
                if record.get("deleted"):
                    self.records.pop(name, None)
                    continue
                self.records[name] = record
                parent = record.get("parent", {}).get("recordName")
                if parent and parent not in self.records:
                    self.orphans.add(name)
                self.orphans -= {child for child in self.orphans if self.records[child]["parent"]["recordName"] == name}
            self.token = page["syncToken"]

    def update(self, name, **fields):
        """Saves with the change tag, and merges after a conflict."""
        for _ in range(10):
            tag = self.records[name]["recordChangeTag"]
            record = self.save(name, kind="update", tag=tag, **fields)[0]
            if record.get("serverErrorCode") != "CONFLICT":
                assert "serverErrorCode" not in record, record
                self.records[name] = record
                return
            self.retried += 1
            answer = self.ask("records/lookup", zoneID={"zoneName": self.zone}, records=[{"recordName": name}])
            self.records[name] = answer["records"][0]
            if all(self.records[name]["fields"].get(key, {}).get("value") == value for key, value in fields.items()):
                return
        raise AssertionError("always a conflict")


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


@pytest.fixture(params=["header", "service", "command"])
def rehearsing(request, server):
    """Makes a client with an active fault: by its own header, or for all clients through the service or the command line."""

    def rehearsing(name, zone, kind=Client):
        if request.param == "header":
            return kind(server, zone, header=name)
        if request.param == "service":
            start(server, name, zone=zone, environment="development", database="private")
        else:
            skylight("rehearse", "start", name, "--url", server, "--container", CONTAINER, "--zone", zone)
        return kind(server, zone)

    rehearsing.how = request.param
    return rehearsing


def made(server, zone, *names):
    """A client without faults, and its zone with records of rank 0, 1, 2…"""
    client = Client(server, zone)
    client.zones("create")
    for rank, name in enumerate(names):
        assert "serverErrorCode" not in client.save(name, rank=rank)[0]
    return client


def indexed(server, zone, *names):
    client = made(server, zone, *(names or ["a", "b", "c"]))
    for index in ["___recordID:QUERYABLE", "rank:SORTABLE"]:
        form = urllib.parse.urlencode({"type": "Item", "add": index}).encode()
        urllib.request.urlopen(f"{server}/c/{CONTAINER}/development/private/type/indexes", form).read()
    return client


def names_of(pages):
    return [[record["recordName"] for record in page["records"]] for page in pages]


# Reading


def test_pages_of_one(server, rehearsing):
    indexed(server, "One" + rehearsing.how)
    client = rehearsing("pages-of-one", "One" + rehearsing.how)
    assert names_of(client.pages()) == [["a"], ["b"], ["c"]]
    assert client.shaped == "pages-of-one"
    assert [len(page) for page in client.query_pages()] == [1, 1, 1]
    assert client.shaped == "pages-of-one"
    right = rehearsing("pages-of-one", "One" + rehearsing.how, RightClient)
    right.pull()
    assert set(right.records) == {"a", "b", "c"}


def test_pages_of_one_zone(server):
    made(server, "First", "a"), made(server, "Second", "b")
    client = Client(server, "", header="pages-of-one")
    seen, token, more = [], None, True
    while more:
        page = client.database(token)
        assert len(page["zones"]) == 1
        seen.append(page["zones"][0]["zoneID"]["zoneName"])
        token, more = page["syncToken"], page["moreComing"]
    assert {"First", "Second"} <= set(seen) and len(seen) == len(set(seen))


def test_empty_pages(server, rehearsing):
    plain = indexed(server, "Empty" + rehearsing.how)
    client = rehearsing("empty-pages", "Empty" + rehearsing.how)
    pages = client.pages(limit=2)
    assert names_of(pages) == [[], ["a", "b"], [], ["c"]]
    assert client.shaped == "empty-pages"
    assert pages[-1]["syncToken"] == plain.pages()[-1]["syncToken"]
    # A client that is up to date also reaches the end.
    assert [page["moreComing"] for page in client.pages(pages[-1]["syncToken"])] == [True, False]
    assert [len(page) for page in client.query_pages(limit=2)] == [0, 2, 0, 1]
    right = rehearsing("empty-pages", "Empty" + rehearsing.how, RightClient)
    right.pull()
    plain.save("d", rank=4)
    right.pull()
    assert set(right.records) == {"a", "b", "c", "d"}


def test_empty_pages_of_the_database(server):
    made(server, "EmptyZones", "a")
    client = Client(server, "", header="empty-pages")
    empty = client.database()
    assert empty["zones"] == [] and empty["moreComing"]
    real = client.database(empty["syncToken"])
    assert real["zones"] and not real["moreComing"]
    assert real["syncToken"] == Client(server, "").database()["syncToken"]


def fill_with_families(client):
    for family in range(6):
        client.save(f"parent{family}")
        for child in range(3):
            client.save(f"child{family}.{child}", parent=f"parent{family}")
            client.save(f"grandchild{family}.{child}", parent=f"child{family}.{child}")


def test_children_first(server, rehearsing):
    zone = "Families" + rehearsing.how
    plain = made(server, zone)
    fill_with_families(plain)
    truth = names_of(plain.pages())[0]
    client = rehearsing("children-first", zone)
    pages = client.pages(limit=4)
    assert client.shaped == "children-first" and len(pages) > 5
    records = [record for page in pages for record in page["records"]]
    places = {record["recordName"]: place for place, record in enumerate(records)}
    assert sorted(places) == sorted(truth) and len(records) == len(truth)
    children = [record for record in records if "parent" in record]
    assert len(children) == 36
    for record in children:
        assert places[record["recordName"]] < places[record["parent"]["recordName"]]
    assert pages[-1]["syncToken"] == plain.pages()[-1]["syncToken"]
    right = rehearsing("children-first", zone, RightClient)
    right.pull()
    assert set(right.records) == set(truth) and not right.orphans


def test_all_of_them_at_once_lose_and_double_nothing(server):
    plain = made(server, "Everything")
    fill_with_families(plain)
    truth = plain.pages()
    client = Client(server, "Everything", header="pages-of-one, empty-pages, children-first, lagging-index")
    pages = client.pages()
    assert client.shaped == "pages-of-one, empty-pages, children-first"
    assert [len(page["records"]) for page in pages] == [0, 1] * 42
    assert sorted(sum(names_of(pages), [])) == sorted(names_of(truth)[0])
    assert pages[-1]["syncToken"] == truth[-1]["syncToken"]


def test_playback_and_follow_rehearse_as_well(server):
    plain = made(server, "Streams")
    fill_with_families(plain)
    query = urllib.parse.urlencode({"zone": "Streams", "skylightRehearse": "children-first,empty-pages"})
    path = f"{server}/skylight/1/{CONTAINER}/development/private/changes/playback?"
    with urllib.request.urlopen(path + query) as answer:
        assert answer.headers["X-Skylight-Rehearsal"] == "empty-pages, children-first"
        lines = [json.loads(line) for line in answer]
    records = [line["record"] for line in lines if "change" in line]
    places = {record["recordName"]: place for place, record in enumerate(records)}
    assert len(places) == len(records) == 42
    assert all(places[record["recordName"]] < places[record["parent"]["recordName"]] for record in records if "parent" in record)
    start(server, "children-first")
    query = urllib.parse.urlencode({"zone": "Streams", "skylightRehearse": "none"})
    with urllib.request.urlopen(path + query) as answer:
        assert "X-Skylight-Rehearsal" not in answer.headers
        first = json.loads(answer.readlines()[1])
    assert first["record"]["recordName"] == "parent0"


def test_lagging_index(server, rehearsing):
    # A busy machine may miss a window of three seconds, so there are several tries. The rules of the window are FaultQueryTests's, which have their own clock.
    if not any(lags(server, rehearsing, f"Lagging{rehearsing.how}{number}") for number in range(20)):
        pytest.skip("This machine is too slow to tell")


def lags(server, rehearsing, zone) -> bool:
    """True if there was time to see it."""
    plain = indexed(server, zone)
    client = rehearsing("lagging-index", zone)
    until(lambda: client.query() == ["a", "b", "c"])
    began = time.monotonic()
    client.save("new", rank=1)
    client.save("c", rank=-1)
    client.delete("b")
    # The index is outdated; everything else is current.
    queried = client.query()
    shaped = client.shaped
    paged = client.query(limit=1)
    looked_up = client.lookup("new", "b")
    changed = {record["recordName"]: record.get("deleted", False) for page in client.pages() for record in page["records"]}
    if time.monotonic() - began >= 3:
        return False
    assert shaped == "lagging-index"
    assert queried == paged == ["a", "b", "c"]
    assert looked_up == ["new", None]
    assert changed == {"a": False, "c": False, "new": False}
    assert plain.lookup("c") == ["c"]
    until(lambda: client.query() == ["c", "a", "new"])
    return True


def test_a_deleted_zone_is_listed_as_changed(server):
    plain = made(server, "Ghost", "a")
    token = Client(server, "").database()["syncToken"]
    plain.zones("delete")
    honest = plain.database(token)["zones"]
    assert [zone.get("deleted") for zone in honest if zone["zoneID"]["zoneName"] == "Ghost"] == [True]
    for how in ["header", "service", "command"]:
        if how == "service":
            start(server, "deleted-zone-changed")
        elif how == "command":
            skylight("rehearse", "start", "deleted-zone-changed", "--url", server)
        client = RightClient(server, "Ghost", header="deleted-zone-changed" if how == "header" else None)
        listed = client.database(token)
        assert client.shaped == "deleted-zone-changed"
        assert [zone.get("deleted") for zone in listed["zones"] if zone["zoneID"]["zoneName"] == "Ghost"] == [None]
        with pytest.raises(Failed) as failed:
            client.changes()
        assert failed.value.code == "ZONE_NOT_FOUND" and failed.value.status == 200
        client.records = {"a": {}}
        client.pull()
        assert client.records == {}
        rehearsals(server, stop="all")


# Failing


def failing(server, how, name, zone):
    """Switches a failure on for two requests, or makes a client whose every request fails."""
    if how == "service":
        start(server, name, 2, zone=zone)
    elif how == "command":
        skylight("rehearse", "start", f"{name}=2", "--url", server, "--container", CONTAINER, "--zone", zone)
    return Client(server, zone, header=name if how == "header" else None)


@pytest.mark.parametrize("how", ["header", "service", "command"])
@pytest.mark.parametrize(("name", "code", "status"), [("throttled", "THROTTLED", 429), ("try-again-later", "TRY_AGAIN_LATER", 503), ("zone-busy", "ZONE_BUSY", 503)])
def test_requests_are_refused(server, how, name, code, status):
    zone = f"{name}-{how}"
    plain = made(server, zone, "a")
    made(server, zone + "-other", "a")
    client = failing(server, how, name, zone)
    for request in [lambda: client.lookup("a"), lambda: client.save("b")]:
        with pytest.raises(Failed) as failed:
            request()
        assert (failed.value.status, failed.value.code) == (status, code)
        assert client.shaped == name
        if name == "try-again-later":
            assert failed.value.retry_after is None and "Retry-After" not in failed.value.headers
        else:
            assert failed.value.retry_after == 2 and failed.value.headers["Retry-After"] == "2"
    if how == "header":
        assert plain.lookup("a", "b") == ["a", None]
        return
    # Two requests were to fail, and they changed nothing.
    assert client.lookup("a", "b") == ["a", None] and client.shaped is None
    assert rehearsals(server)["on"] == []
    # Other clients are not affected, and do not count.
    start(server, name, 3, zone=zone)
    assert Client(server, zone + "-other").lookup("a") == ["a"]
    right = RightClient(server, zone)
    right.pull()
    assert set(right.records) == {"a"} and right.retried == 3
    assert right.waited >= (6 if name != "try-again-later" else 0)


def test_a_busy_zone_is_an_item_in_changes_zone(server):
    made(server, "Busy", "a"), made(server, "Idle", "b")
    start(server, "zone-busy", 1, zone="Busy")
    zones = Client(server, "").ask("changes/zone", zones=[{"zoneID": {"zoneName": zone}} for zone in ["Busy", "Idle"]])["zones"]
    assert zones[0]["serverErrorCode"] == "ZONE_BUSY" and zones[0]["retryAfter"] == 2
    assert [record["recordName"] for record in zones[1]["records"]] == ["b"]


@pytest.mark.parametrize("how", ["header", "service", "command"])
def test_a_token_expires_for_a_while(server, how):
    zone = f"expired-{how}"
    plain = made(server, zone, "a", "b")
    token, of_database = plain.pages()[-1]["syncToken"], plain.database()["syncToken"]
    plain.delete("b")
    client = failing(server, how, "expired-token", zone)
    # Without a token a pull works, and does not count.
    assert client.changes()["records"] and client.shaped is None
    for _ in range(2):
        with pytest.raises(Failed) as failed:
            client.changes(token)
        assert (failed.value.code, failed.value.reason) == ("BAD_REQUEST", "client knowledge differs from server knowledge")
        assert client.shaped == "expired-token"
    if how == "header":
        with pytest.raises(Failed) as failed:
            client.database(of_database)
        assert failed.value.status == 400 and failed.value.reason == "client knowledge differs from server knowledge"
    # The token was good all the time.
    assert [record["recordName"] for record in plain.changes(token)["records"]] == ["b"]
    right = RightClient(server, zone)
    right.token, right.records = token, {"a": {}, "b": {}}
    start(server, "expired-token", zone=zone)
    right.pull()
    assert set(right.records) == {"a"} and right.removed == {"b"}


def test_an_answer_is_late_but_the_save_is_not(server):
    plain = made(server, "slow")
    client = Client(server, "slow", header="slow")
    with concurrent.futures.ThreadPoolExecutor() as threads:
        begun = time.monotonic()
        saved = threads.submit(client.save, "a")
        until(lambda: plain.lookup("a") == ["a"])
        assert saved.result()[0]["recordName"] == "a" and client.shaped == "slow"
        assert time.monotonic() - begun >= 5


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


@pytest.mark.parametrize("how", ["header", "service", "command"])
def test_conflict(server, how):
    zone = f"conflict-{how}"
    plain = made(server, zone, "a")
    client = failing(server, how, "conflict", zone)
    codes = [record["serverErrorCode"] for record in client.save("a", "b", "c")]
    assert codes == ["CONFLICT", "ATOMIC_ERROR", "ATOMIC_ERROR"] and client.shaped == "conflict"
    assert client.lookup("a", "b", "c") == ["a", None, None]
    assert client.save("b")[0]["serverErrorCode"] == "CONFLICT"
    assert plain.lookup("b") == [None]
    if how == "header":
        return
    assert "serverErrorCode" not in client.save("b")[0]
    right = RightClient(server, zone)
    right.pull()
    start(server, "conflict", 3, zone=zone)
    right.update("a", text="merged")
    assert right.retried == 3
    assert plain.pages()[0]["records"][-1]["fields"]["text"]["value"] == "merged"


@pytest.mark.parametrize("how", ["header", "service", "command"])
def test_the_storage_is_full(server, how):
    zone = f"quota-{how}"
    plain = made(server, zone, "old")
    client = failing(server, how, "quota-exceeded", zone)
    [item] = client.save("a")
    assert (item["serverErrorCode"], item["reason"], item["recordName"]) == ("QUOTA_EXCEEDED", "Quota exceeded", "a")
    assert client.shaped == "quota-exceeded" and plain.lookup("a") == [None]
    upload = {"tokens": [{"recordType": "Item", "fieldName": "file", "recordName": "a"}], "zoneID": {"zoneName": zone}}
    [token] = client.ask("assets/upload", **upload)["tokens"]
    assert token["serverErrorCode"] == "QUOTA_EXCEEDED" and "url" not in token
    # Deletions need no space, and two requests were to fail.
    assert client.delete("old")[0]["deleted"] and plain.lookup("old") == [None]
    if how != "header":
        assert "url" in client.ask("assets/upload", **upload)["tokens"][0]
        assert rehearsals(server)["on"] == []


@pytest.mark.parametrize("how", ["header", "service", "command"])
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
    # Nothing of an atomic batch is saved, and two items are too few to fail.
    assert [record["serverErrorCode"] for record in client.save(*"wxyz")] == ["ATOMIC_ERROR", "ATOMIC_ERROR", "ZONE_BUSY", "ATOMIC_ERROR"]
    assert plain.lookup(*"wxyz") == [None] * 4
    assert [record.get("serverErrorCode") for record in client.save("y", "z")] == [None, None]


@pytest.mark.parametrize("how", ["header", "service", "command"])
def test_a_sign_in_expires(server, how):
    zone = f"sign-in-{how}"
    plain = made(server, zone, "a")
    client = failing(server, how, "sign-in-expired", zone)
    for request in [lambda: client.lookup("a"), lambda: client.save("b")]:
        with pytest.raises(Failed) as failed:
            request()
        assert (failed.value.status, failed.value.code, failed.value.reason) == (421, "AUTHENTICATION_REQUIRED", "request needs authorization")
        assert client.shaped == "sign-in-expired"
    assert plain.lookup("a", "b") == ["a", None]
    if how != "header":
        assert client.lookup("a") == ["a"]


@pytest.mark.parametrize("how", ["header", "service", "command"])
@pytest.mark.parametrize("name", ["dropped-before", "dropped-after"])
def test_the_connection_is_dropped(server, how, name):
    zone = f"{name}-{how}"
    plain = made(server, zone, "a")
    client = failing(server, how, name, zone)
    for request in [lambda: client.save("b", text="x" * 100_000), lambda: client.lookup("a")]:
        with pytest.raises(http.client.RemoteDisconnected):
            request()
    assert plain.lookup("b") == ["b" if name == "dropped-after" else None]
    if how == "header":
        return
    assert client.lookup("a") == ["a"]
    # A correct client repeats a save with an unknown result, and finds its own change.
    right = RightClient(server, zone)
    right.pull()
    start(server, name, 2, zone=zone)
    right.update("a", text="once")
    assert right.retried >= 2
    assert [record["fields"]["text"]["value"] for page in plain.pages() for record in page["records"] if record["recordName"] == "a"] == ["once"]


def test_a_zone_is_found_wherever_a_request_names_it(server):
    plain, other = indexed(server, "Reach"), made(server, "Reach-other", "a")
    token = plain.pages()[-1]["syncToken"]
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
def test_all_tokens_expire(server, how):
    zone = "Expire" + how
    plain = made(server, zone, "a", "b")
    right = RightClient(server, zone)
    right.pull()
    tokens = plain.pages()[-1]["syncToken"], plain.database()["syncToken"]
    act(server, how, "expire-tokens")
    for ask in [lambda: plain.changes(tokens[0]), lambda: plain.database(tokens[1])]:
        with pytest.raises(Failed) as failed:
            ask()
        assert (failed.value.code, failed.value.reason) == ("BAD_REQUEST", "client knowledge differs from server knowledge")
    plain.delete("a")
    right.pull()
    assert set(right.records) == {"b"} and right.removed == {"a"}
    # New tokens are valid.
    assert plain.changes(plain.pages()[-1]["syncToken"])["records"] == []


@pytest.mark.parametrize("how", ["service", "command"])
def test_a_zone_is_purged(server, how):
    zone = "Purge" + how
    plain = made(server, zone, "a")
    token = plain.database()["syncToken"]
    act(server, how, "purge-zone", zone=zone)
    listed = [change for change in plain.database(token)["zones"] if change["zoneID"]["zoneName"] == zone]
    assert [change["deleted"] for change in listed] == [True]
    with pytest.raises(Failed) as failed:
        plain.changes()
    assert failed.value.code == "ZONE_NOT_FOUND"


@pytest.mark.parametrize("how", ["service", "command"])
def test_a_zone_is_reset(server, how):
    zone = "Reset" + how
    plain = made(server, zone, "a", "b")
    right = RightClient(server, zone)
    right.pull()
    token = plain.database()["syncToken"]
    act(server, how, "reset-zone", zone=zone)
    listed = [change for change in plain.database(token)["zones"] if change["zoneID"]["zoneName"] == zone]
    assert len(listed) == 1 and "deleted" not in listed[0]
    with pytest.raises(Failed) as failed:
        plain.changes(right.token)
    assert failed.value.reason == "client knowledge differs from server knowledge"
    right.pull()
    assert right.records == {} and right.removed == {"a", "b"}


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


def test_methods_and_foreign_origins(server):
    for method, headers, status in [("DELETE", {}, 405), ("POST", {"Origin": "https://example.com"}, 403)]:
        request = urllib.request.Request(f"{server}/skylight/1/rehearsals", b'{"start":"throttled"}', headers, method=method)
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request)
        assert error.value.code == status
    assert rehearsals(server)["on"] == []


def test_pages_of_sites_may_read_the_answers(server):
    origin = {"Origin": "http://localhost:1234", "X-Skylight-Rehearse": "throttled"}
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(urllib.request.Request(f"{server}/database/1/{CONTAINER}/development/private/zones/list", headers=origin))
    assert error.value.code == 429
    assert error.value.headers["Access-Control-Allow-Origin"] == "http://localhost:1234"
    assert "X-Skylight-Rehearsal" in error.value.headers["Access-Control-Expose-Headers"]


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
