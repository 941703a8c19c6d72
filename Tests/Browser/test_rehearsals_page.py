"""The page Rehearsals, and the banner on every page while a fault is active."""

import json
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect

from looks import check_looks
from page_server import Server
from pages import CHAT, PAGES


@pytest.fixture(scope="module")
def stage():
    """A separate server, because active faults show on all its pages."""
    server = Server("--demo")
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def nothing_is_on(stage):
    yield
    rehearsals(stage, stop="all")


def rehearsals(server, **body):
    data = json.dumps(body).encode() if body else None
    with urllib.request.urlopen(server.address + "/skylight/1/rehearsals", data, timeout=60) as answer:
        return json.load(answer)["on"]


def test_a_rehearsal_is_found_and_switched_on(open_page, stage):
    page = open_page(CHAT + "/rehearsals", at=stage)
    page.get_by_label("Filter rehearsals").fill("pages-of-one")
    expect(page.get_by_role("switch")).to_have_count(1)
    page.get_by_role("switch", name="Pages of one").click()
    banner = page.get_by_role("region", name="Active rehearsals")
    expect(banner).to_contain_text("Pages of one everywhere")
    assert [item["rehearsal"] for item in rehearsals(stage)] == ["pages-of-one"]
    # The browser says where the button was pressed.
    page.goto(CHAT + "/zones")
    banner.get_by_role("button", name="Stop all").click()
    expect(banner).to_have_count(0)
    assert page.url.endswith(CHAT + "/zones")
    assert rehearsals(stage) == []


@pytest.mark.parametrize("name", ["home", "query", "rehearsals"])
def test_the_banner_is_accessible_and_fits(open_page, stage, name):
    for cue in ["children-first", "empty-pages", "lagging-index", "throttled=3", "conflict"]:
        rehearsals(stage, start=cue, container="iCloud.com.example.Chat", environment="development", database="private", zone="Chats")
    page = open_page(PAGES[name], at=stage, reduced_motion="reduce")
    banner = page.get_by_role("region", name="Active rehearsals")
    expect(banner).to_contain_text("and 1 more")
    for width in [1440, 390]:
        page.set_viewport_size({"width": width, "height": 860})
        expect(banner).to_be_in_viewport()
    check_looks(page)


def test_playback_and_follow_of_the_page_show_what_is_stored(open_page, stage):
    for cue in ["throttled=100", "dropped-before=100", "empty-pages"]:
        rehearsals(stage, start=cue)
    page = open_page(CHAT + "/changes?zone=Chats", at=stage)
    page.locator("[data-play]").click()
    expect(page.locator("[data-state]")).to_have_text("Loaded")
    assert [item.get("count") for item in rehearsals(stage)] == [100, 100, None]


def test_the_keyboard_goes_on_from_the_notice(open_page, stage):
    page = open_page(CHAT + "/rehearsals", at=stage)
    page.get_by_role("switch", name="CONFLICT").click()
    expect(page.locator(".notice")).to_be_focused()


def strike(server):
    """A request that is throttled."""
    with pytest.raises(urllib.error.HTTPError, match="429"):
        server.ask("/iCloud.com.example.Chat/development/private/zones/list", {})


def test_what_a_rehearsal_strikes_is_counted_and_stays(open_page, stage):
    rehearsals(stage, start="throttled=2")
    page = open_page(CHAT + "/rehearsals", at=stage)
    part, banner = page.locator("section[aria-labelledby=on]"), page.get_by_role("region", name="Active rehearsals")
    strike(stage)
    expect(part).to_contain_text("struck 1 time, 1 more time")
    expect(banner).to_contain_text("struck 1 time, 1 more time")
    strike(stage)
    expect(part).to_contain_text("struck 2 times")
    expect(banner).to_have_count(0)
    expect(page.get_by_role("switch", name="THROTTLED")).to_have_attribute("aria-checked", "false")
    part.get_by_role("link", name="struck 2 times").first.click()
    expect(page.locator("tbody[data-rows] tr")).to_have_count(2)


def test_the_banner_comes_and_goes_on_a_live_page(open_page, stage):
    page = open_page(CHAT + "/requests", at=stage)
    banner = page.get_by_role("region", name="Active rehearsals")
    expect(banner).to_have_count(0)
    rehearsals(stage, start="pages-of-one")
    expect(banner).to_contain_text("Pages of one")
    expect(page.get_by_role("link", name="Rehearsals 1 on")).to_have_count(1)
    rehearsals(stage, stop="all")
    expect(banner).to_have_count(0)


def test_the_choices_stay_when_a_switch_turns(open_page, stage):
    page = open_page(CHAT + "/rehearsals", at=stage)
    count, conflict = page.get_by_label("Failures for the next"), page.get_by_role("switch", name="CONFLICT", exact=True)
    for typed, state in [("7", "true"), ("9", "false")]:
        count.fill(typed)
        conflict.click()
        expect(conflict).to_have_attribute("aria-checked", state)
        expect(count).to_have_value(typed)
