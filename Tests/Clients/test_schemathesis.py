"""Requests made up from /openapi.json by schemathesis: whatever is sent, the server answers with a status and a body that the document has."""

import json
import os
import random
import signal
import subprocess
import zlib

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, assume, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from server_binary import binary

SEED = 20261122
CONTAINER = "iCloud.com.example.Fuzz"
PASSWORD = "a password for fuzzing"
# Cases for each operation: those that fit the document, and those that don't. SKYLIGHT_FUZZ=10 makes ten times as many.
CASES = {"open": {GenerationMode.POSITIVE: 4, GenerationMode.NEGATIVE: 2}, "required": {GenerationMode.POSITIVE: 2, GenerationMode.NEGATIVE: 1}}
TIMES = int(os.environ.get("SKYLIGHT_FUZZ", "1"))
# What is there, so that not everything that is made up misses it.
KNOWN = {
    "recordName": ["one", "two", "three"], "zoneName": ["Zone", "_defaultZone"], "zone": ["Zone", "_defaultZone"], "recordType": ["Thing", "Other"],
    "fieldName": ["text", "number", "day", "list", "place", "other", "file"], "field": ["text", "number", "___recordID"], "desiredKeys": ["text"],
    "ownerRecordName": ["_defaultOwner"], "removeType": ["Other"], "removeField": ["text"],
}
TOKENS = ("syncToken", "metaSyncToken", "continuationMarker", "recordChangeTag", "since", "token", "after")
CHECKED = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance", "response_schema_conformance"]


class Server:
    def __init__(self, mode):
        options = ["serve", "--ephemeral", "--port", "0", "--log-level", "error", "--auth", mode, "--throttle", "0"]
        environment = {"SKYLIGHT_ADMIN_PASSWORD": PASSWORD, "PATH": "/usr/bin:/bin"}
        self.process = subprocess.Popen([binary(), *options], stdout=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
        self.mode, self.address = mode, line.split()[-1]
        self.session = requests.Session()
        self.administrator = {} if mode == "open" else {"Authorization": requests.auth._basic_auth_str("admin", PASSWORD)}
        self.kept = {name: [] for name in TOKENS}
        self.fill()

    def ask(self, path, body, method="POST"):
        headers = {**self.administrator, "X-Skylight-Access": "owner"}
        answer = requests.request(method, self.address + path, json=body, headers=headers, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def fill(self):
        """Records of most types, in a zone and in the public database."""
        fields = {
            "text": {"value": "x"}, "number": {"value": 7}, "day": {"value": 1_790_000_000_000, "type": "TIMESTAMP"},
            "list": {"value": ["a", "b"], "type": "STRING_LIST"}, "place": {"value": {"latitude": 52.5, "longitude": 13.4}},
            "other": {"value": {"recordName": "two", "action": "NONE"}, "type": "REFERENCE"},
        }
        for environment, database in (("development", "private"), ("development", "public")):
            root = f"/database/1/{CONTAINER}/{environment}/{database}"
            zone = {"zoneName": "Zone" if database == "private" else "_defaultZone"}
            if database == "private":
                self.ask(f"{root}/zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": zone}}]})
            saves = [
                {"operationType": "forceReplace", "record": {"recordName": name, "recordType": "Thing", "fields": fields}} for name in ("one", "two", "three")
            ]
            page = self.ask(f"{root}/records/modify", {"zoneID": zone, "operations": saves})
            self.kept["recordChangeTag"] += [record["recordChangeTag"] for record in page["records"]]
        feed = self.ask(f"/database/1/{CONTAINER}/development/private/changes/zone", {"zones": [{"zoneID": {"zoneName": "Zone"}, "resultsLimit": 1}]})
        for name in ("syncToken", "since", "token"):
            self.kept[name].append(feed["zones"][0]["syncToken"])
        feed = self.ask(f"/database/1/{CONTAINER}/development/private/changes/database", {})
        self.kept["metaSyncToken"].append(feed["syncToken"])
        edits = [
            {"setIndexes": indexes, "field": field, "recordType": "Thing"}
            for field, indexes in (("___recordID", ["QUERYABLE"]), ("text", ["QUERYABLE", "SORTABLE", "SEARCHABLE"]), ("number", ["QUERYABLE", "SORTABLE"]))
        ]
        self.ask(f"/skylight/1/{CONTAINER}/development/public/schema/edit", {"edits": edits})

    def known(self, value, name=None):
        """The same value, with every other name in it replaced by one that is there."""
        if isinstance(value, dict):
            return {key: self.known(part, key) for key, part in value.items()}
        if isinstance(value, list):
            return [self.known(part, name) for part in value]
        choices = KNOWN.get(name) or self.kept.get(name)
        number = zlib.crc32(f"{name}{value!r}".encode(errors="surrogatepass"))
        if isinstance(value, str) and choices and number % 3:
            return choices[number % len(choices)]
        return value

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=30) == 0, "The server did not end as it should"


@pytest.fixture(scope="module", params=["open", "required"])
def server(request):
    server = Server(request.param)
    yield server
    server.stop()


def endless(operation):
    """Streams that end when the client hangs up; test_openapi.py looks at them."""
    return "text/event-stream" in operation.definition.raw["responses"].get("200", {}).get("content", {})


def test_whatever_is_sent_is_answered_as_described(server):
    schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    checks = [CHECKS.get_one(name) for name in CHECKED]
    operations = [operation.ok() for operation in schema.get_all_operations()]
    assert len(operations) > 90
    sent, statuses, failures = 0, {}, []
    for operation in operations:
        if endless(operation):
            continue
        for mode, count in CASES[server.mode].items():
            places = {"container": CONTAINER} if "{container}" in operation.path else None

            @seed(SEED)
            @settings(
                max_examples=count * TIMES, deadline=None, database=None, phases=[Phase.generate], verbosity=Verbosity.quiet,
                suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
            )
            @given(case=operation.as_strategy(generation_mode=mode, path_parameters=places))
            def run(case):
                nonlocal sent
                if mode == GenerationMode.POSITIVE:
                    case.body = server.known(case.body)
                    case.query = server.known(case.query)
                # What is rehearsed, by this run too, is what the server fails on purpose.
                headers = {"X-Skylight-Rehearse": "none"}
                if server.mode == "required" and random.Random(f"{sent}").random() < 0.8:
                    headers |= server.administrator
                # What is longer than that, the server does not read to its end.
                assume(len(case.as_transport_kwargs(server.address)["url"]) + sum(len(str(part)) for part in case.query.values()) < 20_000)
                response = case.call(base_url=server.address, session=server.session, headers=headers, timeout=60)
                sent += 1
                statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
                case.validate_response(response, checks=checks)

            try:
                run()
            except BaseException as failure:  # noqa: BLE001 - all are shown together, groups of failures too
                if isinstance(failure, KeyboardInterrupt):
                    raise
                if isinstance(failure, Unsatisfiable) and mode == GenerationMode.NEGATIVE:
                    continue  # There is nothing to get wrong.
                failures.append(f"{operation.label} ({mode.value}): {failure}")
    print(json.dumps({"mode": server.mode, "operations": len(operations), "requests": sent, "statuses": statuses}))
    assert not failures, "\n\n".join(failures[:20])
    assert sent > 80
    assert {200, 400} <= set(statuses)
    # It is still well, and nothing was lost on the way.
    assert requests.get(f"{server.address}/health", timeout=30).json()["status"] == "ok"
    assert server.process.poll() is None
