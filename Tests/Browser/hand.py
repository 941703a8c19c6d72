"""A user's hand: it points and types, and counts the clicks."""

import pathlib

from playwright.sync_api import Page

import webkit
from webkit import expect

# A click counts when the button of the mouse goes down, because the page may be gone when it goes up. Keys make no such event.
COUNTER = "addEventListener('pointerdown', event => { if (event.isTrusted) countClick() }, true)"


class Hand:
    """The hand of a user on a page of Chromium or WebKit, which may have no scripts. The clicks are counted only if it has scripts."""

    def __init__(self, page: Page | webkit.Page, has_scripts: bool):
        self.page, self.has_scripts, self.clicks = page, has_scripts, 0
        if isinstance(page, webkit.Page):
            page.on_click = self._count
        elif has_scripts:
            page.context.expose_function("countClick", self._count)
            page.context.add_init_script(COUNTER)

    def _count(self):
        self.clicks += 1

    def go(self, path: str):
        """Opens the page on which a task begins."""
        self.page.goto(path)
        self._wait()

    def find(self, text: str):
        """Types into the search box, and opens the first result. Its key is named beside it."""
        here = self.page.url
        if not self.has_scripts:
            self.page.get_by_role("searchbox").fill(text)
            self.page.keyboard.press("Enter")
            self.page.wait_for_url(lambda url: url != here)
            # The page lists several results, and one that is meant opens at once.
            if "/find?" in self.page.url:
                self.page.locator("main .hits a").first.click()
            return
        self._wait()
        self.page.keyboard.press("/")
        palette = self.page.get_by_role("dialog", name="Find")
        palette.get_by_role("searchbox").press_sequentially(text)
        # The results of a part of the text come before.
        expect(palette.locator(".hits")).to_have_attribute("data-text", text)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda url: url != here)

    def link(self, name: str):
        self.page.get_by_role("link", name=name, exact=True).first.click()

    def section(self, name: str):
        """Opens an entry of the sidebar, or one of the ways to read records. A state, such as a count, is part of its name."""
        area = "Ways to read records" if name in ("Query", "Fetch", "Changes") else "Pages"
        self.page.get_by_label(area, exact=True).get_by_role("link", name=name).click()

    def button(self, name: str):
        self.page.get_by_role("button", name=name, exact=True).last.click()

    def choose(self, label: str, file: pathlib.Path):
        """Chooses a file for a field, which is clicked."""
        field = self.page.get_by_label(label, exact=True)
        if isinstance(self.page, webkit.Page):
            # A driver names the file instead of clicking: there is no window for files.
            field.set_input_files(file)
            self._count()
            return
        with self.page.expect_file_chooser() as chooser:
            field.click()
        chooser.value.set_files(file)

    def type(self, text: str):
        """Types into the focused field."""
        self.page.keyboard.type(text)

    def press(self, key: str):
        self.page.keyboard.press(key)

    def _wait(self):
        """Until the scripts run: a key that is pressed before has no effect."""
        if self.has_scripts:
            expect(self.page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
