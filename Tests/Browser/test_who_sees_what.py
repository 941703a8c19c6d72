"""The pages Sharing and Who sees what, in both themes and widths, and for many records."""

import hashlib
import re
import urllib.parse

import pytest
from playwright.sync_api import expect

from looks import check_looks

CONTAINER = "iCloud.com.example.SharedLists"
PRIVATE = f"/{CONTAINER}/development/private"
THERE = f"/c{PRIVATE}"
MANY = 10_000
BYTES = 2_000_000


def user_record_name(handle: str) -> str:
    return "_" + hashlib.sha256(handle.encode()).hexdigest()[:32]


def item(name: str, parent: str | None = None) -> dict:
    record = {"recordType": "Item", "recordName": name, "fields": {"title": {"value": f"The {name}", "type": "STRING"}}}
    return record | ({"parent": {"recordName": parent}} if parent else {})


def share(server, zone: str, root: str, title: str, guest: str, *addresses: str):
    """Shares a record with a guest, who accepts, and with addresses."""
    found = server.ask(f"{PRIVATE}/records/lookup", {"zoneID": {"zoneName": zone}, "records": [{"recordName": root}]})["records"][0]
    invited = [{"userRecordName": user_record_name(guest)}, *({"emailAddress": address} for address in addresses)]
    record = {
        "recordType": "cloudkit.share", "recordName": f"share of {root}", "fields": {"cloudkit.title": {"value": title, "type": "STRING"}},
        "forRecord": {"recordName": root, "recordChangeTag": found["recordChangeTag"]}, "publicPermission": "NONE",
        "participants": [
            {"type": "USER", "permission": "READ_WRITE", "acceptanceStatus": "INVITED", "userIdentity": {"lookupInfo": info}} for info in invited
        ],
    }
    operations = [{"operationType": "create", "record": record}]
    saved = server.ask(f"{PRIVATE}/records/modify", {"zoneID": {"zoneName": zone}, "operations": operations})["records"][0]
    assert "serverErrorCode" not in saved, saved
    path = f"/{CONTAINER}/development/public/records/accept?" + urllib.parse.urlencode({"skylightUser": guest})
    answer = server.ask(path, {"shortGUIDs": [{"value": saved["shortGUID"]}]})
    assert "serverErrorCode" not in answer["results"][0], answer


@pytest.fixture(scope="module")
def lists(server):
    """Two shared lists beside a diary."""
    records = [item("list"), item("milk", "list"), item("brand", "milk"), item("tent"), item("pegs", "tent"), item("diary")]
    server.save(CONTAINER, "Lists", *records)
    share(server, "Lists", "list", "Groceries", "grace", "nobody@example.org")
    share(server, "Lists", "tent", "Camping", "mary")
    return server


@pytest.mark.parametrize("path", ["sharing?zone=Lists", "sees?zone=Lists", "sees?zone=Lists&viewer=grace", "sees?zone=Lists&under=milk", "check?zone=Lists"])
def test_axe_finds_nothing_and_nothing_sticks_out(open_page, lists, path):
    check_looks(open_page(f"{THERE}/{path}"), picture=path.replace("?", " ").replace("&", " "))


def test_the_tree_shows_what_a_picked_user_sees(open_page, lists):
    page = open_page(f"{THERE}/zone?zone=Lists")
    page.get_by_role("link", name="Who sees what").click()
    groceries, camping, loose = (page.locator("section.seen").filter(has_text=text) for text in ["Groceries", "Camping", "In no share"])
    expect(groceries).to_contain_text("Seen by Developer (owner), Grace (may read and write).")
    for part, names in [(groceries, ["list", "milk", "brand"]), (camping, ["tent", "pegs"]), (loose, ["diary"])]:
        expect(part.locator(".tree a:visible small")).to_have_text(names)
    # Each share has a letter besides its colour.
    assert len(set(page.locator("section.seen h2 .letter").all_text_contents())) == 3
    # A list closes and opens.
    below = groceries.locator("details details details")
    below.locator("summary").click()
    expect(groceries.locator(".tree a:visible small")).to_have_text(["list", "milk"])
    below.locator("summary").click()
    expect(groceries.locator(".tree a:visible small")).to_have_text(["list", "milk", "brand"])
    page.get_by_label("As seen by").select_option("Grace")
    page.wait_for_url("**viewer=grace**")
    expect(page.locator(".heading")).to_contain_text("Grace sees 3 of 6 records.")
    expect(groceries).to_contain_text("Grace sees this")
    for part in [camping, loose]:
        expect(part).to_contain_text("Grace does not see this")
        expect(part.locator(".tree a:visible")).to_have_count(0)
    # The guest's own page has the same records, and nothing else.
    page.get_by_role("link", name="Act as Grace").click()
    page.wait_for_url("**/shared/sees?user=grace**")
    expect(page.locator(".tree a:visible small")).to_have_text(["list", "milk", "brand"])
    page.get_by_role("link", name="The brand brand", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("brand")


def test_a_share_lists_its_participants_and_their_clients(open_page, lists):
    page = open_page(f"{THERE}/zones")
    page.get_by_role("link", name="Sharing", exact=True).click()
    panel = page.get_by_role("region", name="Participants of Groceries")
    row = panel.get_by_role("row").filter(has_text="Grace")
    expect(row).to_contain_text("may read and write")
    # Accepting is a request, too. The changes of the zone are another one.
    path = f"/{CONTAINER}/development/shared/changes/zone?" + urllib.parse.urlencode({"skylightUser": "grace"})
    zone = {"zoneName": "Lists", "ownerRecordName": user_record_name("developer")}
    lists.ask(path, {"zones": [{"zoneID": zone}]})
    page.reload()
    expect(row).to_contain_text("up to date")
    expect(panel.get_by_role("row").filter(has_text="nobody@example.org")).to_contain_text("no user has this address")


def test_ten_thousand_records_are_a_small_page_that_leads_to_all(empty_server, open_page):
    for start in range(0, MANY, 200):
        empty_server.save(CONTAINER, "Many", *([item("root")] if start == 0 else []), *(item(f"r{number:05}", "root") for number in range(start, start + 199)))
    share(empty_server, "Many", "root", "Everything", "grace")
    page = open_page(f"{THERE}/sees?zone=Many", at=empty_server)
    assert len(page.content().encode()) < BYTES
    part = page.locator("section.seen").filter(has_text="Everything")
    count = int(re.sub(r"\D", "", part.locator("h2 .faint").inner_text()))
    assert count > MANY - 100
    names = [name for name in part.locator(".tree a small").all_text_contents() if name.startswith("r0")]
    assert len(names) == 100 and names == sorted(names)
    page.get_by_role("link", name="more in this list").click()
    expect(page.locator(".tree a small").nth(1)).to_have_text("r00100")
