"""Selected rows of a query's result: fetched, exported, deleted."""

import csv

from playwright.sync_api import expect

from axe import problems
from looks import check_looks
from rows import names, notes


def test_rows_are_picked_and_deleted(open_page, server):
    page = open_page(notes(server, "iCloud.com.example.Picked"))
    bar = page.locator("[data-picking]")
    expect(bar).to_be_hidden()
    page.get_by_label("Pick note0").check()
    expect(bar).to_contain_text("1 record:")
    page.get_by_label("Pick note2").click(modifiers=["Shift"])
    expect(bar).to_contain_text("3 records:")
    every = page.get_by_label("Select all records of this page")
    every.check()
    expect(bar).to_contain_text("5 records:")
    # However narrow the column is, the box is in line with its heading and with the boxes of the rows.
    for narrow in [False, True]:
        if narrow:
            page.locator(".answer > table").evaluate("table => { table.style.width = 'auto'; table.rows[0].cells[0].style.maxWidth = '60px' }")
        head, box, below = (part.bounding_box() for part in (page.locator("thead th").first, every, page.get_by_label("Pick note0")))
        assert box["x"] == below["x"] and head["y"] < box["y"] < head["y"] + 12
    page.get_by_label("Pick note4").uncheck()
    bar.get_by_role("button", name="Fetch").click()
    expect(page.get_by_label("names", exact=True)).to_have_value("note0\nnote1\nnote2\nnote3")
    page.go_back()
    # After navigating back, the browser may have lost the selection.
    page.get_by_label("Select all records of this page").check()
    page.get_by_label("Pick note4").uncheck()
    with page.expect_download() as download:
        bar.get_by_role("button", name="CSV").click()
    with open(download.value.path(), newline="") as file:
        assert [row["recordName"] for row in csv.DictReader(file)] == ["note0", "note1", "note2", "note3"]
    bar.get_by_role("button", name="Delete").click()
    assert not problems(page)
    expect(page.get_by_role("status")).to_contain_text("Deleted 4 records.")
    assert names(page) == ["note4"]


def test_rows_are_picked_by_keyboard(open_page, server):
    page = open_page(notes(server, "iCloud.com.example.PickedByKeys"))
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_label("Pick note1")).to_be_checked()
    expect(page.locator("[data-picking]")).to_contain_text("1 record:")


def test_how_the_result_of_a_copy_looks(open_page, server):
    page = open_page(notes(server, "iCloud.com.example.PickedToCopy"))
    page.get_by_label("Pick note0").check()
    page.locator("[data-picking]").get_by_role("button", name="Copy to…").click()
    page.get_by_label("zone", exact=True).fill("Copies")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Copy 1 record").click()
    expect(page.get_by_role("status")).to_contain_text("1 copied")
    check_looks(page, widths=(1440, 380))
