"""It works on my phone, but the tablet shows the old text: the database as a client has it."""

import pytest
from page_server import Server
from playwright.sync_api import expect

from looks import check_looks

CONTAINER = "iCloud.com.example.ClientState"
THERE = f"/c/{CONTAINER}/development/private"
QUERY = "query?zone=Notes&type=Note&filter1=done&is1=EQUALS&value1=0"
ZONE = {"zoneID": {"zoneName": "Notes"}}


def note(name: str, title: str) -> dict:
    return {"recordType": "Note", "recordName": name, "fields": {"title": {"value": title}, "done": {"value": 0}}}


@pytest.fixture(scope="module")
def devices():
    """A separate server, so that its clients are known. The tablet has not pulled since the phone changed the text."""
    server = Server()

    def pull(client: str, **more):
        server.ask(f"/{CONTAINER}/development/private/changes/zone?clientId={client}", {"zones": [{**ZONE, **more}]})

    server.save(CONTAINER, "Notes", note("Note/shopping", "Milk"), note("Note/trip", "Lisbon"), note("Note/old", "Rome"))
    pull("tablet")
    server.save(CONTAINER, "Notes", note("Note/shopping", "Milk and bread"), note("Note/new", "Oslo"))
    operations = [{"operationType": "forceDelete", "record": {"recordName": "Note/old"}}]
    server.ask(f"/{CONTAINER}/development/private/records/modify", {**ZONE, "operations": operations})
    pull("phone")
    pull("hasty", resultsLimit=1, desiredKeys=["title"])
    yield server
    server.stop()


@pytest.mark.parametrize("scripts", [True, False])
def test_it_works_on_my_phone_but_the_tablet_shows_the_old_text(open_page, devices, scripts):
    page = open_page(f"{THERE}/{QUERY}&sort1=title", at=devices, java_script_enabled=scripts)
    banner = page.get_by_role("region", name="Earlier state")
    expect(page.get_by_role("row", name="Milk and bread")).to_be_visible()
    expect(banner).to_have_count(0)

    menu = page.locator("details.asOf")
    menu.locator("summary").click()
    menu.get_by_role("link", name="tablet").click()
    expect(banner).to_contain_text("As tablet has it")
    expect(banner).to_contain_text("3 changes behind")
    expect(page.get_by_role("row", name="Milk older: title")).to_contain_text("Note/shopping")
    expect(page.get_by_role("row", name="Rome deleted since")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(3)
    expect(page.locator("thead [aria-sort]")).to_have_count(1)

    page.goto(page.get_by_role("link", name="Milk", exact=True).get_attribute("href"))
    since = page.get_by_role("region", name="Since then")
    expect(since).to_contain_text("1 field differs now")
    expect(since.locator("ins")).to_have_text("Milk and bread")
    since.get_by_role("link", name="See it as it is now").click()
    expect(banner).to_have_count(0)
    page.go_back()

    banner.get_by_role("link", name="1 added, 1 changed, 1 deleted since").click()
    expect(page.get_by_role("row", name="Note/new")).to_be_visible()
    page.go_back()
    banner.get_by_role("link", name="Why").click()
    tablet = page.locator("section", has=page.locator(":target"))
    expect(tablet).to_contain_text("3 changes")
    tablet.get_by_role("link", name="what it has").click()
    expect(banner).to_contain_text("As tablet has it")

    # The phone has all of it, and what skipped pages is told as it is.
    menu.locator("summary").click()
    menu.get_by_role("link", name="phone").click()
    expect(banner).to_contain_text("nothing changed since")
    menu.locator("summary").click()
    menu.get_by_role("link", name="hasty").click()
    expect(banner).to_contain_text("It did not fetch all pages of its last pull")
    expect(banner).to_contain_text("It asked for the fields title alone")

    # Any other point is typed.
    menu.locator("summary").click()
    menu.get_by_role("searchbox").fill("3")
    menu.get_by_role("button", name="Show").click()
    expect(banner).to_contain_text("As of position 3")
    banner.get_by_role("link", name="Back to now").click()
    expect(banner).to_have_count(0)


def test_earlier_states_are_accessible_and_fit(open_page, devices):
    page = open_page(f"{THERE}/{QUERY}", at=devices)
    menu = page.locator("details.asOf")
    menu.locator("summary").click()
    menu.get_by_role("link", name="hasty").click()
    check_looks(page, picture="earlier state")
