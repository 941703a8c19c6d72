"""The pages Tokens and Errors: how they look with input that developers paste, and an example that runs."""

import base64
import json
import plistlib
import subprocess
import urllib.parse

import pytest
from playwright.sync_api import expect

from looks import check_looks
from pages import CHAT

# A change token as NSKeyedArchiver archives it.
ARCHIVE = plistlib.dumps(
    {
        "$version": 100000,
        "$archiver": "NSKeyedArchiver",
        "$top": {"root": plistlib.UID(1)},
        "$objects": [
            "$null",
            {"$class": plistlib.UID(3), "ChangeToken": plistlib.UID(2)},
            bytes(range(3, 55)),
            {"$classname": "CKServerChangeToken", "$classes": ["CKServerChangeToken", "NSObject"]},
        ],
    },
    fmt=plistlib.FMT_BINARY,
)


@pytest.fixture(scope="module")
def notes(server):
    """A database with two zones, and the answers of a pull from one of them before and after a change."""
    container = "iCloud.com.example.Workbench"
    records = [{"recordType": "Note", "recordName": f"n{number}", "fields": {"n": {"value": number}}} for number in range(5)]
    server.save(container, "Notes", *records)
    server.save(container, "Other", records[0])
    path = f"/{container}/development/private"

    def pull():
        return server.ask(path + "/changes/zone", {"zones": [{"zoneID": {"zoneName": name}} for name in ["Notes", "Other"]]})

    old = pull()
    server.save(container, "Notes", records[0], records[1])
    return {"there": f"/c{path}", "old": old, "new": pull(), "database": server.ask(path + "/changes/database", {})}


def test_the_example_of_a_new_device_runs(open_page, notes, server):
    page = open_page(notes["there"] + "/token?zone=Notes")
    query, playback, lookup, current, pull = page.locator(".ways pre code").all_inner_texts()

    def run(line):
        answer = subprocess.run(["sh", "-c", line], capture_output=True, timeout=60, check=True)
        return json.loads(answer.stdout)

    assert "serverErrorCode" in run(query) and "queryable" in run(query)["reason"]
    played = run(playback)["zones"][0]
    assert len(played["records"]) == 5 and all(record["fields"] == {} for record in played["records"]) and not played["moreComing"]
    assert run(lookup)["zones"][0]["syncToken"] == run(current)["syncToken"]
    assert run(pull.replace("TOKEN", played["syncToken"]))["zones"][0]["records"] == []


ERROR = """failed: <CKError 0x77ada9b750: "Partial Failure" (2/1011); "Failed to modify some records"; partial errors: {
\tA95663E0:(com.apple.coredata.cloudkit.zone:__defaultOwner__) = <CKError 0x77ada9b300: "Invalid Arguments" (12/2006); server message = "Cannot create or modify field 'CD_deviceID' in record 'CD_Session' in production schema"; op = ACABE99432842D30>
\tB2 = <CKError 0x2: "Batch Request Failed" (22/2024)>
}>"""


def test_codes_are_found_by_number_and_word(open_page):
    page = open_page(CHAT + "/errors")
    rows = page.locator(".codetable tbody tr:visible")
    assert rows.count() > 60
    page.get_by_label("Filter").fill("token old zone")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("changeTokenExpired")


def test_axe_finds_nothing_on_what_was_pasted(open_page, notes):
    page = open_page(notes["there"] + "/token")
    states = [
        ("token", {"token": base64.b64encode(ARCHIVE).decode()}), ("token", {"token": "no ! token"}),
        ("token", {"token": notes["new"]["zones"][0]["syncToken"], "with": notes["old"]["zones"][0]["syncToken"]}),
        ("token", {"token": json.dumps(notes["database"])}), ("errors", {}), ("errors", {"error": ERROR}), ("errors", {"error": "nothing"}),
    ]
    for name, fields in states:
        page.goto(f"{notes['there']}/{name}?{urllib.parse.urlencode(fields)}")
        check_looks(page)
