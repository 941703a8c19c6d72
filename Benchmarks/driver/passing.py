"""Rows about a server between a program and iCloud, for which another server stands in."""

import socket
import ssl
import time

import bench
import messages
import report
import tools
from report import Row

_RECORDS = 10_000
#: The host that programs for iCloud have compiled in.
_HOST = "api.apple-cloudkit.com"


class _Program:
    """A program with iCloud's host compiled in, on one connection."""

    def __init__(self, run, server, folder):
        place = tools.run(run.binary, "as-icloud", "--json", "--data", folder)
        port = int(place["address"].rsplit(":", 1)[1])
        context = ssl.create_default_context(cafile=place["authority"])
        self.server = server
        self._socket = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname=_HOST)
        self._answers = self._socket.makefile("rb")

    def ask(self, request):
        """Returns the seconds until the whole answer was there."""
        begun = time.perf_counter()
        self._socket.sendall(request)
        status = self._answers.readline()
        if b" 200 " not in status:
            raise RuntimeError(f"An answer failed: {status!r}")
        length = 0
        while (line := self._answers.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        self._answers.read(length)
        return time.perf_counter() - begun

    def measure(self, requests, seconds):
        """Returns the processor time of the server for a request, in microseconds, and the median time of an answer, in seconds."""
        before, times, end = self.server.processor_seconds(), [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            times.append(self.ask(requests[len(times) % len(requests)]))
        return (self.server.processor_seconds() - before) / len(times) * 1e6, tools.median(times)


def between(run):
    """Lookups of one record that are passed on, beside the same lookups answered by a server in iCloud's place."""
    container = run.container(bench.ONE)
    requests = [container.lookup([run.notes.random(index, _RECORDS)]) for index in range(1000)]
    run.explain("one record, passed on", requests[0])
    requests = [request.replace(f"Host: {messages.HOST}".encode(), f"Host: {_HOST}".encode()) for request in requests]
    seconds = 1 if run.quick else 4
    folders = [run.work / name for name in ("origin", "between")]
    for folder in folders:
        run.store.fill(folder, bench.ONE, _RECORDS if folder is folders[0] else 0)
    place = ("--as-icloud", "--icloud-port", "0")
    with run.serve(folders[0], options=place) as origin:
        options = (*place, "--proxy", bench.ONE, "--origin", origin.address)
        with run.serve(folders[1], options=options) as proxy:
            here, passed = _Program(run, origin, folders[0]), _Program(run, proxy, folders[1])
            for program in (here, passed):
                program.measure(requests, 0.5)
            results = run.alternate(lambda: here.measure(requests, seconds), lambda: passed.measure(requests, seconds))
    (local, direct), (cost, through) = ([tools.median(found[what] for found in side) for what in (0, 1)] for side in results)
    result, met = report.at_most(cost / local, 2)
    yield Row("server CPU: one record by name, passed on to iCloud", "≤ 2x of answering it", report.micros(cost), f"answered here {report.micros(local)}", result, met)
    added = through - direct
    yield Row("… median time of the answer", "≤ 2 ms more", report.micros(through * 1e6), f"answered here {report.micros(direct * 1e6)}", f"{added * 1e3:+.2f} ms", added <= 0.002)
