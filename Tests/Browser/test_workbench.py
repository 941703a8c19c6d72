"""The pages Tokens and Errors, with input that developers paste."""

import base64
import json
import plistlib
import subprocess
import urllib.parse
import urllib.request
import uuid

import pytest
from playwright.sync_api import expect

from looks import check_looks
from pages import CHAT

TOKEN = bytes(range(3, 55))


def archive(token: bytes = TOKEN) -> bytes:
    """A change token as NSKeyedArchiver archives it."""
    return plistlib.dumps(
        {
            "$version": 100000,
            "$archiver": "NSKeyedArchiver",
            "$top": {"root": plistlib.UID(1)},
            "$objects": [
                "$null",
                {"$class": plistlib.UID(3), "ChangeToken": plistlib.UID(2)},
                token,
                {"$classname": "CKServerChangeToken", "$classes": ["CKServerChangeToken", "NSObject"]},
            ],
        },
        fmt=plistlib.FMT_BINARY,
    )


def groups(digits: str) -> str:
    return " ".join(digits[index : index + 8] for index in range(0, len(digits), 8))


FORMS = {
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64 for URLs": lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
    "URL-encoded text": lambda data: urllib.parse.quote(base64.b64encode(data), safe=""),
    "hexadecimal digits": lambda data: data.hex(),
    "Xcode's dump <…>": lambda data: f"<{groups(data.hex())}>",
    "Xcode's dump {length, bytes}": lambda data: f"{{length = {len(data)}, bytes = 0x{data.hex()}}}",
    "JSON": lambda data: json.dumps({"syncToken": base64.b64encode(data).decode()}, separators=(",", ":")),
}


def unfold(page):
    """Opens the form, which is one line once it has an answer."""
    form = page.locator("details.input-line")
    if form.get_attribute("open") is None:
        form.locator("> summary").click()


def paste(page, text, label="Token, archive, dump or JSON"):
    unfold(page)
    page.get_by_label(label).fill(text)
    page.get_by_role("button", name="Explain").click()


def written(page, heading):
    """The forms of a value, by their names."""
    section = page.locator("section.forms", has=page.get_by_role("heading", name=heading, exact=True))
    return {
        row.locator("dt").inner_text().replace(" as pasted", "").strip(): row.locator("code").inner_text()
        for row in section.locator("dl > div").all()
    }


@pytest.mark.parametrize("form", FORMS)
def test_an_archive_is_recognised_in_every_form_and_written_in_every_other(open_page, form):
    page = open_page(CHAT + "/token")
    paste(page, FORMS[form](archive()))
    if form == "JSON":
        # The member holds an archive instead of a token. Opening it shows the archive.
        expect(page.locator("tbody th.name").first).to_have_text("syncToken")
        page.get_by_title("Explain only this token").click()
    layers = page.get_by_label("Format").locator("li")
    expect(layers.last).to_have_text("a keyed archive of CKServerChangeToken")
    outline = page.get_by_role("region", name="The archive's objects")
    expect(outline.locator("tbody tr")).to_have_count(2)
    expect(outline).to_contain_text("ChangeToken")
    expect(outline).to_contain_text(TOKEN[:24].hex())
    for heading, value in [("The token in every form", TOKEN), ("The archive in every form", archive())]:
        assert written(page, heading) == {name: write(value) for name, write in FORMS.items()}


def test_long_archives_are_pasted_too(open_page):
    defaults = plistlib.dumps({f"zone{number}": archive(bytes([number]) * 52) for number in range(20)}, fmt=plistlib.FMT_BINARY)
    page = open_page(CHAT + "/token")
    paste(page, FORMS["base64"](defaults))
    expect(page.get_by_role("region", name="The tokens found").locator("tbody tr")).to_have_count(20)
    expect(page.locator("main")).to_contain_text("not from this environment")
    assert page.url.endswith("/token")


def test_a_dump_that_is_cut_says_what_is_missing(open_page):
    digits = archive().hex()
    page = open_page(CHAT + "/token")
    paste(page, f"{{length = {len(digits) // 2}, bytes = 0x{groups(digits[:32])} ... {groups(digits[-16:])} }}")
    expect(page.get_by_role("alert")).to_contain_text(f"{len(digits) // 2 - 24} bytes of {len(digits) // 2} bytes are missing")
    expect(page.get_by_role("alert")).to_contain_text("base64EncodedString()")


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
    return {"there": f"/c{path}", "path": path, "old": old, "new": pull(), "database": server.ask(path + "/changes/database", {})}


def test_a_database_token_is_distinguished_from_a_zone_token(open_page, notes):
    page = open_page(notes["there"] + "/token")
    paste(page, notes["new"]["zones"][0]["syncToken"])
    expect(page.get_by_text("This token is valid")).to_be_visible()
    expect(page.locator("main")).to_contain_text("zone token")
    expect(page.locator("main")).to_contain_text("it is the current one")
    paste(page, FORMS["Xcode's dump <…>"](base64.urlsafe_b64decode(notes["database"]["syncToken"] + "==")))
    expect(page.get_by_text("This token is valid")).to_be_visible()
    expect(page.locator("dl.facts").first).to_contain_text("database token")


def test_tokens_of_an_answer_are_listed_with_their_places(open_page, notes):
    page = open_page(notes["there"] + "/token")
    answer = dict(notes["new"])
    # Like a client that uses one token for everything.
    answer["zones"] = answer["zones"] + [{"zoneID": {"zoneName": "Other"}, "syncToken": answer["zones"][0]["syncToken"]}]
    paste(page, json.dumps(answer))
    rows = page.get_by_role("region", name="The tokens found").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("zones[0].syncToken")
    expect(rows.nth(0)).to_contain_text("zone token of Notes")
    expect(rows.nth(2)).to_contain_text("belongs to another zone than the named one")
    rows.nth(1).get_by_role("link").click()
    expect(page.get_by_text("This token is valid")).to_be_visible()


def test_two_tokens_are_compared(open_page, notes):
    page = open_page(notes["there"] + "/token")
    page.get_by_text("Compare with another token").click()
    page.get_by_label("The other token").fill(notes["old"]["zones"][0]["syncToken"])
    paste(page, notes["new"]["zones"][0]["syncToken"])
    expect(page.get_by_text("The second is older")).to_be_visible()
    expect(page.locator(".compared")).to_contain_text("2 records changed last between them, and 0 after the newer one")
    page.get_by_role("link", name="Fetch changes since the older one").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.go_back()
    unfold(page)
    page.get_by_label("The other token").fill(notes["new"]["zones"][1]["syncToken"])
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".compared")).to_contain_text("They belong to different zones")


def test_a_token_of_another_place_leads_there(open_page, notes):
    page = open_page(CHAT + "/token")
    paste(page, notes["new"]["zones"][0]["syncToken"])
    page.get_by_role("link", name="explain it there").click()
    expect(page.get_by_text("This token is valid")).to_be_visible()
    assert "Workbench" in page.url
    page.goto(notes["there"] + "/token?user=grace&token=" + notes["new"]["zones"][0]["syncToken"])
    expect(page.get_by_text("This token is not for this database")).to_be_visible()
    page.get_by_role("link", name="Explain it in its database").click()
    expect(page.get_by_text("This token is valid")).to_be_visible()


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


def test_the_cause_of_a_partial_failure_is_named(open_page):
    page = open_page(CHAT + "/errors")
    paste(page, ERROR, "The error")
    expect(page.locator(".note")).to_contain_text("invalidArguments of A95663E0")
    cards = page.locator(".errorcard")
    expect(cards).to_have_count(3)
    expect(cards.nth(0)).to_contain_text("partialFailure")
    expect(cards.nth(1)).to_contain_text("deploy the schema")
    expect(cards.nth(2)).to_contain_text("Another item of the batch failed")


def test_the_request_of_an_error_is_found_by_its_uuid(open_page, notes, server):
    request = urllib.request.Request(
        f"{server.address}/database/1{notes['path']}/records/query", data=b'{"query":{"recordType":"Note"}}', headers={"Content-Type": "text/plain"}
    )
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)
    answer = error.value.read().decode()
    page = open_page(notes["there"] + "/errors")
    paste(page, answer, "The error")
    card = page.locator(".errorcard")
    expect(card).to_contain_text("Mark recordName QUERYABLE")
    expect(card).to_contain_text("answered 400")
    card.get_by_role("link", name="records/query").click()
    expect(page.locator("main")).to_contain_text("is not marked queryable")
    page.goto(notes["there"] + "/errors")
    paste(page, answer.replace(json.loads(answer)["uuid"], str(uuid.uuid4())), "The error")
    expect(page.locator(".errorcard")).to_contain_text("The request log has no request with this uuid")


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
        ("token", {"token": FORMS["base64"](archive())}), ("token", {"token": "no ! token"}),
        ("token", {"token": notes["new"]["zones"][0]["syncToken"], "with": notes["old"]["zones"][0]["syncToken"]}),
        ("token", {"token": json.dumps(notes["database"])}), ("errors", {}), ("errors", {"error": ERROR}), ("errors", {"error": "nothing"}),
    ]
    for name, fields in states:
        page.goto(f"{notes['there']}/{name}?{urllib.parse.urlencode(fields)}")
        check_looks(page)
