"""Rows about the server as a whole: under load, beside its peers, and coming up."""

import threading
import time

import bench
import messages
import peers
import report
import tools
from report import Row

_LOG_PAGES, _PAGE_SIZE = 8192, 4096


class _LogWatch:
    """Looks at the length of a write-ahead log while something else happens."""

    def __init__(self, file):
        self._file, self.longest, self._over = file, 0, threading.Event()

    def __enter__(self):
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self):
        while not self._over.wait(0.02):
            self.longest = max(self.longest, _length(self._file))

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def _length(file):
    return file.stat().st_size if file.exists() else 0


def _log(run, container=bench.MILLION):
    return run.data / container / "development.sqlite-wal"


def reads_under_load(run):
    """Single records by name, 200 a second: alone, and beside 500 saves a second and 50 readers of a playback who don't read."""
    seconds = 4 if run.quick else 10
    container = run.container()
    reads = run.requests("one record", (container.lookup([run.notes.random(index, run.records)]) for index in range(2000)))
    saves = run.requests("save", (container.save([run.notes.random(index, run.records)], 5) for index in range(500 * seconds)))
    path = container.feed("changes/playback")
    with run.serve() as server, _LogWatch(_log(run)) as log:
        server.load(reads, 1, 200, 1)

        def idle():
            return server.load(reads, 1, 200, seconds)["p99"]

        def busy():
            readers = server.stall(path, 50)
            try:
                saved = []
                saving = threading.Thread(target=lambda: saved.append(server.load(saves, 16, 500, seconds)))
                saving.start()
                found = server.load(reads, 1, 200, seconds - 0.5)["p99"]
                saving.join()
                return found, saved[0]["count"] / saved[0]["seconds"]
            finally:
                readers.kill()
                readers.wait()

        alone, loaded = run.alternate(idle, busy)
        memory = server.memory("VmHWM")
    alone, rate = tools.median(alone), tools.median(rate for _, rate in loaded)
    under = tools.median(found for found, _ in loaded)
    result, met = report.at_most(under / alone, 2)
    work = "read p99 at 500 saves/s with 50 stalled readers, against idle"
    yield Row(work, "≤ 2x", f"{report.micros(under)} at {rate:.0f} saves/s", f"idle {report.micros(alone)}", result, met)
    longest = log.longest / 2**20
    yield Row("… longest write-ahead log over that time", "≤ 64 MiB", f"{longest:.1f} MiB", "", f"{longest:.1f} MiB", longest <= 64)
    yield Row("… most memory of the server over that time", "", f"{memory:.0f} MiB", "", "")


def peers_per_request(run):
    """Processor time of the server for the same request to three servers with 100,000 records each."""
    size = run.sizes[bench.HUNDRED_THOUSAND]
    container = run.container(bench.HUNDRED_THOUSAND)
    rivals = [peers.PocketBase(run.peers / "pocketbase", run.notes, size), peers.Datasette(run.peers / "datasette", run.notes, size)]
    opened = [run.serve(), *(rival.serve() for rival in rivals)]
    try:
        token = container.current_token(opened[0])
        container.save_now(opened[0], range(100), 1)
        numbers = [run.notes.random(index, size) for index in range(400)]
        works = {
            "a page of 50, filtered and sorted": (
                [container.page(run.notes.author(number)) for number in numbers],
                lambda rival: [rival.page(run.notes.author(number)) for number in numbers],
            ),
            "one record by name": (
                [container.lookup([number]) for number in numbers],
                lambda rival: [rival.record(number) for number in numbers],
            ),
            "100 changes since a recent token": (
                [container.changes(token, 200)] * len(numbers),
                lambda rival: [rival.changes() for _ in numbers],
            ),
        }
        for work, (ours, theirs) in works.items():
            files = [run.requests(f"{work}, Skylight", ours)]
            files += [run.requests(f"{work}, {rival.name}", theirs(rival)) for rival in rivals]
            yield from _compare(run, work, opened, files)
            if "page" in work:
                container.edit_now(opened[0], "addCompositeIndex")
                yield from _compare(run, f"{work}, with a composite index", opened, files)
                container.edit_now(opened[0], "removeCompositeIndex")
        memories = [server.memory() for server in opened]
    finally:
        for server in opened:
            server.stop()
    mib = [f"{memory:.0f} MiB" for memory in memories]
    yield Row(f"memory after these, {size:,} records", "< 100 MiB", mib[0], f"PocketBase {mib[1]}, Datasette {mib[2]}", mib[0], memories[0] < 100)


def _compare(run, work, opened, files):
    """Every request of every server is sent until the clock of processor time, which ticks a hundred times a second, says enough."""
    seconds = 1 if run.quick else 3

    def side(server, file):
        server.load(file, 2, 0, 0.3)

        def measure():
            before = server.processor_seconds()
            found = server.load(file, 2, 0, seconds)
            return (server.processor_seconds() - before) / found["count"] * 1e6

        return measure

    results = run.alternate(*(side(server, file) for server, file in zip(opened, files)))
    ours, pocketbase, datasette = (tools.median(found) for found in results)
    result, met = report.at_most(ours / pocketbase, 1 / 3)
    beside = f"PocketBase {report.micros(pocketbase)}, Datasette {report.micros(datasette)}"
    yield Row(f"server CPU: {work}", "≤ 1/3 of PocketBase", report.micros(ours), beside, result, met)


def first_answers(run):
    """From the start of the process to the answer to a request for one record of the large zone."""
    container = run.container()
    path, body = container.path("records/lookup"), {"zoneID": {"zoneName": "Bench"}, "records": [{"recordName": run.notes.name(0)}]}
    run.explain("first answer", messages.post(path, body))

    def start():
        server = run.serve()
        try:
            server.send(path, body)
            return server, time.perf_counter() - server.started
        except BaseException:
            server.stop()
            raise

    def clean():
        server, seconds = start()
        server.stop()
        return seconds

    clean()
    times = [clean() for _ in range(run.rounds + 2)]
    seconds = tools.median(times)
    yield Row(
        f"start to first answer with {run.records:,} records", "≤ 300 ms", f"{seconds * 1e3:.0f} ms", "", f"{seconds * 1e3:.0f} ms", seconds <= 0.3
    )
    full, times, lengths = _LOG_PAGES * _PAGE_SIZE * 0.9, [], []
    for turn in range(run.rounds):
        server, _ = start()
        _fill_log(run, container, server, full, turn)
        server.kill()
        lengths.append(_length(_log(run)) / 2**20)
        server, seconds = start()
        times.append(seconds)
        server.stop()
    seconds, length = tools.median(times), tools.median(lengths)
    yield Row(
        "… after kill -9 with a full write-ahead log", "≤ 2 s", f"{seconds * 1e3:.0f} ms, log {length:.0f} MiB", "", f"{seconds * 1e3:.0f} ms", seconds <= 2
    )


def _fill_log(run, container, server, full, turn):
    for batch in range(1000):
        if _length(_log(run)) >= full:
            return
        # A request can't hold a record twice.
        numbers = {run.notes.random((90 + turn << 32) + batch * 200 + index, run.records) for index in range(200)}
        container.save_now(server, numbers, 100 + turn)
    raise RuntimeError("The write-ahead log does not fill up")
