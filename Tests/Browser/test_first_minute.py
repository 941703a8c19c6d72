"""The start page of an empty server: the first request of a client, and what is none."""

import re

from playwright.sync_api import expect

APP = "iCloud.com.example.App"


def test_the_first_request_is_received_live(empty_server, open_page):
    page = open_page(at=empty_server)
    latest = page.get_by_role("region", name="Latest requests")
    expect(latest).to_contain_text("Waiting for your first request")
    # A script writes the address of this server into the samples.
    expect(page.locator(".snippets details[open] code")).to_contain_text(f"curl -s {empty_server.address}/database/1/{APP}/development/private")
    empty_server.save(APP, "Notes", {"recordName": "a", "recordType": "Note", "fields": {"title": {"value": "Hello"}}})
    expect(latest).to_contain_text("Received ✓")
    expect(latest).to_contain_text("Python-urllib")
    page.reload()
    latest.get_by_role("link", name="records/modify").click()
    expect(page).to_have_url(re.compile(f"/c/{APP}/development/private/requests\\?id="))


def test_an_upload_of_the_console_is_no_client(empty_server, open_page):
    empty_server.save(APP, "Notes", {"recordName": "a", "recordType": "Note", "fields": {"title": {"value": "Hello"}}})
    place = f"/c/{APP}/development/private"
    page = open_page(f"{place}/requests", at=empty_server)
    page.evaluate(f"fetch('/database/1/{APP}/development/private/zones/list')")
    row = page.locator("tbody[data-rows] tr", has_text="zones/list")
    expect(row).to_contain_text("Skylight console")
    page.goto(f"{place}/clients")
    expect(page.get_by_role("main")).to_contain_text("Python-urllib")
    expect(page.get_by_role("main")).not_to_contain_text("Skylight console")
