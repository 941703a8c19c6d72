"""The grids of fields and indexes with scripts: what Save does, what is narrowed, and work that goes on."""

import re

import pytest
from playwright.sync_api import expect

from looks import check_looks


@pytest.fixture
def there(server, container):
    """A database with a few notes."""
    server.save(
        container, "Notes",
        *({"recordType": "Note", "recordName": f"note{number}", "fields": {"title": {"value": f"Milk {number}"}, "rank": {"value": number}}} for number in range(12)),
    )
    return f"/c/{container}/development/private"


def test_a_grid_says_what_save_builds_and_keeps_what_others_did(open_page, there):
    page = open_page(there + "/type?type=Note")
    other = open_page(there + "/type?type=Note", java_script_enabled=False)
    other.get_by_role("checkbox", name="SEARCHABLE on title of Note").uncheck()
    other.get_by_role("button", name="Save").click()
    page.get_by_role("checkbox", name="SORTABLE on rank of Note").uncheck()
    page.get_by_label("New field", exact=True).fill("pinnedAt")
    page.get_by_label("Type of the new field").select_option("TIMESTAMP")
    page.get_by_role("checkbox", name="QUERYABLE on ___modTime of Note").or_(page.get_by_role("checkbox", name="QUERYABLE on modifiedTimestamp of Note")).check()
    expect(page.locator("[data-saves]")).to_contain_text("Save adds the field pinnedAt TIMESTAMP; adds QUERYABLE on")
    expect(page.locator("[data-saves]")).to_contain_text("and builds it over 12 records; deletes SORTABLE on rank.")
    page.get_by_label("New field", exact=True).press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Deleted SORTABLE on Note.rank in development.")
    expect(page.get_by_role("checkbox", name="SEARCHABLE on title of Note")).not_to_be_checked()
    expect(page.get_by_role("rowheader", name="pinnedAt")).to_be_visible()


def test_narrowing_says_when_nothing_is_left(open_page, there):
    page = open_page(there + "/indexes")
    page.get_by_label("Filter", exact=True).fill("nothing like it")
    expect(page.get_by_text("No field matches.")).to_be_visible()
    page.get_by_label("Filter", exact=True).fill("")
    expect(page.get_by_text("No field matches.")).to_be_hidden()


def working(page, steps, path="/indexes"):
    """Simulates index builds on the page: each request sees the next step, and after the last one none."""
    looks = []

    def answer(route):
        reply = route.fetch()
        step = len(looks)
        looks.append(route.request.resource_type)
        text = reply.text()
        if step < len(steps):
            text = text.replace('<div id="indexes">', f'<div id="indexes" data-live="The work is done."><p class="remark">{steps[step]}</p>')
        route.fulfill(response=reply, body=text)

    page.route(re.compile(re.escape(path) + r"($|\?)"), answer)
    return looks


def test_work_on_indexes_is_followed_until_it_is_done(open_page, there):
    page = open_page(there + "/types")
    looks = working(page, ["building, 12 %", "building, 57 %"])
    page.clock.install()
    page.goto(there + "/indexes")
    page.evaluate("window.isSamePage = true")
    expect(page.get_by_text("building, 12 %")).to_be_visible()
    box = page.get_by_role("checkbox", name="SORTABLE on rank of Note")
    box.uncheck()
    expect(page.get_by_text("building, 57 %")).to_be_visible()
    expect(page.locator("#indexes[data-live]")).to_have_count(0)
    expect(page.locator("main > [role=status]")).to_have_text("The work is done.")
    expect(box).to_be_focused()
    expect(box).not_to_be_checked()
    assert page.evaluate("window.isSamePage") is True
    page.clock.run_for(10_000)
    assert len(looks) == 3


def test_what_was_narrowed_stays_so_when_the_table_is_exchanged(open_page, there):
    page = open_page(there + "/types")
    working(page, ["building, 12 %"])
    page.goto(there + "/indexes")
    page.get_by_label("Filter", exact=True).fill("rank")
    expect(page.locator("#indexes[data-live]")).to_have_count(0)
    expect(page.locator(".indexes tbody tr:visible")).to_have_count(1)
    expect(page.get_by_label("Filter", exact=True)).to_be_focused()


@pytest.mark.parametrize("path", ["/type?type=Note", "/type?type=Users", "/indexes?show=all", "/indexes?find=x"])
def test_how_composite_indexes_and_exceptions_look(open_page, there, path):
    page = open_page(there + "/type?type=Note")
    page.get_by_role("button", name="Add a composite index").click()
    page.goto(there + path)
    check_looks(page, widths=(1360, 420))
