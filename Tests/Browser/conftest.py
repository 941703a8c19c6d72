"""A running server with demo data, Chromium and WebKit."""

import demo_clients
import pytest
import webkit
from chromium import chromium
from page_server import Server
from playwright.sync_api import expect, sync_playwright
from waiting import PATIENCE

expect.set_options(timeout=1000 * PATIENCE)


def pytest_terminal_summary(terminalreporter):
    """Figures that tests report: counted or measured, and not all asserted."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    figures = [value for report in reports for name, value in report.user_properties if name == "figure"]
    if figures:
        terminalreporter.section("figures")
        for figure in figures:
            terminalreporter.write_line(figure)


def demonstrate():
    server = Server("--demo")
    demo_clients.wait_until_they_have_asked(server.address)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def server():
    """A server with demo data. Tests make containers of their own on it, so that its start page and its menus are long."""
    yield from demonstrate()


@pytest.fixture(scope="session")
def demo():
    """A server with demo data that no test changes."""
    yield from demonstrate()


@pytest.fixture
def empty_server():
    """Tests name servers of their own before `open_page`, so that pages close first."""
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
    browser.on("context", lambda context: context.set_default_timeout(1000 * PATIENCE))
    yield browser
    browser.close()


def listen(page, address: str, complaints: list):
    """Console messages of a page, its requests to other sites and its crash are errors."""
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("crash", lambda: complaints.append("the page crashed"))
    page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: None if request.url.startswith(address) else complaints.append(f"request to {request.url}"))


@pytest.fixture
def open_page(browser, server):
    """Opens pages in their own contexts."""
    contexts = []
    complaints = []

    def open_page(path: str = "/", at=None, **options):
        options.setdefault("viewport", {"width": 1440, "height": 860})
        address = (at or server).address
        context = browser.new_context(base_url=address, **options)
        contexts.append(context)
        page = context.new_page()
        listen(page, address, complaints)
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def webkit_display():
    display = webkit.Display()
    yield display
    display.stop()


@pytest.fixture
def open_webkit_page(webkit_display, server, tmp_path):
    """Opens a page in WebKit."""
    browsers = []

    def open_webkit_page(path: str = "/", at=None, java_script_enabled: bool = True):
        folder = tmp_path / f"webkit-{len(browsers)}"
        folder.mkdir()
        browsers.append(webkit.Browser(webkit_display, folder, (at or server).address, java_script_enabled))
        browsers[-1].page.goto(path)
        return browsers[-1].page

    yield open_webkit_page
    for browser in browsers:
        browser.stop()


@pytest.fixture(scope="session")
def window(browser, demo):
    """A shared page for read-only tests, and its errors. The tests share its cached resources and scripts."""
    context = browser.new_context(base_url=demo.address, reduced_motion="reduce")
    page = context.new_page()
    complaints = []
    listen(page, demo.address, complaints)
    yield page, complaints
    context.close()


@pytest.fixture
def look(window):
    """Opens pages for tests that do not change them."""
    page, complaints = window
    complaints.clear()

    def look(path: str = "/"):
        page.set_viewport_size({"width": 1440, "height": 860})
        page.emulate_media(color_scheme="light")
        page.goto(path)
        return page

    yield look
    assert complaints == []
