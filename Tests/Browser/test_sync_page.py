"""The page Sync: the lanes of clients, which move while the page is open."""

import re

import pytest
from page_server import Server
from playwright.sync_api import expect

from looks import check_looks

CONTAINER = "iCloud.com.example.Lanes"
THERE = f"/c/{CONTAINER}/development/private"
ZONE = {"zoneName": "Notes"}


@pytest.fixture(scope="module")
def lanes():
    """A separate server, so that its clients are known."""
    server = Server()
    save(server, "one")
    yield server
    server.stop()


def save(server, name):
    server.save(CONTAINER, "Notes", {"recordType": "Note", "recordName": name, "fields": {"title": {"value": name}}})


def pull(server, client, token=None):
    zone = {"zoneID": ZONE, **({"syncToken": token} if token else {})}
    return server.ask(f"/{CONTAINER}/development/private/changes/zone?clientId={client}", {"zones": [zone]})["zones"][0]["syncToken"]


def lane(page, client):
    return page.locator(".lane", has=page.get_by_role("link", name=client, exact=True))


def test_lanes_move_while_the_page_is_open(open_page, lanes):
    token = pull(lanes, "phone")
    page = open_page(f"{THERE}/zones", at=lanes)
    page.clock.install()
    page.goto(f"{THERE}/sync")
    phone = lane(page, "phone")
    expect(phone).to_contain_text("up to date")
    save(lanes, "two")
    expect(phone).to_contain_text("1 change behind")
    expect(phone).not_to_have_class(re.compile("stuck"))
    expect(phone.get_by_role("link", name="two")).to_be_visible()
    pull(lanes, "phone", token)
    expect(phone).to_contain_text("up to date")
    pull(lanes, "tablet")
    expect(lane(page, "tablet")).to_be_visible()
    # Paused, the page stays as it is.
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused", exact=True)).to_be_visible()
    save(lanes, "three")
    page.clock.run_for(10_000)
    expect(phone).to_contain_text("up to date")
    page.get_by_role("button", name="Resume").click()
    expect(phone).to_contain_text("1 change behind")


def test_a_click_leads_to_the_request_the_record_and_the_token(open_page, lanes):
    pull(lanes, "clicked")
    save(lanes, "later")
    page = open_page(f"{THERE}/sync", at=lanes)
    page.get_by_role("button", name="Pause").click()
    lane(page, "clicked").locator("svg.blips a").last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("changes/zone")
    page.go_back()
    lane(page, "clicked").get_by_role("link", name="later").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("later")
    page.go_back()
    lane(page, "clicked").locator("svg.track a").click()
    expect(page.locator("main")).to_contain_text("This token is valid")


def test_lanes_are_accessible_and_fit(open_page, lanes):
    token = pull(lanes, "looker")
    save(lanes, "looked at")
    pull(lanes, "other", token)
    lanes.ask(f"/{CONTAINER}/development/private/zones/list?clientId=asker", {})
    page = open_page(f"{THERE}/sync", at=lanes)
    page.get_by_role("button", name="Pause").click()
    check_looks(page, widths=(1600, 380), picture="sync")
