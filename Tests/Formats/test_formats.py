"""Stores that earlier formats left are opened by the program of today, and read back whole.

Each folder beside this file has the stores of one format, made by `make` with the program of its time: `kept.json` has what clients kept (tokens, links,
keys), `expected.json` what that program said of them.
"""

import base64
import contextlib
import datetime
import json
import lzma
import sqlite3
import urllib.parse

import filling
import reading
from filling import StandIn, openssl
from generation import Generation
from program import CONTAINER, Program, Refused
from waiting import until


def same(found, expected):
    """Says which entries differ, and how."""
    wrong = [
        f"{name}\n  expected {json.dumps(expected.get(name), ensure_ascii=False)}\n  found    {json.dumps(found.get(name), ensure_ascii=False)}"
        for name in sorted(expected.keys() | found.keys()) if found.get(name) != expected.get(name)
    ]
    assert not wrong, "\n".join(wrong)


def test_there_are_formats():
    assert Generation.all()


def files(folder):
    """The files beside the databases: assets, their compressed forms, and snapshots."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "sqlite" not in path.name and path.name != ".lock"}


def test_all_of_it_is_read(program, generation):
    expected, before = generation.expected, files(program.data)
    commands = expected.pop("commands")
    # A second opening reads the same, so the first one changed nothing.
    for _ in range(2):
        with program.served() as server:
            same(reading.whole(server, generation.kept), expected)
    same(reading.commands(program, generation.kept), commands)
    assert files(program.data) == before


def test_what_earlier_versions_accepted_is_found(in_files):
    found = {(finding.get("finding"), finding.get("recordName")) for finding in reading.findings(in_files, "--user", "ada")}
    assert found == {
        ("nestedShare", "inner"), ("parentCircle", "one"), ("parentCircle", "two"), ("parentCircle", "three"), ("referenceAcrossZones", "across"),
        ("danglingReference", "dangling"), ("danglingParent", "orphan"), ("entityName", "object"), ("besideHierarchies", "diary"), ("besideHierarchies", "oat milk"),
        ("unknownAddress", "share"), ("unacceptedShare", "share without guests"), (None, None),
    }


def test_accounts_let_in_whom_they_did(in_files, generation):
    kept = generation.kept["credentials"]
    target = f"/database/1/{CONTAINER}/development/public/users/current"

    def signed(key):
        date = now()
        pem = openssl("ec", "-inform", "DER", input=base64.b64decode(key["der"]))
        message = f"{date}:{base64.b64encode(openssl('dgst', '-sha256', '-binary', input=b'')).decode()}:{target}".encode()
        with_file = in_files.data.parent / "key.pem"
        with_file.write_bytes(pem)
        signature = base64.b64encode(openssl("dgst", "-sha256", "-sign", str(with_file), input=message)).decode()
        return {f"X-Apple-CloudKit-Request-{name}": content for name, content in (("KeyID", key["keyID"]), ("ISO8601Date", date), ("SignatureV1", signature))}

    def status(address, headers=None, body=None):
        return server.send("GET" if body is None else "POST", address, body, headers)[0]

    query, asked = f"/database/1/{CONTAINER}/development/public/records/query", json.dumps({"query": {"recordType": "Item"}})
    with in_files.served("--auth", "required") as server:
        for password, expected in ((filling.PASSWORD, 303), (filling.PASSWORD + "!", 403)):
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            assert status("/admin/sign-in", form, urllib.parse.urlencode({"password": password})) == expected
        for password, expected in ((filling.PASSWORD, 0), ("another one", 77)):
            in_files.run("user", "list", places=["--url", server.address], status=(expected,), SKYLIGHT_ADMIN_PASSWORD=password)
        page = {"Origin": "https://app.example.com"}
        assert status(f"{query}?ckAPIToken={kept['apiToken']}", body=asked) == 200
        assert status(f"{query}?ckAPIToken={kept['revokedAPIToken']}", body=asked) == 401
        production = query.replace("development", "production")
        assert [status(f"{production}?ckAPIToken={kept['apiTokenOfPage']}", headers, asked) for headers in (page, {})] == [200, 401]
        assert [status(target, signed(kept[name])) for name in ("serverKey", "revokedServerKey")] == [200, 401]
        # A sign-in of today, under the token of then.
        [session] = in_files.run("token", "create-web-auth", "--container", CONTAINER, "--user", "grace").split()
        credentials = urllib.parse.urlencode({"ckAPIToken": kept["apiToken"], "ckWebAuthToken": session})
        _, _, answer = server.send("GET", f"{target}?{credentials}")
        assert json.loads(answer)["firstName"] == "Grace"


def now():
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_device_is_told(program, generation):
    device = generation.kept["device"]
    with program.served() as server:
        server.place(device["user"]).modify("private", filling.OWN, ("create", {
            "recordType": "Item", "recordName": "news", "fields": {"text": {"value": "told"}}}))
        told = []
        # A subscription to the database and one to the items of a text.
        while not any("news" in each for each in told):
            status, _, body = server.send("GET", f"/aps?tok={device['apnsToken']}&ttl=43200")
            assert status == 200 and body != b"null", (body, told)
            told.append(body.decode())


def test_clients_go_on(program, generation):
    """A client that kept a token pulls what is saved now, and nothing that it has."""
    feed = next(feed for feed in generation.kept["feeds"] if feed["why"] == "in the middle of a zone")
    with program.served() as server:
        place = server.place("ada")

        def pull(token):
            [page] = place.post("private/changes/zone", zones=[{"zoneID": feed["zoneID"], "syncToken": token}])["zones"]
            assert not page["moreComing"]
            return [record["recordName"] for record in page["records"]], page["syncToken"]

        names, token = pull(feed["syncToken"])
        assert "ordinary" not in names and "changed" in names
        place.modify("private", filling.OWN, ("forceUpdate", {"recordType": "Item", "recordName": "first", "fields": {"text": {"value": "saved today"}}}))
        assert pull(token)[0] == ["first"]
    with program.served() as server:
        place = server.place("ada")
        assert pull(feed["syncToken"])[0][-1] == "first" and pull(token)[0] == ["first"]


def test_guests_may_do_what_they_might(program, generation):
    with program.served() as server:
        owner = server.place("ada").post("public/users/current")["userRecordName"]

        def saves(user, zone, parent):
            operation = {"operationType": "create", "record": {"recordType": "Item"} | ({"parent": {"recordName": parent}} if parent else {})}
            zone_id = {"zoneName": zone, "ownerRecordName": owner}
            [answer] = server.place(user).post("shared/records/modify", zoneID=zone_id, operations=[operation])["records"]
            return answer.get("serverErrorCode")

        link = [{"value": generation.kept["links"]["list"]}]
        [accepted] = server.place("mary").post("public/records/accept", shortGUIDs=link)["results"]
        assert accepted["participantStatus"] == "ACCEPTED", accepted
        guests = {
            ("carl", "Lists", "list"): None, ("mary", "Lists", "list"): "ACCESS_DENIED", ("grace", "Lists", "list"): "ACCESS_DENIED",
            ("mary", "Board", None): "ACCESS_DENIED", ("carl", "Nested", "outer"): None, ("carl", "Nested", "inner"): "ACCESS_DENIED",
            ("grace", "Nested", "inner"): "ACCESS_DENIED", ("dan", "Nested", "lonely"): "ZONE_NOT_FOUND", ("carl", "Board", None): "ZONE_NOT_FOUND",
        }
        assert {guest: saves(*guest) for guest in guests} == guests
        # What a guest saves is seen by the others.
        [page] = server.place("grace").post("shared/changes/zone", zones=[{"zoneID": {"zoneName": "Lists", "ownerRecordName": owner}}])["zones"]
        assert sum(record.get("parent") == {"recordName": "list"} for record in page["records"]) == 3


def test_a_snapshot_is_restored(program, generation):
    place = ["--container", CONTAINER, "--json"]
    program.run("snapshot", "restore", "Before", "--yes", *place)
    compared = json.loads(program.run("snapshot", "compare", "Before", *place))
    assert not compared["different"], compared


def test_a_shared_snapshot_is_opened(binary, generation, tmp_path):
    program = Program(binary, tmp_path / "data")
    file = tmp_path / "snapshot.tar"
    file.write_bytes(lzma.decompress((generation.folder / "snapshot.tar.xz").read_bytes()))
    program.run("snapshot", "import", str(file), "--json")
    compared = json.loads(program.run("snapshot", "compare", "Before", "--container", CONTAINER, "--json"))
    assert not compared["different"], compared


def test_an_export_is_imported(binary, generation, tmp_path):
    """Into an empty store, from which an export is the same."""
    program = Program(binary, tmp_path / "data")
    before = generation.folder / "private.ndjson"
    done = json.loads(program.run("import", str(before), "--assets", str(generation.folder / "assets"), "--json"))
    assert "error" not in done, done
    after = tmp_path / "after.ndjson"
    program.run("export", "--container", CONTAINER, "--user", "ada", "--assets", str(tmp_path / "assets"), "--output", str(after))
    assert after.read_text().splitlines() == before.read_text().splitlines()
    files = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in (tmp_path / "assets", generation.folder / "assets")]
    assert files[0] == files[1]


def test_an_export_is_the_same_as_then(program, generation, tmp_path):
    after = tmp_path / "now.ndjson"
    program.run("export", "--container", CONTAINER, "--user", "ada", "--assets", str(tmp_path / "assets"), "--output", str(after))
    assert after.read_text().splitlines() == (generation.folder / "private.ndjson").read_text().splitlines()


def test_a_table_is_imported(in_files, generation):
    """The console's CSV, over the records that it is of: nothing of theirs changes but what CSV lacks."""
    def texts():
        with in_files.served() as server:
            records = server.place("ada").own("private/records/list", zoneID={"zoneName": filling.OWN}, recordTypes=["Everything"])["records"]
            return {record["recordName"]: {name: field["value"] for name, field in record["fields"].items() if field["value"] != "" and name in (
                "text", "integer", "number", "moment", "whole", "bytes", "integers", "numbers")} for record in records}

    before = texts()
    in_files.run("import", str(generation.folder / "everything.csv"), "--container", CONTAINER, "--user", "ada", "--zone", filling.OWN, "--type", "Everything", "--json")
    assert texts() == before


def test_unfinished_work_is_done(open_copy):
    """A process was killed while a cascade, a share and the removal of a zone went on in the background."""
    program = open_copy("killed")
    with program.served() as server:
        place = server.place("ada", container=filling.KILLED)

        def names(user, scope, zone, **owner):
            try:
                records = server.place(user, container=filling.KILLED).own(f"{scope}/records/list", zoneID={"zoneName": zone} | owner, resultsLimit=10_000)["records"]
            except Refused as refusal:
                # Records are leaving or coming.
                return {refusal.body["serverErrorCode"]}
            return {record["recordName"] for record in records}

        owner = place.post("public/users/current")["userRecordName"]
        everything = {"list", "share"} | {f"child {number}" for number in range(filling.MANY)}
        until(lambda: names("ada", "private", "Cascade") == {"stays"} and names("carl", "shared", "Shared", ownerRecordName=owner) == everything)
        assert names("ada", "private", "Shared") == everything
        assert [zone["zoneID"]["zoneName"] for zone in place.post("private/zones/list")["zones"]] == ["_defaultZone", "Cascade", "Shared"]
    # What was left of the deleted zone is gone, too.
    with contextlib.closing(sqlite3.connect(program.data / filling.KILLED / "development.sqlite")) as store:
        assert filling.unfinished(store) == [0, 0, 0]


def test_a_mirror_goes_on(program, open_copy, generation):
    mirror, origin = generation.kept["mirror"], open_copy("origin")
    name = filling.ORIGIN

    def copied():
        with program.served() as server:
            place = server.place(mirror["userRecordName"], container=mirror["container"])
            [zone] = [zone["zoneID"] for zone in place.post("private/zones/list")["zones"] if zone["zoneID"]["zoneName"] == "Trips"]
            records = place.own("private/records/list", zoneID=zone)["records"]
            return {record["recordName"]: {name: field["value"] for name, field in record["fields"].items() if name != "file"} for record in records}

    with StandIn.served(origin) as stand_in:
        stand_in.connect(program, mirror["userRecordName"])
        # Only what came after the last pull: the token of then is still good.
        pulled = json.loads(program.run("mirror", name, "--json"))
        assert (pulled["saved"], pulled["unchanged"], pulled["conflicts"], pulled["problems"]) == (1, 0, 1, []), pulled
        sent = json.loads(program.run("push", name, "--yes", "--json", status=(0, 1)))
        assert [item["recordName"] for item in sent["items"]] == ["trip 1", "trip 2", "new here"] and sent["conflicts"] == ["trip 0"] and not sent["refused"], sent
        program.run("push", name, "--keep-mine", "trip 0", "--yes")
        program.run("mirror", name)
        there = {key: {name: field["value"] for name, field in record["fields"].items() if name != "file"} for key, record in stand_in.trips().items()}
    assert there == copied()
    assert there["trip 0"]["title"] == "changed here" and there["trip 1"]["number"] == 100 and "trip 2" not in there
    assert there["trip 5"]["title"] == "not pulled yet" and there["new here"] == {"title": "new"}
