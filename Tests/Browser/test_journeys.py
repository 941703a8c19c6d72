"""Complete tasks of a developer, from the problem to the solution.

Those that others' tests walk are not walked again here:

- a refused query, its indexes added from the page, the answer: `test_query_advice.py`
- many records changed and deleted after a dry run, and a conflict resolved field by field: `test_editing.py`
- why a client never got a record: `test_request_pages.py`
- a schema from development to production: `test_deploy.py`
"""

import json
import subprocess
import sys
import urllib.request

import pytest
from playwright.sync_api import expect

from folding import choose, unfold
from page_server import binary
from pictures import keep

ZONE = {"zoneName": "Notes"}


def notes(server, container: str, names, zone: str = "Notes") -> str:
    """Saves notes, and returns the address of their database's pages."""
    server.save(container, zone, *[
        {"recordType": "Note", "recordName": name, "fields": {"title": {"value": f"About {name}"}, "rank": {"value": rank}}} for rank, name in enumerate(names)])
    return f"/c/{container}/development/private"


class Phone:
    """A client that keeps a change token and a copy of the zone."""

    def __init__(self, server, container: str):
        self.address = f"{server.address}/database/1/{container}/development/private"
        self.records: set[str] = set()
        self.token = None

    def pull(self, zone: str = "Notes") -> dict:
        """One complete pull. Returns the last answer."""
        while True:
            asked = {"zoneID": {"zoneName": zone}} | ({"syncToken": self.token} if self.token else {})
            request = urllib.request.Request(
                self.address + "/changes/zone", json.dumps({"zones": [asked]}).encode(), {"Content-Type": "text/plain", "X-Skylight-Client": "Phone"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                said = json.load(answer)
            of_zone = said["zones"][0]
            if "serverErrorCode" in of_zone:
                return said
            for record in of_zone["records"]:
                (self.records.discard if record.get("deleted") else self.records.add)(record["recordName"])
            self.token = of_zone["syncToken"]
            if not of_zone["moreComing"]:
                return said


def paste(page, label: str, text: str):
    page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Explain").click()


# MARK: A sync that broke


def test_an_expired_token_from_the_error_to_a_pull_from_nothing(open_page, server):
    container = "iCloud.com.example.Expiring"
    there = notes(server, container, ["a", "b", "c"])
    phone = Phone(server, container)
    phone.pull()
    # The zone is reset while the phone is away, and another device has put something into it since.
    for operation in ["delete", "create"]:
        server.ask(f"/{container}/development/private/zones/modify", {"operations": [{"operationType": operation, "zone": {"zoneID": ZONE}}]})
    notes(server, container, ["d", "e"])
    refused = phone.pull()
    assert refused["zones"][0]["serverErrorCode"] == "BAD_REQUEST"

    # The error explains itself, and links to the request that got it.
    page = open_page(there + "/errors")
    paste(page, "The error", json.dumps(refused))
    card = page.locator(".errorcard").first
    expect(card).to_contain_text("client knowledge differs from server knowledge")
    expect(card).to_contain_text("without a token")
    keep(page, "journey broken sync, the error")
    # So does the list of requests: the failed item is inside a 200.
    page.goto(there + "/requests?errors=1&client=Phone")
    page.locator("tbody tr").first.get_by_role("link", name="changes/zone").click()
    expect(page.locator("main")).to_contain_text("client knowledge differs from server knowledge")

    # The token says why, and what to do.
    page.goto(there + "/token")
    paste(page, "Token, archive, dump or JSON", phone.token)
    expect(page.get_by_text("This token has expired")).to_be_visible()
    steps = page.locator("ol.steps").first
    expect(steps).to_contain_text("without a token")
    keep(page, "journey broken sync, the token")
    page.goto(there + "/clients")
    expect(page.get_by_role("region", name="Phone as Developer", exact=True)).to_contain_text("expired")

    # The client starts over: it fetches everything again, and drops everything else.
    phone.token, phone.records = None, set()
    phone.pull()
    assert phone.records == {"d", "e"}
    page.goto(there + "/token")
    paste(page, "Token, archive, dump or JSON", phone.token)
    expect(page.get_by_text("This token is valid")).to_be_visible()
    expect(page.locator("main")).to_contain_text("it is the current one")
    page.goto(there + "/clients")
    expect(page.get_by_role("region", name="Phone as Developer", exact=True)).to_contain_text("up to date")
    keep(page, "journey broken sync, mended")


def test_a_token_of_another_zone_is_recognised(open_page, server):
    container = "iCloud.com.example.Foreign"
    there = notes(server, container, ["a"])
    notes(server, container, ["x"], zone="Other")
    phone = Phone(server, container)
    phone.pull("Other")
    wrong = phone.token
    refused = phone.pull("Notes")
    assert "Unknown sync continuation type" in refused["zones"][0]["reason"]

    page = open_page(there + "/errors")
    paste(page, "The error", json.dumps(refused))
    expect(page.locator(".errorcard").first).to_contain_text("Unknown sync continuation type")
    # The token is fine, but was sent to the wrong zone.
    page.goto(there + "/token")
    paste(page, "Token, archive, dump or JSON", wrong)
    expect(page.get_by_text("This token is valid")).to_be_visible()
    expect(page.locator("dl.facts").first).to_contain_text("Other")
    page.goto(there + "/clients")
    expect(page.get_by_role("region", name="Phone as Developer", exact=True)).to_contain_text("token of another zone")
    keep(page, "journey foreign token")
    phone.token = None
    phone.pull("Notes")
    assert phone.records == {"x", "a"}


# MARK: Followed while another process saves


def test_what_another_process_saves_is_followed(open_page, server, tmp_path):
    container = "iCloud.com.example.Following"
    there = notes(server, container, ["before"])
    page = open_page(there + "/changes?zone=Notes")
    page.get_by_role("button", name="Follow").click()
    feed = page.get_by_role("region", name="Feed")
    expect(feed).to_contain_text("Live")
    names = [f"row {number:03}" for number in range(150)]
    file = tmp_path / "rows.csv"
    file.write_text("name,title,rank\n" + "".join(f"{name},From a file,{number}\n" for number, name in enumerate(names)))
    subprocess.run(
        [binary(), "import", str(file), "--url", server.address, "--container", container, "--type", "Note", "--zone", "Notes", "--name-field", "name"],
        check=True, capture_output=True, timeout=60)
    # A small client in its own process, at the same time as the page.
    program = """
import json, sys, urllib.request
for number in range(20):
    record = {"recordType": "Note", "recordName": f"own {number:02}", "fields": {"rank": {"value": number}}}
    body = {"zoneID": {"zoneName": "Notes"}, "operations": [{"operationType": "create", "record": record}]}
    urllib.request.urlopen(urllib.request.Request(sys.argv[1], json.dumps(body).encode()), timeout=60).read()
"""
    subprocess.run([sys.executable, "-c", program, f"{server.address}/database/1/{container}/development/private/records/modify"], check=True, timeout=60)
    names += [f"own {number:02}" for number in range(20)]
    expect(feed).to_contain_text("170 changes followed")
    # Each once, in the order of the commits, with the last one on top.
    assert page.locator("tbody.live tr th a").evaluate_all("links => links.map(link => new URL(link.href).searchParams.get('name'))") == names[::-1]
    keep(page, "journey live following")


# MARK: By keyboard alone

# The focused element, its visibility, and any element that covers it.
FOCUS = """
() => {
  const element = document.activeElement
  const style = getComputedStyle(element)
  const box = element.getClientRects()[0]
  if (element === document.body || !box) return { name: '', problem: 'nothing is focused' }
  const name = element.getAttribute('aria-label') || element.labels?.[0]?.textContent.trim() || element.textContent.trim()
  const isOutlined = element.matches(':focus-visible') && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
  const isInside = box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth
  const on = document.elementFromPoint(box.x + box.width / 2, Math.min(box.y + box.height / 2, innerHeight - 1))
  const isFree = on !== null && (element.contains(on) || on.contains(element) || element.labels?.[0]?.contains(on))
  const problem = !isOutlined ? 'has no outline' : !isInside ? 'is out of sight' : !isFree ? `lies under ${on?.outerHTML.slice(0, 80)}` : null
  return { name, problem }
}
"""


def tab_to(page, name: str, most: int = 90, is_whole: bool = True):
    """Presses Tab until the element with this name, or beginning of a name, has the focus. Every focused element on the way must be visible."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        assert focus["problem"] is None, f"{page.url}: {focus['name']!r} {focus['problem']}"
        passed.append(focus["name"])
        if focus["name"] == name or not is_whole and focus["name"].startswith(name):
            return
    raise AssertionError(f"{name} is not among {passed}")


def test_from_the_start_page_to_an_edited_record_without_a_mouse(open_page, server):
    container = "iCloud.com.example.Keys"
    notes(server, container, [f"note{number}" for number in range(3)])
    page = open_page("/", reduced_motion="reduce")
    tab_to(page, "Find a container or a record")
    page.keyboard.type(container)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    # A type that a save created cannot be listed, as in CloudKit, until its recordName has an index.
    tab_to(page, "Add QUERYABLE to recordName")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(3)
    # The folded form.
    tab_to(page, "Edit", is_whole=False)
    page.keyboard.press("Enter")
    tab_to(page, "Record type")
    # A filter is made by keys, and the query run.
    tab_to(page, "Field of filter 1")
    page.keyboard.type("rank")
    expect(page.get_by_label("Value of filter 1")).to_be_visible()
    tab_to(page, "Value of filter 1")
    page.keyboard.type("1")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**filter1=rank**")
    rows = page.locator("tbody tr")
    count = rows.count()
    assert count >= 1
    # From row to row, and into a record.
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("j")
    assert page.evaluate(FOCUS)["problem"] is None
    name = rows.first.locator("th a").get_attribute("title")
    expect(rows.first.locator("th a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    tab_to(page, "Edit")
    page.keyboard.press("Enter")
    page.wait_for_url("**/record/edit**")
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    while page.evaluate("document.activeElement.tagName") != "TEXTAREA":
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUS)["problem"] is None
    page.keyboard.press("Control+A")
    page.keyboard.type("Written without a mouse")
    tab_to(page, "Save")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The record is saved.")
    keep(page, "journey keyboard")
    answer = server.ask(f"/{container}/development/private/records/lookup", {"zoneID": ZONE, "records": [{"recordName": name}]})
    assert answer["records"][0]["fields"]["title"]["value"] == "Written without a mouse"


# MARK: The main ways, on every kind of screen

SCREENS = {
    "without scripts": {"java_script_enabled": False},
    "narrow": {"viewport": {"width": 380, "height": 800}, "has_touch": True, "is_mobile": True},
    "dark": {"color_scheme": "dark"},
}


@pytest.mark.parametrize("screen", SCREENS)
def test_the_main_ways(open_page, empty_server, screen):
    container = f"iCloud.com.example.{screen.title().replace(' ', '')}"
    notes(empty_server, container, [f"note{number}" for number in range(12)])
    page = open_page("/", at=empty_server, **SCREENS[screen])
    visited = []

    def look(title: str):
        """Each page is the expected one, and fits the window."""
        visited.append(title)
        page.wait_for_load_state()
        if screen == "narrow":
            assert page.evaluate("document.documentElement.scrollWidth") <= 380, f"{title} sticks out"
            out = page.evaluate("[...document.querySelectorAll('main button, main .button, main input, main select')].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > 381).length")
            assert out == 0, f"{title}: {out} things to press are out of sight"
        if screen == "dark":
            assert page.evaluate("Math.max(...getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).map(Number))") < 80, f"{title} is not dark"
        keep(page, f"journey {screen} {len(visited):02} {title}")

    look("start")
    page.get_by_role("link", name=container, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sync")
    look("sync")
    page.get_by_label("Ways to read records").get_by_role("link", name="Query", exact=True).click()
    # A type that a save created cannot be listed, as in CloudKit, until its recordName has an index.
    expect(page.get_by_role("alert")).to_contain_text("not marked queryable")
    look("refused query")
    page.get_by_role("button", name="Add QUERYABLE to recordName").click()
    expect(page.locator("tbody tr")).to_have_count(12)
    look("query")
    unfold(page)
    page.get_by_label("Field of filter 1").select_option("rank")
    if screen == "without scripts":
        page.get_by_role("button", name="Query", exact=True).last.click()
    page.get_by_label("Value of filter 1").fill("7")
    page.get_by_role("button", name="Query", exact=True).last.click()
    page.wait_for_url("**value1=7**")
    expect(page.locator("tbody tr").first).to_be_visible()
    look("query with a filter")
    page.goto(f"/c/{container}/development/private/fetch?zone=Notes&names=note7%0Anobody")
    expect(page.locator("tbody tr")).to_have_count(2)
    look("fetch")
    page.locator("tbody").get_by_role("link", name="About note7 note7", exact=True).click()
    look("record")
    page.get_by_role("link", name="Edit", exact=True).click()
    look("editor")
    page.get_by_role("textbox", name="title", exact=True).fill("Changed on the way")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("The record is saved.")
    expect(page.locator("main")).to_contain_text("Changed on the way")
    look("saved")
    choose(page, "Changes of the zone")
    expect(page.locator("tbody tr")).to_have_count(12)
    look("changes")
    token = page.locator(".newtoken a").inner_text()
    page.get_by_role("link", name="Fetch again").click()
    expect(page.get_by_text("No changes since the token.")).to_be_visible()
    look("no changes")
    page.goto(f"/c/{container}/development/private/token")
    paste(page, "Token, archive, dump or JSON", token)
    expect(page.get_by_text("This token is valid")).to_be_visible()
    look("token")
    if screen == "narrow":
        page.get_by_role("button", name="Pages and search").click()
    page.get_by_label("Pages", exact=True).get_by_role("link", name="Requests").click()
    expect(page.locator("tbody tr").filter(has_text="records/modify").first).to_be_visible()
    look("requests")
    page.goto(f"/c/{container}/development/private/record?zone=Notes&name=note7")
    page.locator("details.more > summary").first.click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("button", name="Undo the deletion")).to_be_visible()
    look("deleted")
