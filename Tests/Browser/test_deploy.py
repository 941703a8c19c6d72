"""Where the button of a deployment is, and a schema that goes out as a file and comes back."""

from playwright.sync_api import expect

from axe import problems

NOTE = {"recordType": "Note", "recordName": "one", "fields": {"title": {"value": "Milk"}, "rank": {"value": 1}}}


def test_a_deployment_is_on_the_first_screen(open_page, server):
    container = "iCloud.com.example.Deployed"
    server.save(container, "Notes", NOTE)
    page = open_page(f"/c/{container}/development/private/deploy")
    # The page scrolls within itself, so that nothing is below it.
    assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
    # The button is above the differences.
    assert page.get_by_role("link", name="Deploy to production…").bounding_box()["y"] < page.locator(".sides").bounding_box()["y"]


def test_out_of_a_file_and_into_it(open_page, server, tmp_path):
    container = "iCloud.com.example.Filed"
    server.save(container, "Notes", NOTE)
    page = open_page(f"/c/{container}/development/private/schema")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == f"{container}-development.ckdb"
    file = tmp_path / "schema.ckdb"
    download.value.save_as(file)
    text = file.read_text()
    assert page.get_by_label("The schema", exact=True).text_content().strip() == text.strip()
    # A text with a mistake, and then a file, which counts instead of the text that stays in the form.
    page.get_by_label("A schema in the schema language").fill("DEFINE SCHEMA\n    RECORD TYPE Item (\n        title STRNG\n    );\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("line 3, column 15")
    assert not problems(page)
    file.write_text(text.replace("        rank ", "        points DOUBLE SORTABLE,\n        runk "))
    page.get_by_label("or a file").set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("its values in 1 record are deleted")
    assert not problems(page)
    page.get_by_label("Delete for good").check()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("The schema file is imported")
    expect(page.get_by_label("The schema", exact=True)).to_contain_text("points DOUBLE SORTABLE")
