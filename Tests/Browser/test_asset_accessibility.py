"""Assets during uploads and in dialogs: axe finds nothing, light and dark, wide and narrow."""

import random
import urllib.parse

import pytest
from playwright.sync_api import expect

from axe import problems
from looks import check_looks
from pages import CHAT
from slow_line import SlowLine

CONTAINER = "iCloud.com.example.Shown"
THERE = f"/c/{CONTAINER}/development/private"


@pytest.fixture(scope="module")
def files(server):
    for number in range(1, 6):
        server.attach(CONTAINER, "Files", f"record-{number}", (f"part-{number}.bin", random.Random(number).randbytes(600_000)))
    several = [(f"page-{number}.bin", random.Random(10 + number).randbytes(600_000)) for number in range(3)]
    server.attach(CONTAINER, "Files", "several", *several)


def check(page):
    check_looks(page, widths=(1440, 400, 390))


def test_files_on_their_way(open_page, server, files):
    line = SlowLine(server.address, rate=30_000)
    line.slows_after = 20_000
    names = ["several", *[f"record-{number}" for number in range(1, 6)], "nobody"]
    page = open_page(
        f"{THERE}/fetch?zone=Files&assets=with&names=" + urllib.parse.quote("\n".join(names)), at=line, reduced_motion="reduce"
    )
    expect(page.locator("[data-state=fetching]").first).to_be_visible()
    expect(page.locator("tr[data-state=waiting]").first).to_be_visible()
    check(page)
    page.get_by_role("button", name="Pause page-0.bin").click()
    expect(page.locator("tr[data-state=paused]").first).to_be_visible()
    line.is_down = True
    line.cut()
    expect(page.locator("tr[data-state=failed]").first).to_be_visible()
    expect(page.locator("tr[data-state=fetching]")).to_have_count(0)
    check(page)
    line.is_down = False
    line.rate = line.slows_after = None
    page.get_by_role("button", name="Resume all", exact=True).click()
    expect(page.locator("[data-whole] [data-state]")).to_have_text("Fetched")
    check(page)
    line.stop()


def test_a_table_is_one_where_it_is_not_shown_as_one(open_page, files):
    """Table parts with block layout need explicit roles for some screen readers."""
    page = open_page(f"{THERE}/fetch?zone=Files&assets=with&names=several%0Arecord-1%0Anobody", viewport={"width": 400, "height": 860})
    expect(page.locator("[data-whole] [data-state]")).to_have_text("Fetched")
    assert page.locator("table.fetching").evaluate("it => getComputedStyle(it).display") == "block"
    assert page.locator("table.fetching").get_attribute("role") == "table"
    assert page.locator("table.fetching :is(thead, tbody, tr, th, td):not([role])").count() == 0
    table = page.get_by_role("table")
    assert table.get_by_role("columnheader").count() == 6
    assert table.get_by_role("rowheader", name="several").count() == 1
    assert table.get_by_role("row").count() == 7
    assert not problems(page)


# Collects all announcements, however short.
LISTEN = """() => {
  const said = document.querySelector('[data-said]')
  window.heard = []
  new MutationObserver(() => heard.push(said.textContent)).observe(said, { characterData: true, childList: true, subtree: true })
}"""


def test_progress_is_announced_sparingly(open_page, server, files):
    """Screen readers announce milestones only. Running numbers are visible, and in the progress bars."""
    line = SlowLine(server.address, rate=200_000)
    # Nothing is complete before somebody listens.
    line.slows_after = 20_000
    page = open_page(f"{THERE}/fetch?zone=Files&assets=with&names=record-1%0Arecord-2", at=line)
    page.evaluate(LISTEN)
    line.slows_after = None
    expect(page.locator("[data-whole] [data-state]")).to_have_text("Fetched")
    said = page.evaluate("heard")
    assert 1 <= len(said) <= 4, said
    for bar in page.get_by_role("progressbar").all():
        assert bar.get_attribute("aria-label")
    line.stop()


@pytest.mark.parametrize("file", ["settings", "landscape", "melody"])
def test_previews(open_page, file):
    record = {"settings": "Message/papers", "landscape": "Message/pictures", "melody": "Message/melody"}[file]
    zone = "Family" if record == "Message/pictures" else "Chats"
    page = open_page(f"{CHAT}/record?zone={zone}&name={urllib.parse.quote(record, safe='')}", reduced_motion="reduce")
    page.get_by_role("button", name="Preview").first.click()
    expect(page.get_by_role("dialog").locator("[data-content]")).not_to_contain_text("Looking…")
    check(page)


def test_removal_is_asked_and_can_be_left(open_page):
    page = open_page(f"{CHAT}/record?zone=Chats&name=Message%2Fpapers", reduced_motion="reduce")
    page.locator("summary[aria-label^='More about']").first.click()
    remove = page.get_by_role("button", name="Remove").first
    remove.click()
    expect(page.get_by_role("button", name="Really remove")).to_have_count(1)
    check(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Really remove")).to_have_count(0)


def test_everything_is_reached_with_the_keyboard(open_page):
    page = open_page(f"{CHAT}/record?zone=Chats&name=Message%2Fpapers")
    seen = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"))
    starts = ["Save to disk ", "Preview ", "More about ", "File for voice", "Add files to attachments"]
    for start in starts:
        assert any(text.startswith(start) for text in seen), start
