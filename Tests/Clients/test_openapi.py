"""/openapi.json must match the server's answers."""

import copy
import json

import jsonschema_rs
import pytest
import requests
import schemathesis

METHODS = {"get", "post", "put", "delete", "patch"}
CHAT = "iCloud.com.example.Chat/development/private"
CHANGES = {"zones": [{"zoneID": {"zoneName": "Chats"}, "resultsLimit": 20}]}
DATABASE_SUBSCRIPTION = {"subscriptionID": "described", "subscriptionType": "database", "notificationInfo": {"shouldBadge": True}}
QUERY_SUBSCRIPTION = {
    "subscriptionID": "described",
    "subscriptionType": "query",
    "query": {"recordType": "Message"},
    "firesOn": ["create"],
    "notificationInfo": {"alertLocalizationKey": "K", "alertLocalizationArgs": ["text"], "additionalFields": ["text"], "soundName": "default"},
}
NESTED = {
    "type": "DICTIONARY",
    "value": {
        "s": {"type": "STRING", "value": "x"}, "b": {"type": "BYTES", "value": "AAEC"}, "y": {"type": "BOOL", "value": True},
        "l": {"type": "ARRAY", "value": [{"type": "INT64", "value": 1}, {"type": "DOUBLE", "value": 0.5}, {"type": "TIMESTAMP", "value": 5}]},
    },
}
MESSAGES = {"query": {"recordType": "Message"}, "zoneID": {"zoneName": "Chats"}, "resultsLimit": 3}


@pytest.fixture(scope="module")
def document(server):
    answer = requests.get(f"{server}/openapi.json", timeout=60)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json; charset=UTF-8"
    return answer.json()


def closed(schema):
    """The same schema without additional members."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: closed(value) if key not in ("examples", "enum") else value for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        schema["additionalProperties"] = False
    return schema


@pytest.fixture(scope="module")
def check(document):
    """Checks an answer against its schema: each member must be documented."""
    schemas = closed(document["components"]["schemas"])

    def holds(path, method, body, line=False):
        content = document["paths"][path][method]["responses"]["200"]["content"]
        (media,) = content.values()
        schema = closed(copy.deepcopy(media["x-skylight-line" if line else "schema"]))
        validator = jsonschema_rs.Draft202012Validator({**schema, "components": {"schemas": schemas}})
        problems = [f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in validator.iter_errors(body)]
        assert not problems, f"{method} {path}: {problems[:3]} in {str(body)[:1000]}"

    return holds


def operations(document):
    for path, item in document["paths"].items():
        assert item.keys() <= METHODS | {"parameters"}, path
        for method in METHODS & item.keys():
            yield path, method, item[method]


def test_it_is_openapi_3_1(server):
    schema = schemathesis.openapi.from_url(f"{server}/openapi.json")
    schema.validate()
    assert all(operation.ok() for operation in schema.get_all_operations())


def test_all_that_is_named_is_there(document):
    def references(value):
        if isinstance(value, dict):
            if "$ref" in value:
                yield value["$ref"]
            for part in value.values():
                yield from references(part)
        elif isinstance(value, list):
            for part in value:
                yield from references(part)

    named = set(references(document))
    for reference in named:
        place = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
    everything = {f"#/components/{kind}/{name}" for kind in ("schemas", "responses", "parameters", "headers") for name in document["components"][kind]}
    assert everything - named == set(), "nobody uses these"


def test_each_operation_has_a_name_of_its_own_and_says_what_it_is(document):
    identifiers = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(identifiers) == len(set(identifiers)) > 90
    for path, method, operation in operations(document):
        assert operation["summary"] and not operation["summary"].endswith("."), path
        in_path = {part[1:-1] for part in path.split("/") if part.startswith("{")}
        parameters = document["paths"][path].get("parameters", []) + operation.get("parameters", [])
        resolved = [document["components"]["parameters"][p["$ref"].split("/")[-1]] if "$ref" in p else p for p in parameters]
        assert {p["name"] for p in resolved if p["in"] == "path"} == in_path, path
        assert {scheme for way in operation.get("security", document["security"]) for scheme in way} <= set(document["components"]["securitySchemes"])


def test_pages_of_this_machine_may_read_it(server):
    answer = requests.get(f"{server}/openapi.json", headers={"Origin": "http://localhost:3000"}, timeout=60)
    assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:3000"


PROTOCOL = "/database/1/{container}/{environment}/{database}/"
SKYLIGHT = "/skylight/1/{container}/{environment}/{database}/"


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("records/query", MESSAGES),
        ("records/query", {**MESSAGES, "numbersAsStrings": True}),
        ("records/lookup", {"records": [{"recordName": "Nobody"}]}),
        ("records/modify", {"operations": [{"operationType": "forceDelete", "record": {"recordName": "Nobody"}}]}),
        ("records/modify", {"operations": [{"operationType": "update", "record": {"recordName": "Nobody", "recordType": "Message"}}]}),
        ("zones/list", {}),
        ("zones/lookup", {"zones": [{"zoneName": "Chats"}, {"zoneName": "Nowhere"}]}),
        ("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": "Described"}}}]}),
        ("zones/modify", {"operations": [{"operationType": "delete", "zone": {"zoneID": {"zoneName": "Described"}}}]}),
        ("subscriptions/modify", {"operations": [{"operationType": "create", "subscription": DATABASE_SUBSCRIPTION}]}),
        ("subscriptions/modify", {"operations": [{"operationType": "create", "subscription": QUERY_SUBSCRIPTION}]}),
        ("subscriptions/list", {}),
        ("subscriptions/lookup", {"subscriptions": [{"subscriptionID": "described"}, {"subscriptionID": "none"}]}),
        ("subscriptions/modify", {"operations": [{"operationType": "delete", "subscription": {"subscriptionID": "described"}}]}),
        ("zones/changes", {}),
        ("changes/database", {}),
        ("changes/zone", CHANGES),
        ("changes/zone", {"zones": [{"zoneID": {"zoneName": "Nowhere"}}]}),
        ("users/caller", {}),
        ("users/current", {}),
        ("users/discover", {"lookupInfos": [{"emailAddress": "nobody@example.com"}]}),
        ("users/lookup/email", {"users": [{"emailAddress": "nobody@example.com"}]}),
        ("users/lookup/id", {"users": [{"userRecordName": "_00000000000000000000000000000000"}]}),
        ("users/lookup/contacts", {}),
    ],
)
def test_the_protocols_answers_are_as_described(server, check, action, body):
    answer = requests.post(f"{server}/database/1/{CHAT}/{action}", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    check(PROTOCOL + action, "post", answer.json())


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("changes/page", {"zoneName": "Chats", "resultsLimit": 5}),
        ("changes/zones", {"includesGoneZones": True}),
        ("keyvalues/modify", {"operations": [{"operationType": "set", "key": "described", "value": NESTED}, {"operationType": "remove", "key": "none"}]}),
        ("keyvalues/changes", {}),
        ("query/statistics", {}),
        ("records/counts", {"zoneName": "Chats"}),
        ("records/explain", MESSAGES),
        ("records/explain", {"query": {"recordType": "Message", "sortBy": [{"fieldName": "nothing"}]}, "zoneID": {"zoneName": "Chats"}}),
        ("records/list", {"zoneName": "Chats", "resultsLimit": 5}),
        ("schema", {}),
        ("schema/builds", {}),
        ("schema/counts", {"recordType": "Message", "fields": ["text"]}),
        ("schema/deploy", {"dryRun": True}),
        ("schema/diff", {"environment": "production"}),
        ("schema/history", {"resultsLimit": 5}),
        ("schema/import", {"dryRun": True, "text": "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE, rank INT64);"}),
        ("schema/reset", {"dryRun": True}),
        ("schema/usage", {"recordType": "Message"}),
        ("schema/validate", {"text": "DEFINE SCHEMA RECORD TYPE Note (title STRNG);"}),
        ("schema/validate", {"text": "DEFINE SCHEMA RECORD TYPE Note (title STRING);"}),
        ("zones/participants", {"zoneName": "Chats"}),
    ],
)
def test_answers_beyond_the_protocol_are_as_described(server, check, action, body):
    place = CHAT.replace("development", "production") if action == "schema/deploy" else CHAT
    answer = requests.post(f"{server}/skylight/1/{place}/{action}", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    check(SKYLIGHT + action, "post", answer.json())


def test_what_a_record_went_through_is_as_described(server, check):
    zone = {"zoneName": "Described"}
    place = "iCloud.com.example.Described/development/private"

    def ask(root, action, body):
        answer = requests.post(f"{server}/{root}/1/{place}/{action}", json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        check((PROTOCOL if root == "database" else SKYLIGHT) + action, "post", answer.json())
        return answer.json()

    ask("database", "zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": zone}}]})
    fields = {
        "text": {"value": "x"}, "whole": {"value": 1}, "part": {"value": 1.5}, "day": {"value": 1_790_000_000_000, "type": "TIMESTAMP"},
        "place": {"value": {"latitude": 52.5, "longitude": 13.4, "altitude": 34.0}}, "bytes": {"value": "AAEC", "type": "BYTES"},
        "words": {"value": ["a", "b"], "type": "STRING_LIST"}, "secret": {"value": "s", "type": "STRING", "isEncrypted": True},
        "other": {"value": {"recordName": "two", "action": "NONE"}, "type": "REFERENCE"}, "raw": "x",
    }
    operations = [{"operationType": "create", "record": {"recordName": name, "recordType": "Thing", "fields": fields}} for name in ("one", "two")]
    ask("database", "records/modify", {"zoneID": zone, "operations": operations})
    tag = ask("database", "records/lookup", {"zoneID": zone, "records": [{"recordName": "one"}, {"recordName": "nobody"}]})["records"][0]["recordChangeTag"]
    ask("database", "records/changes", {"zoneID": zone})
    journal = ask("skylight", "records/journal", {"zoneID": zone, "recordName": "one"})
    ask("skylight", "records/referrers", {"zoneID": zone, "recordName": "two"})
    ask("skylight", "records/revert", {"zoneID": zone, "recordName": "one", "position": journal["changes"][0]["position"], "recordChangeTag": tag})
    edits = [{"setIndexes": ["QUERYABLE"], "field": "recordName", "recordType": "Thing"}, {"addRole": "Editors"}]
    ask("skylight", "schema/edit", {"edits": edits})
    ask("database", "records/query", {"zoneID": zone, "query": {"recordType": "Thing"}})
    ask("skylight", "zones/share", {"zoneID": zone, "userRecordName": "_00000000000000000000000000000001"})
    ask("skylight", "zones/unshare", {"zoneID": zone, "userRecordName": "_00000000000000000000000000000001"})
    ask("skylight", "schema/reset", {"dryRun": True})
    ask("database", "records/modify", {"zoneID": zone, "operations": [{"operationType": "forceDelete", "record": {"recordName": "one"}}]})
    ask("skylight", "changes/page", {"zoneID": zone})
    ask("skylight", "zones/purge", {"zoneID": zone})
    ask("skylight", "changes/zones", {"includesGoneZones": True})
    ask("database", "zones/changes", {})


def test_files_are_as_described(server, check):
    place = "iCloud.com.example.Described/development/private"
    slots = {"tokens": [{"recordType": "File", "fieldName": "file", "recordName": "one"}]}
    answer = requests.post(f"{server}/database/1/{place}/assets/upload", json=slots, timeout=60).json()
    check(PROTOCOL + "assets/upload", "post", answer)
    uploaded = requests.post(answer["tokens"][0]["url"], data=b"bytes", timeout=60).json()
    check("/assets/{container}/{environment}/upload/{ticket}", "post", uploaded)
    record = {"recordName": "one", "recordType": "File", "fields": {"file": {"value": uploaded["singleFile"], "type": "ASSETID"}}}
    saved = requests.post(f"{server}/database/1/{place}/records/modify", json={"operations": [{"operationType": "forceReplace", "record": record}]}, timeout=60).json()
    check(PROTOCOL + "records/modify", "post", saved)
    sources = {"assets": [{"recordName": "one", "fieldName": "file"}, {"recordName": "nobody", "fieldName": "file"}]}
    check(PROTOCOL + "assets/rereference", "post", requests.post(f"{server}/database/1/{place}/assets/rereference", json=sources, timeout=60).json())
    asset = saved["records"][0]["fields"]["file"]["value"]
    uses = requests.get(f"{server}/skylight/1/{place}/assets/uses", params={"fileChecksum": asset["fileChecksum"]}, timeout=60).json()
    check(SKYLIGHT + "assets/uses", "get", uses)
    root = f"{server}/skylight/1/{place.removesuffix('/private')}"
    facts = requests.get(f"{root}/assets/facts", params={"fileChecksum": asset["fileChecksum"]}, timeout=60).json()
    check("/skylight/1/{container}/{environment}/assets/facts", "get", facts)
    for method, action in (("post", "assets/sweep"), ("get", "assets/verify")):
        for line in requests.request(method, f"{root}/{action}", timeout=60).text.splitlines():
            check("/skylight/1/{container}/{environment}/" + action, method, json.loads(line), line=True)


def test_feeds_and_what_the_server_saw_are_as_described(server, check):
    root = f"{server}/skylight/1/{CHAT}"
    token = requests.get(f"{root}/token/current", params={"zone": "Chats"}, timeout=60).json()
    check(SKYLIGHT + "token/current", "get", token)
    explained = requests.get(f"{root}/token/explain", params={"zone": "Chats", "token": token["syncToken"]}, timeout=60).json()
    check(SKYLIGHT + "token/explain", "get", explained)
    for line in requests.get(f"{root}/changes/playback", params={"zone": "Chats"}, timeout=60).text.splitlines()[:50]:
        check(SKYLIGHT + "changes/playback", "get", json.loads(line), line=True)
    seen = requests.get(f"{server}/skylight/1/requests", params={"resultsLimit": 500}, timeout=60).json()
    check("/skylight/1/requests", "get", seen)
    one = requests.get(f"{server}/skylight/1/requests/{seen['requests'][0]['id']}", params={"bodies": 1}, timeout=60).json()
    check("/skylight/1/requests/{id}", "get", one)
    for action in ("clients", "containers", "health", "users", "users/caller", "rehearsals"):
        check(f"/skylight/1/{action}", "get", requests.get(f"{server}/skylight/1/{action}", timeout=60).json())
    check("/health", "get", requests.get(f"{server}/health", timeout=60).json())


def test_streams_that_never_end_begin_as_described(server, document):
    endless = [path for path, _, operation in operations(document) if "text/event-stream" in operation["responses"].get("200", {}).get("content", {})]
    assert len(endless) == 4
    for path in endless:
        address = path.replace("{container}/{environment}/{database}", CHAT)
        with requests.get(server + address, params={"zone": "Chats"}, stream=True, timeout=60) as answer:
            assert answer.status_code == 200
            assert answer.headers["Content-Type"].startswith("text/event-stream")
