"""Many containers one after the other: file handles and threads do not grow. Prints memory and time."""

import http.client
import json
import os
import time
from pathlib import Path

from chance import times
from process import Server

# Set `SKYLIGHT_CONTAINERS` for more. The server keeps 24 open that nobody uses.
COUNT = int(os.environ.get("SKYLIGHT_CONTAINERS") or times(60))


def ask(server, method, path, body=None):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request(method, path, None if body is None else json.dumps(body).encode())
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def save(server, number):
    record = {"recordType": "Note", "recordName": "one", "fields": {"number": {"value": number}}}
    return ask(
        server, "POST", f"/database/1/iCloud.com.example.Many{number}/development/private/records/modify",
        {"operations": [{"operationType": "forceReplace", "record": record}]},
    )


def look_up(server, number):
    return ask(
        server, "POST", f"/database/1/iCloud.com.example.Many{number}/development/private/records/lookup", {"records": [{"recordName": "one"}]}
    )


def resources(server):
    """File handles, threads and KiB of memory."""
    process = Path(f"/proc/{server.process.pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return len(os.listdir(process / "fd")), int(status["Threads"]), int(status["VmRSS"].split()[0])


def test_handles_and_threads_do_not_grow_with_the_containers(start):
    server = start()
    assert server.listens(), server.complaint
    for number in range(COUNT):
        status, text = save(server, number)
        assert status == 200, text
        if number == COUNT // 2:
            earlier = resources(server)[0]
    handles, threads, memory = resources(server)
    print(f"{COUNT} containers saved into: {handles} handles, {threads} threads, {memory / 1024:.0f} MiB")
    assert handles < 200 and threads < 100
    # Each container has several.
    assert handles - earlier < COUNT // 4, earlier
    server.stop()
    server = start()
    assert server.listens(), server.complaint
    before = resources(server)[0]
    began = time.monotonic()
    status, page = ask(server, "GET", "/")
    print(f"the start page after a restart: {1000 * (time.monotonic() - began):.0f} ms, {len(page)} characters")
    assert status == 200 and "iCloud.com.example.Many0" in page
    # It opens only the stores that it needs for its example.
    assert resources(server)[0] - before < 100
    for number in range(COUNT):
        status, text = look_up(server, number)
        assert status == 200 and f'"value":{number}' in text, text
    handles, threads, memory = resources(server)
    print(f"{COUNT} containers read: {handles} handles, {threads} threads, {memory / 1024:.0f} MiB")
    assert handles < 200 and threads < 100
    server.stop()


def test_few_handles_are_reported_and_survived(binary, tmp_path):
    """With few handles, some of them taken by idle clients, requests are answered or told to try again later, and none is lost."""
    server = Server(binary, tmp_path / "data", before=["sh", "-c", 'ulimit -n 128 && exec "$@"', "sh"])
    try:
        assert server.listens(), server.complaint
        saved = set()
        idle = []
        for number in range(60):
            if number % 2 == 0:
                connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
                connection.connect()
                idle.append(connection)
            status, text = save(server, number)
            if status == 200:
                saved.add(number)
            else:
                assert status == 503 and "ulimit -n" in text, text
        for connection in idle:
            connection.close()
        assert len(saved) > 30
        for number in sorted(saved):
            status, text = look_up(server, number)
            assert status == 200 and f'"value":{number}' in text, text
        status, text = ask(server, "GET", "/skylight/1/health")
        assert status == 200, text
    finally:
        server.kill()
