"""The sidebar's filter, and shortcuts to pages."""

from playwright.sync_api import expect

from axe import problems
from pages import CHAT, title


def test_many_types_are_filtered_while_typing(open_page, server):
    container = "iCloud.com.example.ManyTypes"
    server.save(container, "Notes", *({"recordType": f"Type{number}", "recordName": f"one {number}", "fields": {}} for number in range(12)))
    page = open_page(f"/c/{container}/development/private/zones")
    box = page.get_by_role("searchbox", name="Filter record types")
    box.fill("type1")
    expect(page.locator("#types li").filter(visible=True)).to_have_text(["Type1 1", "Type10 1", "Type11 1"])
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
