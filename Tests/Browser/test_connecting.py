"""Containers in iCloud: the sign-in, the question before a change, the mirror, and a conflict of its changes. A stand-in takes iCloud's place."""

import os
import subprocess
import tempfile

import pytest
from playwright.sync_api import expect

from axe import problems
from page_server import Server, binary
from pictures import keep

CONTAINER = "iCloud.com.example.Real"
THERE = f"/c/{CONTAINER}/development/private"
MIRROR = f"/c/{CONTAINER}.mirror/development/private"


class FolderServer(Server):
    """A server on a folder that outlives it."""

    def __init__(self, folder: str, *arguments: str):
        self.process = subprocess.Popen(
            [binary(), "serve", "--data", folder, "--port", "0", *arguments], stdout=subprocess.PIPE, text=True, cwd="/", env=os.environ)
        line = self.process.stdout.readline()
        assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
        self.address = line.split()[-1]


class StandIn:
    """A server that requires credentials and has nothing but CloudKit's protocol, with a user Developer who has two records."""

    def __init__(self, folder: str, callback: str | None):
        filling = FolderServer(folder)
        fields = {"title": {"value": "before"}, "rank": {"value": 1, "type": "INT64"}}
        filling.save(CONTAINER, "Notes", *({"recordType": "Note", "recordName": name, "fields": fields} for name in ["note", "other"]))
        filling.stop()
        command = [binary(), "token", "create-api", "--container", CONTAINER, "--data", folder, *(["--callback", callback] if callback else [])]
        self.token = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        self.server = FolderServer(folder, "--auth", "required", "--protocol-only")
        self.address = self.server.address


@pytest.fixture
def console():
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def stand_in(console, request):
    """With an API token that comes back by its redirect or, if the test says so, by a message."""
    by_message = getattr(request, "param", "redirect") == "message"
    with tempfile.TemporaryDirectory(prefix="skylight-origin-") as folder:
        stand_in = StandIn(folder, None if by_message else console.address + "/connect/return")
        yield stand_in
        stand_in.server.stop()


@pytest.fixture
def window(browser, console):
    """Pages that may lead to the stand-in and back."""
    contexts = []

    def window(**options):
        contexts.append(browser.new_context(base_url=console.address, viewport={"width": 1280, "height": 860}, reduced_motion="reduce", **options))
        return contexts[-1].new_page()

    yield window
    for context in contexts:
        context.close()


def begin(page, stand_in):
    """Fills in the form, up to the page that waits for the sign-in."""
    page.goto("/")
    page.get_by_role("link", name="Connect a container in iCloud").click()
    page.get_by_label("Container", exact=True).fill(CONTAINER)
    page.get_by_label("API token").fill(stand_in.token)
    page.get_by_label("Other server").fill(stand_in.address)
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.get_by_role("heading", name="Sign in to iCloud")).to_be_visible()
    # Before its scripts run, the link takes this window.
    page.wait_for_load_state("load")


def connect(page, stand_in):
    """Connects with a sign-in in a window of its own."""
    begin(page, stand_in)
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Sign in at Apple").click()
    popup = opened.value
    with popup.expect_event("close"):
        popup.get_by_role("button", name="Sign in as Developer").click()
    expect(page.get_by_role("status").first).to_contain_text("The container is connected.")


def change(page, path, title):
    """Changes a record's title in the console, up to the answer of the form."""
    page.goto(path + "/record/edit?zone=Notes&name=note")
    page.get_by_role("textbox", name="title", exact=True).fill(title)
    page.get_by_role("button", name="Save", exact=True).last.click()


def confirm(page):
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Change {CONTAINER} (development) in iCloud?")
    page.get_by_role("button", name="Change it in iCloud").click()


def check(page, name):
    for scheme, width in [("light", 1280), ("dark", 380)]:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 860})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        found = problems(page)
        assert not found, f"{name} {scheme}\n{found}"
        keep(page, f"{name} {scheme} {width}")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 860})


@pytest.mark.parametrize("stand_in", ["redirect", "message"], indirect=True)
def test_a_sign_in_in_a_window_of_its_own(window, stand_in):
    page = window()
    connect(page, stand_in)
    row = page.get_by_role("row", name=CONTAINER)
    expect(row).to_contain_text("public, private, shared")
    expect(row).to_contain_text("writable")
    check(page, "connected containers")
    page.goto(THERE + "/changes?zone=Notes")
    expect(page.get_by_role("region", name="Connected container")).to_contain_text("iCloud · development · writable")
    expect(page.locator("th.name a[title=note]")).to_be_visible()
    check(page, "changes in iCloud")
    # The token is in no address that the browser keeps.
    page.goto("/connect")
    assert "ckWebAuthToken" not in page.content() and stand_in.token not in page.content()
    page.get_by_role("link", name="Forget the connection").click()
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("status").first).to_contain_text("The connection is forgotten")
    expect(page.locator("main")).to_contain_text("None yet.")


def test_a_sign_in_without_scripts_comes_back_in_the_same_window(window, stand_in):
    page = window(java_script_enabled=False)
    seen = []
    page.on("framenavigated", lambda frame: seen.append(frame.url))
    begin(page, stand_in)
    page.get_by_role("link", name="Sign in at Apple").click()
    page.get_by_role("button", name="Sign in as Developer").click()
    expect(page.get_by_role("status").first).to_contain_text("The container is connected.")
    assert not [url for url in seen if "ckWebAuthToken" in url]


@pytest.mark.parametrize("stand_in", ["message"], indirect=True)
def test_a_sign_in_that_is_cancelled_has_its_reason(window, stand_in):
    page = window()
    begin(page, stand_in)
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Sign in at Apple").click()
    opened.value.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert")).to_contain_text("iCloud gave no token")
    expect(page.get_by_role("alert")).to_contain_text("Advanced Data Protection")


def test_a_change_asks_once_and_names_the_container(window, stand_in):
    first = window()
    connect(first, stand_in)
    page = window()
    change(page, THERE, "after")
    check(page, "question before a change in iCloud")
    page.get_by_role("link", name="Cancel").click()
    page.goto(THERE + "/record?zone=Notes&name=note")
    expect(page.locator("main")).to_contain_text("before")
    change(page, THERE, "after")
    confirm(page)
    expect(page.get_by_role("status").first).to_contain_text("The record is saved.")
    expect(page.locator("main")).to_contain_text("after")


def test_a_conflict_of_a_mirror_is_resolved_field_by_field(window, stand_in):
    page = window()
    connect(page, stand_in)
    page.goto(THERE + "/mirror")
    page.get_by_role("button", name="Pull", exact=True).click()
    expect(page.locator("#mirroring")).to_contain_text("2 saved")
    expect(page.get_by_role("heading", name="Pull again")).to_be_visible()
    check(page, "mirror")
    change(page, MIRROR, "mine")
    expect(page.get_by_role("status").first).to_contain_text("The record is saved.")
    change(page, THERE, "theirs")
    confirm(page)
    expect(page.get_by_role("status").first).to_contain_text("The record is saved.")
    page.goto(MIRROR + "/unsent")
    expect(page.get_by_role("heading", name="1 change to send")).to_be_visible()
    check(page, "not sent")
    page.get_by_role("button", name="Send now").click()
    confirm(page)
    expect(page.locator("#run")).to_contain_text("CONFLICT")
    page.get_by_role("link", name="Not sent").last.click()
    page.get_by_role("link", name="Three versions of note").click()
    title = page.locator("tr.contested")
    for text in ["mine", "before", "theirs"]:
        expect(title).to_contain_text(text)
    check(page, "conflict with iCloud")
    page.get_by_role("radio", name="title: yours").check()
    page.get_by_role("button", name="Save the chosen values").click()
    expect(page.get_by_role("status").first).to_contain_text("The conflict is resolved.")
    page.get_by_role("button", name="Send now").click()
    confirm(page)
    expect(page.locator("#run .state")).to_have_text("done")
    page.goto(THERE + "/record?zone=Notes&name=note")
    expect(page.locator("main")).to_contain_text("mine")
    page.goto(MIRROR + "/unsent")
    expect(page.locator("main")).to_contain_text("Nothing waits to be sent.")
