"""A record beside the table of results, and the columns that the browser remembers."""

import pytest
from playwright.sync_api import expect

from axe import problems
from rows import names, notes


@pytest.fixture
def table(open_page, server):
    page = open_page(notes(server, "iCloud.com.example.Beside"), reduced_motion="reduce")
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    return page


def test_records_open_beside_the_table(table):
    page = table
    panel = page.get_by_role("region", name="Record beside the table")
    expect(panel).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("v")
    expect(panel.get_by_role("heading", level=2).first).to_have_text("note0")
    expect(panel).to_contain_text("rank")
    assert not problems(page)
    for key, name in [("j", "note1"), ("j", "note2"), ("k", "note1")]:
        page.keyboard.press(key)
        expect(panel.get_by_role("heading", level=2).first).to_have_text(name)
    # A click chooses the row and stays on the page.
    page.locator("tbody th.name").get_by_role("link", name="note4").click()
    expect(panel.get_by_role("heading", level=2).first).to_have_text("note4")
    expect(page.locator("tr[aria-current=true] th a")).to_have_text("note4")
    assert names(page) == [f"note{number}" for number in range(5)]
    # Another page of the browser remembers it, and Enter opens the record's own page. The keys start at the record that is shown.
    page.reload()
    expect(panel.get_by_role("heading", level=2).first).to_have_text("note0")
    page.keyboard.press("j")
    expect(panel.get_by_role("heading", level=2).first).to_have_text("note1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("note1")
    page.go_back()
    page.get_by_role("button", name="Side panel").click()
    expect(panel).to_have_count(0)
    page.locator("tbody th.name").get_by_role("link", name="note3").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("note3")
    # The page leads on through the rows of the table.
    expect(page.locator(".heading .actions")).to_contain_text("4 of 5")
    page.get_by_role("link", name="Next record").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("note4")
    expect(page.get_by_role("link", name="Next record")).to_have_count(0)
    page.get_by_role("link", name="Previous record").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("note3")
    assert not problems(page)
    # And back to the table.
    page.get_by_role("link", name="4 of 5").click()
    expect(page.locator("tbody th.name")).to_have_count(5)


def test_the_keys_go_on_from_the_row_that_was_left(table):
    page = table
    panel = page.get_by_role("region", name="Record beside the table")

    def row(number: int):
        return page.locator("tbody th.name").get_by_role("link", name=f"note{number}")

    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(row(1)).to_be_focused()
    page.locator(".foot").click(position={"x": 2, "y": 2})
    expect(row(1)).not_to_be_focused()
    page.keyboard.press("j")
    expect(row(2)).to_be_focused()
    # A click into the panel leaves the row too. Enter opens its record from there.
    page.keyboard.press("v")
    expect(panel).to_contain_text("rank")
    panel.focus()
    page.keyboard.press("j")
    expect(row(3)).to_be_focused()
    expect(panel.get_by_role("heading", level=2).first).to_have_text("note3")
    expect(panel).to_contain_text("rank")
    panel.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("note3")


def test_the_letter_after_g_leads_to_a_page(table):
    page = table
    page.keyboard.type("gv")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Check")
    page.go_back()
    expect(page.get_by_role("button", name="Side panel")).to_have_attribute("aria-pressed", "false")


def test_a_narrow_window_has_no_room_beside(table):
    page = table
    page.get_by_role("button", name="Side panel").click()
    panel = page.get_by_role("region", name="Record beside the table")
    expect(panel).to_be_visible()
    page.set_viewport_size({"width": 850, "height": 800})
    expect(panel).to_be_hidden()
    expect(page.get_by_role("button", name="Side panel")).to_be_hidden()
    page.locator("tbody th.name").get_by_role("link", name="note3").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("note3")


def test_hidden_columns_are_remembered_unless_the_query_asks_for_them(open_page, server):
    container = "iCloud.com.example.Remembered"
    server.save(container, "Notes", *[
        {"recordType": "Note", "recordName": f"note{number}", "fields": {"rank": {"value": number}, "mood": {"value": f"Mood {number}"}}} for number in range(3)])
    question = f"/c/{container}/development/private/query?type=Note&zone=Notes&filter1=rank&is1=GREATER_THAN_OR_EQUALS&value1="
    page = open_page(question + "0")
    menu = page.get_by_role("group", name="Columns that are shown")

    def head(name: str):
        return page.get_by_role("columnheader", name=name)

    page.locator(".foot summary", has_text="Columns").click()
    menu.get_by_label("mood").uncheck()
    menu.get_by_label("modified").uncheck()
    menu.get_by_label("rank").uncheck()
    for name in ["mood", "modified", "rank"]:
        expect(head(name)).to_have_count(0)
    # The next query filters by the rank, so it shows it.
    page.goto(question + "1")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(head("rank")).to_be_visible()
    for name in ["mood", "modified"]:
        expect(head(name)).to_have_count(0)
    # So does one that sorts.
    page.goto(question + "1&sort1=mood")
    expect(head("mood")).to_be_visible()
    expect(head("modified")).to_have_count(0)
