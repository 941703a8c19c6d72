"""The tab Fetch, the page of a record and what refers to it."""

from playwright.sync_api import expect

from pages import CHAT


def test_records_of_several_types_found_or_not_each_on_its_row(open_page):
    page = open_page(CHAT + "/fetch?zone=Chats")
    page.get_by_label("names").fill("Person/ada\n\n Room/general \nnobody\n")
    page.get_by_role("button", name="Fetch", exact=True).click()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("Ada Lovelace")
    expect(rows.nth(1)).to_contain_text("Room")
    expect(rows.nth(2)).to_contain_text("NOT_FOUND")
    expect(page.locator(".foot")).to_contain_text("1 not found")
    page.get_by_label("Fields to return").select_option("system")
    page.get_by_role("button", name="Fetch", exact=True).click()
    expect(page.locator("tbody")).not_to_contain_text("Ada Lovelace")


def test_too_many_names_are_refused(open_page):
    page = open_page(CHAT + "/fetch?zone=Chats&names=" + "%0A".join(f"r{number}" for number in range(201)))
    expect(page.get_by_role("alert")).to_contain_text("200")


def test_a_first_visit_offers_names(open_page):
    page = open_page(CHAT + "/fetch")
    page.get_by_role("link", name="All of these at once").click()
    expect(page.locator("tbody tr")).to_have_count(4)
    expect(page.locator("tr.missing")).to_have_count(0)


def test_references_lead_there_and_back(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral")
    expect(page.get_by_role("heading", name="Room/general")).to_be_visible()
    referrer = page.locator(".referrers a").first
    name = referrer.inner_text()
    referrer.click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.locator(".fields tr", has_text="room").get_by_role("link", name="Room/general").click()
    expect(page.get_by_role("heading", name="Room/general")).to_be_visible()
    expect(page.get_by_label("The record as JSON")).to_contain_text('"recordName": "Room/general"')


def test_moments_are_shown_in_utc_and_on_this_clock(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral", timezone_id="Asia/Tokyo", locale="en-GB")
    time = page.locator(".fields tr", has_text="openedAt").locator("time")
    expect(time).to_contain_text("2019-03-02 09:00:00 UTC, 2 Mar 2019, 18:00:00")


def test_a_record_is_deleted_after_a_question(open_page, server):
    server.save("iCloud.com.example.Deleting", "Notes", {"recordType": "Note", "recordName": "gone soon", "fields": {}})
    page = open_page("/c/iCloud.com.example.Deleting/development/private/record?zone=Notes&name=gone%20soon", java_script_enabled=False)
    page.get_by_role("link", name="Delete…").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Delete gone soon?")
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete the record").click()
    expect(page.locator("main")).to_contain_text("NOT_FOUND")
    page.get_by_role("link", name="See what happened in the zone").click()
    expect(page.get_by_text("The zone has no records.")).to_be_visible()


def test_the_find_box_leads_to_what_is_meant(open_page):
    page = open_page(CHAT + "/query")
    for text, title in [
        ("Person/ada", "Person/ada"), ("Message", "Message"), ("Family", "Changes · Family"), ("iCloud.com.example.Journal", "Query · "),
        ("no such thing", "Nothing found"),
    ]:
        page.keyboard.press("/")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        page.wait_for_function(f"document.title.startsWith({title!r})")
        page.goto(CHAT + "/query")
    token = page.goto(CHAT + "/changes?zone=Chats") and page.locator(".newtoken a").inner_text()
    page.get_by_role("searchbox").fill(token)
    page.keyboard.press("Enter")
    expect(page.get_by_text("This token is good")).to_be_visible()
