"""Typing into a query form while the server prepares the next one loses no letter."""

import re

import pytest
from playwright.sync_api import expect

from pages import CHAT

QUESTION = CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=&filter2=sentAt&is2=GREATER_THAN&value2=&filter3=text&is3=BEGINS_WITH&value3="


@pytest.fixture
def slow(open_page):
    """A page whose next form is delayed, and the function that releases it."""
    page = open_page(QUESTION)
    page.wait_for_load_state()
    held, is_open = [], False
    page.route(re.compile("draft=1"), lambda route: route.continue_() if is_open else held.append(route))

    def let_through():
        nonlocal is_open
        is_open = True
        for route in held:
            route.continue_()

    return page, let_through


def type_into(page, label: str, text: str):
    page.get_by_label(label).focus()
    page.keyboard.type(text)


def test_letters_typed_meanwhile_stay_and_so_does_the_cursor(slow):
    page, let_through = slow
    with page.expect_request(re.compile("draft=1")):
        page.get_by_label("Field of sort 1").select_option("sentAt")
    type_into(page, "Value of filter 1", "Room/gal")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    let_through()
    expect(page.get_by_label("Direction of sort 1")).to_be_visible()
    expect(page.get_by_label("Value of filter 1")).to_be_focused()
    # Typing goes on where it was, and the text beside the form says all of it.
    page.keyboard.type("ener")
    expect(page.get_by_label("Value of filter 1")).to_have_value("Room/general")
    page.keyboard.press("Tab")
    expect(page.get_by_label("as text")).to_have_value(re.compile(r"room = Room/general\b"))


def test_rows_that_move_up_keep_what_is_typed_into_them(slow):
    page, let_through = slow
    with page.expect_request(re.compile("draft=1")):
        page.get_by_role("button", name="Remove filter 1").click()
    type_into(page, "Value of filter 1", "goes with its row")
    type_into(page, "Value of filter 3", "Hel")
    let_through()
    expect(page.get_by_label("Field of filter 3")).to_have_count(0)
    expect(page.get_by_label("Field of filter 1")).to_have_value("sentAt")
    expect(page.get_by_label("Value of filter 1")).to_have_value("")
    expect(page.get_by_label("Value of filter 2")).to_be_focused()
    page.keyboard.type("lo")
    expect(page.get_by_label("Value of filter 2")).to_have_value("Hello")


def test_a_text_that_is_being_written_stays(slow):
    page, let_through = slow
    with page.expect_request(re.compile("draft=1")):
        page.get_by_role("button", name="+ filter").click()
    page.get_by_label("as text").fill("room = Room/gener")
    let_through()
    expect(page.get_by_label("Field of filter 4")).to_be_visible()
    expect(page.get_by_label("as text")).to_be_focused()
    page.keyboard.type("al")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("value1=Room(/|%2F)general"))


def test_who_went_elsewhere_is_left_there(slow):
    page, let_through = slow
    with page.expect_request(re.compile("draft=1")):
        page.get_by_role("button", name="+ filter").click()
    page.get_by_role("searchbox").focus()
    let_through()
    expect(page.get_by_label("Field of filter 4")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_the_request_for_a_value_ends_with_the_first_letter(open_page):
    page = open_page(QUESTION)
    missing = page.locator(".clauses > .row").first.get_by_text("enter a value to use this filter")
    expect(missing).to_be_visible()
    page.get_by_label("Value of filter 1").fill("R")
    expect(missing).to_be_hidden()
