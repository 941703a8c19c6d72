"""A running server with demo data, and Chromium to look at it with."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import urllib.request

import pytest
from playwright.sync_api import sync_playwright

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


def binary() -> str:
    """The server to test, named by SKYLIGHT_BIN."""
    path = os.environ.get("SKYLIGHT_BIN", str(PACKAGE / ".build/debug/skylight"))
    if not os.access(path, os.X_OK):
        pytest.exit(f"There is no binary at {path}: run 'make test', or 'swift build' first", returncode=2)
    return path


def chromium() -> str:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        pytest.exit("There is no Chromium: run 'make test', or install the package chromium", returncode=2)
    return path


class Server:
    """A server that keeps nothing."""

    def __init__(self, *arguments: str):
        # Another folder than the package: pages and files are in the binary.
        self.process = subprocess.Popen(
            [binary(), "serve", "--ephemeral", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True, cwd="/"
        )
        line = self.process.stdout.readline()
        assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
        self.address = line.split()[-1]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=20) == 0, "The server did not end as it should"

    def ask(self, path: str, body: dict) -> dict:
        """A request to the web services."""
        request = urllib.request.Request(
            self.address + "/database/1" + path, data=json.dumps(body).encode(), headers={"Content-Type": "text/plain"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def save(self, container: str, zone: str, *records: dict) -> list:
        """Saves records in a custom zone of the developer's private database, which is made if need be."""
        path = f"/{container}/development/private"
        self.ask(path + "/zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}]})
        operations = [{"operationType": "forceReplace", "record": record} for record in records]
        answer = self.ask(path + "/records/modify", {"zoneID": {"zoneName": zone}, "operations": operations})
        assert all("serverErrorCode" not in record for record in answer["records"]), answer
        return answer["records"]


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
def browser():
    with sync_playwright() as playwright:
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
