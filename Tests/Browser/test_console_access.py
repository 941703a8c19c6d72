"""The console of a server that requires credentials: signing in and out, and attacks from a page on another port."""

import pytest
from page_server import PASSWORD, Server
from playwright.sync_api import expect

from looks import check_looks
from pages import CHAT

QUERY = CHAT + "/query?type=Message&zone=Chats"


@pytest.fixture
def visit(new_page, closed):
    def visit(path="/", at=None, **options):
        page = new_page(at or closed, **options)
        page.goto(path)
        return page

    return visit


def sign_in(page, password=PASSWORD):
    page.get_by_label("Administrator’s password").fill(password)
    page.keyboard.press("Enter")


def test_signing_in_leads_back_to_the_page(visit):
    page = visit(QUERY)
    assert "/admin/sign-in?next=" in page.url
    sign_in(page)
    page.wait_for_url("**" + QUERY)
    expect(page.locator("tbody th.name").first).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    page.goto(QUERY)
    expect(page.get_by_role("heading", name="Sign in to the console")).to_be_visible()
    # Navigating back shows no earlier content.
    page.go_back()
    assert page.locator("tbody th.name").count() == 0


def test_pages_work_as_ever(visit):
    """Requests by forms, by scripts and by the pages' web service calls."""
    page = visit("/c/iCloud.com.example.Journal/development/private/zones")
    sign_in(page)
    page.get_by_label("New zone").fill("Signed in")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Signed in")).to_be_visible()
    # A form that scripts submit, and the form that replaces it.
    page.goto(QUERY + "&edit=1")
    page.get_by_label("Field of filter 1").select_option("room")
    expect(page.get_by_label("Value of filter 1")).to_be_visible()
    # The log polls for new requests by itself.
    page.goto(CHAT + "/requests")
    expect(page.get_by_text("Live", exact=True).first).to_be_visible()
    # An event stream, which the cookie authenticates.
    page.goto(CHAT + "/changes?zone=Chats")
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_role("region", name="Feed")).to_contain_text("Live")


def test_files_are_uploaded_under_a_session(visit):
    page = visit(CHAT + "/record?zone=Chats&name=Message%2Fpapers")
    sign_in(page)
    page.wait_for_url("**/record?**")
    field = page.locator("[data-assets] [data-field]").first
    with page.expect_navigation():
        field.locator("input[type=file]").set_input_files({"name": "note.txt", "mimeType": "text/plain", "buffer": b"signed in"})
    expect(page.get_by_text("note.txt").first).to_be_visible()


def test_how_the_sign_in_looks(visit):
    page = visit(QUERY)
    check_looks(page, picture="sign-in")
    sign_in(page, "no")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Administrator’s password")).to_be_focused()
    check_looks(page, picture="wrong password")
    page.goto("/")
    sign_in(page)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    check_looks(page, picture="signed in")


def test_how_the_page_looks_that_says_how_to_set_a_password(visit):
    server = Server("--auth", "required")
    try:
        page = visit("/", at=server)
        expect(page.get_by_text("skylight admin set-password")).to_be_visible()
        check_looks(page, picture="no password is set")
    finally:
        server.stop()


def test_a_page_of_another_port_can_use_no_session(visit, closed, app):
    page = visit("/c/iCloud.com.example.Journal/development/private/zones")
    sign_in(page)
    page.wait_for_url("**/zones")
    page.goto(app + "/")
    read = "async url => { const answer = await fetch(url, { credentials: 'include' }); return [answer.status, await answer.text()] }"
    status, text = page.evaluate(read, closed.address + "/skylight/1/containers")
    assert status == 401 and "iCloud" not in text
    # The page cannot read the console's content.
    assert page.evaluate(f"async url => {{ try {{ return await ({read})(url) }} catch {{ return 'unreadable' }} }}", closed.address + "/") == "unreadable"
    send = """async ([url, headers]) => {
      const answer = await fetch(url, { method: 'POST', credentials: 'include', headers, body: '{"operations":[]}' })
      return answer.status
    }"""
    modify = "/database/1/iCloud.com.example.Journal/development/private/records/modify"
    assert page.evaluate(send, [closed.address + modify, {"X-Skylight-Access": "owner"}]) in (401, 421)
    # A form needs no permission to be sent and carries the cookie, but changes nothing.
    page.evaluate("""url => {
      const form = document.createElement('form')
      form.method = 'post'
      form.action = url
      form.innerHTML = '<input name="zoneName" value="Smuggled">'
      document.body.append(form)
      form.submit()
    }""", closed.address + "/c/iCloud.com.example.Journal/development/private/zones/create")
    expect(page.get_by_text("The form is not from this session")).to_be_visible()
    page.goto(closed.address + "/c/iCloud.com.example.Journal/development/private/zones")
    assert page.get_by_role("link", name="Smuggled").count() == 0
