"""Rows about reading: playback, fetching by name, and what must not depend on how much there is."""

import bench
import messages
import report
import servers
import tools
from report import Row


def playback_in_store(run):
    """All changes of the zone through the storage interface, page by page, against one statement in C."""
    container = bench.MILLION
    ours, theirs = run.alternate(lambda: run.store.play(run.data, container), lambda: run.baseline("play", 2))
    ours, theirs = (tools.median(found["count"] / found["seconds"] for found in side) for side in (ours, theirs))
    result, met = report.at_least(ours / theirs, 0.7)
    yield Row(f"playback of {run.records:,} changes in the store", "≥ 0.7x of C", report.rate(ours), f"C {report.rate(theirs)}", result, met)


def playback_over_http(run):
    """The same as NDJSON over a socket, both read by the same client."""
    path = run.container().feed("changes/playback")
    run.legend["playback"] = f"GET {path}"
    with run.serve() as server, servers.Server([tools.baseline(), "serve", run.baseline_file]) as baseline:
        before = server.memory()
        server.read(path)
        baseline.read("/")
        ours, theirs = run.alternate(lambda: server.read(path), lambda: baseline.read("/"))
        most = server.memory("VmHWM")
    ours, theirs = (tools.median(run.records / found["seconds"] for found in side) for side in (ours, theirs))
    result, met = report.at_least(ours / theirs, 0.6)
    work = f"playback of {run.records:,} changes over HTTP"
    yield Row(work, "≥ 0.6x of C", report.rate(ours), f"C {report.rate(theirs)}", result, met)
    grown = most - before
    yield Row("… memory of the server while it plays", "grows < 32 MiB", f"{before:.0f} → {most:.0f} MiB", "", f"+{grown:.0f} MiB", grown < 32)


def fetch_by_name(run):
    """200 random records of the large zone."""
    fetches, names = (100 if run.quick else 500), 200
    ours, theirs = run.alternate(
        lambda: run.store.fetch(run.data, bench.MILLION, run.records, fetches),
        lambda: run.baseline("fetch", run.records, names, fetches),
    )
    ours, theirs = (tools.median(found["seconds"] / fetches * 1e6 for found in side) for side in (ours, theirs))
    result, met = report.at_most(ours / theirs, 1.5)
    yield Row("fetch 200 records by name, in the store", "≤ 1.5x of C", report.micros(ours), f"C {report.micros(theirs)}", result, met)
    container = run.container()
    numbers = [[run.notes.random(fetch * names + index, run.records) for index in range(names)] for fetch in range(fetches)]
    file = run.requests("fetch 200", (container.lookup(wanted) for wanted in numbers))
    with run.serve() as server:
        server.load(file)
        ours = tools.median(server.load(file)["p50"] for _ in range(run.rounds))
    result, met = report.at_most(ours / theirs, 1.5)
    yield Row("fetch 200 records by name, over HTTP", "≤ 1.5x of C", report.micros(ours), f"C {report.micros(theirs)}, no HTTP", result, met)


def independent_of_size(run):
    """HTTP times where the goal is in VM steps and pages read, which `make test` counts."""
    count = 200 if run.quick else 1000
    with run.serve() as server:
        pulls = []
        for name in (bench.MILLION, bench.THOUSAND):
            container, size = run.container(name), run.sizes[name]
            token = container.current_token(server)
            container.save_now(server, range(min(10, size)), 1)
            pulls.append(run.requests(f"pull of 10 after {size:,}", [container.changes(token, 200)] * count))
        tokens = [
            run.requests(f"current token of {run.sizes[name]:,}", [messages.get(run.container(name).feed("token/current"))] * count)
            for name in (bench.MILLION, bench.ONE)
        ]
        pages = _pages(run, server, count)
        for work, files, which in (
            ("a pull of 10 changes", pulls, (bench.MILLION, bench.THOUSAND)),
            ("the current token", tokens, (bench.MILLION, bench.ONE)),
            ("a page of 50 by rank", pages, ("at 90 % depth", "the first")),
        ):
            for file in files:
                server.load(file)
            large, small = run.alternate(*(lambda file=file: server.load(file)["p50"] for file in files))
            large, small = tools.median(large), tools.median(small)
            names = [f"after {run.sizes[name]:,}" if name in run.sizes else name for name in which]
            goal = "≤ 1.15x in VM steps, in `make test`"
            yield Row(
                f"{work}, {names[0]} against {names[1]}", goal, report.micros(large), report.micros(small), f"{large / small:.2f}x of HTTP time"
            )


def as_of(run):
    """First pages as of 1,000 changes back, against the same now. The changes are spread over the zone."""
    count, changes, container = (20 if run.quick else 200), 1000, run.container()
    numbers = range(0, run.records, run.records // changes)[:changes]
    with run.serve() as server:
        token = container.current_token(server)
        for start in range(0, changes, 200):
            container.save_now(server, numbers[start : start + 200], 1)
        for limit in (200, 50):
            then, now = (
                run.requests(f"page of {limit} {when}", [container.own_query(container.ranking(limit, **point))] * count)
                for when, point in (("then", {"asOf": token}), ("now", {}))
            )
            for file in (then, now):
                server.load(file)
            back, present = run.alternate(*(lambda file=file: server.load(file)["p50"] for file in (then, now)))
            back, present = tools.median(back), tools.median(present)
            result, met = report.at_most(back / present, 3)
            work = f"a page of {limit} by rank as of {changes:,} changes back, among {run.records:,}"
            yield Row(work, "≤ 3x of now", report.micros(back), f"now {report.micros(present)}", result, met)


def _pages(run, server, count):
    """A page at 90 % depth and the first: one goes through the pages before to get there, without their fields."""
    container = run.container()
    path, marker = container.path("records/query"), None
    for _ in range(run.records * 9 // 10 // 200):
        marker = server.send(path, container.ranking(200, marker, desiredKeys=[]))["continuationMarker"]
    deep, first = container.ranking(50, marker), container.ranking(50)
    return [
        run.requests("page at 90 % depth", [messages.post(path, deep)] * count),
        run.requests("first page", [messages.post(path, first)] * count),
    ]
