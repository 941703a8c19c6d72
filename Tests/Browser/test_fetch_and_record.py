"""The page of a record: its parts, its references, and its times."""

import re

import pytest
from playwright.sync_api import expect

from pages import CHAT
from shifts import SlowPage


def test_the_drawing_of_references_leads_there_and_back(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral#around")
    graph = page.locator("svg.graph")
    expect(graph.locator("a.itself")).to_contain_text("Room/general")
    graph.locator("a:not(.itself)").first.click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("General")
    graph.get_by_role("link", name="Room/general").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("General")


def test_what_refers_to_a_record_is_seen_whole(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral#references")
    region = page.get_by_role("region", name="Fields that refer to this record")
    for width in [1000, 1360, 1600]:
        page.set_viewport_size({"width": width, "height": 900})
        assert region.evaluate("region => region.scrollWidth <= region.clientWidth"), f"{width} wide"
        expect(region.get_by_role("link", name="Query", exact=False).first).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_the_address_of_a_record_names_the_part_in_view(open_page, scripts):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral", java_script_enabled=scripts)
    fields, past = page.get_by_role("heading", name="Fields", exact=True), page.get_by_role("heading", name="History", exact=True)
    expect(fields).to_be_visible()
    expect(past).to_be_hidden()
    page.get_by_role("navigation", name="Parts of the record").get_by_role("link", name="History").click()
    expect(page).to_have_url(re.compile("#past$"))
    expect(past).to_be_in_viewport()
    expect(fields).to_be_hidden()
    # The heading of the page stays in view.
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    page.go_back()
    expect(fields).to_be_visible()
    page.goto(CHAT + "/record?zone=Chats&name=Room%2Fgeneral#json")
    expect(page.get_by_label("The record as JSON")).to_be_visible()


def test_moments_are_shown_in_utc_and_on_this_clock(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral", timezone_id="Asia/Tokyo", locale="en-GB")
    time = page.locator(".fields > div", has_text="openedAt").locator("time")
    expect(time).to_have_text("2019-03-02 09:00:00 UTC2 Mar 2019, 18:00 here")


@pytest.mark.parametrize("path", ["/record?zone=Chats&name=Person%2Falan", "/query?type=Message&zone=Chats"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_nothing_moves_once_it_is_drawn(open_page, path, zone):
    """Scripts add times, buttons and menus, whose room is there before."""
    _, after = SlowPage(open_page("/", timezone_id=zone)).open(CHAT + path)
    assert after == []
