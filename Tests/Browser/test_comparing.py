"""The comparison of two records, and the selection on the tab Fetch that leads there."""

import urllib.request
from urllib.parse import quote

from playwright.sync_api import expect

from axe import problems
from pages import CHAT
from rows import notes


def suggest(page, typed: str, name: str):
    """Types a part of a name, and waits for the answer to it: the one to an empty box can have the same names."""
    box = page.get_by_label("with", exact=True)
    with page.expect_response(lambda answer: answer.url.endswith(f"&q={quote(typed, safe='')}")):
        box.fill(typed)
    options = page.locator("#names-of-other option")
    expect(options.first).to_have_attribute("value", name)
    return box, options


def test_two_ticked_records_are_compared(open_page):
    page = open_page(CHAT + "/fetch?zone=Chats&names=Person%2Fada%0ARoom%2Fgeneral%0APerson%2Fgrace%0Anobody")
    bar = page.locator("[data-picking]")
    page.get_by_label("Pick Person/ada").check()
    expect(bar.get_by_role("button", name="Compare")).to_be_disabled()
    page.get_by_label("Pick Person/grace").check()
    bar.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Ada Lovelace Person/ada and Grace Hopper Person/grace")
    expect(page.locator(".compared tr.unlike").first).to_contain_text("differs")
    assert not problems(page)


def test_a_record_is_found_to_compare_with(open_page):
    page = open_page(CHAT + "/record?zone=Chats&name=Room%2Fgeneral")
    page.get_by_role("link", name="Compare with…").click()
    box, options = suggest(page, "Person/", "Person/ada")
    page.clock.install()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    # Names of this database do not exist in the other one.
    place = page.locator("select[data-names-place][name=environment]")
    place.select_option("production")
    box.fill("Person/a")
    page.clock.run_for(1000)
    expect(options).to_have_count(0)
    assert asked == []
    place.select_option("development")
    box.fill("Person/")
    expect(options.first).to_have_attribute("value", "Person/ada")


def test_names_are_not_suggested_from_the_database_of_another_user(empty_server, open_page):
    container = "iCloud.com.example.Many"
    notes(empty_server, container)
    # With this many users, the user is typed instead of selected.
    for number in range(55):
        request = urllib.request.Request(
            f"{empty_server.address}/database/1/{container}/development/private/zones/list", headers={"X-Skylight-User": f"user-{number}"}
        )
        urllib.request.urlopen(request, timeout=60).close()
    page = open_page(f"/c/{container}/development/private/record/compare?zone=Notes&name=note0", at=empty_server)
    box, options = suggest(page, "note", "note0")
    user = page.locator("input[data-names-place]")
    own = user.input_value()
    page.clock.install()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    user.fill("user-7")
    box.fill("not")
    page.clock.run_for(1000)
    expect(options).to_have_count(0)
    assert asked == []
    user.fill(own)
    box.fill("note")
    expect(options.first).to_have_attribute("value", "note0")
