"""Every kind of page, light and dark, wide and narrow: axe finds nothing, and nothing sticks out."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from conftest import CHAT
from pages import PAGES


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(open_page, name, scheme):
    page = open_page(PAGES[name], color_scheme=scheme)
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_on_a_small_screen(open_page, name):
    page = open_page(PAGES[name], viewport={"width": 390, "height": 844})
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("width", [360, 768, 1440, 2560])
@pytest.mark.parametrize("name", PAGES)
def test_only_tables_scroll_sideways(open_page, name, width):
    page = open_page(PAGES[name], viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth") <= 0


def test_open_menus_are_accessible_and_close(open_page):
    page = open_page(CHAT + "/query")
    container = page.locator("details.at").first
    container.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(container).to_have_attribute("open", "")
    assert Axe().run(page).violations_count == 0
    page.keyboard.press("Escape")
    expect(container).not_to_have_attribute("open", "")
    expect(container.locator("summary")).to_be_focused()
    container.locator("summary").click()
    page.locator(".pick summary").click()
    expect(container).not_to_have_attribute("open", "")
    assert Axe().run(page).violations_count == 0
    page.locator("thead").first.click()
    expect(page.locator(".pick")).not_to_have_attribute("open", "")


def test_everything_is_reached_with_the_keyboard(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=x&sort1=sentAt")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    seen = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"))
    for name in ["Skylight", "Changes", "Record type", "Zone", "Field of filter 1", "Value of filter 1", "Remove filter 1", "Direction of sort 1", "Query"]:
        assert name in seen, name


def test_places_are_switched_without_scripts(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats", java_script_enabled=False)
    for label, choice, in_url in [
        ("zone", "Family", "zone=Family"), ("as", "Ada", "user=ada"), ("database", "public one for all users", "/public/"),
        ("environment", "production schema is fixed", "/production/"), ("container", "iCloud.com.example.Journal", "Journal"),
    ]:
        chip = page.locator("details.at", has=page.locator(f"summary small:text-is('{label}')"))
        chip.locator("summary").click()
        chip.get_by_role("link", name=choice, exact=True).click()
        assert in_url in page.url, page.url
