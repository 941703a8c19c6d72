"""Reads all that a server has, as clients, commands and the console's pages see it."""

import hashlib
import html
import json
import re
import urllib.parse

from program import CONTAINER, Refused

USERS = ("developer", "ada", "grace", "mary", "carl", "dan")
#: Members that differ at each reading, or depend on when it is. Tokens are read by what follows them.
VARYING = {"downloadURL", "syncToken", "uuid", "lastSeen", "lastUsed", "redirectURL", "milliseconds", "continuationMarker"}


def steady(answer):
    """An answer without what varies."""
    if isinstance(answer, dict):
        return {name: steady(content) for name, content in answer.items() if name not in VARYING}
    return [steady(content) for content in answer] if isinstance(answer, list) else answer


def answered(ask, *arguments, **parameters):
    """An answer, or the refusal."""
    try:
        return steady(ask(*arguments, **parameters))
    except Refused as refusal:
        return {"status": refusal.status, "refused": steady(refusal.body)}


def whole(server, kept):
    """All of it: a dictionary with one entry for each question."""
    users = server.ask("/skylight/1/users")["users"]
    names = {user["handle"]: user["userRecordName"] for user in users}
    found = {"containers": server.ask("/skylight/1/containers"), "users": steady(users)}
    for action in ("tokens", "keys", "sessions", "connections", "administrator"):
        found[f"accounts/{action}"] = answered(server.ask, f"/skylight/1/accounts/{action}")
    for user in USERS:
        found[f"{user}: others"] = answered(server.place(user).post, "public/users/lookup/email", users=[
            {"emailAddress": "MARY@example.org"}, {"emailAddress": "eve@example.org"}])
    for environment in ("development", "production"):
        found |= schema(server.place(environment=environment), environment)
        for user in USERS:
            place = server.place(user, environment)
            for scope in ("public", "private", "shared") if user != "developer" else ("public", "private"):
                found |= database(place, scope, f"{environment} {user} {scope}", kept)
            found[f"{environment} {user} key values"] = answered(place.get, "private/keyvalues/changes")
    mirror = kept["mirror"]
    place = server.place(mirror["userRecordName"], container=mirror["container"])
    found |= schema(place, "mirror") | database(place, "private", "mirror", kept)
    found |= kept_by_clients(server, kept) | pages(server, names)
    return found


def schema(place, what):
    found = {f"{what} schema": answered(place.get, "public/schema"), f"{what} schema as text": steady(text(place, "public/schema/text"))}
    for action in ("builds", "history"):
        found[f"{what} schema {action}"] = answered(place.get, f"public/schema/{action}")
    for kind in found[f"{what} schema"].get("types", []):
        found[f"{what} counts of {kind['name']}"] = answered(place.get, "public/schema/counts", recordType=kind["name"])
    return found


def text(place, action):
    status, _, body = place.server.send("GET", f"/skylight/1/{place.path}/{action}")
    return [status, *body.decode().splitlines()]


def database(place, scope, what, kept):
    """The zones of a database with their records, feeds, histories and files, and the subscriptions."""
    found = {f"{what} subscriptions": answered(place.post, f"{scope}/subscriptions/list")}
    zones = answered(place.post, f"{scope}/zones/list")
    found[f"{what} zones"] = zones
    if scope != "public":
        found[f"{what} feed"] = answered(place.post, f"{scope}/changes/database")
        found[f"{what} zones that went"] = answered(place.own, f"{scope}/changes/zones", includesGoneZones=True)
    for zone in zones.get("zones", []):
        zone_id = zone["zoneID"]
        where = f"{what} {zone_id['zoneName']}"
        parameters = {"zone": zone_id["zoneName"]} | ({"owner": zone_id["ownerRecordName"]} if scope == "shared" else {})
        records = answered(place.own, f"{scope}/records/list", zoneID=zone_id)
        found[f"{where} records"] = records
        found[f"{where} counts"] = answered(place.get, f"{scope}/records/counts", **parameters)
        if scope != "public" and zone_id["zoneName"] != "_defaultZone":
            found[f"{where} feed"] = answered(place.own, f"{scope}/changes/page", zoneID=zone_id)
            found[f"{where} feed of CloudKit"] = answered(place.post, f"{scope}/changes/zone", zones=[{"zoneID": zone_id}])
            found[f"{where} participants"] = answered(place.own, f"{scope}/zones/participants", zoneID=zone_id)
        listed = records.get("records", [])
        changed = [change.get("record", change) for change in found.get(f"{where} feed", {}).get("changes", [])]
        for name in sorted({record["recordName"] for record in [*listed, *changed]}):
            found[f"{where} history of {name}"] = answered(place.get, f"{scope}/records/journal", recordName=name, **parameters)
            found[f"{where} referrers of {name}"] = answered(place.get, f"{scope}/records/referrers", recordName=name, **parameters)
        found[f"{where} queries"] = queries(place, scope, zone_id, {record["recordType"] for record in listed})
        found |= files(place, scope, zone_id, [record["recordName"] for record in listed], where)
    return found


def queries(place, scope, zone_id, types):
    """Names by each index, in the order of the answer."""
    asked = {}
    if "Everything" in types:
        sorts = ["text", "integer", "number", "moment", "plain", "createdTimestamp", "modifiedTimestamp"]
        asked |= {f"Everything by {field} {ascending}": {"recordType": "Everything", "sortBy": [{"fieldName": field, "ascending": ascending}]}
                  for field in sorts for ascending in (True, False)}
        near = {"type": "LOCATION", "value": {"latitude": 52.0, "longitude": 13.0}}
        filters = {
            "a word": {"fieldName": "text", "comparator": "CONTAINS_ALL_TOKENS", "fieldValue": {"value": "ordinary text", "type": "STRING"}},
            "the start of a text": {"fieldName": "text", "comparator": "BEGINS_WITH", "fieldValue": {"value": "An ord", "type": "STRING"}},
            "the largest integer": {"fieldName": "integer", "comparator": "EQUALS", "fieldValue": {"value": 2**63 - 1, "type": "INT64"}},
            "a small number": {"fieldName": "number", "comparator": "LESS_THAN", "fieldValue": {"value": 0, "type": "DOUBLE"}},
            "an early moment": {"fieldName": "moment", "comparator": "LESS_THAN_OR_EQUALS", "fieldValue": {"value": 0, "type": "TIMESTAMP"}},
            "a place": {"fieldName": "place", "comparator": "NEAR", "fieldValue": near, "distance": 100_000},
            "bytes": {"fieldName": "bytes", "comparator": "EQUALS", "fieldValue": {"value": "Ynl0ZXM=", "type": "BYTES"}},
            "a text in a list": {"fieldName": "texts", "comparator": "LIST_CONTAINS", "fieldValue": {"value": "second", "type": "STRING"}},
            "an integer in a list": {"fieldName": "integers", "comparator": "LIST_CONTAINS", "fieldValue": {"value": 42, "type": "INT64"}},
            "a moment in a list": {"fieldName": "moments", "comparator": "LIST_CONTAINS", "fieldValue": {"value": 0, "type": "TIMESTAMP"}},
            "a reference in a list": {"fieldName": "targets", "comparator": "LIST_CONTAINS", "fieldValue": {
                "value": {"recordName": "target", "action": "NONE"}, "type": "REFERENCE"}},
        }
        asked |= {f"Everything with {name}": {"recordType": "Everything", "filterBy": [each]} for name, each in filters.items()}
    if "Item" in types:
        asked["Item"] = {"recordType": "Item"}
        asked["Item by text and number"] = {"recordType": "Item", "sortBy": [{"fieldName": "text", "ascending": True}, {"fieldName": "number", "ascending": False}]}
        asked["Item of a text by number"] = {
            "recordType": "Item", "sortBy": [{"fieldName": "number", "ascending": True}],
            "filterBy": [{"fieldName": "text", "comparator": "EQUALS", "fieldValue": {"value": "public", "type": "STRING"}}]}
        asked["Item below target"] = {"recordType": "Item", "filterBy": [{"fieldName": "parent", "comparator": "EQUALS", "fieldValue": {
            "value": {"recordName": "target", "action": "NONE"}, "type": "REFERENCE"}}]}
        asked["Item that refers to target"] = {"recordType": "Item", "filterBy": [{"fieldName": "target", "comparator": "EQUALS", "fieldValue": {
            "value": {"recordName": "target", "action": "NONE"}, "type": "REFERENCE"}}]}
    if "Trip" in types:
        asked["Trip by number"] = {"recordType": "Trip", "sortBy": [{"fieldName": "number", "ascending": False}]}
    answers = {}
    for name, query in asked.items():
        answer = answered(place.post, f"{scope}/records/query", zoneID=zone_id, query=query)
        answers[name] = [record["recordName"] for record in answer["records"]] if "records" in answer else answer
    return answers


def files(place, scope, zone_id, names, where):
    """The bytes of the assets of records, as they are and compressed."""
    found = {}
    for start in range(0, len(names), 200):
        records = place.post(f"{scope}/records/lookup", zoneID=zone_id, records=[{"recordName": name} for name in names[start:start + 200]])["records"]
        for record in records:
            for name, field in record["fields"].items():
                values = field["value"] if isinstance(field["value"], list) else [field["value"]]
                for number, asset in enumerate(values):
                    if isinstance(asset, dict) and "downloadURL" in asset:
                        found[f"{where} {record['recordName']} {name} {number}"] = downloaded(place.server, asset["downloadURL"])
    return found


def downloaded(server, address):
    """The sum of the bytes, and the form for clients that accept gzip."""
    parts = urllib.parse.urlsplit(address)
    answers = []
    for encoding in ("identity", "gzip"):
        status, headers, body = server.send("GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers={"Accept-Encoding": encoding})
        answers.append({
            "status": status, "sum": hashlib.sha256(body).hexdigest(), "length": len(body), "encoding": headers.get("Content-Encoding"),
            "type": headers.get("Content-Type"), "name": headers.get("Content-Disposition")})
    return answers


def kept_by_clients(server, kept):
    """What clients get that ask with what the program gave them long ago."""
    found = {}
    for feed in kept["feeds"]:
        place, zone_id = server.place(feed["user"]), feed["zoneID"]
        if zone_id:
            answer = answered(place.post, f"{feed['scope']}/changes/zone", zones=[{"zoneID": zone_id, "syncToken": feed["syncToken"]}])
            explained = answered(place.get, f"{feed['scope']}/token/explain", token=feed["syncToken"])
        else:
            answer = answered(place.post, f"{feed['scope']}/changes/database", syncToken=feed["syncToken"])
            explained = answered(place.get, f"{feed['scope']}/token/explain", token=feed["syncToken"])
        found[f"token {feed['why']}"] = {"changes": answer, "explained": explained}
    for token in kept["keyValueTokens"]:
        found["token of a key-value store"] = answered(server.place(token["user"]).get, "private/keyvalues/changes", syncToken=token["syncToken"])
    for marker in kept["markers"]:
        found[f"next page {marker['environment']}"] = answered(server.place(marker["user"], marker["environment"]).post, f"{marker['scope']}/records/query", query={
            "recordType": "Item", "sortBy": [{"fieldName": "number", "ascending": True}]}, continuationMarker=marker["continuationMarker"], resultsLimit=2)
    for name, link in kept["links"].items():
        for user in USERS:
            asked = [{"value": link, "shouldFetchRootRecord": True}]
            found[f"link of {name} for {user}"] = answered(server.place(user).post, "public/records/resolve", shortGUIDs=asked)
    return found


def pages(server, names):
    """What only the console shows: saved queries, and the fields with titles."""
    root = f"/c/{CONTAINER}/development/private"
    _, _, page = server.send("GET", f"{root}/query", headers={"X-Skylight-User": "ada"})
    saved = re.search(r'<details class="pick saved.*?</details>', page.decode(), re.S).group()
    found = {"saved queries": [html.unescape(each) for each in re.findall(r'<a href="([^"]+)"><bdi>[^<]*</bdi>', saved)]}
    for kind in ("Everything", "Item", "CD_Entry"):
        _, _, page = server.send("GET", f"{root}/type?type={kind}")
        form = re.search(r'<form[^>]*type/title.*?</form>', page.decode(), re.S).group()
        found[f"title of {kind}"] = re.findall(r"<option[^>]*selected[^>]*>([^<]*)<", form)
    return found


def lines(output):
    return [json.loads(line) for line in output.splitlines()]


def findings(program, *place):
    """What a check finds, without the words that explain it."""
    return [
        {name: content for name, content in finding.items() if name not in ("explanation", "zoneID", "target")}
        | ({"zone": finding["zoneID"]["zoneName"]} if "zoneID" in finding else {}) | ({"target": finding["target"]["recordName"]} if "target" in finding else {})
        for finding in lines(program.run("check", "--container", CONTAINER, "--json", *place, status=(0, 1)))]


def commands(program, kept):
    """What commands say of a folder that no server has open."""
    mirror = kept["mirror"]["container"].removesuffix(".mirror")
    return {
        "check": {" ".join(place): findings(program, *place) for place in (
            ["--user", "ada"], ["--user", "carl", "--database", "shared"], ["--database", "public"], ["--user", "ada", "--environment", "production"])},
        "assets": lines(program.run("assets", "verify", "--json")),
        "snapshots": [{name: content for name, content in snapshot.items() if name != "folder"} for snapshot in lines(
            program.run("snapshot", "list", "--container", CONTAINER, "--json"))[0]["snapshots"]],
        "compared": lines(program.run("snapshot", "compare", "Before", "--container", CONTAINER, "--json", status=(1,))),
        "unsent": lines(program.run("push", mirror, "--dry-run", "--json", status=(1,))),
        "zones": lines(program.run("zone", "list", "--container", CONTAINER, "--user", "ada", "--json")),
        "schema differs": lines(program.run("schema", "diff", "--container", CONTAINER, "--json", status=(1,))),
    }
