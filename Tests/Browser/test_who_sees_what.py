"""How the pages Sharing and Who sees what look, and the tree of records."""

import hashlib
import urllib.parse

import pytest
from playwright.sync_api import expect

from looks import check_looks

CONTAINER = "iCloud.com.example.SharedLists"
PRIVATE = f"/{CONTAINER}/development/private"
THERE = f"/c{PRIVATE}"


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


def test_the_tree_closes_and_opens_what_a_picked_user_sees(open_page, lists):
    page = open_page(f"{THERE}/sees?zone=Lists")
    groceries, camping, loose = (page.locator("section.seen").filter(has_text=text) for text in ["Groceries", "Camping", "In no share"])
    expect(groceries.locator(".tree a:visible small")).to_have_text(["list", "milk", "brand"])
    # Each share has a letter besides its colour.
    assert len(set(page.locator("section.seen h2 .letter").all_text_contents())) == 3
    # A list closes and opens.
    below = groceries.locator("details details details")
    below.locator("summary").click()
    expect(groceries.locator(".tree a:visible small")).to_have_text(["list", "milk"])
    # The choice of a user leads there.
    page.get_by_label("As seen by").select_option("Grace")
    page.wait_for_url("**viewer=grace**")
    expect(groceries.locator(".tree a:visible small")).to_have_text(["list", "milk", "brand"])
    for part in [camping, loose]:
        expect(part.locator(".tree a:visible")).to_have_count(0)
