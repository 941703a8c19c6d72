"""Rows about the log of requests: the same requests to a server that notes them and to one that does not."""

import bench
import report
import skylight
from report import Row

_RECORDS = 10_000
#: They ask in turns, as clients do whose requests arrive together.
_CLIENTS = 8


def request_log(run):
    """Saves and lookups of single records, the cheapest requests there are: what noting costs shows most there."""
    container = run.container(bench.ONE)
    turns = [(run.notes.random(index, _RECORDS), f"Client {index % _CLIENTS}") for index in range(2000)]
    saves = run.requests("save, noted", (container.save([number], 2, client) for number, client in turns))
    lookups = run.requests("one record, noted", (container.lookup([number], client) for number, client in turns))
    folders = [run.work / name for name in ("noted", "unnoted")]
    for folder in folders:
        run.store.fill(folder, bench.ONE, _RECORDS)
    with run.serve(folders[0]) as noting, run.serve(folders[1], options=skylight.NO_LOG) as other:
        yield from _compare(run, "saves by 64 savers", noting, other, saves, 64, 0.95)
        yield from _compare(run, "lookups of one record, 16 connections", noting, other, lookups, 16, 0.9)


def _compare(run, work, noting, other, file, connections, limit):
    rates, costs, ratio = run.side_by_side(noting, other, file, connections)
    result, met = report.at_least(ratio, limit)
    yield Row(
        f"{work}, requests noted", f"≥ {limit}x of --request-log 0", f"{report.rate(rates[0])}, {report.micros(costs[0])} CPU",
        f"not noted {report.rate(rates[1])}, {report.micros(costs[1])} CPU", result, met,
    )
