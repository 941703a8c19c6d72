"""Rows about the libraries below: what an answer costs without anything of ours."""

import bench
import messages
import report
import servers
import tools
from report import Row

_RECORDS = 10_000


def least(run):
    """A server on Hummingbird alone, and one on NIO alone, answer any request with the same bytes as Skylight, headers included."""
    folder = run.work / "floor"
    run.store.fill(folder, bench.ONE, _RECORDS)
    container = run.container(bench.ONE)
    lookup = container.lookup([run.notes.random(1, _RECORDS)])
    with run.serve(folder) as server:
        for work, request, status, limit in [
            ("404", messages.get("/assets/nothing"), 404, 1.3),
            ("one record by name", lookup, 200, 2),
        ]:
            answer = run.work / "answer"
            answer.write_bytes(server.exchange(request))
            run.explain(work, request)
            file = messages.write(run.work / "floor.requests", [request])
            floors = [servers.Server([run.floor, kind, answer]) for kind in ("hummingbird", "nio")]
            try:
                yield from _compare(run, work, [server, *floors], file, status, limit)
            finally:
                for side in floors:
                    side.stop()


def _compare(run, work, sides, file, status, limit):
    seconds = 1 if run.quick else 3

    def measure(side):
        before = side.processor_seconds()
        found = side.load(file, 4, 0, seconds, status)
        return (side.processor_seconds() - before) / found["count"] * 1e6

    for side in sides:
        side.load(file, 4, 0, 0.3, status)
    results = run.alternate(*(lambda side=side: measure(side) for side in sides))
    ours, hummingbird, nio = (tools.median(found) for found in results)
    result, met = report.at_most(ours / hummingbird, limit)
    beside = f"Hummingbird {report.micros(hummingbird)}, NIO {report.micros(nio)}"
    yield Row(f"server CPU: {work}, beside the libraries alone", f"≤ {limit}x of Hummingbird", report.micros(ours), beside, result, met)
