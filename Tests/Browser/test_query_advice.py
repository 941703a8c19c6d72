"""A refused query gets all its indexes with one click; a slow one is explained and gets the recommended index."""

import json
import re
import subprocess

import pytest
from playwright.sync_api import expect

from axe import problems
from folding import unfold
from pages import title
from pictures import keep
from rows import names

QUESTION = "type=Item&filter1=author&is1=EQUALS&value1=ada&filter2=title&is2=BEGINS_WITH&value2=Item&sort1=year"


def items(server, container, count=30):
    """Items in a zone, of a type that has no index but the one that every new type gets taken away here."""
    records = [
        {"recordType": "Item", "recordName": f"item{number}", "fields": {
            "author": {"value": {"recordName": "ada" if number % 2 else "ben", "action": "NONE"}, "type": "REFERENCE"},
            "title": {"value": f"Item {number}"}, "year": {"value": 2000 + number}}}
        for number in range(count)
    ]
    for start in range(0, count, 200):
        server.save(container, "Items", *records[start : start + 200])
    return f"/c/{container}/development/private"


def drop_all(page, there):
    page.goto(there + "/type?type=Item")
    boxes = page.locator("input[name=has]:checked:enabled")
    while boxes.count():
        boxes.first.uncheck()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".notice")).to_be_visible()


def test_all_indexes_with_one_click(open_page, server):
    there = items(server, "iCloud.com.example.Advised")
    page = open_page(there + "/types")
    drop_all(page, there)
    page.goto(f"{there}/query?{QUESTION}")
    url = page.url
    note = page.get_by_role("alert")
    expect(note.locator("strong")).to_have_text("Type is not marked indexable: Item")
    for reason in ["'author' is not marked queryable", "'title' is not marked queryable", "'year' is not marked sortable"]:
        expect(note).to_contain_text(reason)
    expect(note.locator("code")).to_have_text("author REFERENCE QUERYABLE,\ntitle STRING QUERYABLE,\nyear INT64 SORTABLE")
    note.get_by_role("button", name="Add the selected indexes").click()
    expect(page.locator("tbody th.name")).to_have_count(15)
    expect(page.locator(".notice")).to_contain_text("Added QUERYABLE to Item.author, QUERYABLE to Item.title, SORTABLE to Item.year in development.")
    # The address is that of the query: scripts take the notice out of it.
    page.wait_for_url(url)
    keep(page, "journey refused query")


def test_the_answer_comes_when_the_index_is_built(open_page, server):
    # Too many records to be indexed within a save.
    there = items(server, "iCloud.com.example.Built", count=5600)
    page = open_page(there + "/types")
    drop_all(page, there)
    page.goto(f"{there}/query?type=Item&sort1=title&zone=Items&filter1=year&is1=GREATER_THAN&value1=5")
    # Entries that are still being removed only delay the query.
    page.get_by_role("button", name="Add the selected indexes").click()
    expect(page.locator("tbody th.name")).to_have_count(50)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_query_in_code_can_be_pasted(open_page, server):
    there = items(server, "iCloud.com.example.Pasted")
    page = open_page(there + "/types")
    drop_all(page, there)
    page.goto(f"{there}/query?{QUESTION}&zone=Items")
    sample = page.locator(".codes details").filter(has=page.locator("summary", has_text="curl"))
    unfold(page)
    sample.locator("summary").click()
    command = sample.locator("pre").inner_text()
    assert server.address in command
    refused = json.loads(subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout)
    assert refused["reason"] == "Type is not marked indexable: Item"
    page.get_by_role("button", name="Add the selected indexes").click()
    expect(page.locator("tbody th.name")).to_have_count(15)
    answer = json.loads(subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout)
    assert [record["recordName"] for record in answer["records"]] == names(page)


def test_a_slow_query_is_explained_and_made_fast(open_page, server):
    container = "iCloud.com.example.Explained"
    there = items(server, container, count=2400)
    page = open_page(f"{there}/query?type=Item&zone=Items&filter1=author&is1=EQUALS&value1=ada&sort1=year&limit=10")
    note = page.get_by_role("alert")
    if note.count():
        note.get_by_role("button", name="Add").last.click()
    expect(page.locator("tbody th.name")).to_have_count(10)
    unfold(page)
    page.get_by_role("button", name="Explain").click()
    expect(page).to_have_title(title("Explain · Item", container))
    figures = page.locator(".funnel .figures")
    expect(figures).to_contain_text("records returned")
    expect(page.locator(".funnel").get_by_role("img", name=re.compile("10 records returned"))).to_be_visible()
    read = int(figures.locator("dd").first.inner_text().replace(",", ""))
    assert read > 100
    table = page.get_by_role("region", name="Indexes considered")
    expect(table).to_contain_text("author QUERYABLE")
    expect(table).to_contain_text("year SORTABLE")
    assert all(reason.strip() for reason in table.locator("tbody td:last-child").all_inner_texts())
    expect(page.get_by_role("heading", name="The engine's plan")).to_be_visible()
    page.get_by_role("button", name="Add composite index author + year").click()
    expect(page.locator("tr.used")).to_contain_text("author + year")
    assert int(figures.locator("dd").first.inner_text().replace(",", "")) < 100
    expect(page.get_by_role("button", name="Add composite index")).to_have_count(0)
    unfold(page)
    page.get_by_role("button", name="Query").last.click()
    page.wait_for_url("**/query?**")
    expect(page.locator("tbody th.name")).to_have_count(10)
    page.goto(there + "/schema")
    expect(page.get_by_label("The schema", exact=True)).not_to_contain_text("author + year")


def test_refused_queries_of_clients_are_served_from_the_advice(open_page, server):
    container = "iCloud.com.example.Refusing"
    there = items(server, container)
    page = open_page(there + "/types")
    drop_all(page, there)
    query = {"recordType": "Item", "filterBy": [{"comparator": "GREATER_THAN", "fieldName": "year", "fieldValue": {"value": 2010}}], "sortBy": [{"fieldName": "title"}]}

    def ask():
        return server.ask(f"/{container}/development/private/records/query", {"query": query, "zoneID": {"zoneName": "Items"}})

    with pytest.raises(Exception):
        ask()
    # Not on the Query page, because the refusal of its list would count too.
    page.goto(there + "/types")
    page.get_by_label("Pages", exact=True).get_by_role("link", name="Check").click()
    page.get_by_label("Tabs").get_by_role("link", name="Query advice").click()
    refused = page.get_by_role("region", name="Recently refused queries")
    expect(refused).to_contain_text("Item where year is more than 2010, sorted by title A to Z")
    expect(refused).to_contain_text("title SORTABLE")
    assert not problems(page)
    refused.get_by_role("button", name="Add 2 indexes").click()
    expect(page.get_by_role("status")).to_contain_text("indexes are changed")
    expect(page.locator("main")).to_contain_text("No query was refused")
    assert len(ask()["records"]) == 19
    page.reload()
    expect(page.get_by_role("region", name="Indexes in use")).to_contain_text("title SORTABLE")
