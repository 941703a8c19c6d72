"""Forms of records with scripts, and how they look when something is wrong; changes of many records; imports."""

import json
import re

import pytest
from playwright.sync_api import expect

from looks import check_looks


@pytest.fixture
def place(server, container):
    """A database with a zone Notes, and records with fields of many types."""
    server.save(
        container, "Notes",
        {"recordType": "Room", "recordName": "Room/kitchen", "fields": {"title": {"value": "Kitchen"}}},
        {"recordType": "Room", "recordName": "Room/hall", "fields": {"title": {"value": "Hall"}}},
        {
            "recordType": "Note", "recordName": "milk", "fields": {
                "title": {"value": "Milk"}, "rank": {"value": 1, "type": "INT64"}, "weight": {"value": 1.5, "type": "DOUBLE"},
                "due": {"value": 1795197600250, "type": "TIMESTAMP"}, "place": {"value": {"latitude": 47.45, "longitude": -122.31}, "type": "LOCATION"},
                "room": {"value": {"recordName": "Room/kitchen", "action": "NONE"}, "type": "REFERENCE"}, "data": {"value": "AP9/", "type": "BYTES"},
                "tags": {"value": ["a", "b"], "type": "STRING_LIST"},
            },
        },
    )
    return f"/c/{container}/development/private"


@pytest.fixture
def fields(server, container):
    """The values of a record in the zone Notes."""
    return lambda name: server.values(container, "Notes", name)


def box(page, name):
    """The input of a field with one value."""
    return page.get_by_role("textbox", name=name, exact=True)


def test_a_record_is_edited(open_page, place, fields):
    page = open_page(place + "/record?zone=Notes&name=milk")
    page.get_by_role("link", name="Edit", exact=True).click()
    box(page, "title").fill('Two\nlines of "milk"')
    box(page, "rank").fill("9007199254740993")
    page.get_by_label("place, latitude").fill("48")
    box(page, "data").fill("00ff")
    page.get_by_label("Encoding of data").select_option("hex")
    # The notation was changed after typing, and the text is not valid base64.
    box(page, "data").fill("00ff")
    page.get_by_role("button", name="Remove value 1 of tags").click()
    page.get_by_role("button", name="+ value").first.click()
    page.get_by_label("tags, value 2").fill("c")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("Saved 5 fields.")
    now = fields("milk")
    assert now["title"] == 'Two\nlines of "milk"' and now["rank"] == 9007199254740993 and now["place"]["latitude"] == 48
    assert now["data"] == "AP8=" and now["tags"] == ["b", "c"] and now["weight"] == 1.5


def test_how_an_invalid_value_looks(open_page, place):
    page = open_page(place + "/record/edit?zone=Notes&name=milk")
    box(page, "rank").fill("many")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(box(page, "rank")).to_have_attribute("aria-invalid", "true")
    check_looks(page, picture="value that is none")


def test_moments_are_typed_on_this_clock_too(open_page, place, fields):
    page = open_page(place + "/record/edit?zone=Notes&name=milk", timezone_id="Asia/Tokyo")
    utc, here = page.get_by_label("due, in UTC"), page.get_by_label("due, on this clock")
    expect(utc).to_have_value("2026-11-20 18:00:00.250")
    expect(here).to_have_value("2026-11-21T03:00:00.25")
    here.fill("2026-11-21T09:30")
    expect(utc).to_have_value("2026-11-21 00:30:00")
    utc.fill("2026-01-01")
    expect(here).to_have_value("2026-01-01T09:00")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("Saved due.")
    assert fields("milk")["due"] == 1767225600000


def test_a_reference_is_looked_for(open_page, place, fields):
    page = open_page(place + "/record/edit?zone=Notes&name=milk")
    room = page.get_by_label("room, record name")
    room.fill("Room/h")
    expect(page.locator("datalist option[value='Room/hall']")).to_have_count(1)
    page.get_by_role("button", name="Find a record for room").click()
    found = page.get_by_role("group", name="Records found for room")
    expect(found.get_by_role("button")).to_have_count(1)
    check_looks(page)
    found.get_by_role("button", name="Room/hall").click()
    expect(page.get_by_label("room, record name")).to_have_value("Room/hall")
    page.get_by_label("Delete action of room").select_option("DELETE_SELF")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("Saved room.")
    assert fields("milk")["room"] == {"recordName": "Room/hall", "action": "DELETE_SELF"}


def test_how_a_conflict_looks(open_page, server, place, container):
    page = open_page(place + "/record/edit?zone=Notes&name=milk")
    box(page, "title").fill("mine")
    server.save(container, "Notes", {"recordType": "Note", "recordName": "milk", "fields": {"title": {"value": "theirs"}, "rank": {"value": 9}}})
    page.get_by_role("button", name="Save", exact=True).last.click()
    title = page.locator("tr.contested", has_text="theirs")
    expect(title).to_be_visible()
    # The three versions stand side by side.
    places = [title.get_by_role("radio", name=name).bounding_box() for name in ["title: yours", "title: before", "title: the server's"]]
    assert len({place["y"] for place in places}) == 1 and len({place["x"] for place in places}) == 3
    check_looks(page, picture="conflict")


def test_many_are_changed_after_a_dry_run(open_page, server, place, container, fields):
    for start in range(0, 600, 200):
        server.save(
            container, "Notes",
            *({"recordType": "Item", "recordName": f"item {n:04}", "fields": {"shelf": {"value": "left" if n % 2 else "right"}, "n": {"value": n}}} for n in range(start, start + 200)),
        )
    page = open_page(place + "/query?type=Item&zone=Notes&filter1=shelf&is1=EQUALS&value1=left")
    page.get_by_role("link", name="Change all…").click()
    # A choice made before the scripts are loaded waits for the button Choose.
    page.wait_for_load_state()
    page.get_by_label("Field to change").select_option("n")
    box(page, "n").fill("-1")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("heading", name="300 records would get another n")).to_be_visible()
    check_looks(page, picture="dry run of a change")
    page.get_by_role("button", name="Set n of 300 records").click()
    expect(page.locator("#run .state")).to_have_text("done")
    check_looks(page, picture="run")
    assert fields("item 0001")["n"] == -1 and fields("item 0002")["n"] == 2


def test_arrow_keys_only_step_through_what_can_be_done(open_page, place):
    page = open_page(place + "/bulk?type=Note&zone=Notes")
    page.wait_for_load_state()
    here = page.url
    page.get_by_label("change", exact=True).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("change", exact=True)).to_have_value("delete")
    expect(page.get_by_label("change", exact=True)).to_be_focused()
    assert page.url == here
    page.get_by_role("button", name="Choose").click()
    page.wait_for_url("**change=delete**")


def test_bytes_are_the_same_in_either_notation(open_page, server, place, container, fields):
    server.save(container, "Notes", {"recordType": "Blob", "recordName": "blob", "fields": {"data": {"value": "AAEC", "type": "BYTES"}, "n": {"value": 1}}})
    page = open_page(place + "/record/edit?zone=Notes&name=blob")
    page.get_by_label("Encoding of data").select_option("hex")
    box(page, "n").fill("2")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("Saved n.")
    assert fields("blob") == {"data": "AAEC", "n": 2}


def test_rows_that_can_not_be_imported_disable_the_button(open_page, place):
    page = open_page(place + "/importing")
    page.get_by_text("or paste rows").click()
    page.get_by_label("Rows to import").fill(json.dumps([{"title": "a", "rank": 1}, {"title": "b", "rank": "x"}]))
    page.get_by_label("Zone", exact=True).select_option("Notes")
    page.get_by_label("record type").fill("Note")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="1 row can’t be imported")).to_be_visible()
    check_looks(page, picture="import with errors")
    blocked = page.get_by_role("button", name="Import 1 record")
    expect(blocked).to_be_disabled()
    expect(blocked).to_have_css("cursor", "default")
    background = "button => getComputedStyle(button).backgroundColor"
    grey = blocked.evaluate(background)
    expect(page.locator("#obstacle")).to_have_text("1 row can’t be imported. Skip them, or correct the file.")
    page.get_by_label("skip the rows").check()
    enabled = page.get_by_role("button", name="Import 1, skip 1")
    expect(enabled).to_be_enabled()
    assert enabled.evaluate(background) != grey, "what is disabled looks so"


def test_the_preview_follows_each_choice(open_page, place, tmp_path):
    file = tmp_path / "airports.csv"
    file.write_text("iata,elevation\nSEA,433\nAMS,-11\n")
    page = open_page(place + "/importing")
    page.get_by_label("file", exact=True).set_input_files(file)
    # The next choice has the focus, and nothing is called wrong before the button is pressed.
    expect(page.get_by_label("Zone", exact=True)).to_be_focused()
    page.get_by_label("Zone", exact=True).select_option("Notes")
    page.get_by_label("record type").fill("Airport")
    page.get_by_label("record type").blur()
    expect(page.get_by_role("heading", name="2 rows will become records")).to_be_visible()
    # The console suggests the column with different values, and the choice of another is previewed at once.
    names = page.get_by_label("record names")
    expect(names).to_have_value("iata")
    # A person who chooses has the focus there.
    names.focus()
    names.select_option("elevation")
    expect(page.get_by_role("region", name="The first records").locator("tbody th").first).to_have_text("433 new")
    expect(names).to_be_focused()
    # The indexes that a save adds by default are ticked.
    expect(page.get_by_text(re.compile("adds indexes: .*elevation QUERYABLE SORTABLE"))).to_be_visible()
    index = page.get_by_label("Add SORTABLE to elevation")
    index.uncheck()
    expect(page.get_by_text("elevation QUERYABLE, ")).to_be_visible()
    expect(index).not_to_be_checked()
    expect(index).to_be_focused()
    check_looks(page, picture="import preview")
    # Another file has ticks of its own.
    file.write_text("iata,elevation,runways\nSEA,433,4\nAMS,-11,6\n")
    page.get_by_label("file", exact=True).set_input_files(file)
    expect(page.get_by_label("Add SORTABLE to runways")).to_be_checked()
    expect(index).to_be_checked()
    index.uncheck()
    expect(page.get_by_text("elevation QUERYABLE, ")).to_be_visible()
    page.get_by_role("button", name="Import 2 records").click()
    expect(page.locator("#run .state")).to_have_text("done")
    expect(page.locator("#run")).to_contain_text("elevation QUERYABLE, ")
    # The counts beside it are those of now.
    expect(page.locator(".side a", has_text="Airport").first).to_have_text(re.compile(r"Airport\s+2"))


def test_a_dropped_file_is_the_one_to_import(open_page, place):
    page = open_page(place + "/importing")
    page.get_by_label("record type").fill("Dropped")
    page.get_by_label("Zone", exact=True).select_option("Notes")
    data = page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['title\\nMilk\\n'], 'dropped.csv', { type: 'text/csv' })); return data }"
    )
    page.dispatch_event("main", "drop", {"dataTransfer": data})
    expect(page.locator(".filename")).to_have_text("dropped.csv")
    expect(page.get_by_role("heading", name="1 row will become records")).to_be_visible()


def test_an_editor_is_used_by_keyboard(open_page, place, fields):
    page = open_page(place + "/record/edit?zone=Notes&name=milk")
    box(page, "title").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("Typed")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved title.")
    assert fields("milk")["title"] == "Typed"


def test_a_file_is_added_while_a_record_is_made(open_page, server):
    container = "iCloud.com.example.NewWithFile"
    server.attach(container, "Notes", "old", ("old.txt", b"old"))
    page = open_page(f"/c/{container}/development/private/record/new?type=Note&zone=Notes")
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    page.get_by_label("recordName").fill("made")
    page.get_by_label("File for file").set_input_files({"name": "new.txt", "mimeType": "text/plain", "buffer": b"new"})
    page.get_by_role("button", name="Create the record").last.click()
    expect(page.locator(".filename")).to_have_text("new.txt")
    expect(page.locator(".heading [data-copy-source]")).to_have_text("made")
