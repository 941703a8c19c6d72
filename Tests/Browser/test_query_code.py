"""Queries as code: the commands give the same results as the page, the Swift parses, and the CloudKit JS runs."""

import json
import shutil
import subprocess
import urllib.parse

import pytest
from playwright.sync_api import expect

from odd_container import ODD, ODD_FILTERS, ODD_USER, odd, question  # odd is a fixture
from pages import CHAT
from rows import names


def samples(page) -> list[tuple[str, str]]:
    """Title and text of every sample of a page."""
    return page.evaluate(
        "[...document.querySelectorAll('.codes details')].map(sample => [sample.querySelector('summary').textContent.trim(), sample.querySelector('code').textContent])"
    )


def run(command: str) -> dict:
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(answer.stdout)


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

# The container is made by the fixture `odd`, so its pages are only known then.
WAYS = ["query", "explain", "fetch", "changes of a zone", "changes of the database", "record", *CHAT_PAGES]


@pytest.fixture
def way(request, odd):
    return {**odd_pages(odd), **CHAT_PAGES}[request.param]


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
    # The record has changed meanwhile, so the old command is refused.
    assert run(save)["records"][0]["serverErrorCode"] == "CONFLICT"
    assert run(deletion)["records"][0]["serverErrorCode"] == "CONFLICT"
    page.reload()
    _, _, deletion = [text for title, text in samples(page) if title == "curl"]
    assert run(deletion)["records"][0] == {"recordName": ODD, "deleted": True}
    page.reload()
    expect(page.get_by_role("button", name="Undo the deletion")).to_be_visible()


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


# A substitute for CloudKit JS: its documented calls become the requests that CloudKit JS sends.
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
    # A page of the same origin without the console's script restrictions.
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
