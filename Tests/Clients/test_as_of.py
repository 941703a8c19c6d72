"""Earlier states, as programs and people ask for them: in Skylight's own services and in commands. Which states are right is told by AsOfLawTests."""

import json
import subprocess

import pytest
import requests
from server_binary import binary
from waiting import PATIENCE

CONTAINER = "iCloud.com.example.AsOf"
NOTES = {"zoneName": "Notes"}


def post(url: str, body: dict, status: int = 200) -> dict:
    answer = requests.post(url, json=body, timeout=PATIENCE)
    assert answer.status_code == status, answer.text
    return answer.json()


class Story:
    """One zone in four states: before it had records, with two, with one of them changed, and with the other deleted."""

    def __init__(self, server: str):
        self.server = server
        self.protocol = f"{server}/database/1/{CONTAINER}/development/private/"
        self.own = f"{server}/skylight/1/{CONTAINER}/development/private/"
        post(self.protocol + "zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": NOTES}}]})
        self.points = [self.point()]
        for operations in [
            [self.note("a", "Milk", 1), self.note("b", "Eggs", 2)],
            [self.note("a", "Bread", 3, operation="forceUpdate")],
            [{"operationType": "forceDelete", "record": {"recordName": "b"}}],
        ]:
            answer = post(self.protocol + "records/modify", {"zoneID": NOTES, "operations": operations})
            assert all("serverErrorCode" not in record for record in answer["records"]), answer
            self.points.append(self.point())

    def note(self, name: str, title: str, rank: int, operation: str = "create") -> dict:
        fields = {"title": {"value": title}, "rank": {"value": rank}}
        return {"operationType": operation, "record": {"recordType": "Note", "recordName": name, "fields": fields}}

    def point(self) -> dict:
        """The present point in each of its forms."""
        zone = post(self.protocol + "changes/zone", {"zones": [{"zoneID": NOTES}]})["zones"][0]
        position = self.ask("changes/position", {"asOf": zone["syncToken"]})["position"]
        return {"position": str(position), "token": zone["syncToken"]}

    def ask(self, service: str, body: dict, status: int = 200) -> dict:
        return post(self.own + service, body, status)

    def command(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [binary(), arguments[0], "--container", CONTAINER, "--url", self.server, *arguments[1:]], capture_output=True, text=True, timeout=PATIENCE)


RANKED = {"fieldName": "rank", "comparator": "GREATER_THAN", "fieldValue": {"value": 0}}
BY_RANK = {"recordType": "Note", "filterBy": [RANKED], "sortBy": [{"fieldName": "rank"}]}
# Title by record name in each state.
STATES = [{}, {"a": "Milk", "b": "Eggs"}, {"a": "Bread", "b": "Eggs"}, {"a": "Bread"}]


@pytest.fixture(scope="module")
def story(server):
    return Story(server)


def titles(answer: dict) -> dict:
    return {record["recordName"]: record["fields"]["title"]["value"] for record in answer["records"]}


@pytest.mark.parametrize("form", ["position", "token"])
@pytest.mark.parametrize("state", range(4))
def test_services_answer_as_they_did(story, state, form):
    point, expected = story.points[state][form], STATES[state]
    position = int(story.points[state]["position"])
    found = story.ask("records/query", {"zoneID": NOTES, "query": BY_RANK, "asOf": point})
    assert titles(found) == expected and found["position"] == position and "notKnown" not in found
    ranks = [record["fields"]["rank"]["value"] for record in found["records"]]
    assert ranks == sorted(ranks)
    filtered = {**BY_RANK, "filterBy": [{"fieldName": "title", "comparator": "EQUALS", "fieldValue": {"value": "Milk"}}]}
    assert list(titles(story.ask("records/query", {"zoneID": NOTES, "query": filtered, "asOf": point}))) == [name for name, title in expected.items() if title == "Milk"]
    looked = story.ask("records/lookup", {"zoneID": NOTES, "records": [{"recordName": "a"}, {"recordName": "b"}], "asOf": point})
    assert looked["position"] == position
    assert titles({"records": [record for record in looked["records"] if "serverErrorCode" not in record]}) == expected
    assert {record["serverErrorCode"] for record in looked["records"] if "serverErrorCode" in record} <= {"NOT_FOUND"}
    listed = story.ask("records/list", {"zoneID": NOTES, "asOf": point})
    assert titles(listed) == expected
    counts = story.ask("records/counts", {"zoneID": NOTES, "asOf": point})
    assert counts["total"] == len(expected)


def test_now_is_without_a_position(story):
    found = story.ask("records/query", {"zoneID": NOTES, "query": BY_RANK})
    assert titles(found) == STATES[3] and "position" not in found and "notKnown" not in found


def test_the_protocol_has_no_earlier_states(story):
    found = post(story.protocol + "records/query", {"zoneID": NOTES, "query": BY_RANK, "asOf": story.points[1]["position"]})
    assert titles(found) == STATES[3] and "position" not in found


@pytest.mark.parametrize("point", ["999999999999", "-1", "9223372036854775808", "no token", "2026-13-45T99:99Z", "\u0000", "0" * 5000])
def test_what_is_no_point_is_refused(story, point):
    refused = story.ask("records/query", {"zoneID": NOTES, "query": {"recordType": "Note"}, "asOf": point}, status=400)
    assert refused["serverErrorCode"] == "BAD_REQUEST" and refused["reason"]


@pytest.mark.parametrize("value", [7, True, [], {}, ""])
def test_a_point_is_a_text(story, value):
    refused = story.ask("records/counts", {"zoneID": NOTES, "asOf": value}, status=400)
    assert "asOf" in refused["reason"]


@pytest.mark.parametrize("state", range(4))
def test_commands_read_as_of_a_point(story, state, tmp_path):
    point, expected = story.points[state]["position"], STATES[state]
    queried = story.command("query", "rank > 0 sort by rank", "--type", "Note", "--zone", "Notes", "--json", "--as-of", point)
    assert queried.returncode == 0, queried.stderr
    assert titles({"records": [json.loads(line) for line in queried.stdout.splitlines()]}) == expected
    exported = story.command("export", "--zone", "Notes", "--as-of", story.points[state]["token"], "--output", str(tmp_path / "then.ndjson"))
    assert exported.returncode == 0, exported.stderr
    rows = [json.loads(line) for line in (tmp_path / "then.ndjson").read_text().splitlines()][1:]
    assert {row["recordName"]: row["fields"]["title"]["value"] for row in rows} == expected
    fetched = story.command("fetch", "a", "--zone", "Notes", "--json", "--as-of", point)
    if "a" in expected:
        assert fetched.returncode == 0, fetched.stderr
        assert expected["a"] in fetched.stdout
    else:
        assert fetched.returncode != 0 and "NOT_FOUND" in fetched.stdout + fetched.stderr


def test_a_command_names_what_is_no_point(story):
    for arguments in [["query", "--type", "Note"], ["fetch", "a"], ["export"]]:
        refused = story.command(*arguments, "--as-of", "999999999999")
        assert refused.returncode != 0 and "999" in refused.stderr and refused.stdout == "", arguments
