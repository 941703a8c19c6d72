"""Building and running the programs in C, and other things that all rows need."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent.parent
_BUILD = FOLDER.parent / ".build/benchmarks"


def _compile(output, sources, *options):
    """Compiles with the system's C compiler, unless that was done since the sources changed."""
    sources = [FOLDER / source for source in sources]
    parts = [*sources, *(header for source in sources for header in source.parent.rglob("*.h"))]
    if not output.exists() or any(part.stat().st_mtime > output.stat().st_mtime for part in parts):
        output.parent.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, "-O2", "-I", FOLDER / "BenchmarkRecords/include", "-o", output, *sources, *options], check=True
        )
    return output


def build_library(name, sources):
    return _compile(_BUILD / f"lib{name}.so", sources, "-shared", "-fPIC")


def baseline():
    """The program in C that does only what must be done."""
    sources = [f"baseline/{name}.c" for name in ("main", "store", "notes", "json")]
    return _compile(_BUILD / "baseline", [*sources, "BenchmarkRecords/benchmark_records.c"], "-lsqlite3")


def postgresql():
    """The same on libpq."""
    sources = [f"baseline/{name}.c" for name in ("postgresql", "notes", "json")]
    return _compile(_BUILD / "postgresql", [*sources, "BenchmarkRecords/benchmark_records.c"], "-I/usr/include/postgresql", "-lpq")


def distance():
    """A proxy that makes a server look farther away."""
    return _compile(_BUILD / "distance", ["client/distance.c"], "-pthread")


def keeper():
    """The program in C that keeps a file as safely as an asset is kept."""
    return _compile(_BUILD / "keeper", ["baseline/keep.c"], "-lcrypto")


def client():
    return _compile(_BUILD / "client", ["client/client.c"])


def sync_counter():
    """A library that counts the syncs of the process into which it is loaded."""
    return _compile(_BUILD / "libsync_counter.so", ["client/sync_counter.c"], "-shared", "-fPIC")


def main_queue():
    """A library without which a Swift program does not run in valgrind."""
    return _compile(_BUILD / "libmain_queue.so", ["client/main_queue.c"], "-shared", "-fPIC", "-Wl,--unresolved-symbols=ignore-all")


def run(*command, environment=None):
    """Runs a program to its end and reads the JSON that it says last."""
    process = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    )
    lines = process.stdout.strip().splitlines()
    if process.returncode != 0 or not lines:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with code {process.returncode}: {process.stdout[-500:]}")
    return json.loads(lines[-1])


def fill_baseline(file, records):
    run_quietly(baseline(), "fill", file, records)


def run_quietly(*command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def copy(source, target):
    """Copies a file or a folder, sharing the blocks where the file system can."""
    if target.is_dir():
        shutil.rmtree(target)
    subprocess.run(["cp", "--recursive", "--reflink=auto", source, target], check=True)


def warm(folder):
    """Reads all files below a folder, so that the system has them in memory when they are measured."""
    for file in folder.rglob("*"):
        if file.is_file():
            with open(file, "rb", buffering=0) as input:
                while input.read(1 << 20):
                    pass


median = statistics.median
