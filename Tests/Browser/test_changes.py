"""The tab Changes and the page Decode."""

import re

import pytest
from playwright.sync_api import expect

from folding import choose, unfold
from looks import check_looks
from pages import CHAT, title


def test_a_token_is_followed(open_page, server):
    container = "iCloud.com.example.TokenFollowed"
    there = f"/c/{container}/development/private"
    server.save(container, "Notes", *[{"recordType": "Note", "recordName": name, "fields": {"n": {"value": 1}}} for name in ["a", "b", "c"]])
    page = open_page(there + "/changes")
    page.get_by_role("link", name="Notes").first.click()
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Fetch again").click()
    expect(page.get_by_text("No changes since the token.")).to_be_visible()
    token = page.locator(".newtoken a").inner_text()
    server.save(container, "Notes", {"recordType": "Note", "recordName": "b", "fields": {"n": {"value": 2}}})
    server.ask(
        f"/{container}/development/private/records/modify",
        {"zoneID": {"zoneName": "Notes"}, "operations": [{"operationType": "forceDelete", "record": {"recordName": "a"}}]},
    )
    page.goto(there + "/changes?zone=Notes")
    unfold(page)
    page.get_by_label("Change token").fill(token)
    expect(page.get_by_label("a token", exact=True)).to_be_checked()
    page.get_by_role("button", name="Fetch changes").last.click()
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody tr").nth(0)).to_contain_text("modified")
    expect(page.locator("tbody tr").nth(1)).to_contain_text("deleted")
    expect(page.locator(".told")).to_contain_text("2 changes after it")
    expect(page.locator(".told")).to_contain_text("valid")


def test_a_whole_zone_comes_page_by_page_each_record_once(open_page):
    page = open_page(CHAT + "/changes?zone=Family&limit=200")
    names, positions = [], []
    while True:
        names += page.locator("tbody th.name a").all_inner_texts()
        positions += [int(text.replace(",", "")) for text in page.locator("tbody td:first-child").all_inner_texts()]
        if not page.get_by_role("link", name="Next page").count():
            break
        page.get_by_role("link", name="Next page").click()
        page.wait_for_load_state()
    assert len(names) == len(set(names)) > 600
    assert positions == sorted(positions)


def test_a_child_before_its_parent_is_marked_and_explained(open_page):
    page = open_page(CHAT + "/changes?zone=Chats")
    mark = page.get_by_role("link", name="parent comes later").first
    expect(mark).to_have_attribute("title", re.compile(r"^Room/general, its parent, was saved again later, at position [0-9,]+, further down the feed"))
    expect(page.locator(".aside")).to_contain_text("real order of commits")


def test_zones_since_a_database_token(open_page, server):
    container = "iCloud.com.example.Zones"
    there = f"/c/{container}/development/private"
    server.save(container, "Kept", {"recordType": "Note", "fields": {}})
    server.save(container, "Lost", {"recordType": "Note", "fields": {}})
    page = open_page(there + "/changes")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Fetch changes since this token").click()
    expect(page.get_by_text("No zone has changed since the token.")).to_be_visible()
    again = page.url
    page.goto(there + "/zone?zone=Lost")
    choose(page, "Purge…")
    page.get_by_role("button", name="Purge the zone").click()
    expect(page.get_by_role("status")).to_contain_text("purged")
    page.goto(again)
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("purged")
    expect(page.locator("tbody tr")).to_contain_text("don't upload it again")


@pytest.mark.parametrize(
    ("path", "reason"),
    [(CHAT.replace("private", "public") + "/changes", "The public database has no changes feed"), (CHAT + "/changes?zone=_defaultZone", "The default zone has no changes feed")],
)
def test_where_there_is_no_feed_the_page_says_why(open_page, path, reason):
    page = open_page(path)
    expect(page.locator("main")).to_contain_text(reason)
    page.locator("main").get_by_role("link", name="Query").last.click()
    expect(page).to_have_title(title("Query · " + ("Announcement" if "public" in path else "Setting")))


def test_bad_tokens_get_the_errors_of_the_api_and_advice(open_page):
    page = open_page(CHAT + "/changes?zone=Chats")
    token = page.locator(".newtoken a").inner_text()
    for zone, text in [("Chats", "garbage"), ("Chats", token[: len(token) // 2]), ("Family", token)]:
        page.goto(f"{CHAT}/changes?zone={zone}&since=1&token={text}")
        expect(page.get_by_role("alert")).to_contain_text("Unknown sync continuation type")
        expect(page.get_by_role("alert")).to_contain_text("pull without a token")


def test_a_token_is_explained(open_page):
    page = open_page(CHAT + "/changes?zone=Chats")
    token = page.locator(".newtoken a").inner_text()
    unfold(page)
    page.get_by_label("Change token").fill(token)
    page.get_by_role("button", name="Explain token").click()
    expect(page.get_by_text("This token is valid")).to_be_visible()
    expect(page.locator("main")).to_contain_text("the first pull stopped between pages (moreComing was true)")
    page.get_by_role("link", name="Fetch changes since this token").click()
    expect(page).to_have_title(title("Changes · Chats"))
    expect(page.locator("tbody tr")).to_have_count(100)


def test_an_expired_token_says_what_a_client_does(open_page, server):
    container = "iCloud.com.example.Expired"
    there = f"/c/{container}/development/private"
    server.save(container, "Notes", {"recordType": "Note", "fields": {}})
    page = open_page(there + "/changes?zone=Notes")
    token = page.locator(".newtoken a").inner_text()
    page.goto(there + "/zone?zone=Notes")
    choose(page, "Delete…")
    page.get_by_role("button", name="Delete the zone").click()
    server.save(container, "Notes", {"recordType": "Note", "fields": {}})
    page.goto(f"{there}/changes?zone=Notes&since=1&token={token}")
    expect(page.get_by_role("alert")).to_contain_text("client knowledge differs from server knowledge")
    expect(page.get_by_role("alert")).to_contain_text("delete local records that were not returned")
    page.goto(f"{there}/token?token={token}")
    expect(page.get_by_text("This token has expired")).to_be_visible()


def test_a_zone_is_shared_seen_and_taken_away(open_page, server):
    container = "iCloud.com.example.FollowedShare"
    there = f"/c/{container}/development/private"
    server.save(container, "Lists", {"recordType": "Note", "recordName": "milk", "fields": {}})
    page = open_page(there + "/zone?zone=Lists", java_script_enabled=False)
    page.get_by_label("Share with").select_option("grace")
    page.get_by_label("Permission").select_option("READ_WRITE")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("status")).to_contain_text("The zone is shared")
    page.get_by_role("link", name="Act as Grace").click()
    where = page.get_by_label("Where you are")
    for text in ["shared", "Grace", "Lists"]:
        expect(where).to_contain_text(text)
    expect(page.locator("tbody th.name").get_by_text("milk", exact=True)).to_be_visible()
    page.goto(there + "/zone?zone=Lists")
    page.get_by_role("link", name="Stop sharing…").click()
    page.get_by_role("button", name="Stop sharing").click()
    expect(page.get_by_role("status")).to_contain_text("no longer shared")
    page.goto(there.replace("private", "shared") + "/zones?user=grace")
    expect(page.get_by_role("region", name="Zones of the database")).to_have_count(0)
    expect(page.get_by_role("region", name="Deleted zones").locator("tbody tr")).to_contain_text("no longer shared")


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
