"""How the pages Subscriptions and Notifications look, the form of a subscription with scripts, and the test device."""

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


def test_filters_come_and_go_and_what_is_typed_stays(open_page, told):
    page = open_page(f"{THERE}/subscription")
    page.get_by_label("id", exact=True).fill("made")
    page.get_by_label("Field of filter 1").select_option("text")
    page.get_by_label("Value of filter 1").fill("The bread")
    page.get_by_role("button", name="+ filter").click()
    expect(page.get_by_label("Field of filter 2")).to_be_visible()
    page.get_by_role("button", name="Remove filter 2").click()
    expect(page.get_by_label("Field of filter 2")).to_have_count(0)
    page.get_by_role("button", name="Test with past changes").click()
    expect(page.get_by_role("region", name="Changes that would have fired the subscription")).to_contain_text("bread")
    assert page.get_by_label("id", exact=True).input_value() == "made"


def test_how_a_notification_looks(open_page, told):
    page = open_page(f"{THERE}/notifications")
    milk = page.get_by_role("region", name="Notifications", exact=True).get_by_role("row").filter(has_text="milk").filter(has_text="general")
    milk.get_by_role("rowheader").get_by_role("link").click()
    expect(page.get_by_label("The payload as JSON")).to_contain_text("content-available")
    check_looks(page, picture="notification")


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
    # A reload goes on as the same device, until the user stops it.
    listening = page.get_by_text("This browser is listening as Test device")
    name = listening.text_content().split()[-1]
    # The list has its room above what follows it.
    shown = received.get_by_role("list").bounding_box()
    assert shown["y"] + shown["height"] <= page.get_by_role("heading", name="Subscriptions").bounding_box()["y"]
    arrived = received.get_by_role("listitem").all_text_contents()
    page.reload()
    expect(listening).to_be_visible()
    expect(listening).to_contain_text(name)
    expect(received.get_by_role("listitem")).to_have_text(arrived)
    page.get_by_role("button", name="Fire test-Items").click()
    expect(received.get_by_role("listitem")).to_have_count(3)
    expect(received.get_by_role("status")).to_contain_text("device")
    expect(page.get_by_role("region", name="Devices").get_by_role("listitem")).to_have_count(1)
    page.get_by_role("button", name="Stop listening").click()
    expect(page.get_by_text("This browser is listening")).to_be_hidden()
    page.reload()
    page.get_by_role("button", name=f"Listen again as {name}").click()
    expect(listening).to_be_visible()
    page.get_by_role("button", name="Stop listening").click()
    page.goto(f"{THERE}/clients")
    expect(page.get_by_role("main")).not_to_contain_text("Test device")
    expect(page.get_by_role("main")).not_to_contain_text("notified, did not fetch")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_id_leaves_room_to_fire(open_page, told, width):
    name = f"7C1E5A52-9F0B-4C7B-8E55-0B9C7F7B{width:04}"
    subscribe(told, query(name, f"room {width}"))
    page = open_page(f"{THERE}/notifications")
    page.set_viewport_size({"width": width, "height": 860})
    fire = page.get_by_role("button", name=f"Fire {name}")
    expect(fire).to_have_text("Fire")
    left, right = fire.evaluate("it => { const { left, right } = it.getBoundingClientRect(); return [left, right] }")
    edges = fire.evaluate("it => { const { left, right } = it.closest('.scroll').getBoundingClientRect(); return [left, right] }")
    assert edges[0] <= left and right <= min(edges[1], width)
    expect(page.get_by_role("link", name=name).first).to_have_attribute("title", name)
