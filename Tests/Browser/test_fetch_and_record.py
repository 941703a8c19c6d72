"""The tab Fetch, the page of a record and what refers to it."""

import re

import pytest
from playwright.sync_api import expect

from folding import unfold
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
    unfold(page)
    page.get_by_text("all fields", exact=True).click()
    page.get_by_label("system fields only").check()
    page.get_by_role("button", name="Fetch", exact=True).click()
    expect(page.locator("tbody")).not_to_contain_text("Ada Lovelace")


def test_too_many_names_are_refused(open_page):
    page = open_page(CHAT + "/fetch?zone=Chats&names=" + "%0A".join(f"r{number}" for number in range(201)))
    expect(page.get_by_role("alert")).to_contain_text("200")


def test_a_first_visit_offers_names(open_page):
    page = open_page(CHAT + "/fetch")
    page.get_by_role("link", name="Fetch all of these").click()
    expect(page.locator("tbody tr")).to_have_count(4)
    expect(page.locator("tr.missing")).to_have_count(0)


def test_references_lead_there_and_back(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral")
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()
    # The first tab says how many there are.
    page.get_by_role("link", name="Referred to by").click()
    referrer = page.locator(".referrers a").first
    name = referrer.get_attribute("title")
    referrer.click()
    expect(page.locator(".heading [data-copy-source]")).to_have_text(name)
    page.locator(".fields > div", has_text="room").get_by_role("link", name="Room/general").click()
    expect(page.get_by_role("heading", name="General", level=1)).to_be_visible()
    page.get_by_role("link", name="JSON", exact=True).click()
    expect(page.get_by_label("The record as JSON")).to_contain_text('"recordName": "Room/general"')


def test_the_drawing_of_references_leads_there_and_back(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral#around")
    graph = page.locator("svg.graph")
    expect(graph.locator("a.itself")).to_contain_text("Room/general")
    graph.locator("a:not(.itself)").first.click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("General")
    graph.get_by_role("link", name="Room/general").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("General")


def test_what_refers_to_a_record_is_seen_whole(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral#references")
    region = page.get_by_role("region", name="Fields that refer to this record")
    for width in [1000, 1360, 1600]:
        page.set_viewport_size({"width": width, "height": 900})
        assert region.evaluate("region => region.scrollWidth <= region.clientWidth"), f"{width} wide"
        expect(region.get_by_role("link", name="Query", exact=False).first).to_be_in_viewport(ratio=1)


def test_what_refers_to_a_record_is_grouped_by_type_and_field(open_page, server):
    def reference(action):
        return {"value": {"recordName": "home", "action": action}, "type": "REFERENCE"}

    server.save("iCloud.com.example.Referring", "Notes", {"recordType": "Room", "recordName": "home", "fields": {}})
    server.save("iCloud.com.example.Referring", "Notes", *[
        {"recordType": "Note", "recordName": f"note {number:02}", "fields": {"room": reference("DELETE_SELF"), "seenIn": reference("NONE")}} for number in range(20)])
    server.save("iCloud.com.example.Referring", "Notes", {"recordType": "Key", "recordName": "front door", "fields": {"opens": reference("VALIDATE")}})
    page = open_page("/c/iCloud.com.example.Referring/development/private/record?zone=Notes&name=home#references")
    expect(page.get_by_role("heading", name="Referred to by 21 records")).to_be_visible()
    rows = page.get_by_role("region", name="Fields that refer to this record").locator("tbody tr")
    said = {tuple(cell.split(" Query")[0] for cell in row.locator("th, td").all_inner_texts()) for row in rows.all()}
    assert said == {
        ("Note room", "is deleted with it DELETE_SELF", "20"), ("Note seenIn", "stays; its reference is left without a target NONE", "20"),
        ("Key opens", "blocks the deletion VALIDATE", "1"),
    }
    # Each referrer is listed once, and at first only a part of them.
    notes = page.get_by_role("list", name="Note records that refer to this one", exact=True)
    expect(notes.get_by_role("link")).to_have_count(12)
    page.get_by_text("8 more", exact=True).click()
    expect(page.get_by_role("list", name="More Note records that refer to this one").get_by_role("link").last).to_be_visible()
    page.get_by_role("link", name="Query Note by room").click()
    expect(page.get_by_label("Value of filter 1")).to_have_value("home")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_the_address_of_a_record_names_the_part_in_view(open_page, scripts):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral", java_script_enabled=scripts)
    fields, past = page.get_by_role("heading", name="Fields", exact=True), page.get_by_role("heading", name="History", exact=True)
    expect(fields).to_be_visible()
    expect(past).to_be_hidden()
    page.get_by_role("navigation", name="Parts of the record").get_by_role("link", name="History").click()
    expect(page).to_have_url(re.compile("#past$"))
    expect(past).to_be_in_viewport()
    expect(fields).to_be_hidden()
    # The heading of the page stays in view.
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    page.go_back()
    expect(fields).to_be_visible()
    page.goto(CHAT + "/record?zone=Chats&name=Room%2Fgeneral#json")
    expect(page.get_by_label("The record as JSON")).to_be_visible()


def test_moments_are_shown_in_utc_and_on_this_clock(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral", timezone_id="Asia/Tokyo", locale="en-GB")
    time = page.locator(".fields > div", has_text="openedAt").locator("time")
    expect(time).to_have_text("2019-03-02 09:00:00 UTC2 Mar 2019, 18:00 here")


def test_the_find_box_leads_to_what_is_meant(open_page):
    page = open_page(CHAT + "/query")
    for text, title in [
        ("Person/ada", "Person/ada"), ("Message", "Message"), ("Family", "Changes · Family"),
        ("iCloud.com.example.Journal", "Query · CDMR · iCloud.com.example.Journal"), ("no such thing", "Find"),
    ]:
        page.keyboard.press("/")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        expect(page).to_have_title(re.compile("^" + re.escape(title)))
        page.goto(CHAT + "/query")
    token = page.goto(CHAT + "/changes?zone=Chats") and page.locator(".newtoken a").inner_text()
    page.get_by_role("searchbox").fill(token)
    page.keyboard.press("Enter")
    expect(page.get_by_text("This token is valid")).to_be_visible()


@pytest.mark.parametrize("path", ["/record?zone=Chats&name=Person%2Falan", "/query?type=Message&zone=Chats"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_nothing_moves_once_it_is_drawn(open_page, path, zone):
    page = open_page("/", timezone_id=zone)
    # Scripts add times, buttons and menus. Their room is there before.
    page.add_init_script("""
        window.moved = []
        new PerformanceObserver(list => {
          for (const entry of list.getEntries()) window.moved.push(entry.sources.map(source => source.node?.outerHTML ?? source.node?.data))
        }).observe({ type: 'layout-shift', buffered: true })
    """)
    page.goto(CHAT + path)
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.moved") == []
