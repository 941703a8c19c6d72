"""Schemas and queries through Skylight's own services, like a script would use them."""

import signal
import subprocess
import threading
import time
import uuid

import pytest
import requests
from server_binary import PACKAGE, binary
from waiting import until

SCHEMAS = sorted((PACKAGE.parent / "shared/schemas").glob("*.ckdb"))
MANY = 20_000


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server that keeps its data until the tests end."""
    folder = tmp_path_factory.mktemp("schemas")
    process = subprocess.Popen([binary(), "serve", "--data", str(folder / "data"), "--port", "0"], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert line.startswith("Skylight is listening on http://"), f"The server did not start: {line!r}"
    yield line.split()[-1]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0, "The server did not end as it should"


class Container:
    """A container for one test, with both environments."""

    def __init__(self, address):
        self.address = address
        self.name = f"iCloud.com.example.S{uuid.uuid4().hex[:12]}"

    def url(self, action, environment="development", root="skylight"):
        return f"{self.address}/{root}/1/{self.name}/{environment}/private/{action}"

    def ask(self, action, body=None, environment="development", status=200, root="skylight"):
        answer = requests.post(self.url(action, environment, root), json=body or {}, timeout=120)
        assert answer.status_code == status, answer.text[:2000]
        return answer.json()

    def text(self, environment="development"):
        answer = requests.get(self.url("schema/text", environment), timeout=60)
        assert answer.status_code == 200
        return answer.content.decode()

    def save(self, count, fields):
        for start in range(0, count, 200):
            operations = [
                {"operationType": "create", "record": {"recordType": "Item", "recordName": f"r{number}", "fields": fields(number)}}
                for number in range(start, min(start + 200, count))
            ]
            answer = self.ask("records/modify", {"operations": operations}, root="database")
            assert all("serverErrorCode" not in record for record in answer["records"])


@pytest.fixture
def container(address):
    return Container(address)


@pytest.mark.skipif(not SCHEMAS, reason="The schemas to try are not here")
@pytest.mark.parametrize("file", SCHEMAS, ids=[path.stem for path in SCHEMAS])
def test_real_files_come_back_to_the_byte(container, file):
    text = file.read_text()
    assert container.ask("schema/validate", {"text": text})["valid"]
    imported = container.ask("schema/import", {"text": text})
    assert imported["changes"] and imported["losses"] == [] and imported["builds"] == []
    exported = container.text()
    assert not container.ask("schema/diff", {"text": text})["different"]
    again = Container(container.address)
    again.ask("schema/import", {"text": exported})
    assert again.text() == exported
    # The JSON form is complete.
    schema = requests.get(container.url("schema"), timeout=60).json()
    assert not again.ask("schema/diff", {"schema": schema})["different"]
    container.ask("schema/deploy", environment="production")
    assert container.text("production") == exported


def test_a_wrong_line_is_shown(container):
    text = "DEFINE SCHEMA\n\n    RECORD TYPE Note (\n        title\tSTRING QUERABLE,\n    );\n"
    answer = container.ask("schema/validate", {"text": text})
    assert not answer["valid"]
    error = answer["errors"][0]
    assert (error["line"], error["column"]) == (4, 22)
    line, caret = error["excerpt"].split("\n")
    assert line == "        title\tSTRING QUERABLE," and caret == "             \t       ^"[: len(caret)]
    assert line[len(caret) - 1 :].startswith("QUERABLE")
    refused = container.ask("schema/import", {"text": text}, status=400)
    assert refused["serverErrorCode"] == "BAD_REQUEST" and "line 4, column 22" in refused["reason"]


def test_the_remedy_of_an_explanation_lets_the_query_run(container):
    container.save(3, lambda number: {"author": {"value": f"a{number}"}, "year": {"value": number}})
    drop = [{"setIndexes": [], "field": field, "recordType": "Item"} for field in ("author", "year")]
    container.ask("schema/edit", {"edits": drop})
    query = {
        "query": {
            "recordType": "Item",
            "filterBy": [
                {"fieldName": "author", "comparator": "EQUALS", "fieldValue": {"value": "a1"}},
                {"fieldName": "recordName", "comparator": "EQUALS", "fieldValue": {"value": {"recordName": "r1"}, "type": "REFERENCE"}},
            ],
            "sortBy": [{"fieldName": "year"}],
        }
    }
    refused = container.ask("records/query", query, status=400, root="database")
    explained = container.ask("records/explain", query)
    assert refused["reason"] == "Type is not marked indexable: Item" == explained["problems"][0]["reason"]
    assert [edit["field"] for edit in explained["remedy"]] == ["author", "___recordID", "year"]
    refusals = container.ask("query/statistics")["refusals"]
    assert [refusal["query"]["filterBy"][0]["fieldName"] for refusal in refusals] == ["author"]
    container.ask("schema/edit", {"edits": explained["remedy"]})
    found = container.ask("records/query", query, root="database")
    assert [record["recordName"] for record in found["records"]] == ["r1"]
    explained = container.ask("records/explain", query)
    assert explained["problems"] == [] and "remedy" not in explained and explained["recordsReturned"] == 1
    assert any(candidate["standing"].startswith("SERVES") for candidate in explained["candidates"])
    assert container.ask("query/statistics")["refusals"] == []


def test_an_index_is_built_while_others_save(container):
    """Large enough for a background build, which reports its progress and is used once it is complete."""
    container.save(MANY, lambda number: {"n": {"value": number}, "text": {"value": f"word {number % 7}"}})
    container.ask("schema/edit", {"edits": [{"setIndexes": [], "field": "n", "recordType": "Item"}]})
    until(lambda: not container.ask("schema/builds")["builds"])
    query = {"query": {"recordType": "Item", "filterBy": [{"fieldName": "n", "comparator": "GREATER_THAN", "fieldValue": {"value": MANY - 3}}]}}
    edit = {"edits": [{"setIndexes": ["QUERYABLE"], "field": "n", "recordType": "Item"}], "wait": False}
    builds = container.ask("schema/edit", edit)["builds"]
    assert [(build["work"], build["field"], build["indexes"]) for build in builds] == [("BUILDING", "n", ["QUERYABLE"])]
    assert builds[0]["total"] >= MANY
    refused = container.ask("records/query", query, status=503, root="database")
    assert refused["serverErrorCode"] == "TRY_AGAIN_LATER" and refused["retryAfter"] >= 1 and "is being built" in refused["reason"]

    over = threading.Event()
    failures = []

    def keep_saving():
        saver = Container(container.address)
        saver.name = container.name
        number = MANY
        while not over.is_set():
            record = {"recordType": "Item", "recordName": f"r{number}", "fields": {"n": {"value": number}}}
            answer = saver.ask("records/modify", {"operations": [{"operationType": "create", "record": record}]}, root="database")
            failures.extend(item for item in answer["records"] if "serverErrorCode" in item)
            number += 1

    saving = threading.Thread(target=keep_saving)
    saving.start()
    percents = []
    deadline = time.monotonic() + 300
    while builds := container.ask("schema/builds")["builds"]:
        percents.append(builds[0]["percent"])
        assert time.monotonic() < deadline
        time.sleep(0.02)
    found = container.ask("records/query", query, root="database")["records"]
    over.set()
    saving.join()
    assert percents == sorted(percents) and all(0 <= percent < 100 for percent in percents)
    assert failures == [] and len(found) > 2
    # Records saved before, during and after the build are each in the index once.
    everything = container.ask("records/query", query | {"resultsLimit": 10_000})["records"]
    names = [record["recordName"] for record in everything]
    assert len(set(names)) == len(names)
    last = max(int(name[1:]) for name in names)
    assert set(names) == {f"r{number}" for number in range(MANY - 2, last + 1)}


def test_production_only_grows(container):
    container.ask("schema/import", {"text": "DEFINE SCHEMA RECORD TYPE Note ( title STRING QUERYABLE, year INT64 );"})
    plan = container.ask("schema/deploy", {"dryRun": True}, "production")
    assert plan["canRun"] and [change["change"] for change in plan["changes"]] == ["ADD_TYPE"]
    assert container.ask("schema/diff", {"environment": "production"})["different"]
    container.ask("schema/deploy", environment="production")
    assert not container.ask("schema/diff", {"environment": "production"})["different"]
    container.ask("schema/edit", {"edits": [{"removeField": "year", "recordType": "Note"}, {"addRole": "Editors"}]})
    refused = container.ask("schema/deploy", environment="production", status=400)
    assert "field 'year' INT64 of type 'Note' is not in development" in refused["reason"]
    assert "CREATE ROLE" not in container.text("production")
    history = container.ask("schema/history", environment="production")["entries"]
    assert [entry["reason"] for entry in history] == ["DEPLOY"]
