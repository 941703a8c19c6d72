"""Menus and dialogs on every kind of page: a press inside keeps them open and does what it says; a press outside, Escape and Tab close them."""

import re
import urllib.request

import pytest
from playwright.sync_api import expect

from folding import unfold
from pages import CHAT, PAGES

# What opens over a page, and how it is opened. A popover is the menu of a cell.
KINDS = {
    "details:has(> .menu)": lambda page, menu: menu.locator("summary").click(),
    "[popover]:not(.side)": lambda page, menu: page.locator("tbody td").first.click(position={"x": 2, "y": 4}),
    "dialog": lambda page, menu: menu.evaluate("dialog => dialog.showModal()"),
}

# The parts of a page that are menus, or that scripts add menus to.
PARTS = re.compile(r"<(?:details|dialog|footer)\b[^>]*\bclass=\"[^\"]*\"|<table\b[^>]*\bdata-[a-z-]+")

# The kinds of elements in each menu.
SHAPES = """menus => menus.map(menu =>
  [...new Set([menu, ...menu.querySelectorAll('*')].map(part => `${part.localName} ${part.className}`))].join(', '))"""

# A point on each kind of text and box in a menu, and on its padding. Links and buttons lead elsewhere.
POINTS = """menu => {
  const area = menu.querySelector(':scope > .menu') ?? menu
  const { left, right, top, bottom } = area.getBoundingClientRect()
  // Not at the corners, which are round.
  const points = { 'padding, left': [left + 3, (top + bottom) / 2], 'padding, bottom': [(left + right) / 2, bottom - 3] }
  for (const [name, point] of Object.entries(points)) if (document.elementFromPoint(...point)?.closest('a, button')) delete points[name]
  for (const part of area.querySelectorAll(':not(a, a *, button, button *)')) {
    const text = [...part.childNodes].find(node => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== '')
    if (!text && part.localName !== 'input') continue
    const range = document.createRange()
    if (text) range.selectNodeContents(text)
    const { x, y, width, height } = (text ? range : part).getBoundingClientRect()
    const point = [x + Math.min(width / 2, 20), y + height / 2]
    if (width > 0 && document.elementFromPoint(...point) === part) points[`${part.parentElement.localName} > ${part.localName}`] = point
  }
  return points
}"""

# If the box is ticked that is at a point, or whose label is; null where no box is.
TICKED = """([x, y]) => {
  const at = document.elementFromPoint(x, y)
  const box = at.closest('label')?.control ?? at
  return box.type === 'checkbox' ? box.checked : null
}"""

# A point where a press does nothing else. It is on the backdrop of an open dialog.
OUTSIDE = """menu => {
  for (let y = innerHeight - 3; y > 0; y -= 20) {
    for (let x = 3; x < innerWidth; x += 20) {
      const at = document.elementFromPoint(x, y)
      if (at === menu || !menu.contains(at) && at.matches('html, body, main, nav, section')) return [x, y]
    }
  }
}"""

FOCUS_LAST = "menu => [...menu.querySelectorAll('a, button, input')].filter(control => control.offsetParent).at(-1).focus()"

OPEN = "menu => menu.matches(':is([open], :popover-open)')"


def press(page, point, release=None):
    page.mouse.move(*point)
    page.mouse.down()
    if release:
        page.mouse.move(*release, steps=2)
    page.mouse.up()


@pytest.fixture(scope="module")
def addresses(server):
    """Of pages that have all kinds of menus between them."""
    seen, addresses = set(), []
    for address in PAGES.values():
        with urllib.request.urlopen(server.address + address.split("#")[0], timeout=60) as answer:
            parts = set(PARTS.findall(answer.read().decode()))
        if not parts <= seen:
            seen |= parts
            addresses.append(address)
    return addresses


def test_a_press_inside_keeps_a_menu_open_and_one_outside_closes_it(addresses, open_page):
    page = open_page()
    seen, ticked = set(), set()
    for address in addresses:
        page.goto(address)
        # Forms with menus are folded.
        page.locator("details:not(:has(> .menu))").evaluate_all("folds => folds.forEach(fold => { fold.open = true })")
        for kind, open_menu in KINDS.items():
            for index, shape in enumerate(page.locator(kind).evaluate_all(SHAPES)):
                if shape in seen:
                    continue
                seen.add(shape)
                menu = page.locator(kind).nth(index)
                name = f"{shape} of {address}"
                open_menu(page, menu)
                assert menu.evaluate(OPEN), name
                for part, point in menu.evaluate(POINTS).items():
                    was_ticked = page.evaluate(TICKED, point)
                    press(page, point)
                    assert menu.evaluate(OPEN), f"{part}: {name}"
                    if was_ticked is not None:
                        assert page.evaluate(TICKED, point) != was_ticked, f"{part}: {name}"
                        ticked.add(part)
                outside = menu.evaluate(OUTSIDE)
                # A text is selected beyond the menu. This scrolls a table, and then the menu of a cell is no longer at its cell.
                if kind != "[popover]:not(.side)":
                    press(page, point, release=outside)
                    assert menu.evaluate(OPEN), f"selected beyond: {name}"
                press(page, outside)
                assert not menu.evaluate(OPEN), f"pressed outside: {name}"
                open_menu(page, menu)
                page.keyboard.press("Escape")
                assert not menu.evaluate(OPEN), f"Escape: {name}"
                # The focus stays in a dialog.
                if kind != "dialog":
                    open_menu(page, menu)
                    menu.evaluate(FOCUS_LAST)
                    assert menu.evaluate(OPEN), name
                    page.keyboard.press("Tab")
                    assert not menu.evaluate(OPEN), f"Tab: {name}"
    assert {"fieldset > label", "label > input", "p > label"} <= ticked


def test_a_finger_ticks_a_box_by_its_label(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats", has_touch=True)
    unfold(page)
    menu = page.locator(".pick").filter(has=page.locator("summary", has_text="all fields"))
    menu.locator("summary").tap()
    menu.locator("legend").tap()
    menu.get_by_text("system fields only").tap()
    expect(menu).to_have_attribute("open", "")
    expect(menu.get_by_label("system fields only")).to_be_checked()
    page.get_by_role("main").tap(position={"x": 3, "y": 3})
    expect(menu).not_to_have_attribute("open", "")
