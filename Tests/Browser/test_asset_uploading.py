"""Uploading files on a record's page: chosen and dropped, replaced and removed, refused and cancelled."""

import json
import random
import urllib.parse
import urllib.request

import pytest
from playwright.sync_api import expect

from axe import problems
from page_server import Server
from slow_line import SlowLine
from waiting import until

CONTAINER = "iCloud.com.example.Uploads"
PRIVATE = f"/{CONTAINER}/development/private"
THERE = f"/c/{CONTAINER}/development/private"


@pytest.fixture(scope="module")
def stage():
    """A server that takes files of up to 20 MB."""
    server = Server("--asset-size-limit", "20MB")
    yield server
    server.stop()


@pytest.fixture
def line(stage):
    line = SlowLine(stage.address)
    yield line
    line.stop()


def make(stage, name: str):
    """A record whose type has a field for a file and one for several."""
    stage.attach(CONTAINER, "Files", "example", ("one.txt", b"one"))
    stage.attach(CONTAINER, "Files", "examples", ("one.txt", b"one"), ("two.txt", b"two"))
    stage.save(CONTAINER, "Files", {"recordType": "Note", "recordName": name, "fields": {"title": {"value": "x"}}})
    return f"{THERE}/record?zone=Files&name={urllib.parse.quote(name)}"


def values(stage, name: str) -> dict:
    return stage.values(CONTAINER, "Files", name)


def names(value: dict | list) -> list:
    return [asset["fileName"] for asset in (value if isinstance(value, list) else [value])]


def drop(page, field: str, *files: tuple[str, str]):
    """Drops files onto a field, like the system does."""
    # After an upload the page reloads, and accepts files once its scripts are loaded.
    page.wait_for_load_state()
    transfer = page.evaluate_handle(
        "files => { const all = new DataTransfer(); for (const [name, text] of files) all.items.add(new File([text], name)); return all }", list(files)
    )
    target = page.locator(f"[data-field='{field}']")
    for kind in ["dragenter", "dragover"]:
        target.dispatch_event(kind, {"dataTransfer": transfer})
    expect(target).to_have_class("assetfield over")
    target.dispatch_event("drop", {"dataTransfer": transfer})


def test_a_file_is_chosen_replaced_and_removed(open_page, stage):
    page = open_page(make(stage, "chosen"), at=stage)
    field = page.locator("[data-field='file']")
    expect(field).to_contain_text("No file.")
    page.get_by_label("File for file").set_input_files({"name": "Grüße & more.txt", "mimeType": "text/plain", "buffer": b"hello"})
    expect(page.get_by_role("status").first).to_contain_text("The file is uploaded")
    expect(field.locator(".filename")).to_have_text("Grüße & more.txt")
    assert names(values(stage, "chosen")["file"]) == ["Grüße & more.txt"]
    assert values(stage, "chosen")["title"] == "x"
    page.wait_for_load_state()
    page.get_by_label("File for file").set_input_files({"name": "second.txt", "mimeType": "text/plain", "buffer": b"hello again"})
    expect(field.locator(".filename")).to_have_text("second.txt")
    assert names(values(stage, "chosen")["file"]) == ["second.txt"]
    page.get_by_label("More about second.txt").click()
    page.get_by_role("button", name="Remove second.txt").click()
    assert "file" in values(stage, "chosen")
    page.get_by_role("button", name="Really remove second.txt").click()
    expect(page.get_by_role("status").first).to_contain_text("The file is removed from the record")
    expect(field).to_contain_text("No file.")
    assert "file" not in values(stage, "chosen")


def test_several_files_are_dropped_onto_a_list(open_page, stage):
    page = open_page(make(stage, "dropped"), at=stage)
    drop(page, "files", ("a.txt", "first"), ("b.txt", "second"), ("c.txt", "third"))
    field = page.locator("[data-field='files']")
    expect(field.locator(".filename")).to_have_text(["a.txt", "b.txt", "c.txt"])
    drop(page, "files", ("d.txt", "fourth"))
    expect(field.locator(".filename")).to_have_text(["a.txt", "b.txt", "c.txt", "d.txt"])
    page.get_by_label("More about b.txt").click()
    page.get_by_role("button", name="Remove b.txt").click()
    page.get_by_role("button", name="Really remove b.txt").click()
    expect(field.locator(".filename")).to_have_text(["a.txt", "c.txt", "d.txt"])
    assert names(values(stage, "dropped")["files"]) == ["a.txt", "c.txt", "d.txt"]
    drop(page, "file", ("single.txt", "x"))
    expect(page.locator("[data-field='file'] .filename")).to_have_text("single.txt")
    assert names(values(stage, "dropped")["files"]) == ["a.txt", "c.txt", "d.txt"]


def test_one_field_takes_one_file(open_page, stage):
    page = open_page(make(stage, "two"), at=stage)
    drop(page, "file", ("a.txt", "first"), ("b.txt", "second"))
    expect(page.get_by_role("alert")).to_contain_text("file takes one file, not 2.")
    assert "file" not in values(stage, "two")


def test_a_file_beside_the_field_does_not_replace_the_page(open_page, stage):
    page = open_page(make(stage, "beside"), at=stage)
    prevented = page.evaluate(
        "() => { const all = new DataTransfer(); all.items.add(new File(['x'], 'x.html'));"
        " return ['dragover', 'drop'].map(kind => !document.querySelector('h1').dispatchEvent(new DragEvent(kind, { dataTransfer: all, bubbles: true, cancelable: true }))) }"
    )
    assert prevented == [True, True]


def test_a_file_that_is_too_large_is_not_sent(open_page, stage, tmp_path):
    page = open_page(make(stage, "large"), at=stage)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/static/" not in request.url else None)
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(30_000_000))
    page.get_by_label("File for file").set_input_files(large)
    expect(page.get_by_role("alert")).to_contain_text("large.bin has 30,000,000 bytes; this server takes files of up to 20 MB, 20,971,520 bytes. Nothing was sent.")
    assert asked == []
    assert not problems(page)


def test_progress_grows_and_an_upload_is_cancelled(stage, line, open_page, tmp_path):
    line.rate = 500_000
    page = open_page(make(stage, "slow"), at=line)
    file = tmp_path / "slow.bin"
    file.write_bytes(random.Random(1).randbytes(16_000_000))
    page.get_by_label("File for file").set_input_files(file)
    bar = page.get_by_role("progressbar", name="Upload of slow.bin")
    expect(bar).to_be_visible()
    seen = set()
    # Fails if the upload finishes before that.
    until(lambda: seen.add(bar.evaluate("it => it.value")) or len(seen) == 3, page, pause=0.06)
    # The rest does not arrive while axe looks.
    line.rate = 20_000
    assert not problems(page)
    page.get_by_role("button", name="Cancel the upload of slow.bin").click()
    expect(bar).to_have_count(0)
    assert "file" not in values(stage, "slow")
    line.rate = None
    page.get_by_label("File for file").set_input_files(file)
    expect(page.locator("[data-field='file'] .filename")).to_have_text("slow.bin")


def test_a_broken_line_leaves_the_record_as_it_was(new_page, stage, line, tmp_path):
    line.rate = 200_000
    page = new_page(line)
    page.goto(make(stage, "broken"))
    file = tmp_path / "lost.bin"
    file.write_bytes(bytes(16_000_000))
    page.get_by_label("File for file").set_input_files(file)
    until(lambda: line.requests)
    # A browser tries again by itself.
    line.is_down = True
    line.cut()
    expect(page.get_by_role("alert")).to_contain_text("The connection was lost while lost.bin was sent. Nothing is changed; try again.")
    assert "file" not in values(stage, "broken")


def test_a_conflict_says_so_and_loads_the_record(open_page, stage):
    page = open_page(make(stage, "contested"), at=stage)
    stage.save(CONTAINER, "Files", {"recordType": "Note", "recordName": "contested", "fields": {"title": {"value": "theirs"}}})
    page.get_by_label("File for file").set_input_files({"name": "mine.txt", "mimeType": "text/plain", "buffer": b"mine"})
    note = page.get_by_role("alert")
    expect(note).to_contain_text("The record was saved by someone else")
    expect(note).to_contain_text("CONFLICT")
    assert not problems(page)
    assert "file" not in values(stage, "contested")
    page.get_by_role("button", name="Load the current record").click()
    expect(page.locator(".fields")).to_contain_text("theirs")
    page.wait_for_load_state()
    page.get_by_label("File for file").set_input_files({"name": "mine.txt", "mimeType": "text/plain", "buffer": b"mine"})
    expect(page.locator("[data-field='file'] .filename")).to_have_text("mine.txt")


def test_uploads_are_the_acting_users(open_page, stage):
    make(stage, "as developer")
    request = {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": "Mine"}}}]}
    ask_as(stage, "ada", "/zones/modify", request)
    record = {"recordType": "Note", "recordName": "hers", "fields": {"title": {"value": "x"}}}
    ask_as(stage, "ada", "/records/modify", {"operations": [{"operationType": "create", "record": record}], "zoneID": {"zoneName": "Mine"}})
    page = open_page(f"{THERE}/record?user=ada&zone=Mine&name=hers", at=stage)
    page.get_by_label("File for file").set_input_files({"name": "hers.txt", "mimeType": "text/plain", "buffer": b"hers"})
    expect(page.locator("[data-field='file'] .filename")).to_have_text("hers.txt")
    assert "user=ada" in page.url


def ask_as(stage, user: str, path: str, body: dict):
    request = urllib.request.Request(stage.address + "/database/1" + PRIVATE + path, json.dumps(body).encode(), {"X-Skylight-User": user})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_without_scripts_nothing_pretends_to_upload(open_page, stage):
    make(stage, "plain")
    page = open_page(f"{THERE}/record?zone=Files&name=example", at=stage, java_script_enabled=False)
    expect(page.locator(".drop")).to_have_count(2)
    expect(page.locator(".drop:visible")).to_have_count(0)
    expect(page.get_by_role("button", name="Remove")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("link", name="Save to disk one.txt").click()
    with open(download.value.path(), "rb") as saved:
        assert saved.read() == b"one"
