"""Measures Skylight side by side with a small program in C on the same SQLite and with its peers, and prints a table with goals.

docs/benchmarks.md says what each row means. `make bench` builds what this needs and runs it.
"""

import argparse
import os
import pathlib
import sys
import time

import assets
import bench
import floor
import importing
import noting
import pages
import passing
import postgresql
import reading
import report
import saving
import serving
import telling
import tools

ROWS = {
    "playback-store": reading.playback_in_store,
    "playback-http": reading.playback_over_http,
    "size": reading.independent_of_size,
    "as-of": reading.as_of,
    "fetch": reading.fetch_by_name,
    "saver": lambda run: saving.savers(run, 1),
    "savers": lambda run: saving.savers(run, 64),
    "postgresql": postgresql.saves,
    "start": serving.first_answers,
    "peers": serving.peers_per_request,
    "bursts": serving.memory_after_bursts,
    "load": serving.reads_under_load,
    "floor": floor.least,
    "request-log": noting.request_log,
    "between": passing.between,
    "pages": pages.console_pages,
    "resaves": saving.random_saves,
    "index": saving.index_under_saves,
    "tree": saving.tree_under_saves,
    "matching": telling.matching,
    "subscriptions": telling.saves_with_subscriptions,
    "told": telling.until_told,
    "couriers": telling.couriers_under_saves,
    "downloads": assets.downloads,
    "small-assets": assets.small_files,
    "uploads": assets.uploads,
    "import": importing.table,
}


def options():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "skylight-benchmarks"
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skylight", required=True, help="the server's binary, a release build")
    parser.add_argument("--store", required=True, help="the binary skylight-benchmarks, a release build")
    parser.add_argument("--floor", required=True, help="the binary floor-servers, a release build")
    parser.add_argument("--records", type=int, help="records in the large zone (default: 1,000,000)")
    parser.add_argument("--peer-records", type=int, help="records in the zone that is compared with the peers (default: 100,000)")
    parser.add_argument("--rounds", type=int, help="how often the sides take turns; medians count (default: 3)")
    parser.add_argument("--quick", action="store_true", help="20,000 records in all zones and one round: whether it works, not how fast")
    parser.add_argument("--only", action="append", choices=ROWS, help="only this part of the table; can be given more than once")
    parser.add_argument("--cache", type=pathlib.Path, default=cache, help="where filled folders are kept between runs (default: %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, help="a file for the table as well")
    return parser.parse_args()


def main():
    chosen = options()
    started = time.monotonic()
    headline = report.machine()

    def say(text):
        print(f"{time.monotonic() - started:6.1f} s  {text}", file=sys.stderr, flush=True)

    chosen.cache.mkdir(parents=True, exist_ok=True)
    run = bench.Bench(
        chosen.skylight, chosen.store, chosen.floor, chosen.cache, records=chosen.records or (20_000 if chosen.quick else 1_000_000),
        peer_records=chosen.peer_records or (20_000 if chosen.quick else 100_000), rounds=chosen.rounds or (1 if chosen.quick else 3),
        quick=chosen.quick, say=say,
    )
    rows = []
    try:
        for name, measure in ROWS.items():
            if chosen.only and name not in chosen.only:
                continue
            say(name)
            tools.warm(run.work)
            for row in measure(run):
                say(f"    {row.work}: {row.result} {row.verdict}")
                rows.append(row)
    finally:
        run.clean_up()
    headline += f" · {run.records:,} records, {run.rounds} rounds, {time.monotonic() - started:.0f} s"
    text = report.table(rows, headline, run.legend)
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


main()
