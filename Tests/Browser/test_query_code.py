"""The same request as code, the answer as a file, the query as text, values counted, records picked, queries saved."""

import csv
import io
import json
import shutil
import subprocess
import urllib.parse
import urllib.request

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from pages import CHAT

# Names and values that end quotations, in a shell, in Swift or in a script, if anything does.
ODD = "it's \"odd\" \\ $(date) `x` \u2028 é </script> '\u0301$(date)'\u0301"
ODD_USER = "o'hara \"q\""


def samples(page) -> list[tuple[str, str]]:
    """Title and text of every sample of a page."""
    return page.evaluate(
        "[...document.querySelectorAll('.codes details')].map(sample => [sample.querySelector('summary').textContent.trim(), sample.querySelector('code').textContent])"
    )


def run(command: str) -> dict:
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30, check=True)
    return json.loads(answer.stdout)


def names(page) -> list[str]:
    return page.locator(".answer tbody th.name a").all_inner_texts()


@pytest.fixture
def odd(server):
    """A container whose names are hard to write down, and the path of its pages."""
    container = "iCloud.com.example.Odd"
    user = urllib.parse.urlencode({"skylightUser": ODD_USER}, quote_via=urllib.parse.quote)
    path = f"/{container}/development/private"
    server.ask(f"{path}/zones/modify?{user}", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": ODD}}}]})
    for name, rank in [("one", 1), (ODD, 2), ("three", 3)]:
        fields = {
            "title": {"value": ODD}, "rank": {"value": rank}, "ratio": {"value": 0.5, "type": "DOUBLE"}, "at": {"value": 1500, "type": "TIMESTAMP"},
            "raw": {"value": "AQI=", "type": "BYTES"}, "tags": {"value": ["a", ODD], "type": "STRING_LIST"}, "none": {"value": [], "type": "INT64_LIST"},
            "place": {"value": {"latitude": 1.5, "longitude": -2}, "type": "LOCATION"},
            "link": {"value": {"recordName": "one", "action": "NONE"}, "type": "REFERENCE"},
        }
        record = {"recordType": "Note", "recordName": name, "fields": fields}
        answer = server.ask(f"{path}/records/modify?{user}", {
            "zoneID": {"zoneName": ODD}, "operations": [{"operationType": "forceReplace", "record": record}]})
        assert "serverErrorCode" not in answer["records"][0], answer
    return f"/c{path}", urllib.parse.urlencode({"user": ODD_USER, "zone": ODD})


def question(place: str, **filters: str) -> str:
    return f"{place}&type=Note&{urllib.parse.urlencode(filters)}"


ODD_FILTERS = {"filter1": "title", "is1": "EQUALS", "value1": ODD, "filter2": "tags", "is2": "LIST_CONTAINS", "value2": ODD, "sort1": "rank", "order1": "descending"}


def odd_pages(odd) -> dict[str, str]:
    there, place = odd
    record = urllib.parse.urlencode({"name": ODD})
    return {
        "query": f"{there}/query?{question(place, **ODD_FILTERS)}&key=title&limit=2",
        "explain": f"{there}/explain?{question(place, **ODD_FILTERS)}",
        "fetch": f"{there}/fetch?{place}&{urllib.parse.urlencode({'names': f'three{chr(10)}{ODD}{chr(10)}nobody'})}",
        "changes of a zone": f"{there}/changes?{place}&type=Note",
        "changes of the database": f"{there}/changes?{urllib.parse.urlencode({'user': ODD_USER})}",
        "record": f"{there}/record?{place}&{record}",
    }


CHAT_PAGES = {
    "query in all zones": CHAT + "/query?type=Message&filter1=room&is1=EQUALS&value1=Room%2Fgeneral&sort1=sentAt&limit=25",
    "query by distance": CHAT + "/query?type=Person&zone=Chats&filter1=home&is1=NEAR&value1=51.5,-0.16&within1=5000&sort1=home&from1=51.5,-0.16",
    "query of system fields": CHAT + "/query?type=Message&zone=Chats&return=system&limit=10&filter1=modifiedTimestamp&is1=GREATER_THAN&value1=2000-01-01",
    "changes backwards": CHAT + "/changes?zone=Chats&order=reverse&limit=50",
}

# The odd container is made of the fixture `odd`, whose pages are known only then.
WAYS = ["query", "explain", "fetch", "changes of a zone", "changes of the database", "record", *CHAT_PAGES]


@pytest.fixture
def way(request, odd):
    return {**odd_pages(odd), **CHAT_PAGES}[request.param]


# MARK: Code


@pytest.mark.parametrize("way", ["query", "query in all zones", "query by distance", "query of system fields", "changes backwards"], indirect=True)
def test_the_command_gives_what_the_page_gave(open_page, way):
    page = open_page(way)
    commands = [text for title, text in samples(page) if title == "curl"]
    assert len(commands) == 1
    answer = run(commands[0])
    records = answer["records"] if "records" in answer else answer["zones"][0]["records"]
    assert [record["recordName"] for record in records] == names(page) != []
    if "key=title" in way:
        assert [set(record["fields"]) for record in records] == [{"title"}] * len(records)


def test_the_command_of_a_fetch(open_page, odd):
    page = open_page(odd_pages(odd)["fetch"])
    answer = run(dict(samples(page))["curl"])
    assert [record["recordName"] for record in answer["records"]] == ["three", ODD, "nobody"]
    assert answer["records"][2]["serverErrorCode"] == "NOT_FOUND"
    assert page.locator(".answer tbody tr").count() == 3


def test_the_commands_of_changes(open_page, odd):
    pages = odd_pages(odd)
    page = open_page(pages["changes of the database"])
    zones = run(dict(samples(page))["curl"])["zones"]
    assert [zone["zoneID"]["zoneName"] for zone in zones] == [ODD]
    page = open_page(pages["changes of a zone"])
    zone = run(dict(samples(page))["curl"])["zones"][0]
    assert [record["recordName"] for record in zone["records"]] == names(page)
    # The same since a token.
    page.goto(f"{pages['changes of a zone']}&since=1&token={urllib.parse.quote(zone['syncToken'])}")
    again = run(dict(samples(page))["curl"])["zones"][0]
    assert again["records"] == [] and again["syncToken"] == zone["syncToken"]


def test_the_commands_of_a_record(open_page, odd):
    address = odd_pages(odd)["record"]
    page = open_page(address)
    fetch, save, deletion = [text for title, text in samples(page) if title == "curl"]
    before = run(fetch)["records"][0]
    saved = run(save)["records"][0]
    assert saved["fields"] == before["fields"] and saved["recordChangeTag"] != before["recordChangeTag"]
    # The record is another one now: what the page said of it is refused.
    assert run(save)["records"][0]["serverErrorCode"] == "CONFLICT"
    assert run(deletion)["records"][0]["serverErrorCode"] == "CONFLICT"
    page.reload()
    _, _, deletion = [text for title, text in samples(page) if title == "curl"]
    assert run(deletion)["records"][0] == {"recordName": ODD, "deleted": True}
    page.reload()
    expect(page.locator("main")).to_contain_text("Nothing of this name")


@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_swift_parses(open_page, way, tmp_path):
    if not shutil.which("swiftc"):
        pytest.skip("There is no Swift compiler")
    page = open_page(way)
    texts = [text for title, text in samples(page) if title.startswith("Swift")]
    assert len(texts) in (2, 6)
    for number, text in enumerate(texts):
        file = tmp_path / f"sample{number}.swift"
        file.write_text(text)
        checked = subprocess.run(["swiftc", "-frontend", "-parse", str(file)], capture_output=True, text=True, timeout=60)
        assert checked.returncode == 0 and "error:" not in checked.stderr, f"{text}\n{checked.stderr}"


# Stands for CloudKit JS: its calls of the documentation become the requests that CloudKit JS sends.
STAND_IN = """
async ([code]) => {
  const asked = [], printed = []
  const CloudKit = {
    configure(config) { this.config = config },
    getDefaultContainer() {
      const { containerIdentifier, environment } = this.config.containers[0]
      const database = scope => {
        const send = async (path, body) => {
          asked.push({ path, body })
          const url = `https://api.apple-cloudkit.com/database/1/${containerIdentifier}/${environment}/${scope}/${path}?ckjsVersion=2`
          const answer = await this.config.services.fetch(url, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'text/plain' } })
          const json = await answer.json()
          const errors = (json.records ?? json.zones ?? [json]).filter(item => item.serverErrorCode)
          return { ...json, hasErrors: errors.length > 0, errors }
        }
        return {
          performQuery: (query, options) => send('records/query', { query, ...options }),
          fetchRecords: (names, options) => send('records/lookup', { records: names.map(recordName => ({ recordName })), ...options }),
          saveRecords: (records, options) => send('records/modify', { operations: records.map(record => ({ operationType: record.recordChangeTag ? 'update' : 'create', record })), ...options }),
          deleteRecords: (names, options) => send('records/modify', { operations: names.map(recordName => ({ operationType: 'forceDelete', record: { recordName } })), ...options }),
          fetchDatabaseChanges: options => send('changes/database', options ?? {}),
          fetchRecordZoneChanges: options => send('changes/zone', { zones: [].concat(options) }),
        }
      }
      return { privateCloudDatabase: database('private'), publicCloudDatabase: database('public'), sharedCloudDatabase: database('shared') }
    },
  }
  const AsyncFunction = (async () => {}).constructor
  let error = null
  try { await new AsyncFunction('CloudKit', 'console', code)(CloudKit, { log: (...values) => printed.push(String(values[0])) }) }
  catch (thrown) { error = thrown.reason ?? String(thrown) }
  return { asked, printed, error }
}
"""


@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_javascript_runs(open_page, way):
    page = open_page(way)
    shown = names(page)
    texts = [text for title, text in samples(page) if title == "CloudKit JS"]
    assert len(texts) in (1, 3)
    # A page without the console's rules about scripts, of the same origin.
    page.route("**/playground", lambda route: route.fulfill(body="<title>x</title>", content_type="text/html"))
    page.goto("/playground")
    for text in texts[:2]:
        result = page.evaluate(STAND_IN, [text])
        assert len(result["asked"]) == 1
        if "/fetch?" in way:
            assert result["error"] == "Record not found"
            continue
        assert result["error"] is None, result
        if "/query?" in way:
            assert result["printed"] == shown
        if "/changes?" in way and "zone=" in way and "reverse" not in way:
            assert result["printed"][: len(shown)] == shown


# MARK: Files


def test_every_page_of_results_is_there_as_a_file(open_page, server):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=Room%2Fgeneral&sort1=sentAt&limit=25")
    page.locator("summary", has_text="Export").click()
    links = {link.inner_text(): link.get_attribute("href") for link in page.locator(".foot .menu a").all()}
    assert list(links) == ["JSON this page", "JSON all pages", "NDJSON this page", "NDJSON all pages", "CSV this page", "CSV all pages"]

    def load(name: str) -> str:
        with urllib.request.urlopen(server.address + links[name], timeout=60) as answer:
            return answer.read().decode()

    assert [record["recordName"] for record in json.loads(load("JSON this page"))["records"]] == names(page)
    everything = [json.loads(line)["recordName"] for line in load("NDJSON all pages").splitlines()]
    rows = list(csv.DictReader(io.StringIO(load("CSV all pages"))))
    assert [row["recordName"] for row in rows] == everything and len(everything) > 25
    assert {row["room"] for row in rows} == {"Room/general"}
    assert [row["recordName"] for row in csv.DictReader(io.StringIO(load("CSV this page")))] == names(page)
    assert [record["recordName"] for record in json.loads(load("JSON all pages"))["records"]] == everything


def test_exported_values_come_back(open_page, server, odd):
    there, place = odd
    with urllib.request.urlopen(f"{server.address}{there}/query.csv?{question(place, **ODD_FILTERS)}&all=1", timeout=60) as answer:
        rows = list(csv.DictReader(io.TextIOWrapper(answer, encoding="utf-8", newline="")))
    assert [row["recordName"] for row in rows] == ["three", ODD, "one"]
    row = rows[1]
    assert row["title"] == ODD and json.loads(row["tags"]) == ["a", ODD] and row["ratio"] == "0.5" and row["raw"] == "AQI="
    assert row["at"] == "1970-01-01T00:00:01.500Z" and row["place"] == "1.5, -2.0" and row["none"] == "[]" and row["link"] == "one"


# MARK: As text


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_form_and_text_are_in_step(open_page, scripts):
    page = open_page(CHAT + "/query?type=Message&zone=Chats", java_script_enabled=scripts)
    text = page.get_by_label("as text")
    text.fill("room = Room/general and sentAt > 2020-01-01 sort by sentAt descending")
    text.press("Enter")
    expect(page.get_by_label("Field of filter 2")).to_have_value("sentAt")
    expect(page.get_by_label("Value of filter 1")).to_have_value("Room/general")
    expect(page.get_by_label("Direction of sort 1")).to_have_value("descending")
    assert "where" not in page.url
    shown = names(page)
    assert shown
    page.get_by_label("Value of filter 1").fill("Room/random walk")
    page.get_by_role("button", name="Query", exact=True).last.click()
    expect(page.get_by_label("as text")).to_have_value('room = "Room/random walk" and sentAt > 2020-01-01 sort by sentAt descending')
    page.go_back()
    assert names(page) == shown


def test_the_text_follows_the_form_as_it_changes(open_page):
    page = open_page(CHAT + "/query?type=Message&zone=Chats")
    page.get_by_label("Field of filter 1").select_option("room")
    page.get_by_label("Value of filter 1").fill("x y")
    page.get_by_label("Value of filter 1").press("Tab")
    expect(page.get_by_label("as text")).to_have_value('room = "x y"')
    page.get_by_role("button", name="+ filter").click()
    page.get_by_label("Field of filter 2").select_option("sentAt")
    # The form comes anew with the comparisons of the field.
    expect(page.get_by_label("Comparison of filter 2")).to_have_value("GREATER_THAN")
    page.get_by_label("Value of filter 2").fill("2026-01-01")
    page.get_by_label("Field of sort 1").select_option("sentAt")
    expect(page.get_by_label("as text")).to_have_value('room = "x y" and sentAt > 2026-01-01 sort by sentAt')


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_what_cannot_be_read_is_pointed_at(open_page, scripts):
    page = open_page(CHAT + "/query?type=Message&zone=Chats", java_script_enabled=scripts)
    page.get_by_label("as text").fill("room = Room/general or sentAt > 2020-01-01")
    page.get_by_role("button", name="Use the text").click()
    problem = page.get_by_role("alert")
    expect(problem).to_contain_text("At character 21: ‘or’ is unexpected here")
    expect(problem.locator("mark")).to_have_text("or")
    expect(page.get_by_label("as text")).to_have_value("room = Room/general or sentAt > 2020-01-01")
    expect(page.locator(".foot")).to_contain_text("Not run")


# MARK: Values


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_values_are_counted_and_narrow_the_query(open_page, scripts):
    page = open_page(CHAT + "/query?type=Message&zone=Chats", java_script_enabled=scripts)
    page.get_by_label("and count the values of").select_option("room")
    if not scripts:
        page.get_by_role("button", name="Query", exact=True).last.click()
    values = page.get_by_role("region", name="Values of room")
    expect(values).to_contain_text("values in")
    first = values.locator("li").first
    count = first.locator("b").inner_text()
    name = first.get_by_role("link").inner_text()
    first.get_by_role("link").click()
    expect(page.get_by_label("Value of filter 1")).to_have_value(name)
    expect(values).to_contain_text(f"1 value in {count} records")
    expect(values.locator(".chosen")).to_have_text(name)


# MARK: Picked records


def notes(server, container, count=5):
    server.save(container, "Notes", *[
        {"recordType": "Note", "recordName": f"note{number}", "fields": {"rank": {"value": number}}} for number in range(count)])
    return f"/c/{container}/development/private/query?type=Note&zone=Notes&filter1=rank&is1=GREATER_THAN_OR_EQUALS&value1=0&sort1=rank"


def test_rows_are_picked_and_deleted(open_page, server):
    page = open_page(notes(server, "iCloud.com.example.Picked"))
    bar = page.locator("[data-picking]")
    expect(bar).to_be_hidden()
    page.get_by_label("Pick note0").check()
    expect(bar).to_contain_text("1 record:")
    page.get_by_label("Pick note2").click(modifiers=["Shift"])
    expect(bar).to_contain_text("3 records:")
    page.get_by_label("Pick all records of this page").check()
    expect(bar).to_contain_text("5 records:")
    page.get_by_label("Pick note4").uncheck()
    bar.get_by_role("button", name="Fetch").click()
    expect(page.get_by_label("names")).to_have_value("note0\nnote1\nnote2\nnote3")
    page.go_back()
    # A browser that comes back may have forgotten what was ticked.
    page.get_by_label("Pick all records of this page").check()
    page.get_by_label("Pick note4").uncheck()
    with page.expect_download() as download:
        bar.get_by_role("button", name="CSV").click()
    with open(download.value.path(), newline="") as file:
        assert [row["recordName"] for row in csv.DictReader(file)] == ["note0", "note1", "note2", "note3"]
    bar.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Delete 4 records?")).to_be_visible()
    assert Axe().run(page).violations_count == 0
    page.get_by_role("button", name="Delete 4 records").click()
    expect(page.get_by_role("status")).to_contain_text("The records are deleted.")
    assert names(page) == ["note4"]


def test_what_was_saved_meanwhile_is_not_deleted(open_page, server):
    container = "iCloud.com.example.PickedLate"
    page = open_page(notes(server, container), java_script_enabled=False)
    page.get_by_label("Pick note1").check()
    page.get_by_label("Pick note3").check()
    server.save(container, "Notes", {"recordType": "Note", "recordName": "note3", "fields": {"rank": {"value": 33}}})
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete 2 records").click()
    expect(page.get_by_role("heading", name="1 record not deleted")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("CONFLICT")
    page.get_by_role("link", name="Back to the query").click()
    assert names(page) == ["note0", "note2", "note4", "note3"]


def test_rows_are_picked_by_keyboard(open_page, server):
    page = open_page(notes(server, "iCloud.com.example.PickedByKeys"))
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_label("Pick note1")).to_be_checked()
    expect(page.locator("[data-picking]")).to_contain_text("1 record:")


# MARK: Saved queries


def test_queries_are_saved_and_remembered(open_page, server):
    first = notes(server, "iCloud.com.example.Saved")
    page = open_page(first)
    page.locator("summary", has_text="Saved queries").click()
    page.get_by_label("Name to save this query under").fill("All <of> them")
    page.get_by_role("button", name="Save this query").click()
    expect(page.get_by_role("status")).to_contain_text("The query is saved")
    page.goto("/c/iCloud.com.example.Saved/development/private/query?type=Note&zone=Notes&filter1=rank&is1=EQUALS&value1=3")
    page.locator("summary", has_text="Saved queries").click()
    menu = page.locator(".saved .menu")
    expect(menu).to_contain_text("Asked in this browser")
    expect(menu.locator("[data-recent-list] a").first).to_have_attribute("href", first)
    assert Axe().run(page).violations_count == 0
    page.get_by_role("link", name="All <of> them").click()
    expect(page.get_by_label("Value of filter 1")).to_have_value("0")
    assert names(page) == [f"note{number}" for number in range(5)]
    # In production the same question is asked.
    page.goto("/c/iCloud.com.example.Saved/production/private/query?type=Note")
    page.locator("summary", has_text="Saved queries").click()
    expect(page.get_by_role("link", name="All <of> them")).to_have_attribute("href", first.replace("development", "production").replace("type=Note&zone=Notes", "zone=Notes&type=Note"))
    page.get_by_role("button", name="Remove the saved query All <of> them").click()
    expect(page.get_by_role("status")).to_contain_text("removed")
