"""The text form of a query stays in step with its form."""

from playwright.sync_api import expect

from folding import unfold
from pages import CHAT
from rows import names


def test_form_and_text_are_in_step(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats")
    unfold(page)
    text = page.get_by_label("as text")
    text.fill("room = Room/general and sentAt > 2020-01-01 sort by sentAt descending")
    text.press("Enter")
    expect(page.get_by_label("Field of filter 2")).to_have_value("sentAt")
    expect(page.get_by_label("Value of filter 1")).to_have_value("Room/general")
    expect(page.get_by_label("Direction of sort 1")).to_have_value("descending")
    assert "where" not in page.url
    shown = names(page)
    assert shown
    unfold(page)
    page.get_by_label("Value of filter 1").fill("Room/random walk")
    page.get_by_role("button", name="Query", exact=True).last.click()
    expect(page.get_by_label("as text")).to_have_value('room = "Room/random walk" and sentAt > 2020-01-01 sort by sentAt descending')
    page.go_back()
    assert names(page) == shown


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


def test_what_cannot_be_read_is_pointed_at(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats")
    unfold(page)
    page.get_by_label("as text").fill("room = Room/general or sentAt > 2020-01-01")
    page.get_by_role("button", name="Use the text").click()
    problem = page.get_by_role("alert")
    expect(problem).to_contain_text("At character 21: CloudKit has no OR.")
    expect(problem.locator("mark")).to_have_text("or")
    expect(page.get_by_label("as text")).to_have_value("room = Room/general or sentAt > 2020-01-01")
    expect(page.locator(".foot")).to_contain_text("Not run")
