"""Counting the values of a field, and filtering by them."""

import pytest
from playwright.sync_api import expect

from folding import unfold
from pages import CHAT


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_values_are_counted_and_narrow_the_query(open_page, scripts):
    page = open_page(CHAT + "/query?type=Message&zone=Chats", java_script_enabled=scripts)
    unfold(page)
    page.get_by_label("and count the values of").select_option("room")
    if not scripts:
        page.get_by_role("button", name="Query", exact=True).last.click()
    values = page.get_by_role("region", name="Values of room")
    expect(values).to_contain_text("values in")
    first = values.locator("li").first
    count = first.locator("b").inner_text()
    name = first.get_by_role("link").inner_text()
    first.get_by_role("link").click()
    expect(page.get_by_label("Value of filter 1")).to_have_value(name)
    expect(values).to_contain_text(f"1 value in {count} records")
    expect(values.locator(".chosen")).to_have_text(name)
