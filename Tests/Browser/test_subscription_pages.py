"""The pages Subscriptions and Notifications, and the question why a client was not told, in both themes and widths."""

import json
import urllib.request

import pytest
from playwright.sync_api import expect

from looks import check_looks

CONTAINER = "iCloud.com.example.Told"
PRIVATE = f"/{CONTAINER}/development/private"
THERE = f"/c{PRIVATE}"


def item(name: str, room: str = "general") -> dict:
    return {"recordType": "Item", "recordName": name, "fields": {"room": {"value": room, "type": "STRING"}, "text": {"value": f"The {name}", "type": "STRING"}}}


def subscribe(server, *subscriptions: dict):
    operations = [{"operationType": "create", "subscription": subscription} for subscription in subscriptions]
    answer = server.ask(f"{PRIVATE}/subscriptions/modify", {"operations": operations})
    assert all("serverErrorCode" not in subscription for subscription in answer["subscriptions"]), answer


def register(server, client: str) -> str:
    """Makes a token for a client.
    Returns the address of the web courier."""
    request = urllib.request.Request(
        f"{server.address}/device/1/{CONTAINER}/development/tokens/create", data=json.dumps({"apnsEnvironment": "development", "clientId": client}).encode(),
        headers={"Content-Type": "text/plain"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        token = json.load(answer)["apnsToken"]
    return f"{server.address}/aps?tok={token}"


def take(courier: str) -> dict:
    with urllib.request.urlopen(courier, timeout=90) as answer:
        return json.load(answer)


def query(name: str, room: str | None = None, **info) -> dict:
    filters = [{"fieldName": "room", "comparator": "EQUALS", "fieldValue": {"value": room, "type": "STRING"}}] if room else []
    return {
        "subscriptionID": name, "subscriptionType": "query", "query": {"recordType": "Item", "filterBy": filters}, "firesOn": ["create", "update"],
        "notificationInfo": {"shouldSendContentAvailable": True, **info},
    }


@pytest.fixture(scope="module")
def told(server):
    """Two subscriptions that fire, one that does not, and a phone that takes its first notification."""
    server.save(CONTAINER, "Items", item("first"))
    zone = {"subscriptionID": "zone", "subscriptionType": "zone", "zoneID": {"zoneName": "Items"}, "notificationInfo": {"shouldSendContentAvailable": True}}
    subscribe(server, query("general", "general", alertBody="News", additionalFields=["text"]), query("home", "home"), zone)
    courier = register(server, "phone")
    server.ask(f"{PRIVATE}/changes/database?clientId=phone", {})
    server.save(CONTAINER, "Items", item("milk"), item("bread"))
    assert take(courier)["ck"]["qry"]["rid"] == "milk"
    return server


@pytest.mark.parametrize(
    "path",
    [
        "subscriptions", "subscription", "subscription?id=general", "subscription?id=zone", "notifications", "record?zone=Items&name=milk", "clients",
        "subscription/delete?id=general",
    ],
)
def test_axe_finds_nothing_and_nothing_sticks_out(open_page, told, path):
    check_looks(open_page(f"{THERE}/{path}"), picture=path.replace("?", " ").replace("&", " ").replace("/", " "))


def test_a_subscription_is_made_and_deleted(open_page, told):
    name = "made"
    page = open_page(f"{THERE}/subscriptions")
    page.get_by_role("link", name="New subscription", exact=True).click()
    page.get_by_label("id", exact=True).fill(name)
    page.get_by_label("Field of filter 1").select_option("text")
    page.get_by_label("Value of filter 1").fill("The bread")
    page.get_by_role("button", name="+ filter").click()
    expect(page.get_by_label("Field of filter 2")).to_be_visible()
    page.get_by_role("button", name="Remove filter 2").click()
    expect(page.get_by_label("Field of filter 2")).to_have_count(0)
    page.get_by_label("delete", exact=True).uncheck()
    page.get_by_role("button", name="Test with past changes").click()
    expect(page.get_by_text("of the database would have fired it")).to_contain_text("1 of the")
    expect(page.get_by_role("region", name="Changes that would have fired the subscription")).to_contain_text("bread")
    assert page.get_by_label("id", exact=True).input_value() == name
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="The subscription is saved")).to_be_visible()
    page.get_by_text("CloudKit JS", exact=True).click()
    expect(page.get_by_label("The save of the subscription in CloudKit JS")).to_contain_text("saveSubscriptions")
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="The subscription is deleted")).to_be_visible()
    expect(page.get_by_role("link", name=name, exact=True)).to_have_count(0)


def test_a_notification_leads_to_its_cause_and_is_saved_for_a_simulator(open_page, told):
    page = open_page(f"{THERE}/notifications")
    table = page.get_by_role("region", name="Notifications", exact=True)
    milk = table.get_by_role("row").filter(has_text="milk").filter(has_text="general")
    expect(milk).to_contain_text("delivered")
    expect(table.get_by_role("row").filter(has_text="bread").filter(has_text="zone")).to_contain_text("coalesced into")
    expect(page.get_by_role("region", name="Devices")).to_contain_text("phone")
    milk.get_by_role("rowheader").get_by_role("link").click()
    expect(page.get_by_label("The payload as JSON")).to_contain_text("content-available")
    check_looks(page, picture="notification")
    page.set_viewport_size({"width": 1440, "height": 860})
    page.get_by_label("Bundle identifier of the app").fill("com.example.Told")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save for the simulator").click()
    assert download.value.suggested_filename.endswith(".apns")
    with open(download.value.path()) as file:
        payload = json.load(file)
    assert payload["Simulator Target Bundle"] == "com.example.Told"
    assert payload["aps"] == {"alert": {"body": "News"}, "content-available": 1} and payload["ck"]["qry"]["af"] == {"text": "The milk"}
    page.get_by_role("link", name="milk").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The milk")


def test_the_record_explains_why_a_client_was_not_notified(open_page, told):
    told.save(CONTAINER, "Items", item("chair", "office"))
    page = open_page(f"{THERE}/record?zone=Items&name=milk#told")
    section = page.locator("section.deliveries").filter(has_text="Why was a client not notified?")
    row = section.get_by_role("row").filter(has_text="phone")
    expect(row).to_contain_text("and never fetched since")
    page.goto(f"{THERE}/clients")
    expect(page.locator("section.client").filter(has_text="phone")).to_contain_text("notified, did not fetch")
    told.ask(f"{PRIVATE}/changes/zone?clientId=phone", {"zones": [{"zoneID": {"zoneName": "Items"}}]})
    page.goto(f"{THERE}/record?zone=Items&name=milk#told")
    expect(row).to_contain_text("; fetched at")
    # A filter that does not match is named, once the zone's subscription is gone.
    told.ask(f"{PRIVATE}/subscriptions/modify", {"operations": [{"operationType": "delete", "subscription": {"subscriptionID": "zone"}}]})
    told.save(CONTAINER, "Items", item("chair", "garden"))
    page.goto(f"{THERE}/record?zone=Items&name=chair#told")
    expect(row).to_contain_text("general: its filter room EQUALS “general” does not match: room is “garden”.")


def test_sent_again_it_is_in_the_queue(empty_server, open_page):
    empty_server.save(CONTAINER, "Items", item("first"))
    subscribe(empty_server, query("all"))
    courier = register(empty_server, "phone")
    empty_server.save(CONTAINER, "Items", item("milk"))
    first = take(courier)
    page = open_page(f"{THERE}/notifications?id=1", at=empty_server)
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("status").filter(has_text="in the queue of its device again")).to_be_visible()
    expect(page.get_by_text("waiting")).to_be_visible()
    assert take(courier) == first
    page.reload()
    expect(page.locator(".facts")).to_contain_text("delivered")


def test_a_subscription_is_made_fired_and_seen_with_three_clicks(empty_server, open_page):
    empty_server.save(CONTAINER, "Items", item("first"))
    page = open_page(f"{THERE}/notifications", at=empty_server)
    page.get_by_role("button", name="Add a test device").click()
    expect(page.get_by_text("This browser is listening")).to_be_visible()
    page.get_by_role("button", name="Subscribe to zone Items").click()
    page.get_by_role("button", name="Fire test-Items").click()
    received = page.get_by_role("region", name="What this browser received")
    expect(received.get_by_role("listitem")).to_contain_text("test-Items")
    expect(received.get_by_label("The payload of the notification")).to_contain_text('"sid": "test-Items"')
    expect(page.get_by_role("region", name="Devices")).to_contain_text("Test device")
    # A real change arrives as well, and the device is no client that should fetch.
    empty_server.save(CONTAINER, "Items", item("milk"))
    expect(received.get_by_role("listitem")).to_have_count(2)
    check_looks(page, picture="test device")
    page.get_by_role("button", name="Stop listening").click()
    expect(page.get_by_text("This browser is listening")).to_be_hidden()
    page.goto(f"{THERE}/clients")
    expect(page.get_by_role("main")).not_to_contain_text("Test device")
    expect(page.get_by_role("main")).not_to_contain_text("notified, did not fetch")


def test_a_subscription_without_a_device_says_so(empty_server, open_page):
    empty_server.save(CONTAINER, "Items", item("first"))
    subscribe(empty_server, query("all"))
    page = open_page(f"{THERE}/notifications", at=empty_server, java_script_enabled=False)
    expect(page.get_by_text("A test device needs scripts")).to_be_visible()
    page.get_by_role("button", name="Fire all").click()
    expect(page.get_by_role("main")).to_contain_text("Add a test device, then fire again")
