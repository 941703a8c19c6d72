"""Rows about a file of rows that becomes records, beside sqlite-utils, which makes a table of them."""

import random
import shutil
import time

import peers
import report
import tools
from report import Row

_ROWS, _ROWS_QUICK = 300_000, 20_000
_INDEXED = ("name", "country", "latitude", "population", "founded")


def _write(file, rows):
    """Some 83 bytes in each row: texts, numbers, and a date."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(4, 12))) for _ in range(5000)]
    with open(file, "w") as output:
        output.write(f"id,{','.join(_INDEXED)}\n")
        for number in range(rows):
            founded = f"{chance.randint(1000, 2020)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}T{chance.randint(0, 23):02}:00:00Z"
            name, country = (" ".join(chance.choices(words, k=count)) for count in (2, 1))
            output.write(f"city-{number:06},{name},{country},{chance.uniform(-90, 90):.6f},{chance.randint(10, 20_000_000)},{founded}\n")


def table(run):
    """Both sides find out the columns' types from the rows; then the same with an index on each column but the first."""
    rows = _ROWS_QUICK if run.quick else _ROWS
    file, data, database = run.work / "cities.csv", run.work / "imported", run.work / "cities.db"
    _write(file, rows)

    def ours(*indexes):
        shutil.rmtree(data, ignore_errors=True)
        options = [part for name in indexes for part in ("--index", f"{name}:QUERYABLE,SORTABLE")]
        seconds = _seconds(
            run.binary, "import", file, "--data", data, "--container", "iCloud.bench.Import", "--type", "City", "--name-field", "id", *options
        )
        return seconds, sum(part.stat().st_size for part in data.rglob("*") if part.is_file())

    def theirs():
        for part in run.work.glob("cities.db*"):
            part.unlink()
        program = peers.program("sqlite-utils")
        inserted = _seconds(program, "insert", database, "cities", file, "--csv", "--pk", "id")
        plain = database.stat().st_size
        indexed = sum(_seconds(program, "create-index", database, "cities", name) for name in _INDEXED)
        return inserted, indexed, plain, database.stat().st_size

    # One turn: each side takes long enough to have its share of what the machine does.
    plain, indexed = ours(), ours(*_INDEXED)
    inserted, index_seconds, plain_size, indexed_size = theirs()
    work = f"import of {rows:,} CSV rows, {file.stat().st_size / 1e6:.0f} MB"
    for what, (seconds, size), other, other_size in (
        (work, plain, inserted, plain_size),
        (f"… with indexes on {len(_INDEXED)} columns", indexed, inserted + index_seconds, indexed_size),
    ):
        result, met = report.at_most(seconds / other, 0.7)
        yield Row(what, "≤ 0.7x of sqlite-utils", f"{seconds:.2f} s", f"sqlite-utils {other:.2f} s", result, met)
        result, met = report.at_most(size / other_size, 1.6)
        yield Row("… the store after it", "≤ 1.6x of its file", f"{size / 1e6:.0f} MB", f"sqlite-utils {other_size / 1e6:.0f} MB", result, met)


def _seconds(*command):
    started = time.perf_counter()
    tools.run_quietly(*command)
    return time.perf_counter() - started
