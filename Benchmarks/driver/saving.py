"""Rows about saving. Each save is synced before it is answered, on every side."""

import bench
import report
import tools
from report import Row


def savers(run, count):
    """So many savers, each waiting for its answer, in a new zone."""
    saves = (300 if count == 1 else 3000) if run.quick else (2000 if count == 1 else 20000)
    limit = 0.7 if count == 1 else 0.5
    who = "one saver" if count == 1 else f"{count} savers"
    inside, outside, theirs, groups = [], [], [], []
    container = run.container(bench.ONE)
    file = run.requests("save", (container.save([number]) for number in range(saves)))
    for _ in range(run.rounds):
        rate, group = _in_store(run, count, saves)
        inside.append(rate)
        theirs.append(_in_c(run, saves, 1, group))
        groups.append([group])
        rate, group = _over_http(run, file, count)
        outside.append(rate)
        theirs.append(_in_c(run, saves, 1, group))
        groups[-1].append(group)
    for where, ours, beside, group in (
        ("in the store", inside, theirs[::2], tools.median(group[0] for group in groups)),
        ("over HTTP", outside, theirs[1::2], tools.median(group[1] for group in groups)),
    ):
        ours, beside = tools.median(ours), tools.median(beside)
        result, met = report.at_least(ours / beside, limit)
        yield Row(
            f"{who} at FULL, {where}", f"≥ {limit}x of C", f"{report.rate(ours)}, {group:.1f} saves a sync",
            f"C {report.rate(beside)}, {max(1, round(group))} a sync" + ("" if where == "in the store" else ", no HTTP"), result, met,
        )


def _in_store(run, count, saves):
    folder, syncs = run.new_folder(), run.syncs()
    # Opening and preparing the folder takes syncs too: what a run without saves counts is taken off.
    run.store.save(folder, bench.ONE, syncs.environment, savers=1, count=0)
    before = syncs.of_logs
    found = run.store.save(folder, bench.ONE, syncs.environment, savers=count, count=saves)
    return saves / found["seconds"], saves / max(1, syncs.of_logs - 2 * before)


def _over_http(run, file, count):
    folder, syncs = run.new_folder(), run.syncs()
    with run.serve(folder, syncs) as server:
        server.send(run.container(bench.ONE).feed("token/current"))
        before = syncs.of_logs
        found = server.load(file, count)
        return found["count"] / found["seconds"], found["count"] / max(1, syncs.of_logs - before)


def _in_c(run, saves, batch, group):
    found = run.baseline("save", saves, batch, max(1, round(group)), 0, 1, file=run.new_file())
    return saves / found["seconds"]


def random_saves(run):
    """Random records of the large zone saved anew with one value changed, 200 in a request, from four savers at once."""
    batch, savers = 200, 4
    count = 4000 if run.quick else 20000
    container = run.container()
    inside, outside, theirs, groups = [], [], [], []
    for turn in range(run.rounds):
        seed = turn * 3 + 1
        syncs = run.syncs()
        run.store.save(run.data, bench.MILLION, syncs.environment, savers=1, count=0, records=run.records)
        before = syncs.of_logs
        options = {"savers": savers, "batch": batch, "count": count, "records": run.records, "seed": seed}
        inside.append(count / run.store.save(run.data, bench.MILLION, syncs.environment, **options)["seconds"])
        groups.append(count / batch / max(1, syncs.of_logs - 2 * before))
        theirs.append(count / run.baseline("save", count, batch, max(1, round(groups[-1])), run.records, seed)["seconds"])
        file = run.requests("random re-saves", _resaves(run, container, count, batch, seed + 1))
        syncs = run.syncs()
        with run.serve(syncs=syncs) as server:
            server.send(container.feed("token/current"))
            before = syncs.of_logs
            outside.append(count / server.load(file, savers)["seconds"])
            groups.append(count / batch / max(1, syncs.of_logs - before))
        theirs.append(count / run.baseline("save", count, batch, max(1, round(groups[-1])), run.records, seed + 1)["seconds"])
    work = f"random re-saves into a zone of {run.records:,}, 200 in a request"
    for where, ours, beside, group in (
        ("in the store", inside, theirs[::2], groups[::2]),
        ("over HTTP", outside, theirs[1::2], groups[1::2]),
    ):
        ours, beside, group = tools.median(ours), tools.median(beside), tools.median(group)
        result, met = report.at_least(ours / beside, 0.75)
        yield Row(
            f"{work}, {where}", "≥ 0.75x of C", f"{report.rate(ours)}, {group:.1f} requests a sync",
            f"C {report.rate(beside)}, {max(1, round(group))} a sync" + ("" if where == "in the store" else ", no HTTP"), result, met,
        )


def _resaves(run, container, count, batch, seed):
    for first in range(0, count, batch):
        # A request can't hold a record twice.
        numbers = {run.notes.random((seed << 32) + index, run.records) for index in range(first, first + batch)}
        yield container.save(numbers, seed)


def index_under_saves(run):
    """An index built on all notes of the middle zone while four savers go on."""
    records = run.sizes[bench.HUNDRED_THOUSAND]
    quiet, building, seconds = [], [], []
    for _ in range(run.rounds):
        found = run.store.index(run.data, bench.HUNDRED_THOUSAND, records=records, savers=4, quiet=1 if run.quick else 5)
        if found["found"] != records:
            raise RuntimeError(f"The index holds {found['found']} of {records} notes")
        quiet.append(found["quiet"]["p99"])
        building.append(found["building"]["p99"])
        seconds.append(found["seconds"])
    before, during = tools.median(quiet), tools.median(building)
    result, met = report.at_most(during / before, 3)
    yield Row(
        f"save p99 while an index on {records:,} records is built, in the store", "≤ 3x of quiet",
        f"{report.micros(during * 1e6)}, built in {tools.median(seconds):.1f} s, all {records:,} in it", f"quiet {report.micros(before * 1e6)}",
        result, met,
    )


def tree_under_saves(run):
    """A tree of 10,000 records shared and moved out of its hierarchy, while four savers go on with notes of another zone."""
    records, size = run.sizes[bench.HUNDRED_THOUSAND], 2_000 if run.quick else 10_000
    rounds = [run.store.tree(run.data, bench.HUNDRED_THOUSAND, records=records, savers=4, quiet=1 if run.quick else 5, size=size) for _ in range(run.rounds)]
    before = tools.median([found["quiet"]["p99"] for found in rounds])
    for work in ("sharing", "moving"):
        during, seconds = tools.median([found[work]["p99"] for found in rounds]), tools.median([found[f"{work}Seconds"] for found in rounds])
        result, met = report.at_most(during / before, 3)
        yield Row(
            f"save p99 while a tree of {size:,} records is {'shared' if work == 'sharing' else 'moved'}, in the store", "≤ 3x of quiet",
            f"{report.micros(during * 1e6)}, done in {seconds:.1f} s", f"quiet {report.micros(before * 1e6)}", result, met,
        )
