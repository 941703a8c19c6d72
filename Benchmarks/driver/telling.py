"""Rows about subscriptions and notifications (docs/subscriptions.md)."""

import http.client
import json
import queue
import threading
import time

import bench
import messages
import report
import tools
from report import Row

_SUBSCRIPTIONS = 1000
_RECORDS = 10_000
_LISTENERS, _SLOW = 200, 5
_PUBLIC = f"/database/1/{bench.ONE}/development/public/"
_DEVICE = f"/device/1/{bench.ONE}/development/tokens/create"
#: Without content, nothing is sent.
_SILENT = {"shouldSendContentAvailable": True}


def matching(run):
    """One change against many query subscriptions."""
    rounds = [run.store.match(run.new_folder(), bench.ONE, rounds=30 if run.quick else 300) for _ in range(run.rounds)]
    half, most, reading = (tools.median(found) for found in zip(*(
        (found["matching"]["p50"], found["matching"]["p99"], found["reading"]) for found in rounds)))
    yield Row(
        "one change against 10,000 query subscriptions, in the store", "≤ 2 ms", f"{report.micros(half * 1e6)}, p99 {report.micros(most * 1e6)}",
        f"the first look {report.micros(reading * 1e6)}", report.micros(half * 1e6), half <= 0.002,
    )


def saves_with_subscriptions(run):
    """Saves on a server with many subscriptions, and on one without."""
    container = run.container(bench.ONE)
    saves = run.requests("save, subscribed", (container.save([run.notes.random(index, _RECORDS)], 2) for index in range(2000)))
    folders = [run.work / name for name in ("subscribed", "unsubscribed")]
    for folder in folders:
        run.store.fill(folder, bench.ONE, _RECORDS)
    with run.serve(folders[0]) as server, run.serve(folders[1]) as other:
        for first in range(0, _SUBSCRIPTIONS, 200):
            subscriptions = [_query(f"s{number}", "Note", "author", f"nobody {number}", "STRING") for number in range(first, first + 200)]
            _subscribe(server, container.path("subscriptions/modify"), subscriptions)
        server.send(_DEVICE, {})
        rates, costs, ratio = run.side_by_side(server, other, saves, 1)
    result, met = report.at_least(ratio, 0.95)
    yield Row(
        f"saves by one saver, with {_SUBSCRIPTIONS:,} query subscriptions", "≥ 0.95x of none",
        f"{report.rate(rates[0])}, {report.micros(costs[0])} CPU", f"none {report.rate(rates[1])}, {report.micros(costs[1])} CPU", result, met,
    )


def until_told(run):
    """The time from a save to the notification of another client."""
    count = 20 if run.quick else 200
    with run.serve(run.new_folder()) as server:
        # The type must be there before a filter can name its field.
        server.send(_PUBLIC + "records/modify", _saves([("first", -1)]))
        token = _listener(server, 0)
        times = []
        arrivals, begins = queue.Queue(), queue.Queue()
        taker = threading.Thread(target=_take, args=(server.port, token, count, begins, arrivals), daemon=True)
        taker.start()
        for number in range(count):
            begins.get(timeout=60)
            # The request is under way; the server must have it.
            time.sleep(0.01)
            start = time.perf_counter()
            server.send(_PUBLIC + "records/modify", _saves([(f"told{number}", 0)]))
            times.append(arrivals.get(timeout=60) - start)
        taker.join()
    times.sort()
    most = times[len(times) * 99 // 100]
    yield Row(
        "a save until another client is told, over HTTP", "p99 ≤ 100 ms", f"{report.micros(tools.median(times) * 1e6)}, p99 {report.micros(most * 1e6)}",
        "–", report.micros(most * 1e6), most <= 0.1,
    )


def _take(port, token, count, begins, arrivals):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for _ in range(count):
        connection.putrequest("GET", f"/aps?tok={token}&ttl=43200")
        connection.endheaders()
        begins.put(True)
        answer = json.loads(connection.getresponse().read())
        arrivals.put(time.perf_counter())
        if answer is None:
            raise RuntimeError("Nothing was told")


def couriers_under_saves(run):
    """Saves for clients that hold the web courier, a few of them slow."""
    seconds, rate = (2, 500) if run.quick else (20, 500)
    quiet, held, memory, lost = [], [], [], 0
    # As many requests for each client.
    saves = run.requests("save, told", (
        messages.post(_PUBLIC + "records/modify", _saves([(f"told{number}", number % _LISTENERS)])) for number in range(25 * _LISTENERS)))
    for _ in range(run.rounds):
        with run.serve(run.new_folder()) as server:
            server.load(saves, 8, 0, 1)
            quiet.append(server.load(saves, 8, rate, seconds)["p99"])
            tokens = [_listener(server, number) for number in range(_LISTENERS)]
            requests = messages.write(run.work / "takers.requests", [messages.get(f"/aps?tok={token}&ttl=43200") for token in tokens])
            takers = server.take(requests, _SLOW)
            before = server.memory()
            found = server.load(saves, 8, rate, seconds)
            memory.append(server.memory() - before)
            server.send(_PUBLIC + "records/modify", _saves([(f"fence{number}", number) for number in range(_LISTENERS)]))
            told = json.loads(takers.communicate(timeout=300)[0].splitlines()[-1])["told"]
            held.append(found["p99"])
            lost += found["count"] + _LISTENERS - told
    result, met = report.at_most(tools.median(held) / tools.median(quiet), 1.2)
    yield Row(
        f"save p99 while {_LISTENERS} clients hold couriers, {_SLOW} of them slow, {rate} saves a second", "≤ 1.2x of none, none lost",
        f"{report.micros(tools.median(held))}, {lost} lost, {tools.median(memory):.0f} MiB more", f"none {report.micros(tools.median(quiet))}",
        result, met and lost == 0,
    )


def _saves(records):
    """The save of records, each for the listener of its number."""
    return {"operations": [
        {"operationType": "forceUpdate", "record": {"recordType": "Told", "recordName": name, "fields": {"listener": {"value": number, "type": "INT64"}}}}
        for name, number in records
    ]}


def _query(name, record_type, field, value, value_type):
    filters = [{"fieldName": field, "comparator": "EQUALS", "fieldValue": {"value": value, "type": value_type}}]
    return {
        "subscriptionID": name, "subscriptionType": "query", "query": {"recordType": record_type, "filterBy": filters},
        "firesOn": ["create", "update"], "notificationInfo": _SILENT,
    }


def _subscribe(server, path, subscriptions, headers=None):
    answer = server.send(path, {"operations": [{"operationType": "create", "subscription": one} for one in subscriptions]}, headers=headers)
    failed = [one for one in answer["subscriptions"] if "serverErrorCode" in one]
    if failed:
        raise RuntimeError(f"A subscription failed: {failed[0]}")


def _listener(server, number):
    """A user's subscription to the records of a number. Returns the token of a client."""
    headers = {"X-Skylight-User": f"listener{number}"}
    _subscribe(server, _PUBLIC + "subscriptions/modify", [_query("mine", "Told", "listener", number, "INT64")], headers)
    return server.send(_DEVICE, {}, headers=headers)["apnsToken"]
