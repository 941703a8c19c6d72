"""Values that are edited in their cells, with the rules of the form of a record."""

import re

import pytest
from playwright.sync_api import expect

from axe import problems
from looks import check_looks
from test_cells import cell


@pytest.fixture
def there(server, container):
    """A database with three notes."""
    fields = {"due": {"value": 1795197600250, "type": "TIMESTAMP"}, "tags": {"value": ["a", "b"], "type": "STRING_LIST"},
              "room": {"value": {"recordName": "hall", "action": "NONE"}, "type": "REFERENCE"}}
    server.save(container, "Notes", {"recordType": "Room", "recordName": "hall", "fields": {"title": {"value": "The hall"}}},
                {"recordType": "Room", "recordName": "attic", "fields": {"title": {"value": "Under the roof"}}})
    server.save(container, "Notes", *[
        {"recordType": "Note", "recordName": f"note{number}", "fields": {**fields, "rank": {"value": number}, "title": {"value": f"Note {number}"}}}
        for number in range(3)])
    return f"/c/{container}/development/private"


QUESTION = "/query?type=Note&zone=Notes&filter1=rank&is1=GREATER_THAN_OR_EQUALS&value1=0&sort1=rank"


@pytest.fixture
def table(open_page, there):
    page = open_page(there + QUESTION, reduced_motion="reduce")
    expect(page.locator("tbody tr")).to_have_count(3)
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    return page


def begin(page, row, name):
    """Opens the input of a cell. The table may scroll first, which closes a menu."""
    cell(page, row, name).scroll_into_view_if_needed()
    cell(page, row, name).dblclick(position={"x": 3, "y": 4})
    expect(page.locator(".celledit")).to_be_visible()
    return page.locator(".celledit").locator("input, textarea")


def test_a_value_is_edited_in_its_cell(table, server, container):
    page = table
    box = begin(page, 1, "title")
    expect(box).to_have_value("Note 1")
    expect(box).to_be_focused()
    check_looks(page, widths=(1440,), picture="cell edited")
    before = server.values(container, "Notes", "note1")
    box.fill("Milk")
    box.press("Enter")
    expect(cell(page, 1, "title")).to_have_text("Milk")
    # The title still leads to the record, which is the same but for the field.
    expect(page.locator("tbody tr").nth(1).locator("th a")).to_have_text("Milk")
    assert server.values(container, "Notes", "note1") == before | {"title": "Milk"}
    expect(cell(page, 1, "title")).to_be_focused()
    # The ticked row has the new change tag.
    page.get_by_label("Pick note1").check()
    page.locator("[data-picking]").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status")).to_contain_text("Deleted note1.")


def test_the_keyboard_edits_and_cancels(table, server, container):
    page = table
    page.keyboard.press("j")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("F2")
    box = page.locator(".celledit").locator("input, textarea")
    expect(box).to_be_focused()
    # Single keys are letters here, and arrows move the cursor.
    page.keyboard.type("jkx")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    expect(page.locator(".celledit")).to_have_count(0)
    expect(cell(page, 0, "rank")).to_be_focused()
    assert server.values(container, "Notes", "note0")["rank"] == 0
    # Nothing changed: nothing is saved.
    page.keyboard.press("F2")
    expect(box).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".celledit")).to_have_count(0)
    expect(cell(page, 0, "rank")).to_have_text("0")
    # The title is edited from its link.
    page.locator("tbody tr").first.locator("th a").focus()
    page.keyboard.press("F2")
    expect(box).to_have_value("Note 0")
    page.keyboard.press("Escape")
    expect(page.locator("tbody tr").first.locator("th a")).to_have_text("Note 0")


def test_a_bad_value_says_why_and_stays(table, server, container):
    page = table
    box = begin(page, 0, "due")
    expect(box).to_have_value("2026-11-20 18:00:00.250")
    box.fill("soon")
    box.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("‘soon’ is not a time.")
    assert not problems(page)
    box.fill("2026-11-21")
    page.locator(".celledit").get_by_role("button", name="Save").click()
    expect(cell(page, 0, "due").locator("time")).to_have_attribute("datetime", "2026-11-21T00:00:00.000Z")
    box = begin(page, 0, "rank")
    box.fill("")
    box.press("Enter")
    # Without a rank, the query does not find the record any more.
    expect(page.locator("tbody tr")).to_have_count(2)
    assert "rank" not in server.values(container, "Notes", "note0")


def test_a_late_save_leads_to_the_conflict(table, server, container):
    page = table
    box = begin(page, 2, "title")
    server.save(container, "Notes", {"recordType": "Note", "recordName": "note2", "fields": {"title": {"value": "theirs"}, "rank": {"value": 9}}})
    box.fill("mine")
    box.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Somebody saved theirs note2 before you")
    page.get_by_role("radio", name="title: yours").check()
    page.get_by_role("button", name="Save the chosen values").click()
    expect(page.get_by_role("status")).to_contain_text("Saved title.")
    assert server.values(container, "Notes", "note2") == {"title": "mine", "rank": 9}


def test_a_reference_is_found_by_the_title_of_its_target(table, server, container):
    page = table
    expect(cell(page, 0, "room").get_by_role("link")).to_have_text("The hall hall")
    cell(page, 0, "room").scroll_into_view_if_needed()
    cell(page, 0, "room").evaluate("cell => { cell.tabIndex = -1; cell.focus() }")
    page.keyboard.press("F2")
    box = page.locator(".celledit").locator("input")
    expect(box).to_have_value("hall")
    box.fill("roof")
    options = page.locator(".celledit datalist option")
    expect(options).to_have_text(["Under the roof · Room"])
    assert options.evaluate_all("options => options.map(option => option.value)") == ["attic"]
    box.fill("attic")
    page.locator(".celledit").get_by_role("button", name="Save").click()
    expect(cell(page, 0, "room").get_by_role("link")).to_have_text("Under the roof attic")
    assert server.values(container, "Notes", "note0")["room"]["recordName"] == "attic"


def test_other_values_are_edited_in_the_form(open_page, there):
    page = open_page(there + QUESTION)
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    cell(page, 0, "tags").scroll_into_view_if_needed()
    cell(page, 0, "tags").click(position={"x": 3, "y": 4})
    page.locator(".cellmenu").get_by_role("link", name="Edit in the form").click()
    expect(page).to_have_url(re.compile(r"/record/edit\?.*#f\d+$"))
    expect(page.locator(".line:target")).to_contain_text("tags")


def test_the_record_beside_the_table_follows(table):
    page = table
    page.get_by_role("button", name="Side panel").click()
    panel = page.get_by_role("region", name="Record beside the table")
    expect(panel).to_contain_text("Note 0")
    box = begin(page, 0, "title")
    box.fill("Bread")
    box.press("Enter")
    expect(panel).to_contain_text("Bread")
    expect(panel.get_by_role("heading", level=2).first).to_have_text("Bread")
    # The values there are edited in the same way, and the row follows.
    panel.locator(".fields > div", has_text="title").locator(".full").dblclick(position={"x": 3, "y": 4})
    panel.locator(".celledit input, .celledit textarea").fill("Rolls")
    page.keyboard.press("Enter")
    expect(cell(page, 0, "title")).to_have_text("Rolls")
    expect(panel.get_by_role("heading", level=2).first).to_have_text("Rolls")


@pytest.mark.parametrize("shape", ["", "&as=table"])
def test_fetch_and_changes_have_the_menus_and_the_record_beside(open_page, there, shape):
    page = open_page(there + "/fetch?zone=Notes&names=note0%0Ahall%0Anobody" + shape)
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    menu = page.locator(".cellmenu")
    if shape:
        cell(page, 1, "rank").scroll_into_view_if_needed()
        cell(page, 1, "rank").click(position={"x": 3, "y": 4})
        expect(menu.get_by_role("link", name="Edit", exact=True)).to_be_visible()
        expect(menu.get_by_role("link", name="Filter by this value")).to_be_visible()
        page.keyboard.press("Escape")
        box = begin(page, 1, "rank")
        box.fill("7")
        box.press("Enter")
        expect(cell(page, 1, "rank")).to_have_text("7")
    else:
        page.locator("tbody td.wide").first.click(position={"x": 3, "y": 2})
        expect(menu.get_by_role("link", name="Open The hall")).to_be_visible()
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Side panel").click()
    panel = page.get_by_role("region", name="Record beside the table")
    expect(panel.get_by_role("heading", level=2).first).to_have_text("Note 0")
    assert not problems(page)
    page.goto(there + "/changes?zone=Notes")
    # The browser remembers that records are beside tables.
    expect(panel.get_by_role("heading", level=2).first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    assert not problems(page)
