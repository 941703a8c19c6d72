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


def test_rehearsals_are_started_and_stopped(open_page, stage):
    page = open_page(CHAT + "/query?type=Message&zone=Chats", at=stage)
    expect(page.get_by_role("region", name="Active rehearsals")).to_have_count(0)
    page.get_by_role("link", name="Rehearsals").click()
    expect(page.get_by_role("heading", name="Rehearsals", exact=True)).to_be_visible()
    page.get_by_label("Filter rehearsals").fill("pages-of-one")
    expect(page.get_by_role("switch")).to_have_count(1)
    page.get_by_role("switch", name="Pages of one").click()
    banner = page.get_by_role("region", name="Active rehearsals")
    expect(banner).to_contain_text("Pages of one everywhere")
    expect(page.get_by_role("status")).to_contain_text("The rehearsal is active")
    page.get_by_label("Rehearse", exact=True).select_option(label="iCloud.com.example.Chat, development, private database, zone Chats")
    page.get_by_label("Failures for the next").fill("3")
    page.get_by_role("switch", name="THROTTLED").click()
    expect(banner).to_contain_text("THROTTLED 3 more times, iCloud.com.example.Chat, development, private database, zone Chats")
    on = rehearsals(stage)
    assert [(item["rehearsal"], item.get("count"), item.get("zone")) for item in on] == [("pages-of-one", None, None), ("throttled", 3, "Chats")]
    expect(page.get_by_role("switch", name="THROTTLED", exact=True)).to_be_checked()
    # The pages show what is stored.
    page.goto(CHAT + "/changes?zone=Chats")
    assert page.locator("tbody tr").count() > 10
    expect(banner).to_contain_text("Pages of one")
    banner.get_by_role("link", name="Rehearsals").click()
    page.get_by_role("switch", name="Pages of one, everywhere").click()
    expect(banner).not_to_contain_text("Pages of one")
    assert [item["rehearsal"] for item in rehearsals(stage)] == ["throttled"]
    page.goto(CHAT + "/zones")
    banner.get_by_role("button", name="Stop all").click()
    expect(banner).to_have_count(0)
    assert page.url.endswith(CHAT + "/zones")
    assert rehearsals(stage) == []


def test_what_happens_once_is_asked_before(open_page, stage):
    stage.save("iCloud.com.example.Once", "Notes", {"recordType": "Note", "recordName": "a", "fields": {}})
    there = "/c/iCloud.com.example.Once/development/private"
    token = stage.ask("/iCloud.com.example.Once/development/private/changes/zone", {"zones": [{"zoneID": {"zoneName": "Notes"}}]})["zones"][0]["syncToken"]
    page = open_page(there + "/rehearsals", at=stage, java_script_enabled=False)
    page.get_by_role("button", name="Expire all tokens…").click()
    expect(page.get_by_role("heading", name="Expire all tokens of iCloud.com.example.Once, development?")).to_be_visible()
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("button", name="Expire all tokens…").click()
    page.get_by_role("button", name="Expire all tokens").click()
    expect(page.get_by_role("status")).to_contain_text("have expired")
    page.goto(f"{there}/changes?zone=Notes&since=1&token={token}")
    expect(page.get_by_role("alert")).to_contain_text("client knowledge differs from server knowledge")
    page.goto(there + "/rehearsals")
    page.get_by_label("Zone to purge or reset").select_option("Notes")
    page.get_by_role("button", name="Reset a zone…").click()
    page.get_by_role("button", name="Reset a zone").click()
    expect(page.get_by_role("status")).to_contain_text("created again, empty")
    page.goto(there + "/zone?zone=Notes")
    expect(page.locator("main")).to_contain_text("0 records")
    page.goto(there + "/rehearsals")
    page.get_by_role("button", name="Purge a zone…").click()
    page.get_by_role("button", name="Purge a zone").click()
    expect(page.get_by_role("status")).to_contain_text("purged")
    expect(page.get_by_text("no zone here")).to_have_count(2)
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


def read(url):
    try:
        return urllib.request.urlopen(url).read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def test_the_banner_is_on_every_page_and_its_button_leads_back(open_page, stage):
    missing = ["/nothing", "/c/iCloud.com.example.Nowhere/development/private/query", CHAT + "/zone?zone=Nowhere"]
    for path in [*PAGES.values(), *missing]:
        assert "Active rehearsals" not in read(stage.address + path), path
    rehearsals(stage, start="pages-of-one")
    for path in [*PAGES.values(), *missing]:
        assert "Active rehearsals" in read(stage.address + path), path
    page = open_page("/", at=stage)
    page.get_by_role("button", name="Stop all").click()
    expect(page.get_by_role("button", name="Stop all")).to_have_count(0)


def test_playback_and_follow_of_the_page_show_what_is_stored(open_page, stage):
    for cue in ["throttled=100", "dropped-before=100", "empty-pages"]:
        rehearsals(stage, start=cue)
    page = open_page(CHAT + "/changes?zone=Chats", at=stage)
    page.locator("[data-play]").click()
    expect(page.locator("[data-state]")).to_have_text("Loaded")
    assert [item.get("count") for item in rehearsals(stage)] == [100, 100, None]


def test_actions_need_a_post_from_here(stage):
    for path in [CHAT + "/rehearsals/start", CHAT + "/rehearsals/stop", "/rehearsals/stop"]:
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(stage.address + path)
        assert error.value.code == 404
        request = urllib.request.Request(stage.address + path, b"start=throttled", {"Origin": "https://example.com"})
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request)
        assert error.value.code == 403
    # A Referer from elsewhere is not followed.
    request = urllib.request.Request(stage.address + "/rehearsals/stop", b"", {"Referer": "https://example.com//example.com/c/"})
    assert urllib.request.urlopen(request).url == stage.address + "/"
    request = urllib.request.Request(stage.address + CHAT + "/rehearsals/start", b"start=throttled&count=x")
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)
    assert error.value.code == 400 and b"Stop all" not in error.value.read()
