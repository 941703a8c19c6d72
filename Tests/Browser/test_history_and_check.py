"""How the history of a record and the check of all records look."""

import pytest
from playwright.sync_api import expect

from looks import check_looks

CONTAINER = "iCloud.com.example.History"
THERE = f"/c/{CONTAINER}/development/private"


def save(server, name, fields, record_type="Plan", zone="Plans", parent=None):
    record = {"recordType": record_type, "recordName": name, "fields": fields}
    if parent:
        record["parent"] = {"recordName": parent}
    server.save(CONTAINER, zone, record)


def delete(server, name):
    operation = {"operationType": "forceDelete", "record": {"recordName": name}}
    server.ask(f"/{CONTAINER}/development/private/records/modify", {"zoneID": {"zoneName": "Plans"}, "operations": [operation]})


@pytest.fixture(scope="module")
def plans(server):
    """A record with four versions, a deleted one, and some with problems."""
    save(server, "house", {})
    save(server, "walls", {"title": {"value": "Walls", "type": "STRING"}, "cost": {"value": 1200, "type": "INT64"}})
    save(server, "walls", {"title": {"value": "Walls and a door", "type": "STRING"}, "notes": {"value": "timber " * 60, "type": "STRING"}}, parent="house")
    save(server, "walls", {"cost": {"value": None, "type": "INT64"}})
    save(server, "walls", {"title": {"value": "Walls, a door", "type": "STRING"}})
    save(server, "plot", {})
    save(server, "attic", {"on": {"value": {"recordName": "plot", "action": "DELETE_SELF"}, "type": "REFERENCE"}})
    save(server, "roof", {"near": {"value": {"recordName": "nowhere", "action": "NONE"}, "type": "REFERENCE"}}, parent="attic")
    delete(server, "plot")
    save(server, "note", {"CD_entityName": {"value": "Nota", "type": "STRING"}}, record_type="CD_Note")
    save(server, "gone", {"title": {"value": "Cellar", "type": "STRING"}})
    delete(server, "gone")
    return server


@pytest.mark.parametrize("path", ["record?zone=Plans&name=walls", "record/history?zone=Plans&name=walls", "record?zone=Plans&name=gone"])
def test_axe_finds_nothing_and_nothing_sticks_out(open_page, plans, path):
    check_looks(open_page(f"{THERE}/{path}", reduced_motion="reduce"), widths=(1600, 380))


def test_how_the_question_before_a_version_comes_back_looks(open_page, plans):
    page = open_page(f"{THERE}/record?zone=Plans&name=gone")
    with page.expect_navigation():
        page.get_by_role("link", name="See and restore its last version…").click()
    check_looks(page, widths=(1600, 380))


def test_the_findings_of_a_check_come_by_themselves(open_page, plans):
    page = open_page(f"{THERE}/check?zone=Plans")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("button", name="Check again")).to_be_visible()
    expect(page.locator(".findings").filter(has_text="Missing parents").locator("tbody")).to_contain_text("attic")
    check_looks(page, widths=(1600, 380))
