"""The common parts of all rows: the filled folders, the programs, the sizes."""

import hashlib
import pathlib
import shutil

import messages
import notes
import servers
import skylight
import tools

_MIGRATIONS = tools.FOLDER.parent / "Sources/SQLRecordStore/Drivers/SQLite"

#: Containers and what part of the records each holds.
MILLION, HUNDRED_THOUSAND, THOUSAND, ONE = (f"iCloud.bench.{name}" for name in ("Million", "HundredThousand", "Thousand", "One"))


def _digest(files):
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


class Bench:
    """One run. `records` is the size of the large zone, `peer_records` that of the one which the peers have too."""

    def __init__(self, binary, store, floor, cache, records, peer_records, rounds, quick, say):
        self.binary = pathlib.Path(binary).resolve()
        self.store = skylight.Store(pathlib.Path(store).resolve())
        self.floor = pathlib.Path(floor).resolve()
        self.notes = notes.Notes()
        self.records, self.rounds, self.quick, self.say = records, rounds, quick, say
        self.sizes = {MILLION: records, HUNDRED_THOUSAND: peer_records, THOUSAND: max(records // 1000, 20), ONE: 1}
        self.legend = {}
        self._filled = cache / f"filled-{records}-{peer_records}-{_digest(sorted(_MIGRATIONS.glob('StoreMigrations*.swift')))}"
        sources = [tools.FOLDER / name for name in ("baseline/store.c", "baseline/notes.c", "BenchmarkRecords/benchmark_records.c")]
        self._baseline = cache / f"baseline-{records}-{_digest(sources)}.sqlite"
        self.peers = cache / f"peers-{peer_records}"
        self.work = cache / "work"
        self._fill()

    def _fill(self):
        """Fills what is not there from an earlier run, and copies it: what a run changes is gone after it."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        if not (self._filled / "filled").exists():
            shutil.rmtree(self._filled, ignore_errors=True)
            for container, count in self.sizes.items():
                self.say(f"filling {container} with {count:,} notes")
                self.store.fill(self._filled, container, count)
            (self._filled / "filled").touch()
        if not self._baseline.exists():
            self.say(f"filling the file of the program in C with {self.records:,} notes")
            unfinished = self._baseline.with_suffix(".unfinished")
            unfinished.unlink(missing_ok=True)
            tools.fill_baseline(unfinished, self.records)
            unfinished.rename(self._baseline)
        self.data, self.baseline_file = self.work / "skylight", self.work / "baseline.sqlite"
        self.renew()

    def renew(self):
        """Puts the filled folders back as they were."""
        tools.copy(self._filled, self.data)
        for file in self.work.glob("baseline.sqlite*"):
            file.unlink()
        tools.copy(self._baseline, self.baseline_file)

    def clean_up(self):
        shutil.rmtree(self.work, ignore_errors=True)

    # Skylight

    def serve(self, data=None, syncs=None, options=()):
        return servers.skylight(self.binary, data or self.data, syncs.environment if syncs else None, options)

    def container(self, name=MILLION):
        return skylight.Container(name, self.notes)

    def new_folder(self):
        """An empty data folder with a zone and the notes' type."""
        folder = self.work / "empty"
        shutil.rmtree(folder, ignore_errors=True)
        self.store.fill(folder, ONE, 0)
        return folder

    def syncs(self):
        return servers.Syncs(self.work / "syncs")

    # The program in C

    def baseline(self, work, *numbers, file=None, syncs=None):
        return tools.run(
            tools.baseline(), work, file or self.baseline_file, *numbers, environment=syncs.environment if syncs else None
        )

    def new_file(self):
        for file in self.work.glob("new.sqlite*"):
            file.unlink()
        return self.work / "new.sqlite"

    # Requests

    def requests(self, name, requests):
        """Writes requests for the client in C, and keeps the first for the legend."""
        requests = list(requests)
        self.explain(name, requests[0])
        return messages.write(self.work / f"{name.replace(' ', '-')}.requests", requests)

    def explain(self, name, request):
        head, _, body = request.decode().partition("\r\n\r\n")
        text = " ".join(head.split(" ")[:2]) + (" " + body if body else "")
        self.legend.setdefault(name, text if len(text) <= 420 else text[:420] + "…")

    def side_by_side(self, server, other, file, connections):
        """Short turns, many of them, each side first as often: a twentieth is less than what a machine does by itself from minute to minute.

        Returns both sides' requests a second, their processor time for a request in microseconds, and the ratio of the rates.
        """
        seconds, turns = (0.5, 2) if self.quick else (1.5, 4 * self.rounds)
        for side in (server, other):
            side.load(file, connections, 0, seconds)

        def measure(side):
            before = side.processor_seconds()
            found = side.load(file, connections, 0, seconds)
            return found["count"] / found["seconds"], (side.processor_seconds() - before) / found["count"] * 1e6

        found = []
        for turn in range(turns):
            sides = [server, other]
            results = {side: measure(side) for side in (sides if turn % 2 == 0 else reversed(sides))}
            found.append((results[server], results[other]))
        rates, costs = ([tools.median(pair[side][what] for pair in found) for side in (0, 1)] for what in (0, 1))
        # Each turn is compared by itself: what slows the machine down for a while falls on both sides of it.
        return rates, costs, tools.median(mine[0] / its[0] for mine, its in found)

    def alternate(self, *sides):
        """Runs the sides in turns, so that what else the machine does falls on all. Returns each side's results."""
        results = [[] for _ in sides]
        for _ in range(self.rounds):
            for side, found in zip(sides, results):
                found.append(side())
        return results
