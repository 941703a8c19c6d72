"""The pages Requests and Clients, and why a client did not get a record. The clients here are a few lines each, with one mistake."""

import concurrent.futures
import http.client
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest
from page_server import Server
from playwright.sync_api import expect

from looks import check_looks
from waiting import until

CONTAINER = "iCloud.com.example.Watched"
THERE = f"/c/{CONTAINER}/development/private"
ZONE = {"zoneName": "Notes"}


@pytest.fixture(scope="module")
def watched():
    """A separate server, so that its log has no other requests."""
    server = Server()
    server.save(CONTAINER, "Notes", *[{"recordType": "Note", "recordName": f"note-{number}", "fields": {"title": {"value": f"text {number}"}}} for number in range(5)])
    yield server
    server.stop()


class Client:
    """Sends what pyicloud sends: a clientId in the address, JSON as plain text."""

    def __init__(self, server, name):
        self.address, self.name = server.address, name

    def ask(self, action, body, status=200):
        address = f"{self.address}/database/1/{CONTAINER}/development/private/{action}?" + urllib.parse.urlencode({"clientId": self.name, "getCurrentSyncToken": "True"})
        request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "text/plain", "User-Agent": "pyicloud/2.0"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert answer.status == status
                return json.load(answer)
        except urllib.error.HTTPError as error:
            assert error.code == status
            return json.load(error)

    def pull(self, token=None, limit=200):
        zone = {"zoneID": ZONE, "resultsLimit": limit}
        if token:
            zone["syncToken"] = token
        return self.ask("changes/zone", {"zones": [zone]})["zones"][0]

    def pull_all(self, token=None):
        while True:
            page = self.pull(token)
            token = page["syncToken"]
            if not page["moreComing"]:
                return token


def rows(page):
    return page.locator("tbody[data-rows] tr")


def make_conflict(server) -> str:
    """The name of a client whose last request was partly refused."""
    name = f"pyicloud-{uuid.uuid4()}"
    answer = Client(server, name).ask(
        "records/modify",
        {
            "zoneID": ZONE,
            "atomic": False,
            "operations": [
                {"operationType": "create", "record": {"recordType": "Note", "recordName": "note-0", "fields": {"title": {"value": "my own words"}}}},
                {"operationType": "forceUpdate", "record": {"recordType": "Note", "recordName": "fine", "fields": {"title": {"value": "my own words"}}}},
            ],
        },
    )
    assert answer["records"][0]["serverErrorCode"] == "CONFLICT"
    return name


def test_a_request_appears_with_its_item_errors(open_page, watched, record_property):
    page = open_page(f"{THERE}/requests", at=watched)
    expect(page.locator("[data-state]")).to_have_text("Live")
    row = rows(page).filter(has_text=make_conflict(watched)).first
    began = time.monotonic()
    expect(row).to_be_visible()
    record_property("figure", f"{1000 * (time.monotonic() - began):.0f} ms until a request appears on the open page")
    expect(row).to_contain_text("1 item CONFLICT")
    row.get_by_role("link", name="records/modify").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("records/modify")
    main = page.locator("main")
    expect(main).to_contain_text("record to insert already exists")
    expect(main).to_contain_text("The response has status 200")
    # Nothing is hidden on an open server, except on request.
    expect(page.get_by_label("The request", exact=True)).to_contain_text("my own words")
    expect(page.get_by_label("The request with curl")).to_contain_text(f"curl {watched.address}")
    page.get_by_role("link", name="Hide values").click()
    expect(page.get_by_role("link", name="Show values")).to_be_visible()
    expect(main).not_to_contain_text("my own words")


def test_a_replay_gives_the_same_answer(open_page, watched):
    name = "replayed"
    Client(watched, name).ask("records/lookup", {"zoneID": ZONE, "records": [{"recordName": "note-1"}, {"recordName": "nobody"}]})
    page = open_page(f"{THERE}/requests?" + urllib.parse.urlencode({"client": name}), at=watched)
    page.get_by_role("link", name="records/lookup").click()
    page.get_by_role("button", name="Replay").click()
    expect(page.locator("main")).to_contain_text("The same response.")
    # The stored data has changed.
    watched.save(CONTAINER, "Notes", {"recordType": "Note", "recordName": "note-1", "fields": {"title": {"value": "changed"}, "more": {"value": 1}}})
    page.get_by_role("button", name="Replay").click()
    expect(page.locator("main")).to_contain_text("Different response:")
    expect(page.locator(".side-changed, .side-added").first).to_be_visible()


def test_a_write_is_replayed_only_after_a_question(open_page, watched):
    Client(watched, "writer").ask(
        "records/modify",
        {"zoneID": ZONE, "operations": [{"operationType": "create", "record": {"recordType": "Note", "recordName": "once", "fields": {}}}]},
    )
    page = open_page(f"{THERE}/requests?client=writer", at=watched)
    page.get_by_role("link", name="records/modify").click()
    page.get_by_role("link", name="Replay…").click()
    expect(page.get_by_role("heading", name="Replay records/modify?")).to_be_visible()
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="Replay…").click()
    page.get_by_role("button", name="Replay").click()
    # The record was created by the first request.
    expect(page.locator("main")).to_contain_text("Different response:")
    expect(page.get_by_label("Both responses", exact=True)).to_contain_text("CONFLICT")


def test_who_misses_a_record_is_named_with_the_reason(open_page, watched):
    good, hasty, never, late = (Client(watched, name) for name in ("good-client", "hasty-client", "never-client", "late-client"))
    late.pull_all()
    wanted = f"wanted-{uuid.uuid4()}"
    watched.save(CONTAINER, "Notes", {"recordType": "Note", "recordName": wanted, "fields": {"title": {"value": "x"}}})
    good.pull_all()
    hasty.pull(limit=2)
    hasty.pull(limit=2)
    never.ask("records/lookup", {"zoneID": ZONE, "records": [{"recordName": "note-2"}]})
    page = open_page(f"{THERE}/record?zone=Notes&name={wanted}#deliveries", at=watched)
    panel = page.get_by_role("region", name="Clients and this record")

    def row(name):
        return panel.get_by_role("row").filter(has_text=name)

    expect(row("good-client")).to_contain_text("yes")
    expect(row("hasty-client")).to_contain_text("no")
    expect(row("hasty-client")).to_contain_text("the response had moreComing true")
    expect(row("never-client")).to_contain_text("It never pulled")
    expect(row("late-client")).to_contain_text("It has not pulled since")
    row("hasty-client").get_by_role("link", name="hasty-client").click()
    section = page.get_by_role("region", name="hasty-client as Developer", exact=True)
    expect(section).to_contain_text("more pages to fetch")
    expect(section).to_contain_text("moreComing not followed")
    expect(page.get_by_role("region", name="good-client as Developer", exact=True)).to_contain_text("up to date")
    # The mistake leads to the request that shows it.
    section.get_by_role("link", name="once").first.click()
    expect(page.locator("main")).to_contain_text("The later pages were not fetched")


def test_polling_by_the_clock_is_pointed_out(open_page, watched):
    client = Client(watched, "clockwork")
    for _ in range(4):
        filters = [{"fieldName": "modifiedTimestamp", "comparator": "GREATER_THAN", "fieldValue": {"value": 1, "type": "TIMESTAMP"}}]
        client.ask("records/query", {"zoneID": ZONE, "query": {"recordType": "Note", "filterBy": filters}}, status=400)
    page = open_page(f"{THERE}/requests?warnings=1&client=clockwork", at=watched)
    expect(page.get_by_role("list", name="Warnings about these requests")).to_contain_text("Pull changes with a token instead")
    expect(rows(page).first).to_contain_text("polls by clock")


def test_two_pages_follow_and_nothing_is_missed_or_doubled(open_page, watched):
    first = open_page(f"{THERE}/requests?client=busy", at=watched)
    second = open_page(f"{THERE}/requests?client=busy", at=watched)
    look_up(watched, 10, client="busy")
    for page in (first, second):
        expect(page.locator("[data-count]")).to_have_text("10 new requests")
    first.get_by_role("button", name="Pause").click()
    expect(first.locator("[data-state]")).to_have_text("Paused")
    look_up(watched, 600, client="busy")
    expect(second.locator("[data-count]")).to_have_text("610 new requests")
    expect(first.locator("[data-count]")).to_have_text("10 new requests")
    first.get_by_role("button", name="Resume").click()
    expect(first.locator("[data-count]")).to_have_text("610 new requests")
    for page in (first, second):
        # The number of rows is limited, and each request is there once.
        assert rows(page).count() == 500
        links = page.locator("tbody[data-rows] th a").evaluate_all("links => links.map(link => link.href)")
        assert len(set(links)) == 500
    assert [row for row in first.locator("tbody[data-rows] th a").evaluate_all("links => links.map(link => link.href)")] == links
    expect(first.locator("[data-shown]")).to_have_text("500 requests")
    # The requests that the table dropped are on the next page, without a gap.
    first.get_by_role("link", name="Older ›").click()
    first.wait_for_url("**before=**")
    older = first.locator("tbody[data-rows] th a").evaluate_all("links => links.map(link => link.href)")
    assert len(older) == 100 and not set(older) & set(links)
    everything = json.load(urllib.request.urlopen(f"{watched.address}/skylight/1/requests?client=busy&resultsLimit=1000", timeout=60))["requests"]
    ids = [urllib.parse.parse_qs(urllib.parse.urlparse(link).query)["id"][0] for link in links + older]
    assert ids == [request["id"] for request in everything][:600]


@pytest.fixture
def forgetful():
    """A server that keeps few requests."""
    server = Server("--request-log", "100")
    server.save(CONTAINER, "Notes", {"recordType": "Note", "recordName": "note", "fields": {"title": {"value": "text"}}})
    yield server
    server.stop()


def look_up(server, count, client, connections=2, saves=False):
    """Requests one record repeatedly over keep-alive connections. Saves alternate with lookups, if there are any."""
    place = urllib.parse.urlsplit(server.address)
    path = f"/database/1/{CONTAINER}/development/private/records/"
    lookup = json.dumps({"zoneID": ZONE, "records": [{"recordName": "note"}]})

    def ask(worker):
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
        for number in range(count // connections):
            record = {"recordType": "Note", "recordName": f"n{worker}-{number}", "fields": {"title": {"value": "x"}}}
            save = json.dumps({"zoneID": ZONE, "operations": [{"operationType": "forceReplace", "record": record}]})
            action, body = ("modify", save) if saves and number % 2 else ("lookup", lookup)
            connection.request("POST", path + action, body, {"Content-Type": "text/plain", "X-Skylight-Client": client})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
        connection.close()

    with concurrent.futures.ThreadPoolExecutor(connections) as pool:
        list(pool.map(ask, range(connections)))


def test_requests_lost_from_the_log_during_a_pause_are_counted(forgetful, open_page):
    """Two pages, one paused for more saves and lookups than the log keeps: nothing is duplicated, and missed requests are counted."""
    paused = open_page(f"{THERE}/requests?client=many", at=forgetful)
    following = open_page(f"{THERE}/requests?client=many", at=forgetful)
    look_up(forgetful, 40, client="many", saves=True)
    for page in (paused, following):
        expect(page.locator("[data-count]")).to_have_text("40 new requests")
    paused.get_by_role("button", name="Pause").click()
    expect(paused.locator("[data-state]")).to_have_text("Paused")
    look_up(forgetful, 400, client="many", saves=True)
    expect(paused.locator("[data-count]")).to_have_text("40 new requests")
    paused.get_by_role("button", name="Resume").click()
    # The log keeps the last 100 of 400.
    expect(paused.locator("[data-count]")).to_have_text("140 new requests, and 300 that the log no longer has")

    kept = [request["id"] for request in json.load(urllib.request.urlopen(f"{forgetful.address}/skylight/1/requests?client=many&resultsLimit=1000", timeout=60))["requests"]]
    for page in (paused, following):
        # New ones, and those that were missed: together as many as there were.
        until(lambda: sum(int(digits.replace(",", "")) for digits in re.findall(r"[\d,]*\d", page.locator("[data-count]").inner_text())) == 440)
        links = page.locator("tbody[data-rows] th a").evaluate_all("links => links.map(link => new URL(link.href).searchParams.get('id'))")
        assert links[: len(kept)] == kept and len(links) == len(set(links))


def test_a_query_names_its_index_and_leads_to_its_explanation(open_page, watched):
    there = f"/skylight/1/{CONTAINER}/development/private/schema/edit"
    edits = {"edits": [{"addIndexes": ["QUERYABLE"], "field": "title", "recordType": "Note"}]}
    urllib.request.urlopen(urllib.request.Request(watched.address + there, json.dumps(edits).encode(), {"Content-Type": "application/json"}), timeout=60).read()
    filters = [{"fieldName": "title", "comparator": "EQUALS", "fieldValue": {"value": "text 3"}}]
    Client(watched, "asker").ask("records/query", {"zoneID": ZONE, "query": {"recordType": "Note", "filterBy": filters}})
    page = open_page(f"{THERE}/requests?client=asker", at=watched)
    expect(rows(page).first).to_contain_text("title QUERYABLE")
    rows(page).first.get_by_role("link", name="records/query").click()
    main = page.locator("main")
    expect(main).to_contain_text("The names for the value in title QUERYABLE were read")
    # The server is open to everybody on this machine, so the page shows the values, too.
    expect(main).to_contain_text("text 3")
    page.get_by_role("button", name="Explain the query").click()
    page.wait_for_url("**/explain?**")
    expect(page.locator("main")).to_contain_text("title QUERYABLE")
    assert urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).query)["value1"] == ["text 3"]


@pytest.mark.parametrize("path", ["requests", "requests?text=nothing+like+it", "clients", "record?zone=Notes&name=note-3"])
def test_pages_are_accessible_and_fit(open_page, watched, path):
    client = Client(watched, "looker")
    client.pull(limit=2)
    client.pull(limit=2)
    check_looks(open_page(f"{THERE}/{path}", at=watched), widths=(1600, 380))


def test_the_page_of_one_request_is_accessible_and_fits(open_page, watched):
    client = Client(watched, "detailed")
    client.pull(limit=2)
    client.ask("records/modify", {"zoneID": ZONE, "operations": [{"operationType": "create", "record": {"recordType": "Note", "recordName": "note-0", "fields": {"title": {"value": "x"}}}}]})
    page = open_page(f"{THERE}/requests?client=detailed", at=watched)
    for operation in ["changes/zone", "records/modify"]:
        page.goto(f"{THERE}/requests?client=detailed")
        with page.expect_navigation():
            page.get_by_role("link", name=operation).first.click()
        if operation == "changes/zone":
            page.get_by_role("button", name="Replay").click()
            page.get_by_text("Both responses side by side").click()
        check_looks(page, widths=(1600, 380))
