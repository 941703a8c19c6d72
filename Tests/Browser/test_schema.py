"""The pages of the schema: types and fields, the table of indexes, roles and history."""

import re

import pytest
from playwright.sync_api import expect

from folding import choose
from looks import check_looks
from page_server import Server


@pytest.fixture(scope="module")
def stage():
    """A separate server; each test creates a container."""
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def open_here(open_page, stage):
    return lambda path, **options: open_page(path, at=stage, **options)


@pytest.fixture
def there(stage, request):
    """A container for one test, with a few notes."""
    container = "iCloud.com.example." + re.sub(r"[^A-Za-z0-9]", "", request.node.name)
    stage.save(
        container, "Notes",
        *({"recordType": "Note", "recordName": f"note{number}", "fields": {"title": {"value": f"Milk {number}"}, "rank": {"value": number}}} for number in range(12)),
    )
    return f"/c/{container}/development/private"


def accessible(page):
    check_looks(page, widths=(1360, 420))
    page.set_viewport_size({"width": 1360, "height": 860})


def test_a_type_gets_fields_and_indexes_and_goes(open_here, there):
    page = open_here(there + "/types")
    page.get_by_label("New type").fill("Song")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Song", exact=True)).to_be_visible()
    expect(page.get_by_role("status").first).to_contain_text("The record type is created.")
    page.get_by_label("New field", exact=True).fill("verses")
    page.get_by_label("Type of the new field").select_option("LIST<STRING>")
    page.get_by_role("checkbox", name="QUERYABLE on the new field").check()
    expect(page.locator("[data-saves]")).to_have_text("Save adds the field verses LIST<STRING> QUERYABLE.")
    page.get_by_role("button", name="Save").click()
    row = page.locator(".indexes tr", has=page.get_by_role("rowheader", name="verses"))
    expect(row).to_contain_text("LIST<STRING>")
    box = row.get_by_role("checkbox", name="QUERYABLE on verses of Song")
    expect(box).to_be_checked()
    box.uncheck()
    expect(page.locator("[data-saves]")).to_have_text("Save deletes QUERYABLE on verses.")
    page.get_by_role("button", name="Save").click()
    expect(box).not_to_be_checked()
    expect(page.get_by_role("status").first).to_contain_text("Deleted QUERYABLE on Song.verses in development.")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status").first).to_contain_text("Added QUERYABLE to Song.verses in development.")
    expect(box).to_be_checked()
    row.get_by_role("link", name="Delete the field verses…").click()
    expect(page.locator("main")).to_contain_text("There is no record with a value in the field.")
    page.get_by_role("button", name="Delete the field").click()
    expect(row).to_have_count(0)
    choose(page, "Delete…")
    page.get_by_role("link", name="Cancel").click()
    choose(page, "Delete…")
    page.get_by_role("button", name="Delete the type").click()
    expect(page.get_by_role("status").first).to_contain_text("The record type and its records are deleted")
    expect(page.get_by_role("link", name="Song")).to_have_count(0)


def test_what_is_lost_is_counted_before(open_here, there):
    page = open_here(there + "/field/remove?type=Note&field=title")
    expect(page.locator("main")).to_contain_text("This permanently deletes the values of 12 records with a value in the field, in all databases and of all users.")
    page.get_by_role("button", name="Delete the field").click()
    page.goto(there + "/record?zone=Notes&name=note3")
    expect(page.locator(".fields")).not_to_contain_text("Milk")
    page.goto(there + "/type/remove?type=Note")
    expect(page.locator("main")).to_contain_text("12 records of this type")
    page.get_by_role("button", name="Delete the type").click()
    page.goto(there + "/zone?zone=Notes")
    expect(page.locator("main")).to_contain_text("0 records")


def test_usage_shows_what_is_never_filled(open_here, there):
    page = open_here(there + "/type?type=Note")
    page.get_by_label("New field", exact=True).fill("forgotten")
    page.get_by_role("button", name="Save").click()
    choose(page, "Measure usage")
    expect(page.locator("main")).to_contain_text("12 records of this type")
    expect(page.locator("main")).to_contain_text("No record has a value in: forgotten.")
    title = page.locator(".indexes tr", has=page.get_by_role("rowheader", name="title"))
    expect(title.locator("td.num").nth(0)).to_have_text("12 all")
    expect(title.locator("td.num").nth(1)).to_have_text("12")
    title.get_by_role("link").first.click()
    expect(page.locator(".heading")).to_contain_text("note")


def test_the_table_of_indexes_is_narrowed_and_changed(open_here, stage, there):
    stage.save(there.split("/")[2], "Notes", {"recordType": "Tag", "recordName": "tag", "fields": {"name": {"value": "x"}}})
    page = open_here(there + "/indexes")
    rows = page.locator(".indexes tbody tr:visible")
    expect(rows).to_have_count(3)
    page.get_by_label("Filter", exact=True).fill("note sortable")
    expect(rows).to_have_count(2)
    rows.first.get_by_role("checkbox", name="SORTABLE").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Deleted SORTABLE on Note.")
    page.goto(there + "/indexes")
    page.get_by_role("link", name="All fields").click()
    expect(page.get_by_role("link", name="All fields")).to_have_attribute("aria-current", "true")
    page.get_by_role("checkbox", name="QUERYABLE on recordName of Tag").check()
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("show=all"))
    page.goto(there + "/query?type=Tag")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_grid_says_what_save_builds_and_keeps_what_others_did(open_here, open_page, stage, there):
    page = open_here(there + "/type?type=Note")
    other = open_here(there + "/type?type=Note", java_script_enabled=False)
    other.get_by_role("checkbox", name="SEARCHABLE on title of Note").uncheck()
    other.get_by_role("button", name="Save").click()
    page.get_by_role("checkbox", name="SORTABLE on rank of Note").uncheck()
    page.get_by_label("New field", exact=True).fill("pinnedAt")
    page.get_by_label("Type of the new field").select_option("TIMESTAMP")
    page.get_by_role("checkbox", name="QUERYABLE on ___modTime of Note").or_(page.get_by_role("checkbox", name="QUERYABLE on modifiedTimestamp of Note")).check()
    expect(page.locator("[data-saves]")).to_contain_text("Save adds the field pinnedAt TIMESTAMP; adds QUERYABLE on")
    expect(page.locator("[data-saves]")).to_contain_text("and builds it over 12 records; deletes SORTABLE on rank.")
    page.get_by_label("New field", exact=True).press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Deleted SORTABLE on Note.rank.")
    expect(page.get_by_role("checkbox", name="SEARCHABLE on title of Note")).not_to_be_checked()
    expect(page.get_by_role("rowheader", name="pinnedAt")).to_be_visible()


def test_narrowing_says_when_nothing_is_left(open_here, there):
    page = open_here(there + "/indexes")
    page.get_by_label("Filter", exact=True).fill("nothing like it")
    expect(page.get_by_text("No field matches.")).to_be_visible()
    page.get_by_label("Filter", exact=True).fill("")
    expect(page.get_by_text("No field matches.")).to_be_hidden()


def test_composite_indexes_come_and_go(open_here, there):
    page = open_here(there + "/type?type=Note")
    page.get_by_label("Filter on", exact=True).select_option("title")
    page.get_by_label("sort by").select_option("rank")
    page.get_by_role("button", name="Add a composite index").click()
    composite = page.locator(".composites tbody tr")
    expect(composite).to_contain_text("title")
    expect(composite.locator(".pill")).to_have_text("complete")
    assert "composite" not in page.locator("pre[aria-label='The type in the schema language']").inner_text().lower()
    page.goto(there + "/indexes")
    expect(page.locator(".composites tbody tr")).to_contain_text("Note")
    page.get_by_role("button", name="Delete the composite index of Note on title by rank").click()
    expect(page.locator(".composites")).to_have_count(0)


def test_roles_are_granted_and_taken(open_here, there):
    page = open_here(there + "/roles")
    page.get_by_label("New role").fill("Editor")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="Change the grants of Note").click()
    page.get_by_role("checkbox", name="Editor may WRITE").check()
    page.get_by_role("checkbox", name="_icloud may CREATE").uncheck()
    page.get_by_role("button", name="Save the grants").click()
    cells = page.locator(".matrix tbody tr", has=page.get_by_role("rowheader", name="Note")).locator("td")
    expect(cells.nth(0)).to_have_text("READ")
    expect(cells.nth(1)).to_have_text("–")
    expect(cells.nth(3)).to_have_text("WRITE")
    expect(page.get_by_role("button", name="Delete the role Editor")).to_have_count(0)
    page.goto(there + "/type?type=Note")
    expect(page.locator(".facts", has_text="Editor")).to_be_visible()
    page.get_by_label("Tabs").get_by_role("link", name="Security roles").click()
    page.get_by_role("link", name="Change the grants of Note").click()
    page.get_by_role("checkbox", name="Editor may WRITE").uncheck()
    page.get_by_role("button", name="Save the grants").click()
    page.get_by_role("button", name="Delete the role Editor").click()
    expect(page.get_by_role("rowheader", name="Editor")).to_have_count(0)


def test_history_tells_what_was_done(open_here, there):
    page = open_here(there + "/types")
    page.get_by_label("New type").fill("Song")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("link", name="History").click()
    rows = page.locator(".history tbody tr")
    expect(rows.first).to_contain_text("Developer")
    expect(rows.first).to_contain_text("edited")
    expect(rows.first).to_contain_text("Song")
    expect(rows.last).to_contain_text("saved")
    expect(rows.last).to_contain_text("Note")


def test_production_is_shown_and_left_alone(open_here, there):
    page = open_here(there.replace("development", "production") + "/types")
    for name in ["Record types", "Indexes", "Security roles", "History"]:
        page.get_by_label("Tabs").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=name, level=1, exact=True)).to_be_visible()
        assert page.locator("main form[method=post]").count() == 0, name


def working(page, steps, path="/indexes"):
    """Simulates index builds on the page: each request sees the next step, and after the last one none."""
    looks = []

    def answer(route):
        reply = route.fetch()
        step = len(looks)
        looks.append(route.request.resource_type)
        text = reply.text()
        if step < len(steps):
            text = text.replace('<div id="indexes">', f'<div id="indexes" data-live="The work is done."><p class="remark">{steps[step]}</p>')
        route.fulfill(response=reply, body=text)

    page.route(re.compile(re.escape(path) + r"($|\?)"), answer)
    return looks


def test_work_on_indexes_is_followed_until_it_is_done(open_here, there):
    page = open_here(there + "/types")
    looks = working(page, ["building, 12 %", "building, 57 %"])
    page.clock.install()
    page.goto(there + "/indexes")
    page.evaluate("window.isSamePage = true")
    expect(page.get_by_text("building, 12 %")).to_be_visible()
    box = page.get_by_role("checkbox", name="SORTABLE on rank of Note")
    box.uncheck()
    expect(page.get_by_text("building, 57 %")).to_be_visible()
    expect(page.locator("#indexes[data-live]")).to_have_count(0)
    expect(page.locator("main > [role=status]")).to_have_text("The work is done.")
    expect(box).to_be_focused()
    expect(box).not_to_be_checked()
    assert page.evaluate("window.isSamePage") is True
    page.clock.run_for(10_000)
    assert len(looks) == 3


def test_what_was_narrowed_stays_so_when_the_table_is_exchanged(open_here, there):
    page = open_here(there + "/types")
    working(page, ["building, 12 %"])
    page.goto(there + "/indexes")
    page.get_by_label("Filter", exact=True).fill("rank")
    expect(page.locator("#indexes[data-live]")).to_have_count(0)
    expect(page.locator(".indexes tbody tr:visible")).to_have_count(1)
    expect(page.get_by_label("Filter", exact=True)).to_be_focused()


@pytest.mark.parametrize(
    "path", ["/types", "/type?type=Note", "/type?type=Note&usage=1", "/type?type=Users", "/indexes?show=all", "/indexes?find=x", "/roles?type=Note", "/history",
             "/type/remove?type=Note", "/field/remove?type=Note&field=rank"],
)
def test_pages_are_accessible_and_fit(open_here, there, path):
    page = open_here(there + "/type?type=Note", reduced_motion="reduce")
    page.get_by_role("button", name="Add a composite index").click()
    page.goto(there + path)
    accessible(page)
