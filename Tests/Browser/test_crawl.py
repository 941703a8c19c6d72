"""Every linked page works without scripts, is small, and has no inline code. How long the slowest one takes is reported.

`make test` visits less than half of the kinds of pages, and `make test-long` all: those of other databases are told apart by their page alone, and two
servers are asked for a few of each page.
"""

import collections
import html
import http.client
import itertools
import re
import urllib.parse

from chance import IS_LONG, times
import pytest

from page_server import Server
from postgresql import PostgreSQL, programs

# Pages that only differ in their subject (record, token) are one kind. This many of each kind are visited.
EACH = times(2)
# So many of each page are visited on two servers.
MOST_OF_TWO = float("inf") if IS_LONG else 6
BYTES_BEFORE_DATA = 100_000
# What one server has in its log: a request, or the state that a client has.
IN_ONE_LOG = re.compile(r"/requests\?(.*&)?id=|[?&]asOf=client-")
# A start tag with its name. Values of attributes may have any character but their quotation mark. The parser of Python's library takes five times as long.
TAG = re.compile(r"""<([a-z][a-z0-9-]*)([^>"']*(?:(?:"[^"]*"|'[^']*')[^>"']*)*)>""", re.IGNORECASE)
ATTRIBUTE = re.compile(r"""([^\s"'=/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"']+))?""")
# Where this is not found, no attribute can have such a name.
INLINE = re.compile(r"""[\s"'/](?:style|on)""", re.IGNORECASE)


def read(text: str) -> tuple[list, list]:
    """The links of a page, and what stands inline in it."""
    links, faults = [], []
    for match in TAG.finditer(text):
        tag = match[1].lower()
        if tag not in ("a", "link", "script", "style") and not INLINE.search(match[2]):
            continue
        attributes = {name.lower(): html.unescape(value.strip("\"'")) for name, value in ATTRIBUTE.findall(match[2])}
        if tag in ("a", "link") and "href" in attributes:
            links.append(attributes["href"])
        if tag == "script":
            if "src" in attributes:
                links.append(attributes["src"])
            else:
                faults.append("an inline script")
        if tag == "style" or "style" in attributes:
            faults.append("an inline style")
        faults += [f"a handler {name}" for name in attributes if name.startswith("on")]
    return links, faults


def kind(url: str) -> tuple:
    parts = urllib.parse.urlsplit(url)
    if parts.path.startswith("/assets/"):
        return ("/assets", ())
    names = sorted({re.sub(r"\d+$", "", name) for name, _ in urllib.parse.parse_qsl(parts.query, keep_blank_values=True)})
    # Pages of containers are alike; databases differ in their capabilities.
    _, _, page = parts.path.removeprefix("/c/").partition("/")
    if not parts.path.startswith("/c/") or not page:
        return parts.path, tuple(names)
    return page, tuple(names) if IS_LONG or page.startswith("development/private/") else ()


@pytest.fixture
def server():
    """A separate server, because other tests leave varying data on the shared one."""
    server = Server("--demo")
    yield server
    server.stop()


@pytest.fixture
def two_servers(tmp_path):
    """Two servers with one database and one data folder."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    database, servers = PostgreSQL(), []
    place = ("--data", str(tmp_path / "data"), "--store", database.address)
    try:
        servers = [Server("--demo", place=place)]
        servers.append(Server(place=place))
        yield servers
        for server in servers:
            server.stop()
    finally:
        for server in servers:
            server.process.kill()
        database.end()


def test_every_page_that_links_lead_to(server, record_property):
    record_property("figure", crawl(server))


def test_every_page_of_two_servers_with_one_database(two_servers, record_property):
    record_property("figure", crawl(*two_servers, most=MOST_OF_TWO))


def crawl(*servers, most=float("inf")) -> str:
    """Visits the pages that links lead to, and says how many they are. The servers take turns, but each has requests of its own."""
    turns = itertools.cycle([http.client.HTTPConnection(urllib.parse.urlsplit(server.address).netloc, timeout=60) for server in servers])
    askers = {}

    def get(path):
        connection = askers.get(path) or next(turns)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        timing = re.search(r"total;dur=([\d.]+)", answer.headers.get("Server-Timing", ""))
        return answer, body, float(timing.group(1)) if timing else None, connection

    waiting, seen, visited, visited_pages = collections.deque(["/"]), {"/"}, collections.Counter(), collections.Counter()
    # The first answer of a server takes longer than the later ones.
    for _ in servers:
        get("/")
    slowest = (0.0, "/")
    while waiting:
        path = waiting.popleft()
        page, names = kind(path)
        if visited[page, names] >= EACH or visited_pages[page] >= most:
            continue
        visited[page, names] += 1
        visited_pages[page] += 1
        answer, body, milliseconds, asked = get(path)
        # The form of a record at a field leads on to the line of the field.
        if answer.status == 303 and page.endswith("/record/edit"):
            path = answer.headers["Location"].split("#")[0]
            answer, body, milliseconds, asked = get(path)
        assert answer.status == 200, f"{path}: {answer.status}"
        if path.startswith("/assets/"):
            assert answer.headers["Content-Security-Policy"].startswith("sandbox"), path
            assert answer.headers["Content-Disposition"].startswith("attachment"), path
            assert len(body) == int(answer.headers["X-Skylight-Size"]), path
            continue
        slowest = max(slowest, (milliseconds, path))
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"], path
        assert answer.headers["X-Content-Type-Options"] == "nosniff", path
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        text = body.decode()
        links, faults = read(text)
        assert faults == [], path
        without_data = re.sub(r"<tbody\b.*?</tbody>|<pre.*?</pre>", "", text, flags=re.DOTALL)
        assert len(without_data.encode()) < BYTES_BEFORE_DATA, path
        for link in links:
            url = urllib.parse.urldefrag(urllib.parse.urljoin(path, link)).url
            if url.startswith("https://developer.apple.com/"):
                continue
            assert url.startswith("/"), f"{path} links to {link}"
            if url not in seen:
                seen.add(url)
                if IN_ONE_LOG.search(url):
                    askers[url] = asked
                waiting.append(url)
    pages = {page.rsplit("/", 1)[-1] for page in visited_pages}
    assert {"query", "fetch", "changes", "record", "zones", "zone", "types", "type", "indexes", "roles", "history", "schema", "deploy", "reset", "advice", "token", "users", "assets", "requests", "sync", "clients", "telemetry",
            "errors", "check", "sharing", "sees", "importing", "edit", "bulk", "container"} <= pages
    assert {"objects", "entity", "object"} <= pages
    return f"{sum(visited.values())} pages of {len(visited)} kinds, servers: {len(servers)}, the slowest in {slowest[0]:.0f} ms: {slowest[1]}"
