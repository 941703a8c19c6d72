"""The nine entries of the navigation, their tabs and their states."""

import urllib.error

import pytest
from playwright.sync_api import expect

from axe import problems
from looks import entries, tabs
from pages import CHAT, title

ENTRIES = ["Records", "Zones", "Schema", "Requests", "Clients", "Decode", "Health", "Rehearsals", "Access"]


def test_each_entry_leads_to_its_tabs(open_page):
    page = open_page(CHAT + "/query")
    for entry in ENTRIES:
        entries(page).get_by_role("link", name=entry).click()
        expect(entries(page).locator("[aria-current=true]")).to_contain_text(entry)
        for name in tabs(page).get_by_role("link").evaluate_all("links => links.map(link => link.firstChild.textContent.trim())"):
            tab = tabs(page).get_by_role("link", name=name)
            tab.click()
            expect(tab).to_have_attribute("aria-current", "page")
            expect(page.get_by_role("heading", level=1)).to_contain_text(name)
            assert page.title().startswith(name) and page.title().endswith(" · iCloud.com.example.Chat · development")
    assert not problems(page)


def test_the_entries_tell_their_state(empty_server, open_page):
    container = "iCloud.com.example.States"
    note = {"recordType": "Note", "recordName": "one", "fields": {"n": {"value": 1}}}
    empty_server.save(container, "Notes", note)
    there = f"/c/{container}/development/private"
    page = open_page(there + "/zones", at=empty_server)
    for entry in ["Requests", "Clients", "Health", "Rehearsals"]:
        expect(entries(page).get_by_role("link", name=entry, exact=True)).to_be_visible()
    empty_server.ask(f"/{container}/development/private/changes/zone", {"zones": [{"zoneID": {"zoneName": "Notes"}}]})
    with pytest.raises(urllib.error.HTTPError):
        empty_server.ask(f"/{container}/development/private/records/query", {"query": {"recordType": "Nothing"}, "zoneID": {"zoneName": "Notes"}})
    empty_server.save(container, "Notes", note | {"recordName": "two"})
    page.reload()
    expect(entries(page).get_by_role("link", name="Requests 1 error in the last hour")).to_be_visible()
    # To lack a change is no reason to look at a client; a refused token is.
    expect(entries(page).get_by_role("link", name="Clients", exact=True)).to_be_visible()
    empty_server.ask(f"/{container}/development/private/changes/zone", {"zones": [{"zoneID": {"zoneName": "Notes"}, "syncToken": "AAAA"}]})
    page.reload()
    expect(entries(page).get_by_role("link", name="Clients 1 stuck client")).to_be_visible()
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
