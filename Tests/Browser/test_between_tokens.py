"""The timeline of a zone, also between two tokens, and files in a feed."""

import pytest
from playwright.sync_api import expect

from looks import check_looks


def note(name, number=1):
    return {"recordType": "Note", "recordName": name, "fields": {"n": {"value": number}}}


def token(server, container, zone="Notes"):
    zones = server.ask(f"/{container}/development/private/zones/list", {})["zones"]
    return next(item["syncToken"] for item in zones if item["zoneID"]["zoneName"] == zone)


@pytest.fixture(scope="module")
def stage(server):
    """A zone in which much happened before a first token, some between it and a second, and some since."""
    container = "iCloud.com.example.Between"
    server.save(container, "Notes", *[note(f"early{number}") for number in range(120)])
    first = token(server, container)
    server.save(container, "Notes", *[note(f"between{number}") for number in range(8)], note("early7", 2))
    second = token(server, container)
    server.save(container, "Notes", note("between3", 2), note("early9", 2), note("late"))
    return f"/c/{container}/development/private", first, second


def test_the_timeline_shows_the_tokens_and_leads_into_the_feed(open_page, stage):
    there, first, second = stage
    page = open_page(f"{there}/changes?zone=Notes&since=1&token={first}&upto={second}")
    drawing = page.get_by_role("img", name="Timeline of the feed")
    expect(drawing.locator("text.mark")).to_have_text(["A", "B"])
    expect(page.locator(".marks")).to_contain_text("since")
    where = drawing.locator("line.mark").evaluate_all("lines => lines.map(line => line.getBoundingClientRect().x)")
    shown = drawing.locator("rect.part").bounding_box()
    assert where[0] <= shown["x"] + 8 and shown["x"] + shown["width"] <= where[1] + 8 and where[0] < where[1]
    with page.expect_navigation():
        page.get_by_role("link", name="Zoom in").click()
    zoomed = drawing.locator("line.mark").evaluate_all("lines => lines.map(line => line.getBoundingClientRect().x)")
    assert zoomed[1] - zoomed[0] > 3 * (where[1] - where[0])
    with page.expect_navigation():
        page.get_by_role("link", name="Show the whole zone").click()
    page.get_by_text("As a list").click()
    stretch = page.locator(".stretches li").first
    positions = stretch.get_by_role("link").inner_text()
    count = int(stretch.locator("span").first.inner_text().split()[0])
    box = drawing.bounding_box()
    page.mouse.click(box["x"] + 4, box["y"] + 40)
    expect(page.locator("tbody tr")).to_have_count(count)
    low, high = (int(text) for text in positions.split(" to "))
    shown = [int(text.replace(",", "")) for text in page.locator("tbody td:first-child").all_inner_texts()]
    assert low <= min(shown) and max(shown) <= high


def test_a_click_leads_to_the_stretch_under_it_where_the_last_is_narrower(open_page, server):
    container = "iCloud.com.example.Ruler"
    # 61 positions in stretches of two, the last of one.
    server.save(container, "Notes", *[note(f"r{number}") for number in range(61)])
    page = open_page(f"/c/{container}/development/private/changes?zone=Notes")
    page.get_by_text("As a list").click()
    stretches = page.locator(".stretches li")
    expect(stretches).to_have_count(31)
    expect(stretches.last.locator("span").first).to_have_text("1 change")
    box = page.get_by_role("img", name="Timeline of the feed").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 59.8 / 61, box["y"] + 40)
    expect(page.locator("tbody th.name")).to_have_text(["r58", "r59"])
    page.go_back()
    page.mouse.click(box["x"] + box["width"] * 60.2 / 61, box["y"] + 40)
    expect(page.locator("tbody th.name")).to_have_text(["r60"])


def test_axe_finds_nothing_between_tokens(open_page, stage):
    there, first, second = stage
    page = open_page(f"{there}/changes?zone=Notes&since=1&token={first}&upto={second}")
    page.get_by_text("As a list").click()
    check_looks(page, widths=(1440, 380))
    page.goto(f"{there}/changes?zone=Notes&since=1&token={first}&upto={second}&again=")
    expect(page.get_by_role("link", name="Back to the changes between the tokens")).to_be_visible()
    check_looks(page, widths=(1440, 380))


def test_files_in_a_feed_are_fetched_from_it(open_page, server):
    container = "iCloud.com.example.FeedFiles"
    server.attach(container, "Notes", "first", ("plan.txt", b"first plan"))
    page = open_page(f"/c/{container}/development/private/changes?zone=Notes")
    with page.expect_download() as download:
        page.locator("tbody tr").first.get_by_role("link", name="plan.txt").click()
    assert download.value.suggested_filename == "plan.txt"
    assert open(download.value.path(), "rb").read() == b"first plan"
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_role("region", name="Feed")).to_contain_text("Live")
    server.attach(container, "Notes", "second", ("a.txt", b"a"), ("b & c.txt", b"bc"))
    live = page.locator("tbody.live tr")
    expect(live.locator("td a")).to_have_text(["a.txt", "b & c.txt"])
    with page.expect_download() as download:
        live.get_by_role("link", name="b & c.txt").click()
    assert open(download.value.path(), "rb").read() == b"bc"
    # Both kinds of rows look alike.
    text = live.locator("td").nth(3).inner_text()
    page.reload()
    expect(page.locator("tbody tr").nth(1).locator("td").nth(3)).to_have_text(text)
