"""The form of the tab Query, which changes without loading the page, its text, and the heads of its table."""

import re

from playwright.sync_api import expect

from folding import unfold
from pages import CHAT


def test_rows_come_and_go_without_loading_the_page(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats")
    unfold(page)
    page.evaluate("window.isSamePage = true")
    page.get_by_label("Field of filter 1").select_option("room")
    page.get_by_label("Value of filter 1").fill("Room/general")
    page.get_by_role("button", name="+ filter").click()
    page.get_by_label("Field of filter 2").select_option("sentAt")
    expect(page.get_by_label("Comparison of filter 2")).to_have_value("GREATER_THAN")
    expect(page.get_by_label("Value of filter 1")).to_have_value("Room/general")
    page.get_by_label("Value of filter 2").fill("2024-01-01")
    page.get_by_label("Field of sort 1").select_option("sentAt")
    page.get_by_label("Direction of sort 1").select_option("descending")
    assert page.evaluate("window.isSamePage") is True
    # Enter in a field runs the query rather than the first button of the form.
    page.get_by_label("Value of filter 2").press("Enter")
    expect(page.locator("thead th").filter(has_text="sentAt")).to_contain_text("↓")
    assert "filter2=sentAt" in page.url
    rooms = page.locator("tbody td a[href*='Room']").evaluate_all("links => links.map(link => new URL(link.href).searchParams.get('name'))")
    assert set(rooms) == {"Room/general"}
    unfold(page)
    page.get_by_role("button", name="Remove filter 1").click()
    expect(page.get_by_label("Field of filter 1")).to_have_value("sentAt")
    expect(page.get_by_label("Field of filter 2")).to_have_count(0)


def test_a_click_beside_the_text_of_a_head_sorts_too(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats")
    page.get_by_label("Select all records of this page").check()
    expect(page).not_to_have_url(re.compile("sort1"))
    # The type of the field is in the middle of the head.
    page.locator("thead th", has_text="sentAt").click()
    expect(page).to_have_url(re.compile("sort1=sentAt"))


def test_the_text_follows_the_form_as_it_changes(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&edit=1")
    page.get_by_label("Field of filter 1").select_option("room")
    page.get_by_label("Value of filter 1").fill("x y")
    page.get_by_label("Value of filter 1").press("Tab")
    expect(page.get_by_label("as text")).to_have_value('room = "x y"')
    page.get_by_role("button", name="+ filter").click()
    page.get_by_label("Field of filter 2").select_option("sentAt")
    # The form is replaced by one with the comparators of the field.
    expect(page.get_by_label("Comparison of filter 2")).to_have_value("GREATER_THAN")
    page.get_by_label("Value of filter 2").fill("2026-01-01")
    page.get_by_label("Field of sort 1").select_option("sentAt")
    expect(page.get_by_label("as text")).to_have_value('room = "x y" and sentAt > 2026-01-01 sort by sentAt')


def test_a_choice_counts_the_values_of_a_field(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&edit=1")
    page.get_by_label("and count the values of").select_option("room")
    expect(page.get_by_role("region", name="Values of room")).to_contain_text("values in")


def test_a_mark_on_the_map_is_pressed(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&limit=200&map=place")
    # A mark of several places narrows the query to them. Later marks lie above earlier ones.
    marks = page.get_by_role("region", name="Map of place", exact=True).locator("svg a")
    marks.filter(has=page.locator("text")).last.click()
    page.wait_for_url("**is1=NEAR**")


def test_rows_are_marked_until_the_changed_form_is_sent(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=Room%2Fgeneral")
    unfold(page)
    remark = page.get_by_text("These rows answer the query before your change.")
    page.get_by_label("Value of filter 1").fill("Room/sync")
    expect(remark).to_be_visible()
    page.get_by_label("Value of filter 1").fill("Room/general")
    expect(remark).to_have_count(0)
    page.get_by_role("button", name="+ filter").click()
    page.get_by_label("Field of filter 2").select_option("sentAt")
    expect(remark).to_be_visible()
    page.get_by_role("button", name="Query", exact=True).click()
    expect(remark).to_have_count(0)
