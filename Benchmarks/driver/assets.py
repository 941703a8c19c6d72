"""Rows about the files that records hold: downloads beside nginx, uploads beside a program in C."""

import os
import random
import re
import subprocess
import time
import urllib.parse
import urllib.request

import nginx
import report
import tools
from report import Row

_DATABASE = "/database/1/iCloud.bench.Assets/development/public/"
_LARGE, _LARGE_QUICK, _SMALL = 256 << 20, 16 << 20, 8 << 10
_GZIP, _ONLY_GZIP = "Accept-Encoding: gzip", "Accept-Encoding: gzip, identity;q=0"


def _size(run):
    return _LARGE_QUICK if run.quick else _LARGE


class _Files:
    """The files that are sent, in the folder that nginx serves."""

    def __init__(self, run):
        self.folder = run.work / "nginx"
        (self.folder / "files").mkdir(parents=True, exist_ok=True)

    def path(self, name):
        return self.folder / "files" / name

    def noise(self, name, size):
        """Bytes that don't compress."""
        with open(self.path(name), "wb") as file:
            for start in range(0, size, 1 << 20):
                file.write(os.urandom(min(1 << 20, size - start)))
        return self.path(name)

    def text(self, name, size):
        """Lines of JSON that are as long as records; they compress as records do."""
        chance = random.Random(name)
        words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 10))) for _ in range(3000)]

        def line(number):
            title, text = (" ".join(chance.choices(words, k=count)) for count in (4, 30))
            return '{"at":%d,"author":"%s","title":"%s","text":"%s"}\n' % (1_700_000_000_000 + number, chance.choice(words), title, text)

        block = "".join(line(number) for number in range(20_000)).encode()
        with open(self.path(name), "wb") as file:
            # Gzip looks back 32 KiB, and so never sees that the block comes again.
            for start in range(0, size, len(block)):
                file.write(block[: size - start])
        return self.path(name)


def _renew(file):
    """Makes other bytes of a file, which have not been kept before."""
    with open(file, "r+b") as opened:
        opened.write(os.urandom(16).hex().encode())


def _serve(run):
    return run.serve(run.work / "assets", options=("--asset-size-limit", "1GB"))


def _upload_path(server, record):
    token = {"recordType": "Attachment", "fieldName": "file", "recordName": record}
    url = server.send(_DATABASE + "assets/upload", {"tokens": [token]})["tokens"][0]["url"]
    return urllib.parse.urlsplit(url).path


def keep(server, file, record):
    """Uploads a file into a record. Returns where it can be fetched."""
    with open(file, "rb") as opened:
        request = urllib.request.Request(server.address + _upload_path(server, record), data=opened, method="POST")
        request.add_header("Content-Length", str(file.stat().st_size))
        request.add_header("Content-Type", "application/octet-stream")
        with urllib.request.urlopen(request, timeout=300) as answer:
            asset = tools.json.loads(answer.read())["singleFile"]
    body = {"recordType": "Attachment", "recordName": record, "fields": {"file": {"value": asset}}}
    saved = server.send(_DATABASE + "records/modify", {"operations": [{"operationType": "forceReplace", "record": body}]})
    url = saved["records"][0]["fields"]["file"]["value"]["downloadURL"]
    return urllib.parse.urlsplit(url).path


def _wait_until_compressed(server, path):
    for _ in range(1200):
        request = urllib.request.Request(server.address + path, method="HEAD", headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            if answer.headers["Content-Encoding"] == "gzip" and answer.headers["Content-Length"]:
                return
        time.sleep(0.1)
    raise RuntimeError("The compressed form of an asset is not made")


def downloads(run):
    """A large file as it is, and compressed: the client reads both servers' answers to their ends."""
    size, files = _size(run), _Files(run)
    noise, text, fresh = files.noise("noise", size), files.text("text", size), files.text("fresh", size)
    run.explain("download", b"GET the downloadURL of a record\r\n\r\n")
    with nginx.serve(files.folder) as other, _serve(run) as server:
        plain, kept = keep(server, noise, "noise"), keep(server, text, "text")
        _wait_until_compressed(server, kept)
        tools.warm(run.work)
        yield _compare(
            run, f"download of {size >> 20} MB", 0.9, size, lambda: _usual(server, plain), lambda: _usual(other, "/noise"), other="nginx"
        )
        yield _compare(
            run, "… compressible, gzip, the compressed form kept", 5, size, lambda: _usual(server, kept, _GZIP),
            lambda: other.fetch("/gzip/text", _GZIP), other="nginx, level 6 on the fly",
        )

        def compressed_now():
            _renew(fresh)
            return server.fetch(keep(server, fresh, "fresh"), _ONLY_GZIP)

        yield _compare(
            run, "… compressible, gzip on the fly at level 6", 0.9, size, compressed_now, lambda: other.fetch("/gzip/fresh", _GZIP),
            other="nginx, level 6",
        )


def _usual(server, path, header=""):
    """The usual time of a download that takes a tenth of a second: one alone hangs on which processors the two sides happen to be on."""
    return tools.median(server.fetch(path, header) for _ in range(10))


def _compare(run, work, limit, size, ours, theirs, other):
    """Both sides' times for the same bytes, as bytes of the file itself per second."""
    mine, its = (tools.median(seconds) for seconds in run.alternate(ours, theirs))
    result, met = report.at_least(its / mine, limit)
    return Row(work, f"≥ {limit}x of nginx", report.throughput(size / mine), f"{other}: {report.throughput(size / its)}", result, met)


def small_files(run):
    """A small file again and again, on some connections that are kept open."""
    files = _Files(run)
    small = files.noise("small", _SMALL)
    seconds = 2 if run.quick else 5
    with nginx.serve(files.folder) as other, _serve(run) as server:
        path = keep(server, small, "small")

        def ask(address):
            return lambda: _requests_per_second(address, seconds)

        mine, its = (tools.median(found) for found in run.alternate(ask(server.address + path), ask(other.address + "/small")))
    result, met = report.at_least(mine / its, 0.4)
    work = f"downloads of {_SMALL >> 10} KiB, 16 connections kept open"
    yield Row(work, "≥ 0.4x of nginx", report.rate(mine), f"nginx: {report.rate(its)}", result, met)


def _requests_per_second(address, seconds):
    said = subprocess.run(
        ["wrk", "-t", "1", "-c", "16", "-d", f"{seconds}s", address], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"Requests/sec:\s*([\d.]+)", said)
    if not found or "Non-2xx" in said:
        raise RuntimeError(f"wrk said: {said}")
    return float(found[1])


def uploads(run):
    """A large file, until it is synced and named by its checksum."""
    size, files = _size(run), _Files(run)
    file, kept = files.noise("upload", size), run.work / "kept"
    kept.mkdir(exist_ok=True)
    with _serve(run) as server:

        def ours():
            _renew(file)
            os.sync()
            return server.upload(_upload_path(server, "upload"), file)

        def baseline():
            os.sync()
            return tools.run(tools.keeper(), file, kept)["seconds"]

        mine, its = (tools.median(seconds) for seconds in run.alternate(ours, baseline))
    result, met = report.at_least(its / mine, 0.7)
    yield Row(
        f"upload of {size >> 20} MB, hashed and synced", "≥ 0.7x of C", report.throughput(size / mine),
        f"C, no HTTP: {report.throughput(size / its)}", result, met,
    )
