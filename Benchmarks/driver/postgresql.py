"""Rows about saving in PostgreSQL, beside a program in C on libpq that sends the same statements. SKYLIGHT_POSTGRESQL has the server's address."""

import itertools
import os
import struct
import subprocess
import urllib.parse

import report
import tools
from report import Row

#: Between Skylight and PostgreSQL in the same data centre.
MICROSECONDS = 500


class Database:
    """The server. Each measurement is of a container of its own."""

    def __init__(self, address, work):
        self.address = address
        self.work = work
        self._numbers = itertools.count()

    def container(self):
        return f"iCloud.bench.PostgreSQL{next(self._numbers)}"

    @property
    def commits(self):
        """Commits of saves so far, by processes that have ended."""
        query = "SELECT coalesce(sum(n_tup_upd), 0) FROM pg_stat_user_tables WHERE schemaname LIKE 'store%' AND relname = 'lastcommit'"
        return int(subprocess.run(["psql", "--no-psqlrc", "--tuples-only", self.address, "--command", query], stdout=subprocess.PIPE, check=True).stdout)

    def moved_away(self):
        """The same server behind a proxy that makes it look farther away; `None` if it is not on a port of this machine."""
        parts = urllib.parse.urlsplit(self.address)
        return Distance(self, parts) if parts.hostname in ("127.0.0.1", "localhost") and parts.port else None


class Distance(Database):
    """A server with some time between, and the number of trips to it."""

    def __init__(self, database, parts):
        self._file = database.work / "trips"
        self._process = subprocess.Popen(
            [tools.distance(), str(parts.port), str(MICROSECONDS), self._file], stdout=subprocess.PIPE, text=True)
        user = parts.netloc.rpartition("@")[0]
        address = parts._replace(netloc=f"{user}@127.0.0.1:{int(self._process.stdout.readline())}")
        super().__init__(address.geturl(), database.work)
        self._numbers = database._numbers

    @property
    def trips(self):
        return struct.unpack("<Q", self._file.read_bytes())[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()


def saves(run):
    address = os.environ.get("SKYLIGHT_POSTGRESQL")
    if not address:
        run.say("    without SKYLIGHT_POSTGRESQL, nothing is measured (apt-get install postgresql)")
        return
    database = Database(address, run.work)
    scale = 10 if run.quick else 1
    for who, limit, options in (
        ("one saver", 0.8, {"count": 2000}),
        ("64 savers of 64 users", 0.5, {"count": 20000, "savers": 64, "users": 64}),
        ("64 savers of one user", 0.5, {"count": 20000, "savers": 64}),
        ("one saver, 200 in a request", 0.7, {"count": 20000, "batch": 200}),
    ):
        yield _row(run, database, who, limit, {**options, "count": options["count"] // scale})
    away = database.moved_away()
    if away is None:
        run.say("    the server is not on a port of this machine, so it is not moved away")
        return
    with away:
        for who, limit, options in (
            ("one saver", 0.8, {"count": 500}),
            ("one saver, 200 in a request", 0.7, {"count": 2000, "batch": 200}),
        ):
            yield _row(run, away, f"{who}, {MICROSECONDS / 1000} ms away", limit, {**options, "count": options["count"] // scale})


def _row(run, database, who, limit, options):
    count, batch, users = options["count"], options.get("batch", 1), options.get("users", 1)
    ours, theirs, lists, groups, trips = [], [], [], [], []
    for _ in range(run.rounds):
        rate, group, trip = _in_store(run, database, options)
        ours.append(rate)
        groups.append(group)
        trips.append(trip)
        for found, in_lists in ((theirs, 0), (lists, 1)):
            seconds = tools.run(tools.postgresql(), "save", database.address, count, batch, max(1, round(group)), users, in_lists)["seconds"]
            found.append(count / seconds)
    rate, beside, in_lists, group = (tools.median(found) for found in (ours, theirs, lists, groups))
    result, met = report.at_least(rate / beside, limit)
    ways = f", {tools.median(trips):.0f} trips a request" if isinstance(database, Distance) else ""
    return Row(
        f"PostgreSQL: {who}, in the store", f"≥ {limit}x of C", f"{report.rate(rate)}, {group:.1f} requests a commit{ways}",
        f"C {report.rate(beside)}, {max(1, round(group))} a commit; rows in lists {report.rate(in_lists)}", result, met,
    )


def _in_store(run, database, options):
    """Saves a second, requests in a commit, and trips for a request."""
    # Opening and preparing a store takes commits and trips too: those of a run without saves are taken off.
    empty, full = ({**options, "count": count} for count in (0, options["count"]))
    costs = []
    for option in (empty, full):
        before = database.commits, getattr(database, "trips", 0)
        found = run.store.save(run.new_folder(), database.container(), store=database.address, **option)
        costs.append((database.commits - before[0], getattr(database, "trips", 0) - before[1]))
    requests = options["count"] / options.get("batch", 1)
    commits, trips = (after - before for before, after in zip(*costs))
    return options["count"] / found["seconds"], requests / max(1, commits), trips / requests
