"""Ten tasks of a developer, done as by somebody who sees the console for the first time: clicks and typing.

Each begins on the container's first page, or on the page of the zone in question. They are done in Chromium and in WebKit, and without scripts too,
where clicks do not count.
"""

import csv
import random

import pytest

from hand import Hand
from pages import CHAT
from slow_line import SlowLine
from waiting import until
from webkit import expect

# The clicks that a task takes, and those that it took before the console was made for it.
CLICKS = {
    "the last messages of a room": (2, 2), "a refused query, mended": (2, 2), "five records by name": (1, 3), "a download, paused and resumed": (3, 6),
    "zones, with a token and without": (2, 3), "changes since a token": (1, 1), "why a client never got a record": (1, 1), "a conflict, merged": (2, 4),
    "a CSV file, in and out": (2, 6), "compared and deployed": (2, 4),
}
ZONE = {"zoneName": "Notes"}


@pytest.fixture(params=["Chromium", "WebKit"])
def browser_name(request):
    return request.param


@pytest.fixture
def take(request, browser_name):
    """Opens a page in the browser, and returns the hand on it."""
    open_page = request.getfixturevalue({"Chromium": "open_page", "WebKit": "open_webkit_page"}[browser_name])

    def take(has_scripts: bool, at=None) -> Hand:
        return Hand(open_page(at=at, java_script_enabled=has_scripts), has_scripts)

    return take


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def hand(take, request):
    return take(request.param)


def count(hand: Hand, task: str, browser_name: str, record_property):
    """Reports the clicks of a task, and compares them with the most that it may take."""
    most, before = CLICKS[task]
    record_property("figure", f"{hand.clicks} {'click' if hand.clicks == 1 else 'clicks'} in {browser_name}, {before} before: {task}")
    assert hand.clicks <= most, f"{task} takes {hand.clicks} clicks"


@pytest.fixture
def done(hand, browser_name, record_property):
    """Ends a task."""

    def done(task: str):
        if hand.has_scripts:
            count(hand, task, browser_name, record_property)

    return done


def note(name: str, **fields) -> dict:
    return {"recordType": "Note", "recordName": name, "fields": {field: {"value": value} for field, value in fields.items()}}


@pytest.fixture
def place(server, container):
    """A zone of notes. Returns the container, and the address of the pages of its database."""
    server.save(container, "Notes", *[note(f"note {number}", title=f"Title {number}", rank=number) for number in range(5)])
    return container, f"/c/{container}/development/private"


def pull(server, container: str, client: str, limit: int = 200) -> dict:
    """The first page of a pull."""
    path = f"/{container}/development/private/changes/zone?clientId={client}"
    return server.ask(path, {"zones": [{"zoneID": ZONE, "resultsLimit": limit}]})["zones"][0]


def test_the_last_messages_of_a_room(hand, done):
    page = hand.page
    hand.go(CHAT + "/sync")
    hand.find("Room/general")
    hand.link("Query Message by room")
    page.locator("thead").get_by_role("link", name="sentAt").click()
    expect(page.get_by_role("list", name="What is asked")).to_contain_text("room is General")
    expect(page.get_by_role("link", name="Remove sorted by sentAt newest first")).to_be_visible()
    rows = page.locator(".answer tbody tr")
    expect(rows).to_have_count(50)
    column = page.locator("thead th").all_inner_texts().index(page.locator("thead th[aria-sort]").inner_text())
    times = rows.evaluate_all("(rows, column) => rows.map(row => row.cells[column].querySelector('time').dateTime)", column)
    assert times == sorted(times, reverse=True)
    done("the last messages of a room")


def test_a_refused_query_is_mended(hand, done, place):
    page = hand.page
    hand.go(place[1] + "/sync")
    hand.section("Query")
    expect(page.get_by_role("alert")).to_contain_text("not marked queryable")
    hand.button("Add QUERYABLE to recordName")
    expect(page.locator(".answer tbody tr")).to_have_count(5)
    done("a refused query, mended")


def test_five_records_by_name(hand, done):
    page = hand.page
    hand.go(CHAT + "/zone?zone=Chats")
    hand.section("Fetch")
    # The page begins where the names are entered.
    expect(page.get_by_label("names", exact=True)).to_be_focused()
    hand.type("Person/ada\nRoom/general\nMessage/papers\nnobody\nRoom/books")
    if hand.has_scripts:
        hand.press("Control+Enter")
    else:
        hand.button("Fetch")
    rows = page.locator(".answer tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.nth(1)).to_contain_text("General")
    expect(rows.nth(3)).to_contain_text("NOT_FOUND")
    expect(rows.nth(4).get_by_role("link", name="in Book Club")).to_be_visible()
    done("five records by name")


@pytest.mark.parametrize("browser_name", ["Chromium"])
def test_a_download_is_paused_and_resumed(take, server, place, browser_name, record_property, request):
    """It needs scripts, and a browser that keeps files for a page."""
    # The server compresses what it can, and this it can't.
    content = random.Random(1).randbytes(600_000)
    server.attach(place[0], "Notes", "with a file", ("walk.bin", content))
    line = SlowLine(server.address)
    request.addfinalizer(line.stop)
    line.rate, line.slows_after = 150_000, 200_000
    hand = take(True, at=line)
    page = hand.page
    hand.go(place[1] + "/sync")
    hand.find("with a file")
    hand.link("Open in Fetch")
    row = page.locator("tr[data-file='walk.bin']")
    until(lambda: row.locator("progress").evaluate("it => it.value") > 100_000)
    hand.button("Pause walk.bin")
    expect(row).to_contain_text("paused at")
    line.rate = line.slows_after = None
    page.reload()
    expect(row).to_have_attribute("data-state", "done")
    assert "\r\nrange: bytes=" in line.requests[-1].lower()
    with page.expect_download() as download:
        hand.button("Save to disk: walk.bin")
    assert download.value.path().read_bytes() == content
    count(hand, "a download, paused and resumed", browser_name, record_property)


@pytest.mark.parametrize(("browser_name", "has_scripts"), [("Chromium", False), ("WebKit", False), ("WebKit", True)])
def test_a_download_by_the_browser_itself(take, server, place, browser_name, has_scripts, record_property):
    """Without scripts, and where a page can't keep files: WebKit refuses it in windows of a driver, as Safari does in private ones."""
    server.attach(place[0], "Notes", "with a file", ("walk.bin", b"a walk"))
    hand = take(has_scripts)
    hand.go(place[1] + "/sync")
    hand.find("with a file")
    hand.link("Open in Fetch")
    with hand.page.expect_download() as download:
        hand.link("Download")
    assert download.value.path().read_bytes() == b"a walk"
    if has_scripts:
        count(hand, "a download, paused and resumed", browser_name, record_property)


def test_zones_with_and_without_a_token(hand, done, server, place):
    page = hand.page
    hand.go(place[1] + "/sync")
    # Without a token, Changes lists all zones.
    hand.section("Changes")
    expect(page.locator(".answer tbody tr").filter(has_text="Notes")).to_be_visible()
    server.save(place[0], "Others", note("one", rank=1))
    hand.link("Fetch changes since this token")
    expect(page.locator(".answer tbody tr")).to_have_count(1)
    expect(page.locator(".answer tbody tr")).to_contain_text("Others")
    done("zones, with a token and without")


def test_changes_since_a_token(hand, done, server, place):
    page = hand.page
    token = pull(server, place[0], "reader")["syncToken"]
    server.save(place[0], "Notes", note("a late one", rank=9))
    hand.go(place[1] + "/sync")
    hand.find(token)
    expect(page.get_by_text("This token is valid")).to_be_visible()
    expect(page.locator("dl.facts").first).to_contain_text("I have everything up to here")
    expect(page.get_by_role("region", name="The first changes after the token")).to_contain_text("a late one")
    hand.link("Fetch changes since this token")
    expect(page.locator(".answer tbody tr")).to_have_count(1)
    expect(page.locator(".answer tbody tr")).to_contain_text("a late one")
    done("changes since a token")


def test_why_a_client_never_got_a_record(hand, done, server, place):
    page = hand.page
    pull(server, place[0], "client-B", limit=2)
    pull(server, place[0], "client-A")
    hand.go(place[1] + "/sync")
    hand.find("note 4")
    page.get_by_label("Parts of the record").get_by_role("link", name="Clients").click()
    panel = page.get_by_role("region", name="Clients and this record")
    expect(panel.get_by_role("row").filter(has_text="client-B")).to_contain_text("the response had moreComing true")
    expect(panel.get_by_role("row").filter(has_text="client-B")).to_be_in_viewport()
    expect(panel.get_by_role("row").filter(has_text="client-A")).to_contain_text("yes")
    done("why a client never got a record")


def test_a_conflict_is_merged(hand, done, server, place):
    page = hand.page
    hand.go(place[1] + "/sync")
    hand.find("note 2")
    hand.link("Edit rank")
    rank = page.get_by_role("textbox", name="rank", exact=True)
    if hand.has_scripts:
        # The link of a field puts the caret into it.
        expect(rank).to_be_focused()
    else:
        rank.click()
    hand.press("Control+A")
    hand.type("70")
    server.save(place[0], "Notes", note("note 2", title="Theirs", rank=71))
    hand.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Somebody saved Theirs note 2 before you")
    hand.button("Save with mine where both changed")
    expect(page.get_by_role("status")).to_contain_text("Saved rank.")
    assert server.values(place[0], "Notes", "note 2") == {"title": "Theirs", "rank": 70}
    done("a conflict, merged")


def test_a_csv_file_comes_in_and_goes_out(hand, done, server, place, tmp_path):
    page = hand.page
    file = tmp_path / "airports.csv"
    file.write_text("iata,elevation\nSEA,433\nAMS,-11\nLHR,25\n")
    hand.go(place[1] + "/sync")
    hand.find("import")
    if hand.has_scripts:
        hand.choose("file", file)
        # The page asks for the rest, one after the other.
        expect(page.get_by_label("Zone", exact=True)).to_be_focused()
        hand.type("Notes")
        hand.press("Tab")
        hand.type("Airport")
    else:
        page.get_by_label("file", exact=True).set_input_files(file)
        page.get_by_label("Zone", exact=True).select_option("Notes")
        page.get_by_label("record type").click()
        hand.type("Airport")
    # Enter previews, and then imports.
    hand.press("Enter")
    expect(page.get_by_label("Add SORTABLE to elevation")).to_be_checked()
    expect(page.get_by_role("button", name="Import 3 records")).to_be_focused()
    hand.press("Enter")
    expect(page.locator("#run .state")).to_have_text("done")
    with page.expect_download() as download:
        hand.link("Export CSV of all Airport records in zone Notes")
    with open(download.value.path(), newline="") as text:
        assert {row["recordName"]: row["elevation"] for row in csv.DictReader(text)} == {"SEA": "433", "AMS": "-11", "LHR": "25"}
    # The indexes answer a query at once.
    query = {"recordType": "Airport", "sortBy": [{"fieldName": "elevation"}]}
    found = server.ask(f"/{place[0]}/development/private/records/query", {"zoneID": ZONE, "query": query})["records"]
    assert [record["recordName"] for record in found] == ["AMS", "LHR", "SEA"]
    done("a CSV file, in and out")


def test_environments_are_compared_and_deployed(hand, done, place):
    page = hand.page
    hand.go(place[1] + "/sync")
    hand.find("deploy")
    expect(page.locator(".sides")).to_contain_text("RECORD TYPE Note")
    hand.link("Deploy to production…")
    hand.button("Deploy to production")
    expect(page.get_by_role("status").first).to_contain_text("Deployed")
    expect(page.locator("main")).to_contain_text("have the same schema")
    done("compared and deployed")
