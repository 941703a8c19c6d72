"""Copying single records, and the data of users."""

from playwright.sync_api import expect

from axe import problems
from rows import notes
from folding import choose


def test_a_record_is_copied_with_its_file_to_another_user(open_page, server):
    container = "iCloud.com.example.CopiedFile"
    content = b"The papers.\n" * 1000
    server.attach(container, "Notes", "papers", ("papers.txt", content))
    place = f"/c/{container}/development/private"
    page = open_page(f"{place}/users")
    page.get_by_label("New user").fill("copyist")
    page.get_by_role("button", name="Add").click()
    page.goto(f"{place}/record?zone=Notes&name=papers")
    choose(page, "Copy to…")
    page.get_by_label("User").select_option("copyist")
    page.get_by_label("zone", exact=True).fill("Elsewhere")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("status")).to_contain_text("zone Elsewhere")
    # Enter previews another target, and copies nothing.
    page.get_by_label("zone", exact=True).fill("Copies")
    page.get_by_label("zone", exact=True).press("Enter")
    expect(page.get_by_role("status")).to_contain_text("zone Copies")
    expect(page.get_by_role("status")).to_contain_text("1 record is copied with its files.")
    expect(page.get_by_role("status")).to_contain_text("Creates the zone.")
    assert not problems(page)
    page.get_by_role("button", name="Copy 1 record").click()
    expect(page.get_by_role("status")).to_contain_text("1 copied")
    assert not problems(page)
    page.get_by_role("link", name="papers", exact=True).click()
    page.wait_for_url(lambda url: "user=copyist" in url and "zone=Copies" in url)
    with page.expect_download() as download:
        page.locator("a[download]").first.click()
    with open(download.value.path(), "rb") as file:
        assert file.read() == content
    page.goto(f"{place}/users")
    expect(page.get_by_role("row", name="Copyist")).to_contain_text("1 record in 1 zone")
    expect(page.get_by_role("row", name="Copyist")).to_contain_text("no data yet")


def test_ticked_records_are_copied_without_scripts(open_page, server):
    container = "iCloud.com.example.CopiedRows"
    page = open_page(notes(server, container), java_script_enabled=False, viewport={"width": 380, "height": 800})
    server.save(container, "Copies", {"recordType": "Note", "recordName": "note1", "fields": {"rank": {"value": 99}}})
    for number in (0, 1, 2):
        page.get_by_label(f"Pick note{number}").check()
    page.get_by_role("button", name="Copy to…").click()
    page.get_by_label("zone", exact=True).fill("Copies")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("status")).to_contain_text("2 records are copied. 1 is there already and is kept as it is.")
    # The preview has its own address, which can be opened in a new tab.
    page.goto("about:blank")
    page.go_back()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="compare", exact=True).click()
    expect(popup.value.locator(".compared tr.unlike").first).to_contain_text("rank")
    page.get_by_role("button", name="Copy 2 records").click()
    expect(page.get_by_role("row", name="note1")).to_contain_text("kept")
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    page.get_by_role("link", name="The copies").click()
    expect(page.locator("tbody")).to_contain_text("99")


def test_a_user_says_what_is_there(open_page, server):
    server.ask("/iCloud.com.example.Chat/development/private/records/lookup", {"records": [{"recordName": "nobody"}]})
    page = open_page("/c/iCloud.com.example.Chat/development/private/users")
    page.get_by_role("link", name="Developer", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Developer")
    expect(page.get_by_role("row", name="Chats")).to_contain_text("Message")
    expect(page.get_by_role("main")).to_contain_text("request, last at")
    assert not problems(page)
