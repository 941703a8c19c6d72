"""The search box as a palette: Ctrl-K and /."""

import re

from axe import problems
from playwright.sync_api import expect

from pages import CHAT


def open_palette(page, key="Control+k"):
    page.keyboard.press(key)
    palette = page.get_by_role("dialog", name="Find")
    expect(palette.get_by_role("searchbox")).to_be_focused()
    return palette


def test_a_part_of_a_name_leads_to_a_record_type(open_page):
    page = open_page(CHAT + "/query")
    palette = open_palette(page)
    # Without a text, the palette offers pages.
    expect(palette.get_by_role("link", name="Indexes", exact=True)).to_be_visible()
    page.keyboard.type("mESS")
    expect(palette.locator(".hits")).to_have_attribute("data-text", "mESS")
    type_link = palette.get_by_role("link", name="Message", exact=True)
    expect(type_link).to_be_visible()
    assert not problems(page), problems(page)
    while not type_link.evaluate("link => link === document.activeElement"):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/type\?type=Message$"))


def test_enter_opens_the_best_match(open_page):
    page = open_page(CHAT + "/query")
    palette = open_palette(page, "/")
    # A whole name is found however many records there are; parts of names are searched for a limited time.
    page.keyboard.type("Room/general")
    expect(palette.locator(".hits")).to_have_attribute("data-text", "Room/general")
    expect(palette.locator("a").first).to_contain_text("Room/general")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/record\?zone=Chats&name=Room%2Fgeneral$"))
    # The place is remembered, and listed on another page.
    page.goto(CHAT + "/indexes")
    palette = open_palette(page)
    recent = palette.locator("section", has_text="Recent places")
    expect(recent.get_by_role("link", name="Room/general")).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).not_to_be_visible()


def test_recent_queries_of_a_type_differ_by_their_filters(open_page):
    query = CHAT + "/query?type=Message&zone=Chats"
    page = open_page(query + "&filter1=text&is1=EQUALS&value1=Hello")
    # The second address differs, and its line would not.
    for address in [query, query + "&limit=20"]:
        page.goto(address)
    page.goto(CHAT + "/indexes")
    recent = open_palette(page).locator("section", has_text="Recent places").get_by_role("link", name="Message")
    expect(recent).to_have_count(2)
    expect(recent.nth(1)).to_contain_text("Hello")


def test_letters_go_on_in_the_box(open_page):
    page = open_page(CHAT + "/query")
    palette = open_palette(page)
    page.keyboard.type("mess")
    expect(palette.get_by_role("link", name="Message", exact=True)).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.type("ages")
    expect(palette.get_by_role("searchbox")).to_have_value("messages")
    expect(palette.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/(find|record)"))


def test_the_start_page_finds_containers(open_page):
    page = open_page("/")
    palette = open_palette(page)
    page.keyboard.type("journ")
    # Without a text it is listed, too.
    expect(palette.locator(".hits")).to_have_attribute("data-text", "journ")
    expect(palette.get_by_role("link", name="iCloud.com.example.Journal")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/c/iCloud.com.example.Journal/development/private/query"))
