"""The pages Requests and Clients: requests that come while a page is open, and how the pages look."""

import concurrent.futures
import http.client
import json
import re
import time
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

    def ask(self, action, body):
        address = f"{self.address}/database/1/{CONTAINER}/development/private/{action}?" + urllib.parse.urlencode({"clientId": self.name, "getCurrentSyncToken": "True"})
        request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "text/plain", "User-Agent": "pyicloud/2.0"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def pull(self, limit):
        return self.ask("changes/zone", {"zones": [{"zoneID": ZONE, "resultsLimit": limit}]})["zones"][0]


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
    # A script knows the server's address.
    expect(page.get_by_label("The request with curl")).to_contain_text(f"curl {watched.address}")


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
