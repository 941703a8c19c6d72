"""Comparing, deploying, exporting, importing and resetting schemas."""

from playwright.sync_api import expect

from axe import problems

NOTE = {"recordType": "Note", "recordName": "one", "fields": {"title": {"value": "Milk"}, "rank": {"value": 1}}}


def test_from_development_to_production(open_page, server):
    container = "iCloud.com.example.Deployed"
    server.save(container, "Notes", NOTE)
    page = open_page(f"/c/{container}/development/private/deploy")
    expect(page.locator(".sides")).to_contain_text("RECORD TYPE Note")
    # The page scrolls within itself, so that nothing is below it.
    assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
    # The button is on the first screen, above the differences.
    assert page.get_by_role("link", name="Deploy to production…").bounding_box()["y"] < page.locator(".sides").bounding_box()["y"]
    page.get_by_role("link", name="Deploy to production…").click()
    # The question says what can't be undone.
    expect(page.locator("main")).to_contain_text("1 record type becomes permanent")
    expect(page.get_by_role("main").get_by_role("listitem").filter(has_text="Note")).to_contain_text("type with 2 fields, created by a request")
    page.get_by_role("button", name="Deploy to production").click()
    expect(page.get_by_role("status").first).to_contain_text("Deployed")
    expect(page.get_by_role("link", name="Deploy to production…")).to_have_count(0)
    expect(page.locator("main")).to_contain_text("have the same schema")
    # A deployed type or field cannot be removed.
    page.goto(f"/c/{container}/development/private/schema")
    page.get_by_label("A schema in the schema language").fill("DEFINE SCHEMA\nRECORD TYPE Note (title STRING);")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("field 'rank'")
    expect(page.get_by_role("button", name="Import", exact=True)).to_have_count(0)


def test_out_of_a_file_and_into_it(open_page, server, tmp_path):
    container = "iCloud.com.example.Filed"
    there = f"/c/{container}/development/private"
    server.save(container, "Notes", NOTE)
    page = open_page(there + "/schema")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == f"{container}-development.ckdb"
    file = tmp_path / "schema.ckdb"
    download.value.save_as(file)
    text = file.read_text()
    assert page.get_by_label("The schema", exact=True).text_content().strip() == text.strip()

    page.get_by_label("or a file").set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("status")).to_contain_text("Nothing to import")

    file.write_text(text.replace("        rank ", "        points DOUBLE SORTABLE,\n        runk "))
    page.get_by_label("or a file").set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    note = page.get_by_role("alert")
    expect(note).to_contain_text("1 field with values")
    expect(note).to_contain_text("its values in 1 record are deleted")
    assert not problems(page)
    page.get_by_label("Delete for good").check()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("The schema file is imported")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    download.value.save_as(tmp_path / "again.ckdb")
    again = (tmp_path / "again.ckdb").read_text()
    assert "points" in again and "rank" not in again
    page.goto(there + "/record?zone=Notes&name=one")
    expect(page.locator(".fields")).to_contain_text("Milk")


def test_a_wrong_line_has_its_place(open_page, server):
    server.save("iCloud.com.example.Wrong", "Notes", NOTE)
    page = open_page("/c/iCloud.com.example.Wrong/development/private/schema")
    page.get_by_label("A schema in the schema language").fill("DEFINE SCHEMA\n    RECORD TYPE Item (\n        title STRNG\n    );\n")
    page.get_by_role("button", name="Preview").click()
    note = page.get_by_role("alert")
    expect(note).to_contain_text("line 3, column 15")
    assert note.locator("pre").inner_text() == "        title STRNG\n              ^"
    assert not problems(page)
    # The text stays in the form for correction.
    field = page.get_by_label("A schema in the schema language")
    field.fill(field.input_value().replace("STRNG", "STRING"))
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".sides")).to_contain_text("RECORD TYPE Item")


def test_development_is_reset_by_its_name(open_page, server):
    container = "iCloud.com.example.Emptied"
    there = f"/c/{container}/development/private"
    server.save(container, "Notes", NOTE)
    page = open_page(there + "/types")
    page.get_by_role("link", name="Reset").click()
    expect(page.locator("main")).to_contain_text("1 record")
    page.get_by_label("Type the container's name").fill(container.lower())
    page.get_by_role("button", name="Reset development").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was reset")
    assert not problems(page)
    page.get_by_label("Type the container's name").fill(container)
    page.get_by_role("button", name="Reset development").click()
    expect(page.get_by_role("status")).to_contain_text("Development is reset")
    page.goto(there + "/zones")
    expect(page.get_by_role("link", name="Notes", exact=True)).to_have_count(0)
    expect(page.get_by_role("region", name="Deleted zones")).to_contain_text("Notes")
    page.goto(there + "/schema")
    expect(page.get_by_label("The schema", exact=True)).not_to_contain_text("Note")
