"""Snapshots of an environment: saved, compared, restored, and shared as one file."""

from playwright.sync_api import expect

from axe import problems


def note(name: str, title: str) -> dict:
    return {"recordType": "Note", "recordName": name, "fields": {"title": {"value": title}}}


def test_a_state_comes_back_and_goes_elsewhere(open_page, server, tmp_path):
    container = "iCloud.com.example.Snapshots"
    there = f"/c/{container}/development/private"
    server.save(container, "Notes", note("milk", "Milk"))
    page = open_page(there + "/snapshots")
    page.get_by_label("New snapshot").fill("Before <the> test")
    page.get_by_role("button", name="Save snapshot").click()
    expect(page.get_by_role("status").first).to_contain_text("The snapshot is saved.")
    assert not problems(page)

    server.save(container, "Notes", note("later", "Later"))
    page.get_by_role("link", name="Before <the> test", exact=True).click()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="later", exact=True))
    expect(row).to_contain_text("added")
    assert not problems(page)

    page.get_by_role("link", name="Restore…").click()
    expect(page.locator("main")).to_contain_text("deletes 1 record")
    assert not problems(page)
    page.get_by_role("button", name="Restore it").click()
    # The end of the work comes by itself.
    expect(page.get_by_text("Restore it to undo this.")).to_be_visible()

    page.goto(there + "/snapshots")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download Before <the> test as a file").click()
    assert download.value.suggested_filename.endswith(".skylight.tar")
    file = tmp_path / "shared.skylight.tar"
    download.value.save_as(file)
    page.goto("/")
    page.get_by_label("Open a snapshot file").set_input_files(file)
    page.get_by_label("in", exact=True).fill(container + ".Copy")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("1 record saved, 0 records deleted.")).to_be_visible()
