"""A refused query has its answer when its indexes are built; a slow one is explained and gets the recommended index."""

from playwright.sync_api import expect

from folding import unfold


def items(server, container, count):
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
    figures = page.locator(".funnel .figures")
    assert int(figures.locator("dd").first.inner_text().replace(",", "")) > 100
    expect(page.get_by_role("heading", name="The engine's plan")).to_be_visible()
    page.get_by_role("button", name="Add composite index author + year").click()
    expect(page.locator("tr.used")).to_contain_text("author + year")
    assert int(figures.locator("dd").first.inner_text().replace(",", "")) < 100
    expect(page.get_by_role("button", name="Add composite index")).to_have_count(0)
