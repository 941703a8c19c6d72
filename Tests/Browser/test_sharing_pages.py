"""A list is shared in the console, accepted by its link, read, and left."""

import re
import urllib.parse

import pytest
from playwright.sync_api import expect

from axe import problems
from looks import check_looks
from pictures import keep

BASE = "iCloud.com.example.Sharing"


@pytest.fixture
def container(server, request):
    """A container for one test, with a list, its items, and a record beside it."""
    container = BASE + re.sub(r"[^A-Za-z]", "", request.node.name)
    parent = {"recordName": "groceries"}
    server.save(
        container, "Lists", {"recordType": "List", "recordName": "groceries", "fields": {"title": {"value": "Groceries"}}},
        {"recordType": "Item", "recordName": "milk", "parent": parent, "fields": {"title": {"value": "Milk"}}},
        {"recordType": "Item", "recordName": "bread", "parent": parent, "fields": {"title": {"value": "Bread"}}},
        {"recordType": "Item", "recordName": "diary", "fields": {"title": {"value": "Mine"}}},
    )
    return container


def record(container: str, name: str) -> str:
    return f"/c/{container}/development/private/record?zone=Lists&name={name}#shared"


def panel(page):
    return page.get_by_role("region", name="Shared", exact=True)


def share(page, container: str, right: str = "READ_ONLY", link: str = "NONE") -> str:
    """Shares the list with Ada, and returns the path of the link."""
    page.goto(record(container, "groceries"))
    panel(page).get_by_role("link", name="Share…").click()
    page.get_by_label("title", exact=True).fill("Groceries")
    page.get_by_label("who can use the link").select_option(link)
    page.get_by_role("checkbox", name="Ada", exact=True).check()
    page.get_by_label("Right of those to invite").select_option(right)
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("The share is created.")
    address, here = (urllib.parse.urlsplit(text) for text in [page.locator(".heading code").text_content(), page.url])
    # The link works where the browser is, whatever name the server has there.
    assert (address.scheme, address.netloc, address.fragment) == (here.scheme, here.netloc, "Groceries")
    assert address.path.startswith("/share/")
    return address.path


def test_a_list_is_shared_accepted_read_and_left(open_page, server, container):
    owner = open_page(record(container, "groceries"))
    expect(panel(owner)).to_contain_text("Nobody else sees this record.")
    # The request that the form will make.
    panel(owner).get_by_role("link", name="Share…").click()
    owner.get_by_role("checkbox", name="Ada", exact=True).check()
    owner.get_by_role("button", name="Preview the request").click()
    for sample in ["CloudKit JS", "curl"]:
        code = owner.get_by_label(f"The save of the share in {sample}")
        expect(code).to_contain_text('"forRecord"')
        expect(code).to_contain_text('"READ_WRITE"')
    expect(owner.get_by_role("checkbox", name="Ada", exact=True)).to_be_checked()
    link = share(owner, container)
    owner.goto(record(container, "milk"))
    expect(panel(owner)).to_contain_text("A child of groceries, the root of the share “Groceries”.")
    expect(panel(owner).get_by_role("listitem").filter(has_text="Ada")).to_contain_text("pending")

    guest = open_page(link + "#Groceries")
    expect(guest.get_by_role("heading", name="Groceries")).to_be_visible()
    expect(guest.locator("main")).to_contain_text("Developer shares the List record groceries with all records below it.")
    guest.get_by_role("button", name="Accept as Ada, invited, may read").click()
    expect(guest.get_by_role("status")).to_contain_text("Ada takes part and may read.")
    guest.get_by_role("status").get_by_role("link", name="Changes").click()
    for name in ["groceries", "milk", "bread"]:
        expect(guest.locator(f"th.name a[title={name}]").first).to_be_visible()
    expect(guest.locator("main")).not_to_contain_text("diary")

    guest.locator("th.name a[title=milk]").first.click()
    guest.get_by_role("link", name="Sharing", exact=True).click()
    expect(panel(guest)).to_contain_text("A child of groceries")
    own = guest.url
    guest.get_by_role("link", name="Edit", exact=True).click()
    guest.get_by_role("textbox", name="title", exact=True).fill("Oat milk")
    guest.get_by_role("button", name="Save", exact=True).last.click()
    expect(guest.get_by_role("alert")).to_contain_text("WRITE operation not permitted")
    # The text stays, and so does the record.
    expect(guest.get_by_role("textbox", name="title", exact=True)).to_have_value("Oat milk")
    lookup = {"zoneID": {"zoneName": "Lists"}, "records": [{"recordName": "milk"}]}
    answer = server.ask(f"/{container}/development/private/records/lookup", lookup)
    assert answer["records"][0]["fields"]["title"]["value"] == "Milk"

    guest.goto(own)
    panel(guest).get_by_role("link", name="Leave…").click()
    expect(guest.locator("main")).to_contain_text("Ada loses the records, and Developer keeps them.")
    guest.get_by_role("button", name="Leave").click()
    expect(guest.get_by_role("status")).to_contain_text("The user has left the share.")
    expect(guest.get_by_role("link", name="Lists", exact=True)).to_have_count(0)
    guest.goto(own)
    expect(guest.get_by_role("heading", name="milk")).to_be_visible()
    expect(guest.locator("main")).to_contain_text("has no record with this name")
    owner.reload()
    expect(panel(owner).get_by_role("listitem").filter(has_text="Ada")).to_contain_text("removed")


def test_rights_are_changed_and_sharing_stops(open_page, container):
    owner = open_page()
    link = share(owner, container)
    guest = open_page(link)
    late = open_page(record(container, "groceries"))
    panel(late).get_by_role("link", name="Manage…").click()
    guest.get_by_role("button", name="Accept as Ada").click()
    expect(guest.get_by_role("status")).to_contain_text("Ada takes part")
    # A form that was loaded before is not saved over the acceptance.
    late.get_by_role("checkbox", name="Remove Ada").check()
    late.get_by_role("button", name="Save", exact=True).click()
    expect(late.get_by_role("alert")).to_contain_text("client oplock error")
    expect(late.get_by_role("status")).to_contain_text("nothing was saved")
    expect(late.get_by_role("checkbox", name="Remove Ada")).not_to_be_checked()
    late.get_by_label("Right of Ada").select_option("READ_WRITE")
    late.get_by_label("who can use the link").select_option("READ_ONLY")
    late.get_by_role("button", name="Save", exact=True).click()
    expect(late.get_by_role("status")).to_contain_text("The share is changed.")
    guest.goto(link)
    expect(guest.get_by_role("button", name="Accept as Grace, may read, by the link")).to_be_visible()
    expect(guest.locator("main").get_by_role("listitem").filter(has_text="Ada")).to_contain_text("may read and write")
    late.get_by_role("link", name="Stop sharing…").click()
    expect(late.locator("main")).to_contain_text("Ada loses the records")
    late.get_by_role("button", name="Stop sharing").click()
    expect(late.get_by_role("status")).to_contain_text("Sharing has stopped.")
    expect(panel(late)).to_contain_text("Nobody else sees this record.")


def test_how_the_pages_look(open_page, container):
    page = open_page(record(container, "groceries"))
    with page.expect_navigation():
        panel(page).get_by_role("link", name="Share…").click()
    check_looks(page, picture="share form")
    page.set_viewport_size({"width": 1440, "height": 860})
    link = share(page, container, link="READ_WRITE")
    check_looks(page, picture="share")
    page.goto(record(container, "milk"))
    check_looks(page, picture="shared record")
    page.goto(link)
    check_looks(page, picture="invitation")
    page.get_by_role("button", name="Accept as Ada").click()
    expect(page.get_by_role("status")).to_be_visible()
    check_looks(page, picture="accepted invitation")


def test_a_refused_guest_gets_advice(browser, open_page, server, container):
    link = share(open_page(), container)
    # In its own context, because the browser logs the error status in its console.
    context = browser.new_context(base_url=server.address, reduced_motion="reduce")
    page = context.new_page()
    try:
        for name, remedy in [("grace", "has to invite the user"), ("developer", "Choose another user.")]:
            page.goto(link)
            page.get_by_label("Another user").fill(name)
            page.get_by_label("Another user").press("Enter")
            expect(page.get_by_role("alert")).to_contain_text(remedy)
        page.goto("/share/0000")
        expect(page.get_by_role("alert")).to_contain_text("Ask the owner for the link")
        for scheme, width in [("light", 1440), ("dark", 390)]:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 860})
            assert not problems(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            keep(page, f"unknown link {scheme} {width}")
        page.goto(link)
        page.get_by_label("Another user").fill("grace")
        page.get_by_label("Another user").press("Enter")
        page.get_by_role("link", name="Invite the user").click()
        expect(page.get_by_role("heading", name="Shared: Groceries")).to_be_visible()
    finally:
        context.close()
