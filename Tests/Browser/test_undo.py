"""The notice with Undo: how it looks, after an edit in a cell, and without scripts."""

import pytest
from playwright.sync_api import expect

from looks import check_looks
from rows import names, notes


@pytest.fixture
def there(server, container):
    """A query that finds five notes."""
    return notes(server, container)


def undo(page):
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("Undone: the records are as they were before.")


def test_an_edit_is_undone_with_one_click(open_page, there):
    page = open_page(there.split("/query")[0] + "/record/edit?zone=Notes&name=note3")
    page.get_by_label("rank", exact=True).fill("9")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("Saved rank.")
    check_looks(page, picture="saved, with Undo")
    undo(page)
    expect(page.locator("dl.fields")).to_contain_text("3")
    assert "notice=" not in page.url and "undo=" not in page.url


def test_an_edit_in_a_cell_is_undone_with_one_click(open_page, there):
    page = open_page(there)
    cell = page.locator("tbody tr").nth(3).locator("td").first
    cell.dblclick(position={"x": 3, "y": 4})
    page.locator(".celledit input").fill("33")
    page.keyboard.press("Enter")
    expect(cell).to_have_text("33")
    undo(page)
    expect(page.locator("tbody tr").nth(3).locator("td").first).to_have_text("3")


def test_picked_rows_are_deleted_and_come_back_without_scripts(open_page, there):
    page = open_page(there, java_script_enabled=False)
    page.get_by_label("Pick note1").check()
    page.get_by_label("Pick note2").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    assert names(page) == ["note0", "note3", "note4"]
    # The notice stays in its place, and does not cover anything.
    assert page.locator(".notice").evaluate("notice => getComputedStyle(notice).position") == "static"
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    assert names(page) == ["note0", "note1", "note2", "note3", "note4"]


def test_what_was_deleted_with_a_record_comes_back_with_it(open_page, server, there, container):
    """Also what the server deletes after its answer, because it is too much for one transaction."""
    room = {"value": {"recordName": "note0", "action": "DELETE_SELF"}, "type": "REFERENCE"}
    for start in range(0, 600, 200):
        server.save(container, "Notes", *[
            {"recordType": "Message", "recordName": f"message{number}", "fields": {"room": room}} for number in range(start, start + 200)])
    page = open_page(f"/c/{container}/development/private/record?zone=Notes&name=note0")
    page.locator("details.more > summary").first.click()
    page.get_by_role("link", name="Delete…").click()
    expect(page.locator("main")).to_contain_text("600 records that refer to it (600 Message) are deleted too")
    check_looks(page, picture="question before a deletion with others")
    page.get_by_role("button", name="Delete 601 records").click()
    # The notice has the final number, or says that the server goes on.
    expect(page.get_by_role("status")).to_contain_text("600 records that refer to it (600 Message)")
    expect(page.locator("main")).to_contain_text("600 records of the same change come back with it.")
    page.get_by_role("button", name="Undo the deletion").click()
    expect(page.locator("#run .state")).to_have_text("done")
    expect(page.locator("#run")).to_contain_text("601")


def test_where_the_button_of_a_deletion_of_all_matches_is(open_page, server, container):
    page = open_page(notes(server, container, count=60))
    page.get_by_label("Select all records of this page").check()
    page.get_by_role("link", name="Select all matches").click()
    page.wait_for_load_state()
    page.get_by_label("change", exact=True).select_option("delete")
    page.get_by_role("button", name="Dry run").click()
    # The button is beside its title.
    title, button = page.get_by_role("heading", name="60 records would be deleted"), page.get_by_role("button", name="Delete 60 records")
    assert abs(title.bounding_box()["y"] - button.bounding_box()["y"]) < 20
    check_looks(page, picture="dry run with Delete")
