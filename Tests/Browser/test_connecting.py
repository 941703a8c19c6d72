"""Containers in iCloud: the sign-in, the question before a change, the mirror, and a conflict of its changes. A stand-in takes iCloud's place."""

import subprocess
import tempfile

import pytest
from playwright.sync_api import expect

from looks import check_looks
from page_server import Server, binary

CONTAINER = "iCloud.com.example.Real"
THERE = f"/c/{CONTAINER}/development/private"
MIRROR = f"/c/{CONTAINER}.mirror/development/private"


class StandIn:
    """A server that requires credentials and has nothing but CloudKit's protocol, with a user Developer who has two records."""

    def __init__(self, folder: str, callback: str | None):
        filling = Server(place=("--data", folder))
        fields = {"title": {"value": "before"}, "rank": {"value": 1, "type": "INT64"}}
        filling.save(CONTAINER, "Notes", *({"recordType": "Note", "recordName": name, "fields": fields} for name in ["note", "other"]))
        filling.stop()
        command = [binary(), "token", "create-api", "--container", CONTAINER, "--data", folder, *(["--callback", callback] if callback else [])]
        self.token = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        self.server = Server("--auth", "required", "--protocol-only", place=("--data", folder))
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
def window(console, new_page):
    """Pages that may lead to the stand-in and back."""
    return lambda **options: new_page(console, **options)


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


@pytest.mark.parametrize("stand_in", ["redirect", "message"], indirect=True)
def test_a_sign_in_in_a_window_of_its_own(window, stand_in):
    page = window()
    connect(page, stand_in)
    row = page.get_by_role("row", name=CONTAINER)
    expect(row).to_contain_text("public, private, shared")
    expect(row).to_contain_text("writable")
    check_looks(page, picture="connected containers")
    page.goto(THERE + "/changes?zone=Notes")
    expect(page.get_by_role("region", name="Connected container")).to_contain_text("iCloud · development · writable")
    expect(page.locator("th.name a[title=note]")).to_be_visible()
    check_looks(page, picture="changes in iCloud")
    # The token is in no address that the browser keeps.
    page.goto("/connect")
    assert "ckWebAuthToken" not in page.content() and stand_in.token not in page.content()


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


def test_a_conflict_of_a_mirror_shows_its_three_versions(window, stand_in):
    page = window()
    connect(page, stand_in)
    page.goto(THERE + "/mirror")
    page.get_by_role("button", name="Pull", exact=True).click()
    expect(page.locator("#mirroring")).to_contain_text("2 saved")
    expect(page.get_by_role("heading", name="Pull again")).to_be_visible()
    check_looks(page, picture="mirror")
    change(page, MIRROR, "mine")
    expect(page.get_by_role("status").first).to_contain_text("Saved title.")
    change(page, THERE, "theirs")
    # Each change in iCloud is asked for, with the container's name.
    check_looks(page, picture="question before a change in iCloud")
    confirm(page)
    expect(page.get_by_role("status").first).to_contain_text("The record is saved.")
    page.goto(MIRROR + "/unsent")
    expect(page.get_by_role("heading", name="1 change to send")).to_be_visible()
    check_looks(page, picture="not sent")
    page.get_by_role("button", name="Send now").click()
    confirm(page)
    expect(page.locator("#run")).to_contain_text("CONFLICT")
    page.get_by_role("link", name="Not sent").last.click()
    page.get_by_role("link", name="Three versions of note").click()
    title = page.locator("tr.contested")
    for text in ["mine", "before", "theirs"]:
        expect(title).to_contain_text(text)
    check_looks(page, picture="conflict with iCloud")
