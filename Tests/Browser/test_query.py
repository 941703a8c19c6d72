"""The tab Query: the sentence, the results, and the remedy for a refused query."""

import re

from playwright.sync_api import expect

from folding import unfold
from pages import CHAT, title



def test_a_first_visit_shows_records(open_page, demo):
    page = open_page("/", at=demo)
    page.locator(".containers li", has_text="iCloud.com.example.Chat").get_by_role("link", name="Query").click()
    expect(page.locator("tbody tr")).to_have_count(50)
    expect(page.locator(".foot")).to_contain_text("50 records of")
    expect(page.locator(".foot")).to_contain_text("ms")
    for text in ["iCloud.com.example.Chat", "development", "private", "Developer", "all zones"]:
        expect(page.get_by_label("Where you are")).to_contain_text(text)


def test_the_ways_to_read_lead_to_each_other(open_page):
    page = open_page(CHAT + "/query?zone=Chats")
    ways = page.get_by_label("Ways to read records")
    for name, heading in [("Fetch", "Fetch · Chats"), ("Changes", "Changes · Chats"), ("Query", "Query · Message")]:
        ways.get_by_role("link", name=name).click()
        expect(page).to_have_title(title(heading))
        expect(ways.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")


def test_pages_hold_every_record_once_there_and_back(open_page):
    page = open_page(CHAT + "/query?type=Reaction&zone=Family&limit=20&filter1=emoji&is1=GREATER_THAN&value1=%20&sort1=emoji")
    there = []
    while True:
        there.append(page.locator("tbody th.name").all_inner_texts())
        if not page.get_by_role("link", name="Next page").count():
            break
        page.get_by_role("link", name="Next page").click()
        page.wait_for_load_state()
    names = sum(there, [])
    assert len(names) == len(set(names)) > 50
    back = [there[-1]]
    while page.get_by_role("link", name="Previous page").count():
        page.get_by_role("link", name="Previous page").click()
        page.wait_for_load_state()
        back.append(page.locator("tbody th.name").all_inner_texts())
    assert back == there[::-1]


def test_rows_come_and_go_without_loading_the_page(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats")
    unfold(page)
    page.evaluate("window.isSamePage = true")
    page.get_by_label("Field of filter 1").select_option("room")
    page.get_by_label("Value of filter 1").fill("Room/general")
    page.get_by_role("button", name="+ filter").click()
    page.get_by_label("Field of filter 2").select_option("sentAt")
    expect(page.get_by_label("Comparison of filter 2")).to_have_value("GREATER_THAN")
    expect(page.get_by_label("Value of filter 1")).to_have_value("Room/general")
    page.get_by_label("Value of filter 2").fill("2024-01-01")
    page.get_by_label("Field of sort 1").select_option("sentAt")
    page.get_by_label("Direction of sort 1").select_option("descending")
    assert page.evaluate("window.isSamePage") is True
    # Enter in a field runs the query rather than the first button of the form.
    page.get_by_label("Value of filter 2").press("Enter")
    expect(page.locator("thead th").filter(has_text="sentAt")).to_contain_text("↓")
    assert "filter2=sentAt" in page.url
    rooms = page.locator("tbody td a[href*='Room']").evaluate_all("links => links.map(link => new URL(link.href).searchParams.get('name'))")
    assert set(rooms) == {"Room/general"}
    unfold(page)
    page.get_by_role("button", name="Remove filter 1").click()
    expect(page.get_by_label("Field of filter 1")).to_have_value("sentAt")
    expect(page.get_by_label("Field of filter 2")).to_have_count(0)


def test_fields_without_an_index_say_so_and_can_be_chosen(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&edit=1")
    author = page.get_by_label("Field of filter 1").locator("option[value=author]")
    expect(author).to_be_enabled()
    expect(author).to_have_text("author – no index")
    expect(page.get_by_label("Field of filter 1").locator("option[value=room]")).to_have_text("room")
    expect(page.get_by_label("Field of sort 1").locator("option[value=text]")).to_have_text("text – no index")
    # No index helps to compare a file.
    voice = page.get_by_label("Field of filter 1").locator("option[value=voice]")
    expect(voice).to_be_disabled()
    expect(voice).to_have_text("voice – can't be queried")
    page.get_by_label("Field of filter 1").select_option("author")
    page.get_by_label("Value of filter 1").fill("Person/ada")
    page.get_by_role("button", name="Query", exact=True).last.click()
    note = page.get_by_role("alert")
    expect(note).to_contain_text("Field 'author' is not marked queryable")
    expect(note.get_by_role("button", name="Add QUERYABLE to author")).to_be_visible()


def test_a_head_sorts_by_its_column_and_offers_an_index(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&limit=10&filter1=room&is1=EQUALS&value1=Room%2Fgeneral")
    head = page.get_by_role("columnheader", name="sentAt")
    # The latest come first; another click turns the order around.
    for order, arrow in [("descending", "↓"), ("ascending", "↑")]:
        head.get_by_role("link").click()
        expect(head).to_contain_text(arrow)
        expect(head).to_have_attribute("aria-sort", order)
        expect(page.get_by_role("list", name="What is asked")).to_contain_text("room is General")
    expect(page.get_by_role("columnheader", name="place").get_by_role("link")).to_have_count(0)
    page.get_by_role("columnheader", name="text").get_by_role("link").click()
    expect(page.get_by_role("alert")).to_contain_text("Field 'text' is not marked sortable")
    expect(page.get_by_role("button", name="Add SORTABLE to text")).to_be_visible()


def test_a_click_beside_the_text_of_a_head_sorts_too(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats")
    page.get_by_label("Select all records of this page").check()
    expect(page).not_to_have_url(re.compile("sort1"))
    # The type of the field is in the middle of the head.
    page.locator("thead th", has_text="sentAt").click()
    expect(page).to_have_url(re.compile("sort1=sentAt"))


def test_a_place_is_found_by_its_distance(open_page):
    page = open_page(
        CHAT + "/query?type=Person&zone=Chats&filter1=home&is1=NEAR&value1=51.5,-0.16&within1=5000&sort1=home&from1=51.5,-0.16"
    )
    expect(page.locator("tbody th.name").first).to_contain_text("Person/ada")
    expect(page.get_by_label("Metres of filter 1")).to_have_value("5000")


def test_a_value_that_cannot_be_read_is_explained_at_its_row(open_page):
    page = open_page(CHAT + "/query?type=Message&filter1=sentAt&is1=GREATER_THAN&value1=yesterday")
    expect(page.locator(".row", has=page.get_by_label("Value of filter 1"))).to_contain_text("‘yesterday’ is not a time")
    expect(page.locator("tbody")).to_have_count(0)


def test_a_refused_query_gets_its_index(open_page, server):
    container = "iCloud.com.example.Refused"
    server.save(container, "Notes", {"recordType": "Note", "recordName": "one", "fields": {"title": {"value": "Milk"}}})
    page = open_page(f"/c/{container}/development/private/query?type=Note")
    note = page.get_by_role("alert")
    expect(note).to_contain_text("Field 'recordName' is not marked queryable")
    expect(note).to_contain_text("BAD_REQUEST")
    expect(note.locator("code")).to_have_text('"___recordID" REFERENCE QUERYABLE')
    note.get_by_role("button", name="Add QUERYABLE to recordName").click()
    expect(page.locator("tbody th.name")).to_have_text("Milk one")
    expect(page.get_by_role("status")).to_contain_text("Added QUERYABLE to Note.recordName in development.")
    assert "/query?type=Note" in page.url


def drop(page, *indexes: str):
    """Deletes indexes of the type Note, on its page."""
    for index in indexes:
        page.get_by_label(f"{index} of Note", exact=True).uncheck()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".notice")).to_be_visible()


def test_missing_indexes_are_listed_and_chosen(open_page, server):
    container = "iCloud.com.example.Missing"
    server.save(container, "Notes", {"recordType": "Note", "recordName": "one", "fields": {"title": {"value": "Milk"}, "rank": {"value": 1}}})
    types = f"/c/{container}/development/private/type?type=Note"
    page = open_page(types)
    drop(page, "QUERYABLE on rank", "SORTABLE on rank", "QUERYABLE on title")
    page.goto(f"/c/{container}/development/private/query?type=Note&filter1=title&is1=EQUALS&value1=Milk&sort1=rank")
    note = page.get_by_role("alert")
    expect(note.locator("strong")).to_have_text("Field 'title' is not marked queryable")
    expect(note).to_contain_text("2 more indexes")
    expect(note).to_contain_text("Field 'rank' is not marked sortable")
    # They are selected already, and each can be left out.
    expect(note.get_by_role("checkbox")).to_have_count(2)
    note.get_by_label("SORTABLE to rank").uncheck()
    note.get_by_role("button", name="Add the selected indexes").click()
    expect(note.locator("strong")).to_have_text("Field 'rank' is not marked sortable")
    note.get_by_role("button", name="Add SORTABLE to rank").click()
    expect(page.locator("tbody th.name")).to_have_text("Milk one")


def test_all_missing_indexes_are_made_at_once(open_page, server):
    container = "iCloud.com.example.MissingAll"
    server.save(container, "Notes", {"recordType": "Note", "recordName": "one", "fields": {"title": {"value": "Milk"}, "rank": {"value": 1}}})
    page = open_page(f"/c/{container}/development/private/type?type=Note")
    drop(page, "QUERYABLE on rank", "SORTABLE on rank", "QUERYABLE on title")
    page.goto(f"/c/{container}/development/private/query?type=Note&filter1=title&is1=EQUALS&value1=Milk&sort1=rank")
    note = page.get_by_role("alert")
    note.get_by_role("button", name="Add the selected indexes").click()
    expect(page.locator("tbody th.name")).to_have_text("Milk one")


def test_a_refused_query_runs_without_the_row_in_the_way(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=Room/general&filter2=author&is2=EQUALS&value2=Person/ada")
    page.get_by_role("link", name="Run without the filter on author").click()
    expect(page.locator("tbody tr")).to_have_count(50)
    page.go_back()
    page.get_by_role("link", name="Browse through Changes").click()
    expect(page).to_have_title(title("Changes · Chats"))


def test_production_schema_is_not_edited(open_page):
    page = open_page(CHAT.replace("development", "production") + "/query?type=Message")
    expect(page.get_by_role("alert")).to_contain_text("Did not find record type: Message")
    expect(page.get_by_role("button", name="Add QUERYABLE")).to_have_count(0)
