"""The feeds beyond CloudKit, read like a client: docs/feeds.md."""

import gzip
import json
import urllib.error
import urllib.parse
import urllib.request

CONTAINER = "iCloud.com.example.Feeds/development/private"


class Feeds:
    """A zone for one test, and the services on it."""

    def __init__(self, server, zone):
        self.server = server
        self.zone = zone
        self.post("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}])

    def post(self, action, **body):
        request = urllib.request.Request(f"{self.server}/database/1/{CONTAINER}/{action}", data=json.dumps(body).encode())
        return json.load(urllib.request.urlopen(request))

    def save(self, *names):
        operations = [
            {"operationType": "forceUpdate", "record": {"recordName": name, "recordType": "Item", "fields": {"text": name * 5}}}
            for name in names
        ]
        answer = self.post("records/modify", zoneID={"zoneName": self.zone}, operations=operations)
        assert not [record for record in answer["records"] if "serverErrorCode" in record]

    def open(self, service, headers={}, **parameters):
        query = urllib.parse.urlencode({"zone": self.zone, **parameters})
        url = f"{self.server}/skylight/1/{CONTAINER}/{service}?{query}"
        return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60)

    def get(self, service, **parameters):
        return json.load(self.open(service, **parameters))

    def playback(self, **parameters):
        return [json.loads(line) for line in self.open("changes/playback", **parameters)]


def names(lines):
    return [line["record"]["recordName"] for line in lines if "change" in line]


def events(stream):
    """The events of a stream as they arrive: id and data."""
    event = {}
    for line in stream:
        key, _, value = line.decode().rstrip("\n").partition(": ")
        if key in ("id", "data"):
            event[key] = value
        elif not key and "data" in event:
            yield event["id"], json.loads(event["data"])
            event = {}


def test_playback_brings_everything_once_and_can_be_taken_up(server):
    feeds = Feeds(server, "Playback")
    for start in range(0, 1200, 200):
        feeds.save(*(f"r{number}" for number in range(start, start + 200)))
    lines = feeds.playback()
    assert lines[0] == {"playback": "started", "total": 1200}
    assert names(lines) == [f"r{number}" for number in range(1200)]
    assert lines[-1]["playback"] == "finished" and lines[-1]["done"] == 1200
    broken = lines[: lines.index(next(line for line in lines if line.get("playback") == "reached")) + 1]
    rest = feeds.playback(since=broken[-1]["syncToken"])
    assert names(broken) + names(rest) == names(lines)
    compressed = feeds.open("changes/playback", headers={"Accept-Encoding": "gzip"})
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert [json.loads(line) for line in gzip.decompress(compressed.read()).splitlines()] == lines


def test_a_follower_learns_why_its_feed_ends(server):
    feeds = Feeds(server, "Ended")
    with feeds.open("changes/follow") as stream:
        lines = (line.decode().strip() for line in stream)
        assert next(line for line in lines if line == "event: changes")
        feeds.post("zones/modify", operations=[{"operationType": "delete", "zone": {"zoneID": {"zoneName": "Ended"}}}])
        assert next(line for line in lines if line == "event: failed")
        assert json.loads(next(lines).removeprefix("data: "))["serverErrorCode"] == "ZONE_NOT_FOUND"


def test_follow_begins_now(server):
    feeds = Feeds(server, "Now")
    feeds.save("before")
    with feeds.open("changes/follow") as stream:
        stream = events(stream)
        assert next(stream)[1]["changes"] == []
        feeds.save("after")
        assert names(next(stream)[1]["changes"]) == ["after"]


def test_errors_are_reported_before_the_stream_begins(server):
    feeds = Feeds(server, "Wrong")
    for service, parameters, reason in [
        ("changes/playback", {"since": "garbage"}, "Unknown sync continuation type"),
        ("changes/follow", {"since": "garbage"}, "Unknown sync continuation type"),
        ("changes/playback", {"zone": "Missing"}, "Zone does not exist"),
        ("changes/playback", {"zone": "_defaultZone"}, "syncToken operations supported only in SyncZone"),
        ("token/explain", {}, "Expected the query parameter 'token'"),
        ("token/nothing", {}, "There is no service"),
    ]:
        try:
            feeds.open(service, **parameters)
            raise AssertionError(f"{service} {parameters} was answered")
        except urllib.error.HTTPError as error:
            answer = json.load(error)
            assert error.code in (400, 404) and reason in answer["reason"], (service, parameters, answer)
