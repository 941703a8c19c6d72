"""A running server with demo data, and Chromium to look at it with."""

import pytest
from chromium import chromium
from page_server import Server
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="session")
def server():
    server = Server("--demo")
    yield server
    server.stop()


@pytest.fixture
def empty_server():
    server = Server()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def playwright():
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright):
    browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
    yield browser
    browser.close()


@pytest.fixture
def open_page(browser, server):
    """Opens pages in contexts of their own. What a page says to the console, or asks of another site, is an error."""
    contexts = []
    complaints = []

    def open_page(path: str = "/", at=None, **options):
        options.setdefault("viewport", {"width": 1440, "height": 860})
        context = browser.new_context(base_url=(at or server).address, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: None if request.url.startswith((at or server).address) else complaints.append(f"request to {request.url}"),
        )
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
