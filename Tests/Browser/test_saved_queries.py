"""Queries saved under a name, and the recent ones of this browser."""

from playwright.sync_api import expect

from axe import problems
from rows import notes


def test_queries_are_saved_and_remembered(open_page, server):
    first = notes(server, "iCloud.com.example.Saved")
    page = open_page(first)
    page.locator("summary", has_text="Saved queries").click()
    page.get_by_label("Name to save this query under").fill("All <of> them")
    page.get_by_role("button", name="Save this query").click()
    expect(page.get_by_role("status")).to_contain_text("The query is saved")
    page.goto("/c/iCloud.com.example.Saved/development/private/query?type=Note&zone=Notes&filter1=rank&is1=EQUALS&value1=3")
    page.locator("summary", has_text="Saved queries").click()
    menu = page.locator(".saved .menu")
    expect(menu).to_contain_text("Recent queries in this browser")
    expect(menu.locator("[data-recent-list] a").first).to_have_attribute("href", first)
    assert not problems(page)
    page.get_by_role("link", name="All <of> them").click()
    expect(page.get_by_label("Value of filter 1")).to_have_value("0")
