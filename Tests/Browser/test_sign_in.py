"""The sign-in page for users of an app, on a server that requires credentials, and how the token gets back to the app."""

import http.server
import json
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest
from playwright.sync_api import expect

from axe import problems
from page_server import Server
from pages import CHAT
from pictures import keep
from waiting import until

PASSWORD = "correct horse battery"
DATABASE = "/database/1/iCloud.com.example.Chat/development"

# An app on a page of another origin: it sends a request, opens the sign-in window it is told, and repeats the request with the window's token.
APP = """<!doctype html><title>App</title><button>Sign in</button><output></output>
<script>
const said = new URLSearchParams(location.search)
addEventListener('message', event => { window.told = { data: event.data, origin: event.origin } })
document.querySelector('button').addEventListener('click', async () => {
  const answer = await fetch(said.get('ask'))
  const { redirectURL } = await answer.json()
  window.status421 = answer.status
  window.open(redirectURL, 'signin', 'popup,width=480,height=640')
})
</script>"""


@pytest.fixture(scope="module")
def stage():
    server = Server("--demo", "--auth", "required", SKYLIGHT_ADMIN_PASSWORD=PASSWORD)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def app():
    """The origin of an app's pages."""

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(APP.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def window(browser, stage):
    contexts = []

    def window(**options):
        contexts.append(browser.new_context(base_url=stage.address, viewport={"width": 1280, "height": 860}, **options))
        return contexts[-1].new_page()

    yield window
    for context in contexts:
        context.close()


@pytest.fixture
def administrator(window):
    """A page of the console with a signed-in administrator."""
    page = window()
    page.goto(CHAT + "/keys")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Keys", exact=True)).to_be_visible()
    return page


def make_token(page, name, callback="", origins=""):
    page.goto(CHAT + "/keys")
    making = page.locator("details.making").first
    if making.get_attribute("open") is None:
        making.locator("summary").click()
    making.get_by_label("Name", exact=True).fill(name)
    making.get_by_label("Allowed origins").fill(origins)
    making.get_by_label("Sign-in callback").fill(callback)
    making.get_by_role("button", name="Create the token").click()
    token = page.get_by_label("The API token", exact=True).text_content().strip()
    assert len(token) == 64
    return token


def open_form_of_new_users(page):
    form = page.locator("details.new")
    if form.get_attribute("open") is None:
        form.locator("summary").click()


def ask(stage, path, **parameters):
    """The status, headers and body of a GET."""
    url = stage.address + DATABASE + path + ("?" + urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote, safe="") if parameters else "")
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, json.load(error)


def test_the_command_that_is_shown_with_a_new_token_is_let_in(administrator):
    make_token(administrator, "Shown")
    shown = administrator.get_by_label("A request with the token")
    # A script writes the server's address into it.
    expect(shown).to_contain_text(administrator.evaluate("location.origin"))
    command = shown.text_content().strip().replace("curl ", "curl -s -w '%{http_code}' ")
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
    assert answer.endswith("200") and "NOT_FOUND" in answer, answer


def test_a_new_user_signs_in_and_asks_again(window, stage, administrator):
    status, _, refused = ask(stage, "/private/zones/list")
    assert (status, refused["serverErrorCode"]) == (421, "AUTHENTICATION_REQUIRED")
    page = window()
    page.goto(refused["redirectURL"])
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.locator("main")).to_contain_text("iCloud.com.example.Chat")
    # An app's user has access neither to the console's pages nor to its containers.
    expect(page.get_by_role("navigation")).to_have_count(0)
    # Without an API token, the page reveals no users.
    expect(page.get_by_role("list", name="Users")).to_have_count(0)
    expect(page.locator("main")).to_contain_text("the app must send its API token")
    open_form_of_new_users(page)
    name = "Mary Jones"
    page.get_by_label("Name").fill(name)
    page.get_by_label("E-mail").fill("mary@example.com")
    page.get_by_label("E-mail").press("Enter")
    expect(page.get_by_role("heading", name=f"Signed in as {name}")).to_be_visible()
    token = page.get_by_label("The web auth token").text_content().strip()
    status, headers, answer = ask(stage, "/private/zones/list", ckWebAuthToken=token)
    assert status == 200 and [zone["zoneID"]["zoneName"] for zone in answer["zones"]] == ["_defaultZone"]
    rotated = headers["X-Apple-CloudKit-Web-Auth-Token"]
    assert rotated != token
    _, _, caller = ask(stage, "/public/users/caller", ckWebAuthToken=rotated)
    assert caller["users"][0]["nameComponents"]["givenName"] == "Mary"
    # The older token is valid for a grace time.
    assert ask(stage, "/private/zones/list", ckWebAuthToken=token)[0] == 200
    # A revoked token is not.
    administrator.goto(CHAT + "/keys")
    administrator.get_by_role("link", name=f"Sign {name} out").click()
    administrator.get_by_role("button", name="Sign out").last.click()
    expect(administrator.get_by_role("status")).to_contain_text("signed out of the app")
    for old in [token, rotated]:
        status, _, refused = ask(stage, "/private/zones/list", ckWebAuthToken=old)
        assert status == 421 and refused["redirectURL"]


def test_the_window_that_asked_gets_the_session_and_closes(window, stage, app, administrator):
    token = make_token(administrator, "Popup", origins=app)
    page = window()
    asked = f"{stage.address}{DATABASE}/private/zones/list?ckAPIToken={token}"
    page.goto(f"{app}/?ask={urllib.parse.quote(asked, safe='')}")
    for ending in ["Cancel", "Sign in as Ada"]:
        page.evaluate("window.told = undefined")
        with page.expect_popup() as opened:
            page.get_by_role("button").click()
        popup = opened.value
        expect(popup.get_by_text(f"Then this window sends the token to {app}")).to_be_visible()
        with popup.expect_event("close"):
            popup.get_by_role("button", name=ending).click()
        until(lambda: page.evaluate("window.told !== undefined"))
        told = page.evaluate("window.told")
        assert page.evaluate("window.status421") == 421 and told["origin"] == stage.address
        if ending == "Cancel":
            assert told["data"] == {"errorMessage": "The sign-in was cancelled"}
    data = told["data"]
    assert set(data) == {"ckSession", "ckWebAuthToken"} and data["ckSession"] == data["ckWebAuthToken"]
    answered = page.evaluate(
        "async ([url, token]) => { const a = await fetch(`${url}&ckWebAuthToken=${encodeURIComponent(token)}`); "
        "return [a.status, a.headers.get('X-Apple-CloudKit-Web-Auth-Token')] }", [asked, data["ckWebAuthToken"]])
    assert answered[0] == 200 and answered[1] not in (None, data["ckWebAuthToken"])
    # Without the API token of its sign-in, the session is invalid.
    assert ask(stage, "/private/zones/list", ckWebAuthToken=data["ckWebAuthToken"])[0] == 401


def test_a_callback_is_gone_to(window, stage, app, administrator):
    token = make_token(administrator, "Callback", callback=f"{app}/back?step=2")
    _, _, refused = ask(stage, "/public/users/caller", ckAPIToken=token)
    page = window()
    page.goto(refused["redirectURL"])
    expect(page.locator("main")).to_contain_text(f"sent back to {app}/back")
    page.get_by_label("Keep me signed in").check()
    page.get_by_role("button", name="Sign in as Grace").click()
    page.wait_for_url(f"{app}/back?**")
    address = urllib.parse.urlsplit(page.url)
    # For clients that take a plus sign literally.
    assert "+" not in address.query
    said = urllib.parse.parse_qs(address.query)
    assert said["step"] == ["2"] and said["ckWebAuthToken"] == said["ckSession"]
    status, _, caller = ask(stage, "/public/users/caller", ckAPIToken=token, ckWebAuthToken=said["ckWebAuthToken"][0])
    assert status == 200 and caller["users"][0]["nameComponents"]["givenName"] == "Grace"


def test_it_is_accessible_and_fits(window, stage, administrator):
    _, _, bare = ask(stage, "/private/zones/list")
    _, _, refused = ask(stage, "/private/zones/list", ckAPIToken=make_token(administrator, "Looks"))
    page = window(reduced_motion="reduce")
    for name, path in [
        ("sign-in", refused["redirectURL"]), ("sign-in of somebody new", bare["redirectURL"]), ("sign-in end", "/sign-in?ticket=old"), ("signed in", None),
    ]:
        if path:
            page.goto(path)
        else:
            page.goto(refused["redirectURL"])
            page.get_by_role("button", name="Sign in as Developer").click()
        if name.startswith("sign-in") and name != "sign-in end":
            open_form_of_new_users(page)
        for scheme, width in [("light", 1440), ("dark", 380)]:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 860})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            found = problems(page)
            assert not found, f"{name} {scheme}\n{found}"
            keep(page, f"{name} {scheme} {width}")


def test_what_is_no_sign_in_is_refused(stage):
    for path, data, headers, status in [
        ("/sign-in?ticket=made-up", None, {}, 400),
        ("/sign-in", b"ticket=made-up&user=developer", {}, 400),
        ("/sign-in", b"ticket=x&user=developer", {"Origin": "https://example.com"}, 403),
    ]:
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(urllib.request.Request(stage.address + path, data, headers), timeout=60)
        assert error.value.code == status, path
