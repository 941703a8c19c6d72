"""Counting the values of a field, and filtering by them."""

from playwright.sync_api import expect

from folding import unfold
from pages import CHAT


def test_values_are_counted_and_narrow_the_query(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats")
    unfold(page)
    page.get_by_label("and count the values of").select_option("room")
    values = page.get_by_role("region", name="Values of room")
    expect(values).to_contain_text("values in")
    first = values.locator("li").first
    count = first.locator("b").inner_text()
    link = first.get_by_role("link")
    name, shown = link.locator("small").inner_text(), link.inner_text()
    link.click()
    expect(page.get_by_label("Value of filter 1")).to_have_value(name)
    expect(values).to_contain_text(f"1 value in {count} records")
    expect(values.locator(".chosen")).to_have_text(shown)


def test_places_are_drawn_and_lead_to_their_records(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&limit=200")
    page.get_by_role("link", name="Map of place").click()
    drawn = page.get_by_role("region", name="Map of place", exact=True)
    expect(drawn).to_contain_text("of 200 records on this page have a place")
    marks = drawn.locator("svg a")
    expect(marks.first).to_be_visible()
    # A mark of several places narrows the query to them, until each has its own mark or the places are the same.
    several = marks.filter(has=page.locator("text"))
    if several.count():
        # Later marks lie above earlier ones.
        several.last.click()
        expect(drawn).to_be_visible()
        expect(page.locator("tbody tr").first).to_be_visible()
    page.get_by_role("link", name="Stop drawing the places of place").click()
    expect(drawn).to_have_count(0)
