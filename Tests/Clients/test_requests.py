"""The server's log of requests from independent clients."""

import json
import threading
import time

import pytest
import requests
from pyicloud.common.cloudkit import CKZoneChangesZoneReq, CKZoneID, CKZoneIDReq
from pyicloud.common.cloudkit.client import CloudKitApiError
from test_pyicloud import make_client, message, modify
from waiting import PATIENCE

DEFAULT = CKZoneIDReq(zoneName="_defaultZone")


def client_of(server: str, user: str):
    """A client with its own name, by which its requests are found."""
    client = make_client(server, user=user)
    return client, {"user": user}


def noted(server: str, **filters) -> list[dict]:
    return requests.get(f"{server}/skylight/1/requests", params=filters, timeout=PATIENCE).json()["requests"]


def test_a_conflict_inside_of_a_200_is_noted(server):
    client, mine = client_of(server, "noted-conflict")
    modify(client, "create", message("first", "once"), DEFAULT)
    with pytest.raises(CloudKitApiError) as refused:
        modify(client, "create", message("again", "once"), DEFAULT)
    answered = time.time() * 1000
    latest = noted(server, **mine)[0]
    assert latest["operation"] == "records/modify" and latest["status"] == 200
    assert latest["started"] + latest["milliseconds"] <= answered + 1
    item = refused.value.payload["records"][0]
    assert latest["itemErrors"] == [{"name": "once", "serverErrorCode": item["serverErrorCode"], "reason": item["reason"]}]
    # pyicloud identifies itself by clientId.
    assert len(latest["client"]["deviceID"]) == 36 and latest["client"]["userAgent"].startswith("python-requests/")
    assert [request["id"] for request in noted(server, errors=1, **mine)] == [latest["id"]]
    whole = requests.get(f"{server}/skylight/1/requests/{latest['id']}", params={"bodies": 1}, timeout=PATIENCE).json()
    assert json.loads(whole["requestBody"]["text"])["operations"][0]["record"]["recordName"] == "once"
    assert json.loads(whole["responseBody"]["text"]) == refused.value.payload


def test_a_client_that_leaves_pages_is_found_out(server):
    client, _ = client_of(server, "developer")
    request = CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName="Chats"))
    pages = [client.changes(zone_req=request, results_limit=10) for _ in range(2)]
    assert pages[0].zones[0].moreComing
    latest = noted(server, operation="changes/zone")[0]
    assert latest["warnings"] == ["moreComingNotFollowed"]
    assert latest["pulls"][0]["given"] == pages[1].zones[0].syncToken and "sent" not in latest["pulls"][0]
    clients = requests.get(f"{server}/skylight/1/clients", params={"client": latest["client"]["id"]}, timeout=PATIENCE).json()["clients"]
    feed = clients[0]["feeds"][0]
    assert feed["zoneID"]["zoneName"] == "Chats" and feed["moreComing"] and feed["pulls"] == 2
    assert clients[0]["warnings"][0]["warning"] == "moreComingNotFollowed" and len(clients) == 1


def test_the_live_stream_shows_requests_of_others(server):
    client, mine = client_of(server, "noted-live")
    seen: list[dict] = []
    listening, done = threading.Event(), threading.Event()

    def listen():
        with requests.get(f"{server}/skylight/1/requests/live", params=mine, stream=True, timeout=PATIENCE) as stream:
            for line in stream.iter_lines(decode_unicode=True):
                listening.set()
                if line.startswith("data: "):
                    seen.append(json.loads(line.removeprefix("data: ")))
                if len(seen) == 3:
                    break
        done.set()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    assert listening.wait(PATIENCE)
    for _ in range(3):
        client.zones_list()
    assert done.wait(PATIENCE)
    assert [request["operation"] for request in seen] == ["zones/list"] * 3
    assert [request["id"] for request in reversed(seen)] == [request["id"] for request in noted(server, **mine)]


def test_an_error_says_what_its_request_is_known_by(server):
    answer = requests.post(
        f"{server}/database/1/iCloud.com.example.Chat/development/private/records/query",
        json={"query": {"recordType": "Nothing"}},
        timeout=PATIENCE,
    )
    assert answer.status_code == 404
    assert answer.headers["X-Skylight-Request"] == answer.json()["uuid"]
    request = requests.get(f"{server}/skylight/1/requests/{answer.json()['uuid']}", timeout=PATIENCE).json()
    assert request["error"]["reason"] == answer.json()["reason"]


def test_prometheus_finds_its_numbers(server):
    make_client(server).zones_list()
    answer = requests.get(f"{server}/metrics", timeout=PATIENCE)
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    values = {}
    for line in answer.text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            assert name not in values
            values[name] = float(value)
    assert values['skylight_requests_total{operation="zones/list",status="200"}'] >= 1
    assert requests.get(f"{server}/health", timeout=PATIENCE).json()["status"] == "ok"
