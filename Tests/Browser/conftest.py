"""A running server with demo data, Chromium and WebKit."""

import http.server
import threading

import demo_clients
import pytest
import webkit
from chromium import chromium
from page_server import PASSWORD, Server
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


@pytest.fixture(scope="session")
def closed():
    """A server with demo data that requires credentials."""
    server = Server("--demo", "--auth", "required", SKYLIGHT_ADMIN_PASSWORD=PASSWORD)
    yield server
    server.stop()


# An app on a page of another origin: it sends a request, opens the sign-in window it is told, and repeats the request with the window's token.
APP = """<!doctype html><title>App</title><button>Sign in</button><output></output>
<script>
const said = new URLSearchParams(location.search)
addEventListener('message', event => { window.told = { data: event.data, origin: event.origin } })
document.querySelector('button').addEventListener('click', async () => {
  const answer = await fetch(said.get('ask'))
  const { redirectURL } = await answer.json()
  window.status421 = answer.status
  window.open(redirectURL, 'signin', 'popup,width=480,height=640')
})
</script>"""


@pytest.fixture(scope="session")
def app():
    """The origin of an app's pages: another port, which browsers treat as the same site."""

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(APP.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


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
def new_page(browser, server):
    """Makes pages in their own contexts, also for errors of servers and lines, which a browser logs in its console."""
    contexts = []

    def new_page(at=None, **options):
        options.setdefault("viewport", {"width": 1440, "height": 860})
        contexts.append(browser.new_context(base_url=(at or server).address, **options))
        return contexts[-1].new_page()

    yield new_page
    for context in contexts:
        context.close()


@pytest.fixture
def open_page(new_page, server):
    """Opens pages in their own contexts. What the browser logs in its console is an error."""
    complaints = []

    def open_page(path: str = "/", at=None, **options):
        page = new_page(at, **options)
        listen(page, (at or server).address, complaints)
        page.goto(path)
        # The scripts of single pages come after the page is loaded, and this button after the last of them.
        if options.get("java_script_enabled", True):
            expect(page.locator("[data-shortcuts-open][hidden]")).to_have_count(0)
        return page

    yield open_page
    assert complaints == []


@pytest.fixture
def container(request):
    """The name of a container for one test."""
    name = request.node.path.stem.removeprefix("test_") + request.node.name
    return "iCloud.com.example." + "".join(filter(str.isalnum, name))


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
