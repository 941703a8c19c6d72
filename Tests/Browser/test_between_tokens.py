"""The tab Changes between two tokens, the timeline of a zone, differences between zones, and files in a feed."""

import pytest
from playwright.sync_api import expect

from folding import unfold
from looks import check_looks
from pages import title


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


def test_what_changed_between_two_tokens(open_page, stage):
    there, first, second = stage
    page = open_page(f"{there}/changes?zone=Notes")
    unfold(page)
    page.get_by_label("Change token").fill(first)
    page.get_by_label("up to", exact=True).fill(second)
    page.get_by_role("button", name="Fetch changes").last.click()
    changes = page.get_by_role("table", name="Changes in the order of commits")
    expect(changes.locator("tbody th")).to_have_text([f"between{number}" for number in range(8) if number != 3] + ["early7"])
    expect(page.locator(".aside").first).to_contain_text("3 records changed after the second token")
    expect(page.locator(".aside").first).to_contain_text("1 also changed between the tokens, 2 only later")
    again = page.get_by_role("region", name="Changed again later")
    expect(again.locator("tbody th")).to_have_text(["between3"])
    expect(again.locator("tbody td").nth(1)).to_contain_text("created at")
    expect(again.locator("tbody td").nth(2)).to_contain_text("modified at")
    # The address contains the query.
    page.goto(page.url)
    expect(changes.locator("tbody tr")).to_have_count(8)
    page.locator(".foot").get_by_role("link", name="Fetch later changes").click()
    expect(page.locator("tbody th.name")).to_have_text(["between3", "early9", "late"])
    page.go_back()
    again.get_by_role("link", name="History").click()
    expect(page).to_have_title(title("History of between3", there.split("/")[2]))


def test_tokens_that_were_compared_lead_to_what_lies_between(open_page, stage):
    there, first, second = stage
    page = open_page(f"{there}/token?token={second}&with={first}")
    page.get_by_role("link", name="Fetch changes between them").click()
    expect(page.locator("tbody th.name").first).to_have_text("between0")
    assert f"token={first}" in page.url and f"upto={second}" in page.url


def test_tokens_in_the_wrong_order_are_exchanged(open_page, stage):
    there, first, second = stage
    page = open_page(f"{there}/changes?zone=Notes&since=1&token={second}&upto={first}")
    expect(page.get_by_role("alert")).to_contain_text("is older than the first")
    page.get_by_role("link", name="Swap them").click()
    expect(page.locator("tbody th.name").first).to_have_text("between0")


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


def test_zones_say_what_sets_them_apart(open_page, server):
    container = "iCloud.com.example.Apart"
    there = f"/c/{container}/development/private"
    server.save(container, "Kept", note("a"))
    server.save(container, "Lost", note("a"))
    server.ask(f"/{container}/development/private/zones/modify", {"operations": [{"operationType": "delete", "zone": {"zoneID": {"zoneName": "Lost"}}}]})
    page = open_page(f"{there}/changes?zone=")
    page.get_by_role("link", name="1 zone was deleted").click()
    row = page.get_by_role("region", name="Deleted zones").locator("tbody tr")
    expect(row).to_contain_text("Lost")
    expect(row).to_contain_text("deleted")
    default = page.get_by_role("region", name="Zones of the database").locator("tr", has_text="_defaultZone")
    expect(default).to_contain_text("no token")
    expect(default).to_contain_text("hidden")
    expect(page.locator("dl.facts")).to_contain_text("The database’s changes never list the zone")
    kept = page.get_by_role("region", name="Zones of the database").locator("tr", has_text="Kept")
    expect(kept.locator(".tokentext")).to_have_text(token(server, container, "Kept"))


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
