"""A client that saves and one that listens, and a server that is killed between commit and delivery: each acknowledged save is told.
"""

import http.client
import json
import random
import threading
import time

from chance import SEED, times
from process import CONTAINER, Gone

ROUNDS = times(10)
ZONE = {"zoneName": "Told"}
SAVES = 12


def create_token(server):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request("POST", f"/device/1/{CONTAINER}/development/tokens/create", json.dumps({"clientId": "listener"}))
    return json.load(connection.getresponse())["apnsToken"]


def save(connection, name):
    record = {"recordType": "Item", "recordName": name, "fields": {"number": {"value": 1}}}
    answer = connection.post("records/modify", zoneID=ZONE, operations=[{"operationType": "create", "record": record}])
    assert "serverErrorCode" not in answer["records"][0], answer


def take(server, token):
    """The record of the next notification."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=120)
    try:
        connection.request("GET", f"/aps?tok={token}&ttl=43200")
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise Gone from error
    finally:
        connection.close()
    assert response.status == 200, body
    notification = json.loads(body)
    return notification and notification["ck"]["qry"]["rid"]


def listen(server, token, told, until=None):
    """Takes notifications until the server is gone, or the one of a record comes."""
    try:
        while (name := take(server, token)) != until or until is None:
            told.add(name)
    except Gone:
        assert until is None, "the server is gone"


def test_each_acknowledged_save_is_notified(start):
    choice = random.Random(SEED)
    server = start()
    assert server.listens(), server.complaint
    connection = server.connect()
    connection.post("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": ZONE}}])
    save(connection, "first")
    subscription = {
        "subscriptionID": "q",
        "subscriptionType": "query",
        "query": {"recordType": "Item"},
        "firesOn": ["create"],
        "notificationInfo": {"shouldSendContentAvailable": True},
    }
    connection.post("subscriptions/modify", operations=[{"operationType": "create", "subscription": subscription}])
    token = create_token(server)
    acknowledged, told = set(), set()
    untold = 0
    for number in range(ROUNDS):
        listener = threading.Thread(target=listen, args=(server, token, told))
        listener.start()
        # Some saves, however long they take, and a moment.
        last = choice.randrange(SAVES)
        killer = threading.Timer(choice.uniform(0, 0.02), server.kill)
        try:
            connection = server.connect()
            for index in range(SAVES):
                save(connection, f"r{number}-{index}")
                acknowledged.add(f"r{number}-{index}")
                if index == last:
                    killer.start()
                time.sleep(choice.uniform(0, 0.01))
        except Gone:
            pass
        killer.join()
        listener.join()
        untold += len(acknowledged - told)
        server = start()
        assert server.listens(), server.complaint
        # The notification of a later save comes after those of earlier ones.
        fence = f"fence{number}"
        save(server.connect(), fence)
        listen(server, token, told, until=fence)
        assert acknowledged <= told, sorted(acknowledged - told)
    server.stop()
    assert acknowledged, "nothing was saved"
    # Otherwise no kill came between a commit and its delivery, and nothing is proved.
    assert untold > 0 or ROUNDS < 10
