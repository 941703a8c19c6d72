"""Core Data's records as objects: from an entity to its table, an object, its relationships both ways, and the raw record."""

import pytest
from playwright.sync_api import expect

from folding import choose
from looks import check_looks
from pages import CHAT, JOURNAL

CONTAINER = "iCloud.com.example.Objects"
ZONE = "com.apple.coredata.cloudkit.zone"
BOOK, PAGE, AUTHOR = [f"A0000000-0000-4000-8000-10000000000{number}" for number in range(3)]


def text(value: str) -> dict:
    return {"value": value, "type": "STRING"}


@pytest.fixture(scope="module")
def books(server):
    """A book with a page, and an author of it."""
    server.save(
        CONTAINER, ZONE,
        {"recordType": "CD_Book", "recordName": BOOK, "fields": {"CD_entityName": text("Book"), "CD_title": text("Tides")}},
        {"recordType": "CD_Page", "recordName": PAGE, "fields": {
            "CD_entityName": text("Page"), "CD_book": text(BOOK), "CD_text": text("The moon is heavier than it looks"), "CD_number": {"value": 7, "type": "INT64"}}},
        {"recordType": "CD_Author", "recordName": AUTHOR, "fields": {"CD_entityName": text("Author"), "CD_name": text("Ada")}},
        {"recordType": "CDMR", "recordName": "A0000000-0000-4000-8000-100000000009", "fields": {
            "CD_entityNames": text("Author:Book"), "CD_recordNames": text(f"{AUTHOR}:{BOOK}"), "CD_relationships": text("books:authors")}},
    )
    return f"/c/{CONTAINER}/development/private"


def test_relationships_lead_from_object_to_object(open_page, books):
    page = open_page(f"{books}/query")
    page.get_by_role("link", name="Objects", exact=True).click()
    entities = page.get_by_role("region", name="Entities")
    expect(entities.get_by_role("row", name="Page")).to_contain_text("number, text")
    expect(entities.get_by_role("row", name="Page")).to_contain_text("book → Book")
    entities.get_by_role("link", name="Page", exact=True).click()
    table = page.get_by_role("region", name="Objects of Page")
    expect(table.get_by_role("link", name="Tides", exact=True)).to_be_visible()
    table.get_by_role("link", name="The moon is heavier than it looks").click()
    expect(page.get_by_role("region", name="Attributes of the object").get_by_role("row", name="number")).to_contain_text("7")
    # To-one, and its other side.
    page.get_by_role("list", name="book", exact=True).get_by_role("link", name="Tides").click()
    expect(page.get_by_role("heading", name="Tides", level=1)).to_be_visible()
    expect(page.get_by_role("list", name="Page, by its book").get_by_role("link")).to_have_count(1)
    # Many-to-many, both ways.
    page.get_by_role("list", name="authors (Author)").get_by_role("link", name="Ada").click()
    page.get_by_role("list", name="books (Book)").get_by_role("link", name="Tides").click()
    page.get_by_role("link", name="The record", exact=True).click()
    expect(page.locator(".heading")).to_contain_text(BOOK)
    choose(page, "As an object")
    expect(page.get_by_role("heading", name="Tides", level=1)).to_be_visible()
    page.get_by_role("link", name="As a table").click()
    expect(page.get_by_role("region", name="Objects of Page").get_by_role("row")).to_have_count(2)


def test_a_table_sorts_by_a_column_and_offers_an_index(open_page):
    page = open_page(JOURNAL + "/objects")
    page.get_by_role("region", name="Entities").get_by_role("link", name="Entry", exact=True).click()
    table = page.get_by_role("region", name="Objects of Entry")
    expect(table.get_by_role("row")).to_have_count(51)
    table.get_by_role("columnheader", name="mood").get_by_role("link").click()
    expect(table.get_by_role("columnheader", name="mood")).to_contain_text("↑")
    table.get_by_role("columnheader", name="mood").get_by_role("link").click()
    expect(table.get_by_role("columnheader", name="mood")).to_contain_text("↓")
    page.get_by_role("link", name="Next page").click()
    expect(page.locator("footer.foot")).to_contain_text("page 2")
    page.goto(JOURNAL + "/objects/entity?type=CD_Entry")
    expect(page.get_by_role("alert")).to_contain_text("Field 'recordName' is not marked queryable")
    expect(page.get_by_role("button", name="Add QUERYABLE to recordName")).to_be_visible()


def test_only_containers_with_objects_offer_them(open_page):
    page = open_page(CHAT + "/query")
    expect(page.get_by_label("Ways to read records").get_by_role("link", name="Changes")).to_be_visible()
    expect(page.get_by_role("link", name="Objects", exact=True)).to_have_count(0)


def test_how_the_pages_look(open_page, books):
    for name, path in [
        ("objects", JOURNAL + "/objects"), ("object", f"{books}/object?zone={ZONE}&name={BOOK}"),
        ("object with a file", f"{JOURNAL}/object?zone={ZONE}&name=SVG-WITH-A-SCRIPT-INSIDE"),
        ("objects of an entity", f"{books}/objects/entity?type=CD_Page&filter1=CD_entityName&is1=EQUALS&value1=Page"),
    ]:
        check_looks(open_page(path), picture=name)
