"""Rows about the console: how long the server works on each page, with the large zone behind it."""

import re
import urllib.error
import urllib.parse
import urllib.request

import tools
from report import Row

_GOAL = 20
#: Users with some data of their own, beside the one with the large zone.
_USERS = 24
_TIMING = re.compile(r"total;dur=([\d.]+)")


def _pages(run, server):
    """Each page by its name, in a state that shows much."""
    container = run.container()
    place = f"/c/{container.name}/development/private/"
    author, name = run.notes.author(0), run.notes.name(0)
    token = container.current_token(server)
    container.save_now(server, range(20), 1)
    # So that there is something between two tokens, again since, and for more than one user.
    later = container.current_token(server)
    container.save_now(server, range(10, 30), 2)
    for number in range(_USERS):
        container.save_now(server, range(number, number + 50), 1, user=f"user{number}")
    # So that there is something to see on the pages about requests.
    server.load(run.requests("looked at by pages", (container.lookup([number]) for number in range(300))))
    query = {"type": "Note", "zone": "Bench"}
    by_author = {**query, "filter1": "author", "is1": "EQUALS", "value1": author, "sort1": "rank", "order1": "descending"}
    record = {"zone": "Bench", "name": name}
    between = {"zone": "Bench", "since": "1", "token": token, "upto": later}
    names = "\n".join(run.notes.name(run.notes.random(index, run.records)) for index in range(50))

    def page(path, **parameters):
        return place + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")

    return {
        "home": "/",
        "container": "/container?" + urllib.parse.urlencode({"container": container.name}),
        "query of a type": page("query", **query),
        "query by author and rank": page("query", **by_author),
        "query by rank": page("query", **query, sort1="rank", order1="ascending"),
        "query, values of a field": page("query", **by_author, facet="done"),
        "explain": page("explain", **by_author),
        "query advice": page("advice"),
        "fetch of 50": page("fetch", zone="Bench", names=names),
        "zones' feed": page("changes"),
        "records' feed": page("changes", zone="Bench"),
        "records' feed since a token": page("changes", zone="Bench", since="1", token=token),
        "records' feed between two tokens": page("changes", **between),
        "records' feed between two tokens, zoomed": page("changes", **between, zoom="1"),
        "record": page("record", **record),
        "record's history": page("record/history", **record),
        "record editor": page("record/edit", **record),
        "record deletion": page("record/delete", **record),
        "comparison of two records": page("record/compare", **record, other=run.notes.name(1)),
        "copy of a record": page("record/copy", **record),
        "tokens": page("token", token=token),
        "errors": page("errors"),
        "zones": page("zones"),
        "zone": page("zone", zone="Bench"),
        "zone deletion": page("zone/delete", zone="Bench"),
        "copy of a zone": page("zone/copy", zone="Bench"),
        "types": page("types"),
        "type": page("type", type="Note"),
        "indexes": page("indexes", show="all"),
        "roles": page("roles", type="Note"),
        "history": page("history"),
        "schema": page("schema"),
        "compare": page("compare"),
        "deploy": page("deploy"),
        "reset": page("reset"),
        "rehearsals": page("rehearsals", zone="Bench"),
        "requests": page("requests"),
        "a request": page("requests", id=_some_request(server)),
        "clients": page("clients"),
        "telemetry": page("telemetry"),
        "check": page("check", zone="Bench"),
        "users": page("users"),
        "a user": page("users/user", name="developer"),
        "import": page("importing"),
        "change of many": page("bulk", **by_author, change="set", changed="rank"),
        "search": page("find", q=name),
    }


def _some_request(server):
    return server.send("/skylight/1/requests?resultsLimit=1")["requests"][0]["id"]


def _milliseconds(server, path):
    """The server's time for a page according to itself, from the request's head to the whole answer, without sending it."""
    try:
        answer = _Opener.open(server.address + path, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        size, timing = len(answer.read()), _TIMING.search(answer.headers.get("Server-Timing", ""))
    # A search that finds leads on to another page.
    if answer.status not in (200, 303) or not timing:
        raise RuntimeError(f"{path} was answered with {answer.status}")
    return float(timing[1]), size


class _Stay(urllib.request.HTTPRedirectHandler):
    """Does not follow: the page that is led to has a row of its own."""

    def redirect_request(self, *_):
        return None


_Opener = urllib.request.build_opener(_Stay)


def console_pages(run):
    """Every page some times in turns; the first time, when nothing of it is in memory, does not count."""
    times = 3 if run.quick else 4 * run.rounds
    with run.serve() as server:
        pages = _pages(run, server)
        sizes = {name: _milliseconds(server, path)[1] for name, path in pages.items()}
        found = {name: [] for name in pages}
        for _ in range(times):
            for name, path in pages.items():
                found[name].append(_milliseconds(server, path)[0])
    for name in pages:
        usual, worst = tools.median(found[name]), max(found[name])
        yield Row(
            f"page: {name}, {run.records:,} records", f"≤ {_GOAL} ms", f"{usual:.2f} ms, {sizes[name] / 1000:.0f} kB",
            f"slowest of {times}: {worst:.2f} ms", f"{usual:.2f} ms", usual <= _GOAL,
        )
