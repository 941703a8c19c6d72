"""Titles of records: suggested to a filter, in live rows, and from right to left."""

import pytest
from playwright.sync_api import expect

from axe import problems


@pytest.fixture
def there(server, container):
    """A database with two rooms, and a note that refers to one of them."""
    server.save(
        container, "Notes", {"recordType": "Room", "recordName": "r1", "fields": {"title": {"value": "The <b>hall</b>"}, "floor": {"value": 2}}},
        {"recordType": "Room", "recordName": "r2", "fields": {"title": {"value": "Under the roof"}, "floor": {"value": 3}}},
        {"recordType": "Note", "recordName": "n1", "fields": {
            "title": {"value": "Chairs"}, "rank": {"value": 1}, "room": {"value": {"recordName": "r1", "action": "NONE"}, "type": "REFERENCE"}}})
    return f"/c/{container}/development/private"


HALL = "The <b>hall</b> r1"


def test_a_filter_suggests_records_by_their_titles(open_page, there):
    page = open_page(there + "/query?type=Note&zone=Notes&filter1=room&is1=EQUALS&value1=x&edit=1", reduced_motion="reduce")
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    box = page.get_by_label("Value of filter 1")
    box.fill("hall")
    options = page.locator("form[data-ask] datalist option")
    expect(options).to_have_count(1)
    assert options.evaluate_all("options => options.map(option => [option.value, option.textContent])") == [["r1", "The <b>hall</b> · Room"]]
    # The button lists the same on the page.
    page.get_by_role("button", name="Find a record for filter 1").click()
    found = page.get_by_role("group", name="Records found for filter 1").get_by_role("link")
    expect(found).to_have_text(f"{HALL} Room")
    expect(found).to_be_focused()
    assert not problems(page)
    # A choice fills the filter in, and the query waits until it is run.
    page.keyboard.press("Enter")
    expect(page.get_by_label("Value of filter 1")).to_have_value("r1")
    expect(page.get_by_label("Value of filter 1")).to_be_focused()
    expect(found).to_have_count(0)
    expect(page.get_by_label("as text")).to_have_value("room = r1")
    page.get_by_role("button", name="Query").last.click()
    expect(page.get_by_role("list", name="What is asked")).to_contain_text("room is The <b>hall</b>")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_live_changes_have_titles_too(open_page, server, there, container):
    page = open_page(there + "/changes?zone=Notes", reduced_motion="reduce")
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_role("region", name="Feed")).to_contain_text("Live")
    server.save(container, "Notes", {"recordType": "Room", "recordName": "r2", "fields": {"title": {"value": "<i>Attic</i>"}}})
    row = page.locator("tbody.live tr")
    expect(row.locator("th a")).to_have_text("<i>Attic</i> r2")
    # A live row has the menus of the others.
    row.locator("td").nth(2).click(position={"x": 3, "y": 4})
    expect(page.locator(".cellmenu")).to_contain_text("type")


def test_a_title_from_right_to_left_leaves_the_name_in_one_piece(server, open_page, there, container):
    server.save(container, "Notes", {"recordType": "Room", "recordName": "1-abc-2", "fields": {"title": {"value": "غرفة 12 (كبيرة)"}, "floor": {"value": 4}}})
    page = open_page(there + "/fetch?zone=Notes&names=1-abc-2")
    title, name = page.locator("tbody th a bdi"), page.locator("tbody th a small")
    expect(name).to_have_text("1-abc-2")
    assert name.evaluate("name => name.getClientRects().length") == 1
    assert title.bounding_box()["x"] < name.bounding_box()["x"]
