"""The forms of Query, Fetch and Changes are chips once they have an answer, so that the answer begins near the top."""

import pytest
from playwright.sync_api import expect

from folding import unfold
from pages import CHAT

ANSWERED = {
    "query": (CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=Room%2Fgeneral&sort1=sentAt&order1=descending", ["room is General", "sorted by sentAt newest first"], "in Chats"),
    "changes": (CHAT + "/changes?zone=Chats", [], "all records, by latest change"),
    "changes of a type": (CHAT + "/changes?zone=Chats&type=Message&order=reverse", ["only Message", "order newest first"], "100 changes, more coming"),
    "fetch": (CHAT + "/fetch?zone=Chats&names=Person%2Fada%0Anobody", ["Person/ada", "nobody"], "in Chats"),
    "fetch in all zones": (CHAT + "/fetch?names=Person%2Fada%0Anobody", ["Person/ada", "nobody"], "in all zones"),
    "zones": (CHAT + "/changes", [], "all zones, by latest change"),
}
@pytest.mark.parametrize("page_name", ANSWERED)
def test_the_answer_begins_in_the_upper_third(look, page_name, record_property):
    path, chips, said = ANSWERED[page_name]
    page = look(path)
    page.set_viewport_size({"width": 1360, "height": 720})
    expect(page.locator(".chip")).to_have_text(chips)
    expect(page.locator(".said")).to_contain_text(said)
    table = page.locator(".answer thead").bounding_box()["y"]
    # The timeline of a zone is above its changes.
    assert table < (300 if page.locator("figure.timeline").count() else 240)
    page.set_viewport_size({"width": 390, "height": 844})
    record = page.locator(".answer tbody tr").first.locator("th")
    expect(record).to_be_in_viewport(ratio=1)
    record_property("figure", f"{table:.0f} px above the table at 1360 × 720, {record.bounding_box()['y']:.0f} px above its first record at 390 × 844: {page_name}")


def test_a_refusal_is_the_answer_and_marks_the_chip_that_needs_an_index(look):
    page = look(CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=Room%2Fgeneral&filter2=author&is2=EQUALS&value2=Person%2Fada")
    expect(page.locator("form.ask button.go")).to_be_hidden()
    expect(page.locator(".chip")).to_have_text(["room is General", "author is Ada Lovelace no index"])
    expect(page.locator("main .go").filter(visible=True)).to_have_text(["Add QUERYABLE to author"])


@pytest.mark.parametrize("size", [(1360, 720), (390, 844)])
def test_the_button_stays_in_reach_of_many_filters(open_page, size):
    filters = "&".join(f"filter{number}=text&is{number}=BEGINS_WITH&value{number}=x" for number in range(1, 21))
    page = open_page(f"{CHAT}/query?type=Message&zone=Chats&{filters}&edit=1", viewport={"width": size[0], "height": size[1]})
    expect(page.get_by_label("Value of filter 20")).to_have_count(1)
    expect(page.get_by_role("button", name="Query", exact=True)).to_be_in_viewport(ratio=1)


def test_a_form_opens_stays_open_while_it_changes_and_folds_when_it_runs(open_page):
    page = open_page(ANSWERED["query"][0])
    button = page.get_by_role("button", name="Query", exact=True)
    expect(page.locator("form.ask button.go")).to_be_hidden()
    page.get_by_text("Edit", exact=True).click()
    page.get_by_role("button", name="+ sort").click()
    expect(page.get_by_label("Field of sort 2")).to_be_visible()
    page.get_by_role("button", name="Remove sort 2").click()
    expect(page.get_by_label("Field of sort 2")).to_have_count(0)
    button.last.click()
    expect(page.locator("form.ask button.go")).to_be_hidden()
    expect(page.locator(".chip")).to_have_text(ANSWERED["query"][1])
    assert "edit=" not in page.url


def test_another_type_leaves_the_form_open(open_page):
    page = open_page(ANSWERED["query"][0])
    unfold(page)
    page.get_by_label("Record type").select_option("Room")
    page.wait_for_url("**type=Room**")
    expect(page.get_by_label("Field of filter 1")).to_be_visible()
    page.get_by_role("button", name="Query", exact=True).last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Room")
    expect(page.locator(".chip")).to_have_count(0)
    assert "edit=" not in page.url


def test_many_filters_scroll_and_the_button_stays_in_reach(look):
    filters = "&".join(f"filter{number}=room&is{number}=EQUALS&value{number}=Room%2Fgeneral" for number in range(1, 21))
    page = look(f"{CHAT}/query?type=Message&zone=Chats&{filters}")
    page.set_viewport_size({"width": 1360, "height": 720})
    unfold(page)
    expect(page.get_by_role("button", name="Query", exact=True).last).to_be_in_viewport(ratio=1)
    expect(page.locator(".foot")).to_be_in_viewport(ratio=1)
    last = page.get_by_label("Value of filter 20")
    last.focus()
    expect(last).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Query", exact=True).last).to_be_in_viewport(ratio=1)
