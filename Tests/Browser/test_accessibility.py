"""Every kind of page in both themes and widths: axe finds nothing, nothing overflows, and the navigation is there. Keeps a screenshot of each.

`make test` looks at each page in one more width of a phone and one of a computer, which differ from commit to commit, and `make test-long` in all six.
"""

import pytest
from playwright.sync_api import expect

from axe import problems
from chance import some
from looks import check_fits, check_looks, check_navigation
from pages import CHAT, PAGES
from pictures import keep
from waiting import until

# Tables with rows as cards.
CARDS = "[...document.querySelectorAll('main table')].filter(table => table.matches('.cells') && getComputedStyle(table).display === 'block').length"
# Tables that scroll horizontally.
PUSHED = """
[...document.querySelectorAll('main table')].filter(table => table.offsetWidth > table.parentElement.clientWidth + 1 && table.tHead?.rows[0].cells.length <= 16)
  .map(table => table.caption?.textContent ?? table.parentElement.getAttribute('aria-label') ?? table.className)
"""


@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_accessible_fits_and_leads_on(look, name):
    page = look(PAGES[name])
    # Pages outside of a container have no navigation.
    if PAGES[name].startswith("/c/"):
        check_navigation(page)
    check_looks(page, picture=name)
    for width in some([360, 600], of=name) + some([768, 1024, 1440, 2560], of=name):
        page.set_viewport_size({"width": width, "height": 800})
        check_fits(page, width)
        # On a phone, no table scrolls sideways.
        if width <= 640:
            until(lambda: page.evaluate(PUSHED) == [])
        else:
            assert page.evaluate(CARDS) == 0


def test_axe_finds_nothing_where_nothing_is_yet(empty_server, open_page):
    page = open_page("/", at=empty_server)
    assert not problems(page)
    page.get_by_label("New container").fill("iCloud.com.example.Blank")
    page.get_by_role("button", name="Create it empty").click()
    expect(page.get_by_role("heading", name="No record types yet")).to_be_visible()
    assert not problems(page)
    with page.expect_navigation():
        page.get_by_label("Ways to read records").get_by_role("link", name="Fetch").click()
    assert not problems(page)


REFUSED = {
    "nothing at the address": ("/nowhere", 404), "no such page": (CHAT + "/nowhere", 404), "no such container": ("/c/iCloud.com.example.Nobody/development/private/query", 404),
    "no container": ("/c/none/development/private/query", 404),
}


@pytest.mark.parametrize("name", REFUSED)
def test_pages_of_errors_are_pages_too(new_page, name):
    path, status = REFUSED[name]
    page = new_page(reduced_motion="reduce")
    for scheme, width in [("light", 1440), ("dark", 390)]:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 860})
        assert page.goto(path).status == status
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        # There is a way on.
        expect(page.locator("main").get_by_role("link").first).to_be_visible()
        assert not problems(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        keep(page, f"error, {name} {scheme} {width}")


def test_cards_are_a_table_for_who_does_not_see_them(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&limit=25", viewport={"width": 380, "height": 800})
    table = page.get_by_role("table")
    assert page.evaluate(CARDS) == 1
    expect(table).to_have_role("table")
    expect(table.get_by_role("rowheader")).to_have_count(25)
    card = table.get_by_role("row").nth(1)
    # Each value has its column's name before it; empty values are left out.
    said = card.locator("td:visible").evaluate_all("cells => cells.map(cell => [getComputedStyle(cell, '::before').content, cell.textContent.trim()])")
    assert any(name == '"author "' and value.endswith("Person/ada") for name, value in said) and all(value not in ("", "–") for _, value in said)
    page.get_by_label("Select all records of this page").check()
    expect(page.locator("[data-picking]")).to_contain_text("25 records")
    page.set_viewport_size({"width": 1000, "height": 800})
    assert page.evaluate(CARDS) == 0
    expect(page.get_by_role("columnheader", name="author")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_the_pages_are_a_menu_on_a_phone(open_page, scripts):
    page = open_page(CHAT + "/telemetry", viewport={"width": 380, "height": 800}, java_script_enabled=scripts)
    pages = page.get_by_label("Pages", exact=True)
    expect(pages).to_be_hidden()
    page.get_by_role("button", name="Pages and search").click()
    entry = pages.get_by_role("link", name="Requests")
    expect(entry).to_be_visible()
    expect(entry).to_have_attribute("aria-current", "true")
    if scripts:
        assert not problems(page)
    pages.get_by_role("button", name="Close").click()
    expect(pages).to_be_hidden()
    page.get_by_role("button", name="Pages and search").click()
    pages.get_by_role("link", name="Zones").click()
    page.wait_for_url("**/zones")


def test_open_menus_are_accessible_and_close(open_page, demo):
    page = open_page(CHAT + "/query?edit=1", at=demo)
    container = page.locator("details.at").first
    container.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(container).to_have_attribute("open", "")
    assert not problems(page)
    page.keyboard.press("Escape")
    expect(container).not_to_have_attribute("open", "")
    expect(container.locator("summary")).to_be_focused()
    container.locator("summary").click()
    # Opening one closes the others.
    before = container
    for name in ["all fields", "Saved queries", "Export", "Columns"]:
        menu = page.locator(".pick").filter(has=page.locator("summary", has_text=name))
        menu.locator("summary").click()
        expect(menu).to_have_attribute("open", "")
        expect(before).not_to_have_attribute("open", "")
        assert not problems(page), name
        before = menu
    page.locator("footer").last.click(position={"x": 2, "y": 2})
    expect(before).not_to_have_attribute("open", "")


def test_a_long_menu_is_searched(open_page, server):
    place = "/iCloud.com.example.ManyZones/development/private"
    server.ask(place + "/zones/modify", {"operations": [
        {"operationType": "create", "zone": {"zoneID": {"zoneName": f"Room {number}"}}} for number in range(60)]})
    page = open_page(f"/c{place}/changes")
    menu = page.locator("details.at", has=page.locator("summary small:text-is('zone')"))
    menu.locator("summary").click()
    # Letters are no shortcuts here.
    page.keyboard.type("gr")
    expect(menu.get_by_role("searchbox", name="Find a zone")).to_have_value("gr")
    assert not problems(page)
    menu.get_by_role("searchbox", name="Find a zone").fill("room 57")
    page.keyboard.press("Enter")
    page.wait_for_url("**/zones?for=changes&**")


def test_everything_is_reached_with_the_keyboard(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=x&sort1=sentAt&edit=1")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    seen = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"))
    for name in ["Skylight", "Changes", "Record type", "Zone", "Field of filter 1", "Value of filter 1", "Remove filter 1", "Direction of sort 1", "Query"]:
        assert name in seen, name


def test_arrow_keys_choose_without_leaving(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&edit=1")
    type = page.get_by_label("Record type")
    type.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("input[name=of]")).to_have_value("Person")
    expect(type).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("input[name=of]")).to_have_value("Reaction")
    assert "type=Message" in page.url
    field = page.get_by_label("Field of filter 1")
    field.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Value of filter 1")).to_be_visible()
    expect(field).to_be_focused()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**type=Reaction**")
