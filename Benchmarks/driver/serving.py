"""Rows about the server as a whole: under load, beside its peers, and coming up."""

import base64
import random
import threading
import time

import bench
import messages
import peers
import report
import skylight
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
    """Processor time of the server for the same request to three servers with 100,000 records each: as they start, with the logs that they keep of
    requests, and without these."""
    size = run.sizes[bench.HUNDRED_THOUSAND]
    container = run.container(bench.HUNDRED_THOUSAND)
    pocketbase = peers.PocketBase(run.peers / "pocketbase", run.notes, size)
    datasette = peers.Datasette(run.peers / "datasette", run.notes, size)
    numbers = [run.notes.random(index, size) for index in range(400)]
    page, record, changes = "a page of 50, filtered and sorted", "one record by name", "100 changes since a recent token"

    def requests(work, ours, theirs):
        sent = {"Skylight": [ours(number) for number in numbers]}
        sent |= {rival.name: [theirs(rival, number) for number in numbers] for rival in (pocketbase, datasette)}
        return [run.requests(f"{work}, {who}", all_of_them) for who, all_of_them in sent.items()]

    def author(number):
        return run.notes.author(number)

    pages = requests(page, lambda number: container.page(author(number)), lambda rival, number: rival.page(author(number)))
    lookups = requests(record, lambda number: container.lookup([number]), lambda rival, number: rival.record(number))
    with run.serve() as ours, pocketbase.serve() as its, datasette.serve() as third:
        sides = [ours, its, third]
        yield _compare(run, page, sides, pages, 0.6)
        container.edit_now(ours, "addCompositeIndex")
        yield _compare(run, f"{page}, with a composite index", sides, pages, 0.7)
        container.edit_now(ours, "removeCompositeIndex")
        yield _compare(run, record, sides, lookups, 0.6)
        token = container.current_token(ours)
        container.save_now(ours, range(100), 1)
        pulls = requests(changes, lambda _: container.changes(token, 200), lambda rival, _: rival.changes())
        yield _compare(run, changes, sides, pulls, 0.3)
        memories = [server.memory() for server in sides]
    mib = [f"{memory:.0f} MiB" for memory in memories]
    yield Row(f"memory after these, {size:,} records", "≤ 100 MiB", mib[0], f"PocketBase {mib[1]}, Datasette {mib[2]}", mib[0], memories[0] <= 100)
    with run.serve(options=skylight.NO_LOG) as ours, pocketbase.serve(logs=False) as its:
        for work, files in ((page, pages), (record, lookups)):
            yield _compare(run, f"{work}, no logs of requests", [ours, its], files, 1)


def _compare(run, work, sides, files, limit):
    """Every request of every server is sent until the clock of processor time, which ticks a hundred times a second, says enough."""
    seconds = 1 if run.quick else 3

    def side(server, file):
        server.load(file, 2, 0, 0.3)

        def measure():
            before = server.processor_seconds()
            found = server.load(file, 2, 0, seconds)
            return (server.processor_seconds() - before) / found["count"] * 1e6

        return measure

    results = run.alternate(*(side(server, file) for server, file in zip(sides, files)))
    ours, *others = (tools.median(found) for found in results)
    result, met = report.at_most(ours / others[0], limit)
    beside = ", ".join(f"{name} {report.micros(other)}" for name, other in zip(("PocketBase", "Datasette"), others))
    return Row(f"server CPU: {work}", f"≤ {limit}x of PocketBase", report.micros(ours), beside, result, met)


def memory_after_bursts(run):
    """Pages of 64 MiB for two clients at once, three times; then nothing."""
    records, size = 100, 64 << 20
    place = "/1/iCloud.bench.Bursts/development/private/"
    chance = random.Random(1)
    with run.serve(run.work / "bursts") as server:
        for number in range(records):
            # Some bytes are left for the members around the value.
            value = base64.b64encode(chance.randbytes((size // records - 512) * 3 // 4)).decode()
            record = {"recordName": f"large-{number}", "recordType": "Large", "fields": {"bytes": {"type": "BYTES", "value": value}}}
            server.send(f"/database{place}records/modify", {"operations": [{"operationType": "forceReplace", "record": record}]})
        page = messages.get(f"/skylight{place}records/list?zone=_defaultZone&bytesLimit={size}")
        file = run.requests("page of 64 MiB", [page] * 2)
        read = sum(server.load(file, 2)["bytes"] for _ in range(3)) / 2**20
        most, now, over = server.memory("VmHWM"), server.memory(), time.monotonic() + 10
        while now >= 200 and time.monotonic() < over:
            time.sleep(0.1)
            now = server.memory()
    beside = f"{read / 6:.0f} MiB a page, {most:.0f} MiB at most"
    yield Row("memory within 10 s of bursts of 64-MiB pages", "< 200 MiB", f"{now:.0f} MiB", beside, f"{now:.0f} MiB", now < 200)


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
