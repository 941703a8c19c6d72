"""The history of a record, and the check of all records, in both themes and widths."""

import pytest
from playwright.sync_api import expect

from axe import problems
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


@pytest.mark.parametrize("path", ["record?zone=Plans&name=walls", "record/history?zone=Plans&name=walls", "record?zone=Plans&name=gone", "check?zone=Plans"])
def test_axe_finds_nothing_and_nothing_sticks_out(open_page, plans, path):
    check_looks(open_page(f"{THERE}/{path}", reduced_motion="reduce"), widths=(1600, 380))


def test_a_record_that_is_gone_comes_back(open_page, plans):
    save(plans, "cellar", {"title": {"value": "Cellar", "type": "STRING"}})
    delete(plans, "cellar")
    page = open_page(f"{THERE}/record?zone=Plans&name=cellar")
    expect(page.locator(".versions > li").first).to_contain_text("deleted")
    with page.expect_navigation():
        page.get_by_role("link", name="See and restore its last version…").click()
    assert not problems(page)
    page.get_by_role("button", name="Restore this version").click()
    expect(page.get_by_role("status")).to_contain_text("The record is restored")
    expect(page.locator(".fields")).to_contain_text("Cellar")


def test_a_change_leads_to_its_request(open_page, plans):
    page = open_page(f"{THERE}/record?zone=Plans&name=walls#past")
    page.locator(".versions").get_by_role("link", name="request").first.click()
    expect(page.locator("main")).to_contain_text("records/modify")


def test_a_check_names_what_it_finds(open_page, plans):
    page = open_page(f"{THERE}/check?zone=Plans")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("button", name="Check again")).to_be_visible()
    findings = page.locator(".findings")
    expect(findings.filter(has_text="References without a target").locator("tbody tr")).to_have_count(1)
    expect(findings.filter(has_text="Missing parents").locator("tbody")).to_contain_text("attic")
    expect(findings.filter(has_text="Core Data entities").locator("tbody")).to_contain_text("Nota")
    assert not problems(page)
    findings.filter(has_text="References without a target").get_by_role("link", name="roof").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("roof")


def test_a_check_of_a_zone_in_order_says_so(open_page, plans):
    save(plans, "a", {"title": {"value": "x", "type": "STRING"}}, zone="Tidy")
    page = open_page(f"{THERE}/check?zone=Tidy")
    expect(page.get_by_role("heading", name="Problems that it finds")).to_be_visible()
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_text("No problems found.")).to_be_visible()
