"""The common parts of all pages: themes, keyboard shortcuts, and selectable and resizable columns."""

import re

import pytest
from playwright.sync_api import expect

from axe import problems
from chance import some
from pages import CHAT, JOURNAL, PAGES, title
from shifts import SlowPage

TABLE = CHAT + "/query?type=Message&zone=Chats"


def paper(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def press(page, *keys):
    """Presses keys once the page's scripts are ready."""
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    for key in keys:
        page.keyboard.press(key)


def test_colours_are_chosen_and_stay(open_page):
    page = open_page(CHAT + "/zones", color_scheme="light")
    light = paper(page)
    colours = page.get_by_role("button", name="Colours: as the system")
    colours.click()
    colours = page.get_by_role("button", name="Colours: light")
    assert paper(page) == light
    colours.click()
    dark = paper(page)
    assert dark != light
    page.goto(CHAT + "/types")
    assert paper(page) == dark, "the choice holds on the next page"
    assert not problems(page)
    page.get_by_role("button", name="Colours: dark").click()
    assert paper(page) == light, "back to what the system prefers"


def test_the_bar_is_one_line_with_long_names(open_page):
    page = open_page(JOURNAL + "/query?type=CD_Entry&zone=com.apple.coredata.cloudkit.zone")
    page.set_viewport_size({"width": 1360, "height": 720})
    assert page.locator("header.scope").bounding_box()["height"] < 50
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_text("zone", exact=True).first.click()
    expect(page.locator(".menu a[aria-current]:visible")).to_have_text("com.apple.coredata.cloudkit.zone")


def test_the_keys_are_listed_and_work(open_page):
    page = open_page(TABLE)
    press(page, "?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_be_visible()
    expect(keys).to_contain_text("Record types")
    assert not problems(page)
    page.keyboard.press("Escape")
    expect(keys).not_to_be_visible()

    press(page, "j", "j")
    expect(page.locator("tbody tr").nth(1).locator("th a")).to_be_focused()
    press(page, "k")
    first = page.locator("tbody tr").first.locator("th a")
    expect(first).to_be_focused()
    name = first.inner_text()
    press(page, "n")
    expect(page).to_have_url(re.compile("marker="))
    press(page, "p")
    expect(page.locator("tbody tr").first.locator("th a")).to_have_text(name)
    press(page, "g", "t")
    expect(page).to_have_title(title("Record types"))


def test_keys_are_letters_where_one_types(open_page):
    page = open_page(TABLE)
    find = page.get_by_role("dialog", name="Find").get_by_role("searchbox")
    press(page, "/")
    expect(find).to_be_focused()
    page.keyboard.type("gt?j")
    expect(find).to_have_value("gt?j")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).not_to_be_visible()


def test_keys_can_be_switched_off(open_page):
    page = open_page(TABLE)
    press(page, "?")
    page.get_by_role("checkbox", name="Single keys are shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    press(page, "?", "/", "j")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).not_to_be_visible()
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_role("checkbox", name="Single keys are shortcuts").check()
    page.keyboard.press("Escape")
    press(page, "/")
    expect(page.get_by_role("dialog", name="Find").get_by_role("searchbox")).to_be_focused()


def test_columns_are_chosen_and_stay(open_page):
    page = open_page(TABLE)
    head = page.get_by_role("columnheader", name="sentAt")
    expect(head).to_be_visible()
    page.locator(".foot summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="sentAt").uncheck()
    expect(head).not_to_be_visible()
    assert not problems(page)
    page.reload()
    expect(page.locator("thead th", has_text="sentAt")).not_to_be_visible()
    page.locator(".foot summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="sentAt").check()
    expect(head).to_be_visible()


def test_columns_are_made_wider_by_keys_and_pointer(open_page):
    page = open_page(TABLE)
    head = page.locator("thead th", has_text="text").first
    grip = head.get_by_role("separator")
    before = head.bounding_box()["width"]
    grip.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    narrower = head.bounding_box()["width"]
    assert narrower == before - 48
    box = grip.bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 64, box["y"] + 8)
    page.mouse.up()
    assert abs(head.bounding_box()["width"] - narrower - 60) < 2
    page.reload()
    assert abs(page.locator("thead th", has_text="text").first.bounding_box()["width"] - narrower - 60) < 2
    page.locator("thead th", has_text="text").first.get_by_role("separator").dblclick()
    assert page.locator("thead th", has_text="text").first.bounding_box()["width"] == before


def test_a_notice_appears_once_and_moves_nothing(open_page, server):
    container = "iCloud.com.example.Noticed"
    server.save(container, "Notes", {"recordType": "Note", "recordName": "one", "fields": {}})
    page = open_page(f"/c/{container}/development/private/zones")
    page.get_by_label("New zone").fill("Fresh")
    page.get_by_role("button", name="Create").click()
    notice = page.get_by_role("status")
    expect(notice).to_contain_text("The zone is created.")
    assert not problems(page)
    expect(page.get_by_role("button", name="Close this message")).to_be_visible()
    assert "notice" not in page.url and "zone=Fresh" in page.url
    heading = page.get_by_role("heading", level=1).bounding_box()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(notice).to_have_count(0)
    assert page.get_by_role("heading", level=1).bounding_box() == heading
    page.goto(f"/c/{container}/development/private/zone?zone=Fresh&notice=zone-created")
    page.get_by_role("button", name="Close this message").click()
    expect(notice).to_have_count(0)


def test_a_notice_appears_once_for_each_action_without_scripts(open_page, server):
    container = "iCloud.com.example.NoticedOnce"
    server.save(container, "Notes", {"recordType": "Note", "recordName": "one", "fields": {"title": {"value": "One"}}})
    page = open_page(f"/c/{container}/development/private/record/edit?zone=Notes&name=one", java_script_enabled=False)
    for title in ["Two", "Three"]:
        page.get_by_label("title", exact=True).fill(title)
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("status")).to_contain_text("Saved title.")
        page.reload()
        expect(page.locator(".fields")).to_contain_text(title)
        expect(page.get_by_role("status")).to_have_count(0)
        page.get_by_role("link", name="Edit", exact=True).click()


def test_keys_do_not_move_long_names_out_of_sight(open_page, server):
    container = "iCloud.com.example.LongNames"
    server.save(container, "Notes", *({"recordType": "Note", "recordName": f"{number}-" + "long" * 50, "fields": {"n": {"value": number}}} for number in range(60)))
    page = open_page(f"/c/{container}/development/private/query?type=Note&zone=Notes&sort1=n&limit=100")
    note = page.get_by_role("alert")
    if note.count():
        note.get_by_role("button", name="Add").last.click()
    expect(page.locator("tbody tr")).to_have_count(60)
    box = page.locator("tbody input[name=pick]").first.bounding_box()
    # The box of all rows is in line with those of the rows.
    assert abs(page.get_by_role("checkbox", name="Select all records of this page").bounding_box()["x"] - box["x"]) < 1
    press(page, *["j"] * 50)
    row = page.locator("tbody tr").nth(49)
    expect(row.locator("th a")).to_be_focused()
    expect(row).to_be_in_viewport()
    assert abs(row.locator("input[name=pick]").bounding_box()["x"] - box["x"]) < 1
    press(page, *["k"] * 49)
    # The header does not cover the first row.
    first = page.locator("tbody tr").first
    assert first.locator("input[name=pick]").bounding_box()["y"] > page.locator("thead th").first.bounding_box()["y"] + page.locator("thead th").first.bounding_box()["height"]


def test_the_ways_to_read_stay_where_they_are_and_copy_covers_nothing(open_page):
    page = open_page(TABLE)
    ways = page.locator("nav.ways-to-read")
    place = ways.bounding_box()
    page.goto(CHAT + "/record?zone=Chats&name=Room%2Fgeneral#json")
    assert all(abs(ways.bounding_box()[side] - place[side]) < 1 for side in ("x", "y"))
    code = page.locator(".copyable:has(> pre)").first
    code.scroll_into_view_if_needed()
    pre, button = code.locator("pre").bounding_box(), code.get_by_role("button").bounding_box()
    assert button["x"] >= pre["x"] + pre["width"]


@pytest.fixture(scope="module")
def slow_pages(browser, demo):
    """Pages whose scripts come late, on a phone and beside a sidebar."""
    pages = {width: SlowPage(browser.new_page(base_url=demo.address, viewport={"width": width, "height": 844})) for width in (390, 1280)}
    yield pages
    for slow in pages.values():
        slow.page.close()


@pytest.mark.parametrize("name", [name for name, path in PAGES.items() if "#" not in path])
def test_a_page_stays_in_place_when_its_scripts_run(slow_pages, name):
    for width in some([390, 1280], of=name):
        before, after = slow_pages[width].open(PAGES[name])
        # What moves less is not seen.
        assert sum(value for value, _ in before + after) < 0.02, (width, before + after)


@pytest.mark.parametrize("name", ["errors", "record editor", "type", "rehearsals"])
def test_the_footer_stays_and_covers_nothing_that_is_scrolled_to(look, name):
    page = look(PAGES[name])
    page.set_viewport_size({"width": 1000, "height": 560})
    covered = page.evaluate("""() => [...document.querySelectorAll('main :is(a[href], button, input, select, textarea)')].filter(it => {
      if (!it.checkVisibility({ visibilityProperty: true }) || it.closest('.foot')) return false
      it.scrollIntoView({ block: 'nearest' })
      const box = it.getClientRects()[0]
      return box && document.elementFromPoint(box.x + box.width / 2, box.bottom - 2)?.closest('.foot')
    }).map(it => it.outerHTML.slice(0, 100))""")
    assert covered == []
    # The footer itself is in view wherever the page is scrolled to.
    at = page.evaluate("""() => {
      const main = document.querySelector('main')
      const foot = document.querySelector('.foot :is(a, button, summary)') ?? document.querySelector('.foot > *')
      main.scrollTop = 10
      foot.scrollIntoView({ block: 'nearest' })
      return main.scrollTop
    }""")
    assert at == 10


def test_the_parts_of_a_record_are_one_click_away(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral")
    page.get_by_role("navigation", name="Parts of the record").get_by_role("link", name="Clients").click()
    heading = page.get_by_role("heading", name="Which clients have this record?")
    expect(heading).to_be_in_viewport()
    parts = page.locator("nav.parts").bounding_box()
    # The bar of the parts stays, and does not cover the heading.
    expect(page.locator("nav.parts")).to_be_in_viewport()
    assert heading.bounding_box()["y"] >= parts["y"] + parts["height"]
