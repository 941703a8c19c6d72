"""The common parts of all pages: themes, keyboard shortcuts, and selectable and resizable columns."""

import re

from playwright.sync_api import expect

from axe import problems
from pages import CHAT

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
    expect(page).to_have_title("Record types · Skylight")


def test_keys_are_letters_where_one_types(open_page):
    page = open_page(TABLE)
    find = page.get_by_role("searchbox")
    press(page, "/")
    expect(find).to_be_focused()
    page.keyboard.type("gt?j")
    expect(find).to_have_value("gt?j")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).not_to_be_visible()


def test_keys_can_be_switched_off(open_page):
    page = open_page(TABLE)
    press(page, "?")
    page.get_by_role("checkbox", name="Single keys are commands").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    press(page, "?", "/", "j")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).not_to_be_visible()
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_role("checkbox", name="Single keys are commands").check()
    page.keyboard.press("Escape")
    press(page, "/")
    expect(page.get_by_role("searchbox")).to_be_focused()


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
