"""The menu of a cell: it filters by the value, copies it and opens the record that it names."""

import pytest
from playwright.sync_api import expect

from axe import problems
from pages import CHAT

QUESTION = CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=Room%2Fgeneral&sort1=sentAt&order1=descending&limit=10"


def column(page, name: str) -> int:
    return page.evaluate("name => [...document.querySelectorAll('thead th')].findIndex(head => head.firstChild.textContent.trim() === name)", name)


def cell(page, row: int, name: str):
    return page.locator("tbody tr").nth(row).locator("th, td").nth(column(page, name))


@pytest.fixture
def table(open_page):
    page = open_page(QUESTION, permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator("tbody tr")).to_have_count(10)
    return page


def test_a_value_becomes_a_filter(table):
    page = table
    text = cell(page, 0, "sentAt").locator("time").get_attribute("datetime")
    cell(page, 0, "sentAt").click(position={"x": 2, "y": 4})
    menu = page.locator(".cellmenu")
    expect(menu).to_contain_text("sentAt")
    assert not problems(page)
    menu.get_by_role("link", name="Filter by this value").click()
    expect(page.get_by_role("list", name="What is asked")).to_contain_text("room is General")
    expect(page.get_by_role("list", name="What is asked")).to_contain_text("sentAt is ")
    assert "alike" not in page.url
    assert cell(page, 0, "sentAt").locator("time").get_attribute("datetime") == text


def test_a_value_is_copied_and_the_menu_closes(table):
    page = table
    cell(page, 1, "room").click(position={"x": 2, "y": 4})
    menu = page.locator(".cellmenu")
    expect(menu.get_by_role("link", name="Open General", exact=True)).to_be_visible()
    menu.get_by_role("button", name="Copy").click()
    expect(menu).to_be_hidden()
    assert page.evaluate("navigator.clipboard.readText()") == "Room/general"
    # A link in a cell is still a link.
    cell(page, 1, "room").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("General")


def test_only_the_cell_of_the_menu_is_marked(table):
    page = table
    for name in ["sentAt", "room"]:
        cell(page, 1, name).click(position={"x": 2, "y": 4})
        expect(page.locator(".cellmenu")).to_contain_text(name)
        expect(page.locator(".chosen")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".chosen")).to_have_count(0)


def test_the_keyboard_leads_through_the_cells(table):
    page = table
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("ArrowRight")
    expect(page.locator("tbody tr").first.locator("td").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    second = page.locator("tbody tr").nth(1).locator("td").nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    menu = page.locator(".cellmenu")
    expect(menu.get_by_role("link", name="Filter by this value")).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(second).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("tbody tr").nth(1).locator("th a")).to_be_focused()


def test_an_empty_cell_has_no_filter(open_page, server):
    container = "iCloud.com.example.EmptyCell"
    server.save(container, "Notes", *({"recordType": "Note", "recordName": name, "fields": fields} for name, fields in [
        ("full", {"rank": {"value": 1}, "title": {"value": "One"}}), ("half", {"rank": {"value": 2}})]))
    page = open_page(f"/c/{container}/development/private/query?type=Note&zone=Notes&filter1=rank&is1=GREATER_THAN&value1=1&sort1=rank")
    cell(page, 0, "title").click(position={"x": 3, "y": 4})
    expect(page.locator(".cellmenu")).to_contain_text("No value")
    expect(page.locator(".cellmenu").get_by_role("link")).to_have_text(["Edit", "Open half"])
