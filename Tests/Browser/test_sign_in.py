"""The sign-in page for users of an app, on a server that requires credentials, and how the token gets back to the app."""

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest
from playwright.sync_api import expect

from looks import check_looks
from page_server import PASSWORD
from pages import CHAT
from waiting import until

DATABASE = "/database/1/iCloud.com.example.Chat/development"

@pytest.fixture
def window(closed, new_page):
    return lambda: new_page(closed)


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


def ask(closed, path, **parameters):
    """The status, headers and body of a GET."""
    url = closed.address + DATABASE + path + ("?" + urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote, safe="") if parameters else "")
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


def test_the_window_that_asked_gets_the_session_and_closes(window, closed, app, administrator):
    token = make_token(administrator, "Popup", origins=app)
    page = window()
    asked = f"{closed.address}{DATABASE}/private/zones/list?ckAPIToken={token}"
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
        assert page.evaluate("window.status421") == 421 and told["origin"] == closed.address
        if ending == "Cancel":
            assert told["data"] == {"errorMessage": "The sign-in was cancelled"}
    data = told["data"]
    assert set(data) == {"ckSession", "ckWebAuthToken"} and data["ckSession"] == data["ckWebAuthToken"]
    answered = page.evaluate(
        "async ([url, token]) => { const a = await fetch(`${url}&ckWebAuthToken=${encodeURIComponent(token)}`); "
        "return [a.status, a.headers.get('X-Apple-CloudKit-Web-Auth-Token')] }", [asked, data["ckWebAuthToken"]])
    assert answered[0] == 200 and answered[1] not in (None, data["ckWebAuthToken"])
    # Without the API token of its sign-in, the session is invalid.
    assert ask(closed, "/private/zones/list", ckWebAuthToken=data["ckWebAuthToken"])[0] == 401


def test_a_callback_is_gone_to(window, closed, app, administrator):
    token = make_token(administrator, "Callback", callback=f"{app}/back?step=2")
    _, _, refused = ask(closed, "/public/users/caller", ckAPIToken=token)
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
    status, _, caller = ask(closed, "/public/users/caller", ckAPIToken=token, ckWebAuthToken=said["ckWebAuthToken"][0])
    assert status == 200 and caller["users"][0]["nameComponents"]["givenName"] == "Grace"


def test_how_it_looks(window, closed, administrator):
    _, _, bare = ask(closed, "/private/zones/list")
    _, _, refused = ask(closed, "/private/zones/list", ckAPIToken=make_token(administrator, "Looks"))
    page = window()
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
        check_looks(page, picture=name)
