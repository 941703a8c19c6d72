"""Creating, changing and copying records; conflicts; bulk changes; imports; renaming and deleting containers."""

import json
import re

import pytest
from playwright.sync_api import expect

from looks import check_looks
from pictures import keep

BASE = "iCloud.com.example.Editing"


@pytest.fixture
def place(server, request):
    """A container for one test, with a zone Notes and records with fields of many types."""
    container = BASE + re.sub(r"[^A-Za-z]", "", request.node.name)
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


def fields(server, place, name, zone="Notes"):
    container = place.split("/")[2]
    answer = server.ask(f"/{container}/development/private/records/lookup", {"zoneID": {"zoneName": zone}, "records": [{"recordName": name}]})
    return {field: value["value"] for field, value in answer["records"][0].get("fields", {}).items()}


def box(page, name):
    """The input of a field with one value."""
    return page.get_by_role("textbox", name=name, exact=True)


def check(page, picture=None):
    """Keeps screenshots of states without an address."""
    check_looks(page, picture=picture)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 860})


def test_a_record_is_edited(open_page, server, place):
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
    expect(page.get_by_role("status")).to_contain_text("The record is saved.")
    now = fields(server, place, "milk")
    assert now["title"] == 'Two\nlines of "milk"' and now["rank"] == 9007199254740993 and now["place"]["latitude"] == 48
    assert now["data"] == "AP8=" and now["tags"] == ["b", "c"] and now["weight"] == 1.5


def test_an_invalid_value_has_a_message_and_nothing_is_lost(open_page, place):
    page = open_page(place + "/record/edit?zone=Notes&name=milk")
    box(page, "title").fill("typed")
    box(page, "rank").fill("many")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("alert")).to_contain_text("Correct the marked field")
    expect(box(page, "rank")).to_have_attribute("aria-invalid", "true")
    expect(box(page, "rank")).to_have_value("many")
    expect(box(page, "title")).to_have_value("typed")
    check(page, "value that is none")


def test_moments_are_typed_on_this_clock_too(open_page, server, place):
    page = open_page(place + "/record/edit?zone=Notes&name=milk", timezone_id="Asia/Tokyo")
    utc, here = page.get_by_label("due, in UTC"), page.get_by_label("due, on this clock")
    expect(utc).to_have_value("2026-11-20 18:00:00.250")
    expect(here).to_have_value("2026-11-21T03:00:00.25")
    here.fill("2026-11-21T09:30")
    expect(utc).to_have_value("2026-11-21 00:30:00")
    utc.fill("2026-01-01")
    expect(here).to_have_value("2026-01-01T09:00")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("The record is saved.")
    assert fields(server, place, "milk")["due"] == 1767225600000


def test_a_reference_is_looked_for(open_page, server, place):
    page = open_page(place + "/record/edit?zone=Notes&name=milk")
    room = page.get_by_label("room, record name")
    room.fill("Room/h")
    expect(page.locator("datalist option[value='Room/hall']")).to_have_count(1)
    page.get_by_role("button", name="Find a record for room").click()
    found = page.get_by_role("group", name="Records found for room")
    expect(found.get_by_role("button")).to_have_count(1)
    check(page)
    found.get_by_role("button", name="Room/hall").click()
    expect(page.get_by_label("room, record name")).to_have_value("Room/hall")
    page.get_by_label("Delete action of room").select_option("DELETE_SELF")
    page.get_by_role("button", name="Save", exact=True).last.click()
    assert fields(server, place, "milk")["room"] == {"recordName": "Room/hall", "action": "DELETE_SELF"}


def test_a_record_is_made_with_a_new_field_and_duplicated(open_page, server, place):
    page = open_page(place + "/type?type=Note")
    with page.expect_navigation():
        page.get_by_role("link", name="New record").click()
    check(page)
    page.get_by_label("zone", exact=True).select_option("Notes")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("recordName").fill("bread")
    box(page, "title").fill("Bread")
    page.get_by_label("new field", exact=True).fill("price")
    page.get_by_label("Type of the new field").select_option("DOUBLE")
    page.get_by_role("button", name="Add the field").click()
    expect(page.locator(".line", has_text="price").get_by_text("new field", exact=True)).to_be_visible()
    box(page, "price").fill("2.5")
    check(page)
    page.get_by_role("button", name="Create the record").last.click()
    expect(page.get_by_role("status")).to_contain_text("The record is created.")
    assert fields(server, place, "bread") == {"title": "Bread", "price": 2.5}
    page.get_by_role("link", name="Duplicate").click()
    expect(page.get_by_role("status")).to_contain_text("This is a copy of bread, not saved yet.")
    page.get_by_label("recordName").fill("rolls")
    page.get_by_role("button", name="Create the record").last.click()
    assert fields(server, place, "rolls") == {"title": "Bread", "price": 2.5}


def test_a_conflict_is_resolved_field_by_field(open_page, server, place):
    page = open_page(place + "/record/edit?zone=Notes&name=milk")
    box(page, "title").fill("mine")
    box(page, "weight").fill("7")
    container = place.split("/")[2]
    record = {"recordType": "Note", "recordName": "milk", "fields": {"title": {"value": "theirs"}, "rank": {"value": 9}}}
    server.ask(f"/{container}/development/private/records/modify", {"zoneID": {"zoneName": "Notes"}, "operations": [{"operationType": "forceUpdate", "record": record}]})
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Somebody saved theirs milk before you")
    title = page.locator("tr.contested")
    expect(title).to_have_count(1)
    for text in ["mine", "Milk", "theirs"]:
        expect(title).to_contain_text(text)
    # The three versions stand side by side.
    places = [title.get_by_role("radio", name=name).bounding_box() for name in ["title: yours", "title: before", "title: the server's"]]
    assert len({place["y"] for place in places}) == 1 and len({place["x"] for place in places}) == 3
    check(page, "conflict")
    page.get_by_role("radio", name="title: yours").check()
    page.get_by_role("button", name="Save the chosen values").click()
    expect(page.get_by_role("status")).to_contain_text("The record is saved.")
    now = fields(server, place, "milk")
    assert (now["title"], now["rank"], now["weight"]) == ("mine", 9, 7)


def test_many_are_changed_and_deleted_after_a_dry_run(open_page, server, place):
    container = place.split("/")[2]
    for start in range(0, 600, 200):
        server.save(
            container, "Notes",
            *({"recordType": "Item", "recordName": f"item {n:04}", "fields": {"shelf": {"value": "left" if n % 2 else "right"}, "n": {"value": n}}} for n in range(start, start + 200)),
        )
    page = open_page(place + "/query?type=Item&zone=Notes&filter1=shelf&is1=EQUALS&value1=left")
    page.get_by_role("link", name="Change all…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Change all matching Item records")
    expect(page.locator(".over")).to_contain_text("shelf is left")
    # A choice made before the scripts are loaded waits for the button Choose.
    page.wait_for_load_state()
    page.get_by_label("Field to change").select_option("n")
    box(page, "n").fill("-1")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("heading", name="300 records would get another n")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(20)
    check(page, "dry run of a change")
    assert fields(server, place, "item 0001")["n"] == 1
    page.get_by_role("button", name="Set n of 300 records").click()
    expect(page.locator("#run .state")).to_have_text("done")
    check(page, "run")
    assert fields(server, place, "item 0001")["n"] == -1 and fields(server, place, "item 0002")["n"] == 2
    page.get_by_role("link", name="Back to the query").click()
    page.get_by_role("link", name="Change all…").click()
    page.wait_for_load_state()
    page.get_by_label("change", exact=True).select_option("delete")
    page.get_by_role("button", name="Dry run").click()
    page.get_by_role("button", name="Delete 300 records").click()
    expect(page.locator("#run")).to_contain_text("300")
    expect(page.locator("#run .state")).to_have_text("done")
    keep(page, "journey bulk deletion")
    assert fields(server, place, "item 0001") == {} and fields(server, place, "item 0002")["n"] == 2


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


def test_bytes_are_the_same_in_either_notation(open_page, server, place):
    container = place.split("/")[2]
    server.save(container, "Notes", {"recordType": "Blob", "recordName": "blob", "fields": {"data": {"value": "AAEC", "type": "BYTES"}, "n": {"value": 1}}})
    page = open_page(place + "/record/edit?zone=Notes&name=blob")
    page.get_by_label("Encoding of data").select_option("hex")
    box(page, "n").fill("2")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("The record is saved.")
    assert fields(server, place, "blob") == {"data": "AAEC", "n": 2}


def test_a_file_is_previewed_and_imported(open_page, server, place, tmp_path):
    file = tmp_path / "airports.csv"
    file.write_text("iata,elevation,opened,lat,lon\nSEA,433,1944-10-31,47.45,-122.31\nAMS,-11,1916-09-19,52.31,4.76\nBAD,high,1900-01-01,1,1\n")
    page = open_page(place + "/importing")
    check(page)
    page.get_by_label("file", exact=True).set_input_files(file)
    page.get_by_label("record type").fill("Airport")
    page.get_by_label("Zone", exact=True).select_option("Notes")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="3 rows will become records")).to_be_visible()
    # A column of numbers and one word becomes text. Nothing is lost, and the preview shows it.
    expect(page.get_by_role("region", name="Fields and columns").locator("tr", has_text="elevation")).to_contain_text("STRING")
    page.get_by_label("record names").select_option("iata")
    page.get_by_role("button", name="Update the preview").click()
    expect(page.get_by_role("region", name="The first records")).to_contain_text("SEA")
    check(page, "import preview")
    page.get_by_role("button", name="Import 3 records").click()
    state = page.locator("#run .state")
    expect(state).to_have_text("done")
    assert fields(server, place, "AMS")["location"] == {"latitude": 52.31, "longitude": 4.76}
    page.get_by_role("link", name=re.compile("^Show (all|the) .*records?$")).click()
    expect(page.locator(".foot")).to_contain_text("3 records")


def test_rows_that_can_not_be_imported_are_listed(open_page, server, place):
    page = open_page(place + "/importing")
    page.get_by_text("or paste rows").click()
    page.get_by_label("Rows to import").fill(json.dumps([{"title": "a", "rank": 1}, {"title": "b", "rank": "x"}]))
    page.get_by_label("Zone", exact=True).select_option("Notes")
    page.get_by_label("record type").fill("Note")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="1 row can’t be imported")).to_be_visible()
    check(page, "import with errors")
    expect(page.get_by_role("button", name="Import 1 record")).to_be_disabled()
    expect(page.locator("#obstacle")).to_have_text("1 row can’t be imported. Skip them, or correct the file.")
    page.get_by_label("skip the rows").check()
    page.get_by_role("button", name="Import 1, skip 1").click()
    expect(page.locator("#run .state")).to_have_text("done")
    expect(page.get_by_role("heading", name="Skipped 1 row")).to_be_visible()


def test_the_preview_follows_each_choice(open_page, place, tmp_path):
    file = tmp_path / "airports.csv"
    file.write_text("iata,elevation\nSEA,433\nAMS,-11\n")
    page = open_page(place + "/importing")
    page.get_by_label("file", exact=True).set_input_files(file)
    # The next choice has the focus, and nothing is called wrong before the button is pressed.
    expect(page.get_by_label("record type")).to_be_focused()
    page.get_by_label("record type").fill("Airport")
    page.get_by_label("Zone", exact=True).select_option("Notes")
    expect(page.get_by_role("heading", name="2 rows will become records")).to_be_visible()
    # The console suggests the column with different values, and the choice of another is previewed at once.
    names = page.get_by_label("record names")
    expect(names).to_have_value("iata")
    # A person who chooses has the focus there.
    names.focus()
    names.select_option("elevation")
    expect(page.get_by_role("region", name="The first records").locator("tbody th").first).to_have_text("433")
    expect(names).to_be_focused()
    # The indexes that a save adds by default are ticked.
    expect(page.get_by_text(re.compile("adds indexes: .*elevation QUERYABLE SORTABLE"))).to_be_visible()
    index = page.get_by_label("Add SORTABLE to elevation")
    index.uncheck()
    expect(page.get_by_text("elevation QUERYABLE, ")).to_be_visible()
    expect(index).not_to_be_checked()
    expect(index).to_be_focused()
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


def test_a_zone_is_copied_to_another_user(open_page, server, place):
    container = place.split("/")[2]
    server.ask(f"/{container}/development/private/zones/list?skylightUser=grace", {})
    page = open_page(place + "/zone?zone=Notes")
    with page.expect_navigation():
        page.get_by_role("link", name="Copy to…").click()
    check(page)
    page.get_by_role("button", name="Copy the zone").click()
    expect(page.get_by_role("alert")).to_contain_text("A zone can't be copied onto itself")
    page.get_by_label("zone", exact=True).fill("Copied")
    page.get_by_label("User").select_option("grace")
    page.get_by_role("button", name="Copy the zone").click()
    expect(page.locator("#run .state")).to_have_text("done")
    page.get_by_role("link", name="The copy").click()
    expect(page.locator("tbody tr")).to_have_count(3)
    assert "user=grace" in page.url and "zone=Copied" in page.url


def test_a_container_is_renamed_and_deleted(open_page, server, place):
    container = place.split("/")[2]
    page = open_page(f"/container?container={container}")
    check(page)
    page.get_by_label("New name").fill(container + ".renamed")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("link", name=container + ".renamed", exact=True)).to_be_visible()
    page.goto(f"/container?container={container}.renamed")
    expect(page.locator(".facts")).to_contain_text("3 records of all users")
    page.get_by_label("Type its name").fill("yes")
    page.get_by_role("button", name="Delete the container").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was deleted")
    page.get_by_label("Type its name").fill(container + ".renamed")
    page.get_by_role("button", name="Delete the container").click()
    expect(page.get_by_role("heading", name="Containers", exact=True)).to_be_visible()
    assert page.get_by_role("link", name=container + ".renamed", exact=True).count() == 0


def test_an_editor_is_used_by_keyboard(open_page, server, place):
    page = open_page(place + "/record/edit?zone=Notes&name=milk")
    box(page, "title").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("Typed")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text("The record is saved.")
    assert fields(server, place, "milk")["title"] == "Typed"


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
