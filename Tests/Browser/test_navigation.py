"""The sidebar: the record types, the pages with their tabs, and their states."""

import urllib.error

import pytest
from playwright.sync_api import expect

from axe import problems
from looks import entries, tabs
from pages import CHAT, title

ENTRIES = ["Zones", "Record types", "Key-value store", "Import", "Snapshots", "Sync", "Notifications", "Decode", "Requests", "Rehearsals", "Check", "Keys"]


def test_each_entry_leads_to_its_page_and_its_tabs(open_page):
    page = open_page(CHAT + "/query")
    for entry in ENTRIES:
        entries(page).get_by_role("link", name=entry).click()
        expect(entries(page).locator("[aria-current=true]")).to_contain_text(entry)
        expect(page.get_by_role("heading", level=1)).to_contain_text(entry)
        for name in tabs(page).get_by_role("link").evaluate_all("links => links.map(link => link.firstChild.textContent.trim())"):
            tab = tabs(page).get_by_role("link", name=name)
            tab.click()
            expect(tab).to_have_attribute("aria-current", "page")
            expect(page.get_by_role("heading", level=1)).to_contain_text(name)
            assert page.title().startswith(name) and page.title().endswith(" · iCloud.com.example.Chat · development")
    assert not problems(page)


def test_a_record_type_is_one_click_away(open_page):
    page = open_page(CHAT + "/zones")
    entries(page).get_by_role("link", name="Reaction").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Reaction")
    expect(entries(page).locator("[aria-current=page]")).to_contain_text("Reaction")
    count = entries(page).get_by_role("link", name="Reaction").locator("span").inner_text()
    expect(page.locator(".outcome")).to_contain_text(f"of {count}")


def test_many_types_are_filtered_while_typing(open_page, server):
    container = "iCloud.com.example.ManyTypes"
    server.save(container, "Notes", *({"recordType": f"Type{number}", "recordName": f"one {number}", "fields": {}} for number in range(12)))
    page = open_page(f"/c/{container}/development/private/zones")
    box = page.get_by_role("searchbox", name="Filter record types")
    box.fill("type1")
    expect(page.locator("#types li").filter(visible=True)).to_have_text(["Type1 1", "Type10 1", "Type11 1"])
    assert not problems(page)


def test_the_entries_tell_their_state(empty_server, open_page):
    container = "iCloud.com.example.States"
    note = {"recordType": "Note", "recordName": "one", "fields": {"n": {"value": 1}}}
    empty_server.save(container, "Notes", note)
    there = f"/c/{container}/development/private"
    page = open_page(there + "/zones", at=empty_server)
    for entry in ["Requests", "Sync", "Check", "Rehearsals"]:
        expect(entries(page).get_by_role("link", name=entry, exact=True)).to_be_visible()
    empty_server.ask(f"/{container}/development/private/changes/zone", {"zones": [{"zoneID": {"zoneName": "Notes"}}]})
    with pytest.raises(urllib.error.HTTPError):
        empty_server.ask(f"/{container}/development/private/records/query", {"query": {"recordType": "Nothing"}, "zoneID": {"zoneName": "Notes"}})
    empty_server.save(container, "Notes", note | {"recordName": "two"})
    page.reload()
    expect(entries(page).get_by_role("link", name="Requests 1 error in the last hour")).to_be_visible()
    # To lack a change is no reason to look at a client; a refused token is.
    expect(entries(page).get_by_role("link", name="Sync", exact=True)).to_be_visible()
    empty_server.ask(f"/{container}/development/private/changes/zone", {"zones": [{"zoneID": {"zoneName": "Notes"}, "syncToken": "AAAA"}]})
    page.reload()
    expect(entries(page).get_by_role("link", name="Sync 1 stuck client")).to_be_visible()
    assert not problems(page)


def test_a_shortcut_leads_to_a_tab_of_another_entry(open_page):
    page = open_page(CHAT + "/query")
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    for keys, name in [("ga", "Query advice"), ("gm", "Telemetry"), ("gx", "Rehearsals"), ("gu", "Users")]:
        page.keyboard.type(keys)
        expect(page).to_have_title(title(name))
        expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    keys.get_by_role("link", name="Record types").click()
    expect(page).to_have_title(title("Record types"))
