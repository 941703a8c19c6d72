"""The console of a server that requires credentials: signing in and out, and attacks from a page on another port."""

import http.server
import re
import threading
import urllib.error
import urllib.request

import pytest
from page_server import Server
from pictures import keep
from playwright.sync_api import expect

from axe import problems
from pages import CHAT

PASSWORD = "correct horse battery"
QUERY = CHAT + "/query?type=Message&zone=Chats"


@pytest.fixture(scope="module")
def closed():
    """A server with the demo data that requires credentials."""
    server = Server("--demo", "--auth", "required", SKYLIGHT_ADMIN_PASSWORD=PASSWORD)
    yield server
    server.stop()


@pytest.fixture
def visit(browser, closed):
    """A page in its own context."""
    contexts = []

    def visit(path="/", at=None, **options):
        options.setdefault("viewport", {"width": 1440, "height": 860})
        context = browser.new_context(base_url=(at or closed).address, **options)
        contexts.append(context)
        page = context.new_page()
        page.goto(path)
        return page

    yield visit
    for context in contexts:
        context.close()


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


def test_a_wrong_password_is_reported(visit):
    page = visit(QUERY)
    sign_in(page, "something else")
    expect(page.get_by_role("alert")).to_have_text("That is not the administrator’s password.")
    expect(page.get_by_label("Administrator’s password")).to_be_focused()
    sign_in(page)
    page.wait_for_url("**" + QUERY)


def test_the_cookie_is_not_for_scripts_nor_for_other_sites(visit, closed):
    page = visit()
    sign_in(page)
    page.wait_for_url(closed.address + "/")
    port = closed.address.rsplit(":", 1)[1]
    (cookie,) = page.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"], cookie["path"], cookie["expires"]) == (f"skylight-{port}", True, "Strict", "/", -1)
    assert page.evaluate("document.cookie") == ""


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1360, 380])
def test_how_the_sign_in_looks(visit, scheme, width):
    page = visit(QUERY, color_scheme=scheme, viewport={"width": width, "height": 760}, reduced_motion="reduce")
    for state in ["sign-in", "wrong password"]:
        if state == "wrong password":
            sign_in(page, "no")
            expect(page.get_by_role("alert")).to_be_visible()
        found = problems(page)
        assert not found, found
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        keep(page, f"{state} {scheme} {width}")
    page.goto("/")
    sign_in(page)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    assert not problems(page)
    keep(page, f"signed in {scheme} {width}")


def test_without_a_password_the_page_says_how_to_set_one(visit, browser):
    server = Server("--auth", "required")
    try:
        page = visit("/", at=server)
        expect(page.get_by_text("skylight admin set-password")).to_be_visible()
        assert page.locator("input").count() == 0
        assert not problems(page)
        keep(page, "no password is set")
    finally:
        server.stop()


def test_a_form_after_the_session_ended_gets_an_error(visit):
    page = visit("/c/iCloud.com.example.Journal/development/private/zones")
    sign_in(page)
    page.get_by_label("New zone").fill("Too late")
    page.context.clear_cookies()
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="You are not signed in")).to_be_visible()
    page.get_by_role("link", name="Sign in").click()
    sign_in(page)
    page.wait_for_url("**/zones")
    assert page.get_by_role("link", name="Too late").count() == 0


class OtherPage(http.server.BaseHTTPRequestHandler):
    """A page on another port of the same machine, which browsers treat as the same site."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Another port</title>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def other_port():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherPage)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_a_page_of_another_port_can_use_no_session(visit, closed, other_port):
    page = visit("/c/iCloud.com.example.Journal/development/private/zones")
    sign_in(page)
    page.wait_for_url("**/zones")
    page.goto(other_port)
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


def test_prometheus_gives_the_password(closed):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(closed.address + "/metrics")
    assert refused.value.code == 401 and refused.value.headers["WWW-Authenticate"].startswith("Basic")
    passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
    passwords.add_password(None, closed.address, "admin", PASSWORD)
    opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
    assert re.search(rb"^skylight_", opener.open(closed.address + "/metrics").read(), re.M)
    assert urllib.request.urlopen(closed.address + "/health").status == 200
