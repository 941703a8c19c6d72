"""The tab Fetch with assets: the progress of every record, cancelling and resuming, and the saved files."""

import glob
import hashlib
import os
import random
import re
import time
import urllib.parse

import pytest
from playwright.sync_api import expect

from chromium import chromium
from page_server import Server
from slow_line import SlowLine
from waiting import PATIENCE, until

CONTAINER = "iCloud.com.example.Files"
THERE = f"/c/{CONTAINER}/development/private"


def content(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def address(*names: str, zone="Files") -> str:
    return f"{THERE}/fetch?zone={zone}&assets=with&names=" + urllib.parse.quote("\n".join(names))


def row(page, name):
    return page.locator(f"tr[data-file='{name}']")


def received(row) -> int:
    return row.locator("progress").evaluate("it => it.value")


def kept(page) -> list:
    """The folders in the private file system of the pages' origin."""
    return page.evaluate("(async () => { const names = []; for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name); return names })()")


@pytest.fixture(scope="module")
def files(server):
    """Five records with a file each, one with three, one without any."""
    made = {}
    for number in range(1, 6):
        name = f"part-{number}.bin"
        made[name] = content(400_000 + number * 40_000, number)
        server.attach(CONTAINER, "Files", f"record-{number}", (name, made[name]))
    several = [(f"page-{number}.bin", content(28_000, 10 + number)) for number in range(1, 4)]
    server.attach(CONTAINER, "Files", "several", *several)
    made |= dict(several)
    server.save(CONTAINER, "Files", {"recordType": "Note", "recordName": "bare", "fields": {"n": {"value": 1}}})
    return made


@pytest.fixture
def line(server):
    line = SlowLine(server.address)
    yield line
    line.stop()


# Collects all values and states that the page shows, however seldom a test looks.
WATCH = """() => {
  const rows = [...document.querySelectorAll('tr[data-file]')]
  const whole = document.querySelector('[data-whole] progress')
  window.shown = { rows: Object.fromEntries(rows.map(row => [row.dataset.file, { values: [], states: [] }])), whole: [], most: 0 }
  const add = (list, value) => { if (list.at(-1) !== value) list.push(value) }
  const look = () => {
    for (const row of rows) {
      const { values, states } = shown.rows[row.dataset.file]
      add(values, row.querySelector('progress').value)
      add(states, row.dataset.state)
    }
    add(shown.whole, whole.value)
    shown.most = Math.max(shown.most, rows.filter(row => row.dataset.state === 'fetching').length)
  }
  look()
  const observer = new MutationObserver(look)
  for (const root of [document.querySelector('[data-fetching]'), whole]) observer.observe(root, { subtree: true, attributes: true, attributeFilter: ['value', 'data-state'] })
}"""


def shown(page) -> dict:
    """What a page has shown since WATCH."""
    return page.evaluate("shown")


def test_five_records_at_once_one_cancelled_and_resumed(files, line, open_page):
    line.rate, line.slows_after = 160_000, 300_000
    names = [f"part-{number}.bin" for number in range(1, 6)]
    page = open_page(address(*[f"record-{number}" for number in range(1, 6)]), at=line)
    page.evaluate(WATCH)
    chosen = "part-2.bin"
    # Each of them nearly stands still before its end.
    until(lambda: received(row(page, chosen)) >= 300_000 and all(len(shown(page)["rows"][name]["values"]) >= 6 for name in names[:3]))
    page.get_by_role("button", name=f"Pause {chosen}").click()
    expect(row(page, chosen)).to_have_attribute("data-state", "paused")
    expect(row(page, chosen)).to_contain_text(re.compile(r"paused at \d+ KB"))
    stopped = received(row(page, chosen))
    # Another one that nearly stands still gets its next bytes, and so would this one.
    other = row(page, names[0])
    enough = max(received(other), 308_000) + 2_000
    until(lambda: received(other) >= enough)
    assert received(row(page, chosen)) == stopped >= 300_000
    page.get_by_role("button", name=f"Resume {chosen}").click()
    line.slows_after = None
    expect(page.locator("tr[data-file][data-state=done]")).to_have_count(5)
    seen = shown(page)
    for name in names:
        values, states = seen["rows"][name]["values"], seen["rows"][name]["states"]
        assert values == sorted(values), f"{name} went backwards"
        assert values[-1] == len(files[name])
        assert states[-1] == "done"
    # A row is new until its file is reached.
    assert ["waiting" in seen["rows"][name]["states"] for name in names[3:]] == [True] * 2
    states = seen["rows"][chosen]["states"]
    assert states.index("paused") < states.index("done")
    assert seen["most"] == 3
    assert seen["whole"] == sorted(seen["whole"]) and seen["whole"][-1] == sum(len(files[name]) for name in names)
    assert 2 <= line.most <= 3
    ranges = [request for request in line.requests if "\r\nrange:" in request.lower()]
    assert len(ranges) == 1
    assert f"range: bytes={int(stopped)}-" in ranges[0].lower()
    assert f'if-range: "{hashlib.sha256(files[chosen]).hexdigest()}"' in ranges[0].lower()
    expect(page.locator("[data-whole]")).to_contain_text("5 of 5 records")
    expect(page.locator("[data-said]")).to_contain_text("All 5 records are fetched")
    for name in names:
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save to disk: {name}").click()
        assert download.value.suggested_filename == name
        with open(download.value.path(), "rb") as saved:
            assert hashlib.sha256(saved.read()).digest() == hashlib.sha256(files[name]).digest()


def test_what_is_shown_on_the_way(files, line, open_page):
    line.rate, line.slows_after = 120_000, 500_000
    page = open_page(address("record-5", "bare", "nobody"), at=line)
    part = row(page, "part-5.bin")
    expect(part.locator("[data-percent]")).to_have_text(re.compile(r"^[1-9]\d? %$"))
    expect(part.locator("[data-now]")).to_have_text(re.compile(r"^\d+ of 586 KB · \d+(\.\d)? KB/s · (\d+ (s|min)|less than 1 s) left$"))
    assert part.get_by_role("progressbar").get_attribute("aria-label") == "part-5.bin, 586 KB"
    expect(page.locator("[data-whole]")).to_contain_text("0 of 1 record")
    expect(page.locator("tbody[data-record=bare]")).to_contain_text("no assets")
    expect(page.locator("tr.missing")).to_contain_text("NOT_FOUND")
    page.get_by_role("button", name="Pause all").click()
    expect(page.locator("[data-whole] [data-state]")).to_have_text("Paused")
    line.rate = line.slows_after = None
    page.get_by_role("button", name="Resume all").click()
    expect(part).to_have_attribute("data-state", "done")
    expect(part.locator("[data-now]")).to_have_text("verified")
    expect(page.get_by_role("button", name="Save to disk: part-5.bin")).to_be_visible()


def test_a_broken_connection_is_reported_and_resumed(files, line, open_page):
    line.rate, line.slows_after = 150_000, 200_000
    page = open_page(address("record-4"), at=line)
    part = row(page, "part-4.bin")
    until(lambda: received(part) > 150_000)
    line.cut()
    expect(part).to_have_attribute("data-state", "failed")
    expect(part.locator("[data-now]")).to_have_text("The connection was lost")
    line.rate = line.slows_after = None
    page.get_by_role("button", name="Resume part-4.bin").click()
    expect(part).to_have_attribute("data-state", "done")
    assert "\r\nrange:" in line.requests[-1].lower()


def test_a_server_without_ranges_starts_over_with_a_message(files, line, open_page):
    line.rate, line.slows_after = 150_000, 200_000
    page = open_page(address("record-4"), at=line)
    part = row(page, "part-4.bin")
    until(lambda: received(part) > 150_000)
    page.get_by_role("button", name="Pause part-4.bin").click()
    expect(part).to_have_attribute("data-state", "paused")
    line.drops_ranges = True
    page.get_by_role("button", name="Resume part-4.bin").click()
    expect(part.locator("[data-now]")).to_contain_text("from the start, because the server could not resume")
    line.rate = line.slows_after = None
    expect(part).to_have_attribute("data-state", "done")


def test_wrong_bytes_are_not_taken(files, line, open_page):
    line.flips = 1
    page = open_page(address("record-1"), at=line)
    part = row(page, "part-1.bin")
    expect(part).to_have_attribute("data-state", "failed")
    expect(part.locator("[data-now]")).to_have_text("The bytes do not match the checksum")
    expect(part.get_by_role("button", name="Save to disk")).to_have_count(0)
    page.get_by_role("button", name="Retry part-1.bin").click()
    expect(part).to_have_attribute("data-state", "done")


def refusal(status: str, reason: str) -> bytes:
    body = f'{{"serverErrorCode":"NOT_FOUND","reason":"{reason}"}}'
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def test_an_expired_address_is_renewed_once(new_page, files, line):
    page = new_page(line)
    line.answers = [refusal("410 Gone", "The address has expired")]
    page.goto(address("record-1"))
    expect(row(page, "part-1.bin")).to_have_attribute("data-state", "done")
    line.answers = [refusal("404 Not Found", "No such file")] * 2
    page.goto(address("record-2"))
    expect(row(page, "part-2.bin")).to_have_attribute("data-state", "failed")
    expect(row(page, "part-2.bin").locator("[data-now]")).to_have_text("No such file")


def test_an_address_that_expires_again_is_renewed_again(files, line, new_page):
    page = new_page(line)
    line.rate, line.slows_after = 150_000, 200_000
    line.answers = [refusal("410 Gone", "The address has expired")]
    page.goto(address("record-4"))
    part = row(page, "part-4.bin")
    until(lambda: received(part) > 150_000)
    page.get_by_role("button", name="Pause part-4.bin").click()
    expect(part).to_have_attribute("data-state", "paused")
    line.rate = line.slows_after = None
    line.answers = [refusal("410 Gone", "The address has expired")]
    page.get_by_role("button", name="Resume part-4.bin").click()
    expect(part).to_have_attribute("data-state", "done")
    assert line.answers == []
    assert "\r\nrange:" in line.requests[-1].lower()


def test_a_renewal_can_be_cancelled(files, line, new_page):
    page = new_page(line)
    held = []
    page.route("**/fetch?*", lambda route: route.continue_() if route.request.resource_type == "document" else held.append(route))
    line.answers = [refusal("410 Gone", "The address has expired")]
    page.goto(address("record-1"))
    part = row(page, "part-1.bin")
    until(lambda: held, page)
    page.get_by_role("button", name="Pause part-1.bin").click()
    expect(part).to_have_attribute("data-state", "paused")
    page.get_by_role("button", name="Resume part-1.bin").click()
    expect(part).to_have_attribute("data-state", "done")
    assert len(held) == 1


def test_compressible_files_have_a_true_percentage(server, line, open_page):
    text = b"".join(b'{"line":%d,"text":"the same words again and again"}\n' % number for number in range(60_000))
    server.attach(CONTAINER, "Text", "log", ("log.ndjson", text))
    line.rate = 30_000
    page = open_page(address("log", zone="Text"), at=line)
    page.evaluate(WATCH)
    expect(row(page, "log.ndjson")).to_have_attribute("data-state", "done")
    values = [value / len(text) for value in shown(page)["rows"]["log.ndjson"]["values"]]
    assert len([value for value in values if 0.05 < value < 0.95]) >= 3, values
    assert all(value <= 1 for value in values)
    assert "gzip" in line.requests[0].lower()


def test_a_record_with_several_files_has_their_sum(files, line, open_page):
    line.rate, line.slows_after = 20_000, 4_000
    page = open_page(address("several", "record-1"), at=line)
    group = page.locator("tr[data-group]")
    expect(group).to_contain_text("3 assets")
    expect(group.get_by_role("progressbar")).to_have_attribute("aria-label", "3 assets of several, 82.0 KB")
    page.get_by_role("button", name="Pause all of several").click()
    expect(group).to_have_attribute("data-state", "paused")
    for number in range(1, 4):
        expect(row(page, f"page-{number}.bin")).to_have_attribute("data-state", "paused")
    line.rate = line.slows_after = None
    page.get_by_role("button", name="Resume page-2.bin").click()
    expect(row(page, "page-2.bin")).to_have_attribute("data-state", "done")
    page.get_by_role("button", name="Resume all of several").click()
    expect(group).to_have_attribute("data-state", "done")
    saved = []
    page.on("download", lambda download: saved.append(download))
    page.get_by_role("button", name="Save to disk: all of several").click()
    until(lambda: len(saved) >= 3, page)
    assert sorted(download.suggested_filename for download in saved) == [f"page-{number}.bin" for number in range(1, 4)]


def test_a_reloaded_page_goes_on_where_it_was(files, line, open_page):
    line.rate, line.slows_after = 150_000, 200_000
    page = open_page(address("record-4"), at=line)
    part = row(page, "part-4.bin")
    until(lambda: received(part) > 150_000)
    page.reload()
    # The page before goes on fetching until the new one is there: a fast line could bring it the rest.
    until(lambda: len(line.requests) == 2)
    line.rate = line.slows_after = None
    expect(part).to_have_attribute("data-state", "done")
    assert re.search(r"\r\nrange: bytes=[1-9]\d{5}", line.requests[-1].lower())
    # A complete file is checked again, and not asked for.
    count = len(line.requests)
    page.reload()
    expect(part).to_have_attribute("data-state", "done")
    expect(page.locator("[data-said]")).to_have_text("The record is fetched, 547 KB")
    assert len(line.requests) == count
    with page.expect_download() as download:
        page.get_by_role("button", name="Save to disk: part-4.bin").click()
    with open(download.value.path(), "rb") as saved:
        assert saved.read() == files["part-4.bin"]


def test_a_reload_of_a_large_answer_fetches_nothing_more(server, line, open_page):
    server.attach(CONTAINER, "Large", "large", ("large.bin", bytes(20_000_000)))
    server.attach(CONTAINER, "Large", "others", ("small.bin", content(50_000, 21)), ("half.bin", content(600_000, 22)))
    page = open_page(address("large", "others", zone="Large"), at=line)
    large, small, half = (row(page, f"{name}.bin") for name in ["large", "small", "half"])
    expect(page.locator("[data-whole]")).to_contain_text("Not fetched")
    small.locator("[data-turn]").click()
    expect(small).to_have_attribute("data-state", "done")
    line.rate, line.slows_after = 150_000, 200_000
    half.locator("[data-turn]").click()
    until(lambda: received(half) > 150_000)
    half.locator("[data-turn]").click()
    expect(half).to_have_attribute("data-state", "paused")
    stopped = received(half)
    line.rate = line.slows_after = None
    count = len(line.requests)
    page.reload()
    expect(small).to_have_attribute("data-state", "done")
    expect(half).to_have_attribute("data-state", "paused")
    expect(large).to_have_attribute("data-state", "new")
    assert received(half) >= stopped and len(line.requests) == count
    half.locator("[data-turn]").click()
    expect(half).to_have_attribute("data-state", "done")


def test_two_pages_of_one_address_have_files_of_their_own(files, line, open_page):
    page = open_page(address("record-1"), at=line)
    expect(row(page, "part-1.bin")).to_have_attribute("data-state", "done")
    other = page.context.new_page()
    other.goto(address("record-1"))
    expect(row(other, "part-1.bin")).to_have_attribute("data-state", "done")
    assert len(kept(page)) == 2


def test_files_are_gone_when_the_page_is(files, line, open_page):
    page = open_page(address("record-1"), at=line)
    expect(row(page, "part-1.bin")).to_have_attribute("data-state", "done")
    own = kept(page)
    assert len(own) == 1
    # Left over from closed pages: their names are before and behind the one of the open page.
    leftovers = {"fetched-0", "fetched-z"}
    for name in leftovers:
        page.evaluate("async name => { await (await navigator.storage.getDirectory()).getDirectoryHandle(name, { create: true }) }", name)
    other = page.context.new_page()
    other.goto(THERE + "/zones")
    until(lambda: not leftovers.intersection(kept(other)))
    # The page that fetched is still open, with its files.
    assert kept(other) == own
    with page.expect_download():
        page.get_by_role("button", name="Save to disk: part-1.bin").click()
    page.close()
    other.reload()
    until(lambda: kept(other) == [])


@pytest.mark.parametrize("lack", [
    "delete StorageManager.prototype.getDirectory",
    # As Safari does in private windows.
    "StorageManager.prototype.getDirectory = () => Promise.reject(new DOMException('The operation failed', 'UnknownError'))",
])
def test_without_a_private_file_system_there_are_links(new_page, files, lack):
    page = new_page()
    page.add_init_script(lack)
    page.goto(address("record-1"))
    expect(row(page, "part-1.bin").get_by_role("link", name="Download")).to_be_visible()
    expect(page.get_by_role("button", name="Pause part-1.bin")).to_have_count(0)


def test_a_browser_that_does_not_tell_its_room_fetches(new_page, files):
    """As Safari before version 17."""
    page = new_page()
    page.add_init_script("delete StorageManager.prototype.estimate")
    page.goto(address("record-1"))
    expect(row(page, "part-1.bin")).to_have_attribute("data-state", "done")


def memory(folder: str) -> int:
    """The private memory of the browser's processes with a profile folder, in bytes."""
    total = 0
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as command:
                if folder.encode() not in command.read():
                    continue
            with open(path.replace("cmdline", "smaps_rollup")) as rollup:
                total += sum(int(line.split()[1]) * 1024 for line in rollup if line.startswith("Private_"))
        except OSError:
            continue
    return total


def test_a_large_file_is_not_held_in_memory(playwright, tmp_path):
    """In a browser with a profile on disk, because without one the private file system is in memory."""
    size = int(os.environ.get("SKYLIGHT_LARGE_FILE", "300000000"))
    server = Server("--asset-size-limit", "2GB")
    try:
        data = content(1_000_000, 7) * (size // 1_000_000)
        digest = hashlib.sha256(data).digest()
        server.attach(CONTAINER, "Files", "large", ("large.bin", data))
        del data
        folder = str(tmp_path / "profile")
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=chromium(), args=["--no-sandbox"], base_url=server.address, accept_downloads=True
        )
        context.set_default_timeout(1000 * PATIENCE)
        page = context.new_page()
        page.goto(address("large"))
        most = 0
        part = row(page, "large.bin")
        # So much is not fetched before somebody asks for it.
        expect(page.locator("[data-whole] [data-state]")).to_have_text("Not fetched")
        button = page.get_by_role("button", name="Download large.bin")
        expect(button).to_be_visible()
        before = memory(folder)
        button.click()
        end = time.monotonic() + 600
        while part.get_attribute("data-state") != "done":
            assert time.monotonic() < end, part.inner_text()
            most = max(most, memory(folder))
            time.sleep(0.1)
        with page.expect_download() as download:
            page.get_by_role("button", name="Save to disk: large.bin").click()
        saved = download.value.path()
        most = max(most, memory(folder))
        with open(saved, "rb") as file:
            assert hashlib.file_digest(file, "sha256").digest() == digest
        print(f"{size / 1e6:.0f} MB fetched and saved; the browser took {(most - before) / 1e6:.0f} MB more memory")
        assert most - before < 150_000_000, f"{(most - before) / 1e6:.0f} MB more"
        context.close()
    finally:
        server.stop()
