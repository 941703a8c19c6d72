"""The size of a page without data, as transferred, and its loading time."""

import functools
import gzip
import http.client
import re
import time
import urllib.parse

import pytest
from playwright.sync_api import expect

from pages import PAGES

BYTES = 100_000
SECONDS = 0.1
# On a slow or busy machine, this multiple of the start page's time is allowed instead.
START_PAGES = 20
# Pages that read every record, and the additional time they may take.
MEASURING = re.compile(r"usage=1|/(type|field)/remove\?|dry=1|facet=")
TIMES = 10
# Smaller answers are not compressed.
SMALL = 1024


def get(server, path: str) -> tuple[bytes, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.address).netloc, timeout=60)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == 200, path
    return body, answer


@functools.cache
def static_file(server, path: str) -> tuple[int, list[str]]:
    """The transferred bytes of a file, and its imports."""
    body, answer = get(server, path)
    text = gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body
    assert answer.headers["Content-Encoding"] == "gzip" or len(text) < SMALL, f"{path} is not compressed"
    imports = re.findall(r"^(?:import|export) .*?['\"](\./[^'\"]+)['\"]", text.decode(), re.MULTILINE) if ".js" in path else []
    return len(body), [urllib.parse.urljoin(path, name) for name in imports]


def seconds(server, path: str) -> float:
    started = time.perf_counter()
    get(server, path)
    return time.perf_counter() - started


def static_weight(server, page: str) -> int:
    waiting = re.findall(r'<(?:script|link)\b[^>]*(?:src|href)="(/static/[^"]+)"', page)
    assert any(".css" in path for path in waiting) and any("skylight.js" in path for path in waiting)
    seen: dict[str, int] = {}
    while waiting:
        path = waiting.pop()
        name = urllib.parse.urlsplit(path).path
        if name not in seen:
            seen[name], imports = static_file(server, path)
            waiting += imports
    assert len(seen) > 10, "the modules that are imported count too"
    return sum(seen.values())


# A part of a page comes with the page.
@pytest.mark.parametrize("name", [name for name, path in PAGES.items() if "#" not in path])
def test_a_page_is_small_and_soon_there(demo, name):
    path = PAGES[name]
    body, answer = get(demo, path)
    assert answer.headers["Content-Encoding"] == "gzip"
    page = gzip.decompress(body).decode()
    before_data = re.sub(r"<tbody\b.*?</tbody>|<pre.*?</pre>|<ul class=\"tree.*</ul>", "", page, flags=re.DOTALL)
    assert len(gzip.compress(before_data.encode())) + static_weight(demo, page) < BYTES
    times = TIMES if MEASURING.search(path) else 1
    best, start = seconds(demo, path), SECONDS / START_PAGES
    for _ in range(10):
        if best < times * max(SECONDS, START_PAGES * start):
            return
        start = seconds(demo, "/")
        best = min(best, seconds(demo, path))
    pytest.fail(f"{best * 1000:.0f} ms, and the start page {start * 1000:.0f} ms")


def test_a_warm_page_asks_for_itself_alone(open_page, demo, record_property):
    """The scripts, the style sheet and the icon come from the browser's cache, also those that scripts import."""
    page = open_page(PAGES["query"], at=demo)
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    page.goto(PAGES["types"])
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    loaded = page.evaluate("performance.getEntriesByType('resource').map(entry => [entry.name, entry.transferSize])")
    assert len([name for name, _ in loaded if name.endswith(".js")]) > 10
    asked = [name for name, size in loaded if size > 0]
    record_property("figure", f"{1 + len(asked)} requests for a page whose scripts are known")
    assert asked == []
