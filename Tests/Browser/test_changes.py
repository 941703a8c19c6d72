"""The tab Changes: a token that is typed, and changes that are loaded and followed."""

import re

from playwright.sync_api import expect

from folding import unfold
from looks import check_looks
from pages import CHAT, title


def test_a_token_that_is_typed_is_used(open_page):
    page = open_page(CHAT + "/changes?zone=Chats")
    token = page.locator(".newtoken a").inner_text()
    unfold(page)
    page.get_by_label("Change token").fill(token)
    expect(page.get_by_label("a token", exact=True)).to_be_checked()
    page.get_by_role("button", name="Fetch changes").last.click()
    page.wait_for_url(f"**since=1&token={token}**")


def test_a_zone_is_played_back_as_one_stream(open_page):
    page = open_page(CHAT + "/changes?zone=Family&limit=50")
    page.get_by_role("button", name="Load all").click()
    feed = page.get_by_role("region", name="Feed")
    expect(feed).to_contain_text("Loaded")
    assert page.get_by_role("progressbar").evaluate("bar => bar.value / bar.max") == 1
    done, total = (int(text.replace(",", "")) for text in feed.locator("[data-count]").inner_text().split(" of "))
    assert done == total > 600
    # The page only keeps the latest rows, with the last change on top.
    expect(page.locator("tbody tr")).to_have_count(200)
    positions = [int(text.replace(",", "")) for text in page.locator("tbody td:first-child").all_inner_texts()]
    assert positions == sorted(positions, reverse=True)
    page.locator(".foot").get_by_role("link", name="Fetch again").click()
    expect(page.get_by_text("No changes since the token.")).to_be_visible()
    expect(page.locator(".told")).to_contain_text("valid")
    # Since the token there are no changes, and the playback is complete.
    page.get_by_role("button", name="Load all").click()
    expect(feed).to_contain_text("0 of 0")
    assert page.get_by_role("progressbar").evaluate("bar => bar.value / bar.max") == 1


def test_a_playback_that_breaks_goes_on_from_its_last_token(open_page):
    page = open_page(CHAT + "/changes?zone=Family&limit=50")
    # The first stream ends after the first page and some lines of the second.
    page.evaluate(
        """() => {
            const plain = window.fetch
            window.fetch = async (...parameters) => {
                window.fetch = plain
                const lines = (await (await plain(...parameters)).text()).split('\\n')
                const reached = lines.findIndex(line => line.includes('"reached"'))
                return new Response(lines.slice(0, reached + 20).join('\\n'))
            }
        }"""
    )
    page.get_by_role("button", name="Load all").click()
    feed = page.get_by_role("region", name="Feed")
    expect(feed).to_contain_text("Interrupted")
    feed.get_by_role("button", name="Resume").click()
    expect(feed).to_contain_text("Loaded")
    done, total = feed.locator("[data-count]").inner_text().split(" of ")
    assert done == total
    assert page.get_by_role("progressbar").evaluate("bar => bar.value / bar.max") == 1
    names = page.locator("tbody th.name a").all_inner_texts()
    assert len(names) == len(set(names)) == 200


def test_following_a_first_page_starts_now(open_page, server):
    container = "iCloud.com.example.Later"
    server.save(container, "Notes", *[{"recordType": "Note", "recordName": f"old{number}", "fields": {"n": {"value": 1}}} for number in range(60)])
    page = open_page(f"/c/{container}/development/private/changes?zone=Notes&limit=50")
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_role("region", name="Feed")).to_contain_text("Live")
    server.save(container, "Notes", {"recordType": "Note", "recordName": "new", "fields": {"n": {"value": 1}}})
    expect(page.locator("tbody.live th")).to_have_text(["new"])


def test_a_followed_page_keeps_its_token_and_its_next_page(open_page, server):
    container = "iCloud.com.example.Followed"

    def save(*names):
        server.save(container, "Notes", *[{"recordType": "Note", "recordName": name, "fields": {"n": {"value": 1}}} for name in names])

    old = [f"old{number}" for number in range(130)]
    save(*old)
    page = open_page(f"/c/{container}/development/private/changes?zone=Notes&limit=50")
    foot = page.locator(".foot")
    token = foot.locator(".tokentext").inner_text()
    explanation = foot.locator(".tokentext").get_attribute("href")
    following = foot.get_by_role("link", name="Next page").get_attribute("href")
    page.get_by_role("button", name="Follow").click()
    feed = page.get_by_role("region", name="Feed")
    expect(feed).to_contain_text("Live")
    save("new")
    expect(page.locator("tbody.live th")).to_have_text(["new"])
    # The live token stands apart, with what it leaves out.
    ahead = feed.locator(".tokentext")
    first = ahead.inner_text()
    assert first != token
    expect(feed).to_contain_text(re.compile("it skips the [0-9,]+ changes? between this page and the live ones"))
    save("newer")
    expect(page.locator("tbody.live th")).to_have_text(["newer", "new"])
    expect(ahead).not_to_have_text(first)
    expect(feed.get_by_role("button", name="Copy")).to_have_accessible_name(f"Copy {ahead.inner_text()[:24]}…")
    expect(foot).to_contain_text("page’s token")
    expect(foot.locator(".tokentext")).to_have_text(token)
    expect(foot.locator(".tokentext")).to_have_attribute("href", explanation)
    expect(foot.get_by_role("link", name="Next page")).to_have_attribute("href", following)
    expect(foot.get_by_role("link", name="Next page")).to_have_attribute("rel", "next")
    expect(foot.get_by_role("link", name="Fetch again")).to_have_count(0)
    check_looks(page, picture="changes followed")
    # Its button leads behind all changes; the pages between lead to all of them.
    later = feed.get_by_role("link", name="Fetch later changes").get_attribute("href")
    names = page.locator("tbody:not(.live) th a").all_text_contents()
    while page.get_by_role("link", name="Next page").count():
        page.get_by_role("link", name="Next page").click()
        page.wait_for_load_state()
        names += page.locator("tbody th a").all_text_contents()
    assert names == [*old, "new", "newer"]
    page.goto(later)
    expect(page.get_by_text("No changes since the token.")).to_be_visible()


def test_a_page_since_a_token_is_followed_without_a_gap(open_page, server):
    container = "iCloud.com.example.NoGap"

    def save(*names):
        server.save(container, "Notes", *[{"recordType": "Note", "recordName": name, "fields": {"n": {"value": 1}}} for name in names])

    save("start")
    page = open_page(f"/c/{container}/development/private/changes?zone=Notes")
    since = page.locator(".foot .tokentext").inner_text()
    save(*[f"r{number}" for number in range(70)])
    page.goto(f"/c/{container}/development/private/changes?zone=Notes&since=1&token={since}&limit=50")
    foot, feed = page.locator(".foot"), page.get_by_role("region", name="Feed")
    token = foot.locator(".tokentext").inner_text()
    page.get_by_role("button", name="Follow").click()
    # The rest of the pull comes as followed changes, so their token skips nothing.
    expect(page.locator("tbody.live tr")).to_have_count(20)
    expect(feed.locator(".tokentext")).not_to_have_text(token)
    expect(feed).not_to_contain_text("It skips")
    expect(foot.locator(".tokentext")).to_have_text(token)
    expect(foot.get_by_role("link", name="Next page")).to_be_visible()
    # All changes in place of the page: the foot goes on after them.
    page.get_by_role("button", name="Load all").click()
    expect(feed).to_contain_text("Loaded")
    expect(feed.locator(".tokentext")).to_have_count(0)
    expect(foot).to_contain_text("new token")
    foot.get_by_role("link", name="Fetch again").click()
    expect(page.get_by_text("No changes since the token.")).to_be_visible()


def test_changes_are_followed_and_none_is_missed(open_page, server):
    container = "iCloud.com.example.Live"

    def save(name):
        server.save(container, "Notes", {"recordType": "Note", "recordName": name, "fields": {"n": {"value": 1}}})

    save("before")
    page = open_page(f"/c/{container}/development/private/changes?zone=Notes")
    page.get_by_role("button", name="Follow").click()
    feed = page.get_by_role("region", name="Feed")
    live = page.locator("tbody.live tr")
    expect(feed).to_contain_text("Live")
    save("<b>first</b>")
    expect(live).to_have_count(1)
    expect(live.locator("th")).to_have_text("<b>first</b>")
    # A live row looks like one that the server rendered.
    page_row = page.locator("tbody:not(.live) tr").locator("td, th").all_inner_texts()
    live_row = live.locator("td, th").all_inner_texts()
    assert [page_row[at].strip() for at in (1, 3, 4, 6)] == [live_row[at].strip() for at in (1, 3, 4, 6)] == ["created", "Note", "n", "Developer"]
    feed.get_by_role("button", name="Pause").click()
    expect(feed).to_contain_text("Paused")
    save("second")
    save("third")
    expect(live).to_have_count(1)
    feed.get_by_role("button", name="Resume").click()
    expect(live.locator("th")).to_have_text(["third", "second", "<b>first</b>"])
    expect(feed).to_contain_text("3 changes followed")
    live.last.get_by_role("link").click()
    expect(page).to_have_title(title("<b>first</b>", container))
