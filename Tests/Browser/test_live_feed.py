"""Follows a zone through ten thousand saves: paused, disconnected, and in two browsers. Nothing is missed or duplicated, and pages stay small."""

import pytest
from cut_line import CutLine
from playwright.sync_api import expect

COUNT = 10_000
BATCH = 200

# Records the positions of all changes from an event source, independently of the page.
LISTENING = """
window.heard = []
const Plain = window.EventSource
window.EventSource = class extends Plain {
  constructor(...parameters) {
    super(...parameters)
    this.addEventListener('changes', event => { for (const change of JSON.parse(event.data).changes) heard.push(change.position) })
  }
}
"""


@pytest.fixture
def line(server):
    line = CutLine(server.address)
    yield line
    line.stop()


def save(server, container, start, count):
    """Saves records one by one, and returns their positions, which are their change tags in base 36."""
    positions = []
    for first in range(start, start + count, BATCH):
        names = [f"r{number:05}" for number in range(first, min(first + BATCH, start + count))]
        operations = [{"operationType": "forceReplace", "record": {"recordType": "Note", "recordName": name, "fields": {"n": {"value": 1}}}} for name in names]
        answer = server.ask(f"/{container}/development/private/records/modify", {"zoneID": {"zoneName": "Notes"}, "operations": operations})
        positions += [int(record["recordChangeTag"], 36) for record in answer["records"]]
    return positions


def weight(page):
    """The numbers of DOM nodes and of bytes used by scripts, after garbage collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    return metrics["Nodes"], metrics["JSHeapUsedSize"]


def follow(page, container):
    page.add_init_script(LISTENING)
    page.goto(f"/c/{container}/development/private/changes?zone=Notes")
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_role("region", name="Feed")).to_contain_text("Live")
    return page


def test_ten_thousand_saves_are_followed_once_each(server, line, new_page, open_page):
    container = "iCloud.com.example.Followers"
    server.save(container, "Notes", {"recordType": "Note", "recordName": "before", "fields": {"n": {"value": 1}}})
    paused, cut = follow(open_page(), container), follow(new_page(line), container)
    feed = paused.get_by_role("region", name="Feed")
    positions = save(server, container, 0, 200)
    for page in (paused, cut):
        expect(page.get_by_role("region", name="Feed")).to_contain_text("200 changes followed")
    before = weight(paused)
    feed.get_by_role("button", name="Pause").click()
    expect(feed).to_contain_text("Paused")
    # One browser is paused all the time; the other is disconnected twice.
    for part in range(1, 4):
        start = 200 + (part - 1) * 3_200
        positions += save(server, container, start, 3_200 if part < 3 else COUNT - start)
        if part < 3:
            line.cut()
    assert len(positions) == len(set(positions)) == COUNT
    expect(paused.locator("[data-count]")).to_have_text("200 changes followed")
    assert len(paused.evaluate("heard")) == 200
    feed.get_by_role("button", name="Resume").click()
    for page in (paused, cut):
        expect(page.locator("[data-count]")).to_have_text("10,000 changes followed")
        heard = page.evaluate("heard")
        assert heard == sorted(heard) == positions
        expect(page.locator("tbody.live tr")).to_have_count(200)
        last = page.locator("tbody.live th")
        assert last.first.inner_text() == "r09999" and last.last.inner_text() == "r09800"
    # As many rows as before, and far less memory than the changes would take.
    nodes, heap = weight(paused)
    assert nodes < before[0] * 1.5 and heap < before[1] + 8_000_000
    # Both continue with new changes only.
    positions += save(server, container, COUNT, 1)
    for page in (paused, cut):
        expect(page.locator("[data-count]")).to_have_text("10,001 changes followed")
        assert page.evaluate("heard") == positions
    # The token in the footer is after all changes.
    paused.locator(".foot").get_by_role("link", name="Fetch again").click()
    expect(paused.get_by_text("No changes since the token.")).to_be_visible()
