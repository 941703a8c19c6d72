"""Checks that a page is accessible, fits and leads on, in both themes and at each width."""

import itertools
import os

from axe import problems
from chance import some
from pictures import keep

# The names of ways to read that can't be pressed at their beginning, middle and end, because they are not there, outside of the window or covered.
OUT_OF_REACH = """names => {
  const links = [...document.querySelectorAll('[aria-label="Ways to read records"] a')]
  return names.filter(name => {
    const link = links.find(link => link.textContent.trim() === name)
    if (!link) return true
    const { left, right, top, bottom } = link.getBoundingClientRect()
    if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight) return true
    return [left + 3, (left + right) / 2, right - 3].some(x => !link.contains(document.elementFromPoint(x, (top + bottom) / 2)))
  })
}"""


def check_looks(page, widths=(1440, 390), picture: str | None = None, height: int = 860):
    """Axe finds nothing, and nothing overflows. Keeps screenshots under a name: light and wide, dark and narrow. Afterwards the page is light, and as wide
    as before.

    In `make test`, axe looks at one theme in one width.
    """
    page.emulate_media(reduced_motion="reduce")
    before = page.viewport_size
    schemes = ["light", "dark"]
    examined = some(list(itertools.product(widths, schemes)), of=os.environ["PYTEST_CURRENT_TEST"])
    pictured = [(widths[0], "light"), (widths[-1], "dark")] if picture else []
    for width in widths:
        page.set_viewport_size({"width": width, "height": height})
        check_fits(page, width)
        for scheme in schemes:
            if (width, scheme) in examined + pictured:
                page.emulate_media(color_scheme=scheme)
            if (width, scheme) in examined:
                found = problems(page)
                assert not found, f"{page.url}, {scheme}, {width} wide\n{found}"
            if (width, scheme) in pictured:
                keep(page, f"{picture} {scheme} {width}")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(before)


def check_fits(page, width: int):
    """Nothing overflows a window of this width, nor the main part of the page."""
    # A click returns at the first bytes of the page it leads to, and that has no elements yet.
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{page.url}, {width} wide"
    main = "document.querySelector('main')"
    assert page.evaluate(f"{main} ? {main}.scrollWidth - {main}.clientWidth : 0") <= 0, f"{page.url}, {width} wide"


def check_navigation(page):
    """The tabs are at one place, and Query, Fetch and Changes are one click away, wide and narrow."""
    # Below the scope bar, at the edge of the sidebar.
    if page.locator("nav.tabs").count():
        row, bar, side = (page.locator(part).bounding_box() for part in ("nav.tabs", ".scope", ".side"))
        banners = page.locator(".rehearsing, .connected").evaluate_all("them => them.reduce((sum, it) => sum + it.offsetHeight, 0)")
        assert abs(row["x"] - side["width"]) < 1 and abs(row["y"] - bar["height"] - banners) < 1, page.url
    for width in [1440, 390]:
        page.set_viewport_size({"width": width, "height": 760})
        # On a phone, the scope and the ways to read leave the page most of the window.
        assert page.locator(".scope").bounding_box()["height"] <= (60 if width == 1440 else 130), page.url
        assert page.evaluate(OUT_OF_REACH, ["Query", "Fetch", "Changes"]) == [], f"{page.url}, {width} wide"
