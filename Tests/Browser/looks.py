"""Checks that a page is accessible and fits, in both themes and at each width."""

from axe import problems
from pictures import keep


def check_looks(page, widths=(1440, 390), picture: str | None = None, height: int = 860, light: int | None = None):
    """Axe finds nothing, and nothing overflows. Keeps screenshots under a name: light and wide, dark and narrow.

    With an index of a width, axe looks at the light theme in that width and at the dark theme in the others, which takes two thirds of the time.
    """
    page.emulate_media(reduced_motion="reduce")
    for index, width in enumerate(widths):
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ["light", "dark"]:
            page.emulate_media(color_scheme=scheme)
            if light is None or (scheme == "light") == (index == light):
                found = problems(page, colours_alone=scheme == "dark" and light is None)
                assert not found, f"{page.url}, {scheme}, {width} wide\n{found}"
            if picture and (scheme, width) in [("light", widths[0]), ("dark", widths[-1])]:
                keep(page, f"{picture} {scheme} {width}")
        check_fits(page, width)


def check_fits(page, width: int):
    """Nothing overflows a window of this width, nor the main part of the page."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{page.url}, {width} wide"
    main = "document.querySelector('main')"
    assert page.evaluate(f"{main} ? {main}.scrollWidth - {main}.clientWidth : 0") <= 0, f"{page.url}, {width} wide"
