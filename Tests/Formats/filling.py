"""Fills a data folder with everything that a store can hold, through the program that is to write it."""

import base64
import contextlib
import hashlib
import subprocess
import urllib.parse

from program import CONTAINER

ORIGIN = "iCloud.com.example.Origin"
PASSWORD = "correct horse battery"
OWN = "Everything"
DAY = 86_400_000
#: Dates of restored records: long ago, so that a check finds the same on any day.
BORN = 1_700_000_000_000

SCHEMA = """
DEFINE SCHEMA

    CREATE ROLE moderator;

    RECORD TYPE Everything (
        "___createTime" TIMESTAMP QUERYABLE SORTABLE,
        "___createdBy"  REFERENCE QUERYABLE,
        "___modTime"    TIMESTAMP SORTABLE QUERYABLE,
        "___recordID"   REFERENCE QUERYABLE,
        text            STRING QUERYABLE SEARCHABLE SORTABLE,
        integer         INT64 QUERYABLE SORTABLE,
        number          DOUBLE QUERYABLE SORTABLE,
        moment          TIMESTAMP QUERYABLE SORTABLE,
        place           LOCATION QUERYABLE,
        bytes           BYTES QUERYABLE,
        file            ASSET,
        target          REFERENCE QUERYABLE,
        plain           NUMBER SORTABLE,
        whole           NUMBER PREFERRED AS INT64,
        texts           LIST<STRING> QUERYABLE,
        integers        LIST<INT64> QUERYABLE,
        numbers         LIST<DOUBLE> QUERYABLE,
        moments         LIST<TIMESTAMP> QUERYABLE,
        places          LIST<LOCATION>,
        chunks          LIST<BYTES>,
        files           LIST<ASSET>,
        targets         LIST<REFERENCE> QUERYABLE,
        hiddenText      ENCRYPTED STRING,
        hiddenInteger   ENCRYPTED INT64,
        hiddenNumber    ENCRYPTED DOUBLE,
        hiddenMoment    ENCRYPTED TIMESTAMP,
        hiddenPlace     ENCRYPTED LOCATION,
        hiddenBytes     ENCRYPTED BYTES,
        hiddenTexts     LIST<ENCRYPTED STRING>,
        "dotted.name"   STRING,
        GRANT WRITE TO "_creator",
        GRANT CREATE TO "_icloud",
        GRANT READ TO "_world",
        GRANT READ, WRITE TO moderator
    );

    RECORD TYPE Item (
        "___recordID"   REFERENCE QUERYABLE,
        "___parent"     REFERENCE QUERYABLE,
        text            STRING QUERYABLE SORTABLE,
        number          INT64 SORTABLE QUERYABLE,
        target          REFERENCE QUERYABLE
    );

    RECORD TYPE CD_Entry (
        "___recordID"   REFERENCE QUERYABLE,
        CD_entityName   STRING QUERYABLE,
        CD_title        STRING
    );
"""


def value(content, kind=None):
    return {"value": content} | ({"type": kind} if kind else {})


def create(record_type, name, fields=None, **members):
    """An operation that creates a record."""
    return "create", {"recordType": record_type, "recordName": name} | ({} if fields is None else {"fields": fields}) | members


def reference(name, action="NONE", zone=None):
    return {"recordName": name, "action": action} | ({"zoneID": {"zoneName": zone}} if zone else {})


def noise(count):
    """Bytes that no compression makes smaller, the same each time."""
    return b"".join(hashlib.sha256(bytes([number])).digest() for number in range(count // 32))


def fields(number):
    """A value of each kind but files: ordinary ones, the smallest and largest, and those that are easily lost."""
    text = ["An ordinary text", "Zo\u00eb \u65e5\u672c\u8a9e \U0001f600 \u2028 \"quoted\" \\ \t\r\n \u0000 \u007f e\u0301", "long " * 300][number]
    integer, double = [(42, 3.25), (2**63 - 1, 1.7976931348623157e308), (-(2**63), -5e-324)][number]
    moment = [1_600_000_000_000, -62_135_596_800_000, 253_402_300_799_999][number]
    place = [{"latitude": 52.52, "longitude": 13.405}, {
        "latitude": -90.0, "longitude": 180.0, "altitude": -11.5, "horizontalAccuracy": 5.0, "verticalAccuracy": 2.5, "course": 359.9, "speed": 1.5,
        "timestamp": 1_600_000_000_000}, {"latitude": 0.0, "longitude": -0.0}][number]
    data = base64.b64encode([b"bytes", bytes(range(256)), b""][number]).decode()
    return {
        "text": value(text), "integer": value(integer), "number": value(double, "DOUBLE"), "moment": value(moment, "TIMESTAMP"), "place": value(place, "LOCATION"),
        "bytes": value(data, "BYTES"), "plain": value(double, "DOUBLE"), "whole": value(integer), "texts": value([text, "", "second"], "STRING_LIST"),
        "integers": value([integer, 0, integer], "INT64_LIST"), "numbers": value([double, 0.5], "DOUBLE_LIST"),
        "moments": value([moment, 0], "TIMESTAMP_LIST"), "places": value([place, place], "LOCATION_LIST"), "chunks": value([data, "AAEC"], "BYTES_LIST"),
        "hiddenText": value(text, "STRING") | {"isEncrypted": True}, "hiddenInteger": value(integer, "INT64") | {"isEncrypted": True},
        "hiddenNumber": value(double, "DOUBLE") | {"isEncrypted": True}, "hiddenMoment": value(moment, "TIMESTAMP") | {"isEncrypted": True},
        "hiddenPlace": value(place, "LOCATION") | {"isEncrypted": True}, "hiddenBytes": value(data, "ENCRYPTED_BYTES"),
        "hiddenTexts": value([text, "other"], "STRING_LIST") | {"isEncrypted": True}, "dotted.name": value(f"number {number}"),
    }


class Filling:
    """Fills the folder of a program, and keeps what clients would keep: tokens, links, secrets."""

    def __init__(self, program):
        self.program = program
        self.kept = {"feeds": [], "markers": [], "keyValueTokens": [], "links": {}, "passwords": {"admin": PASSWORD}}

    def place(self, user=None, environment="development", **headers):
        return self.server.place(user, environment, **headers)

    def fill(self, server):
        self.server = server
        self.make_users()
        self.make_schema()
        self.expire_tokens()
        self.save_everything()
        self.save_files()
        self.save_history()
        self.save_references()
        self.save_public()
        self.save_zones()
        self.share()
        self.share_as_earlier_versions()
        self.save_key_values()
        self.subscribe()
        self.make_credentials()
        self.use_console()
        return self.kept

    # MARK: Users and schema

    def make_users(self):
        for name in ("Ada", "Grace", "Mary", "Carl", "Dan", "Eve"):
            self.server.ask("/skylight/1/accounts/users/make", {"displayName": name} | ({"emailAddress": f"{name.lower()}@example.org"} if name != "Dan" else {}))
        self.server.ask("/skylight/1/accounts/users/remove", {"user": "eve"})
        users = self.server.ask("/skylight/1/users")["users"]
        self.names = {user["handle"]: user["userRecordName"] for user in users}

    def stamps(self, number=0, user="ada"):
        """Who saved a restored record, and when."""
        author = {"userRecordName": self.names[user], "deviceID": "Tablet"}
        return {key: {"timestamp": BORN + number * DAY + later, **author} for key, later in (("created", 0), ("modified", 500))}

    def make_schema(self):
        developer = self.place()
        developer.own("public/schema/import", text=SCHEMA)
        developer.own("public/schema/edit", edits=[
            {"addCompositeIndex": {"filter": "text", "sort": "number"}, "recordType": "Item"},
            {"addType": {"name": "Short", "fields": {"text": {"type": "STRING", "indexes": ["QUERYABLE"]}}}},
        ])
        self.place(environment="production").own("public/schema/deploy")
        # Development goes on after the deployment, and removes what was never deployed.
        developer.own("public/schema/edit", edits=[
            {"addType": {"name": "Brief", "fields": {"text": {"type": "STRING", "indexes": ["QUERYABLE"]}, "extra": {"type": "STRING"}}}},
            {"addRole": "editor"}, {"addGrants": [{"role": "editor", "permissions": ["CREATE"]}], "recordType": "Item"},
        ])

    # MARK: Tokens

    def token(self, user, scope, zone=None, owner=None):
        parameters = {"zone": zone, "owner": self.names[owner] if owner else None}
        return self.place(user).get(f"{scope}/token/current", **parameters)["syncToken"]

    def keep_token(self, why, user, scope, zone=None, owner=None, token=None):
        """Keeps a token, as a client does that asks again much later."""
        zone_id = {"zoneName": zone} | ({"ownerRecordName": self.names[owner]} if owner else {}) if zone else None
        self.kept["feeds"].append({"why": why, "user": user, "scope": scope, "zoneID": zone_id, "syncToken": token or self.token(user, scope, zone, owner)})

    def make_zone(self, user, name, environment="development"):
        self.place(user, environment).post("private/zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": {"zoneName": name}}}])

    def expire_tokens(self):
        self.make_zone("ada", OWN)
        self.place("ada").modify("private", OWN, create("Item", "first", {"text": value("first")}))
        self.keep_token("expired with all others", "ada", "private", OWN)
        self.place("ada").own("private/tokens/expire")
        self.keep_token("the first of a zone", "ada", "private", OWN)
        self.keep_token("the first of a database", "ada", "private")

    # MARK: Records

    def save_everything(self):
        ada = self.place("ada")
        names = ["ordinary", "Zoë \U0001f600 (é)", "extreme e\u0301"]
        for number, name in enumerate(names):
            record = {"recordType": "Everything", "recordName": name, "fields": fields(number)}
            ada.modify("private", OWN, ("create", record | self.stamps(number)), restores=True)
        ada.modify("private", OWN, ("create", {"recordType": "Everything", "recordName": "nothing", "fields": {}} | self.stamps(4)), restores=True)
        ada.modify("private", "_defaultZone", create("Item", "loose", {"number": value(1)}, **self.stamps()), restores=True)
        [page] = ada.post("private/changes/zone", zones=[{"zoneID": {"zoneName": OWN}, "resultsLimit": 2}])["zones"]
        assert page["moreComing"]
        self.keep_token("within a first pull", "ada", "private", OWN, token=page["syncToken"])
        [page] = ada.post("private/changes/zone", zones=[{"zoneID": {"zoneName": OWN}, "resultsLimit": 2, "reverse": True}])["zones"]
        self.keep_token("within a pull from new to old", "ada", "private", OWN, token=page["syncToken"])
        # A type and a field go with their records and values.
        ada.modify("private", OWN, *(create("Brief", f"brief {number}", {"text": value("b"), "extra": value("e")}) for number in range(3)))
        self.place().own("public/schema/edit", edits=[{"removeField": "extra", "recordType": "Brief"}])
        self.place().own("public/schema/edit", edits=[{"addType": {"name": "Gone", "fields": {"text": {"type": "STRING", "indexes": ["SORTABLE"]}}}}])
        ada.modify("private", OWN, create("Gone", "went with its type", {"text": value("t")}))
        self.place().own("public/schema/edit", edits=[{"removeType": "Gone"}])

    def save_files(self):
        ada = self.place("ada")
        text, random = b"A line of a file that shrinks.\n" * 200, noise(4096)
        for record, content, name in (("text file", text, "Zeilen ü.txt"), ("noise", random, "noise.bin"), ("short file", b"short", "short.txt")):
            asset = ada.upload("private", OWN, record, "Everything", "file", content, name)
            ada.modify("private", OWN, create("Everything", record, {"file": value(asset)}))
        # Two records with one file, by reference and by another upload, and a list.
        [again] = ada.post("private/assets/rereference", zoneID={"zoneName": OWN}, assets=[{"recordName": "text file", "fieldName": "file"}])["assets"]
        listed = [ada.upload("private", OWN, "two files", "Everything", "files", content, name) for content, name in ((random, "a.bin"), (b"<svg/>", "b.svg"))]
        ada.modify("private", OWN, create("Everything", "two files", {"file": value(again), "files": value(listed, "ASSETID_LIST")}))
        for record in ("text file", "short file", "noise"):
            found = ada.post("private/records/lookup", zoneID={"zoneName": OWN}, records=[{"recordName": record}])["records"][0]
            target = found["fields"]["file"]["value"]["downloadURL"].removeprefix(self.server.address)
            self.server.send("GET", target, headers={"Accept-Encoding": "gzip"})
        public = self.place("grace")
        asset = public.upload("public", "_defaultZone", "public file", "Everything", "file", text, "public.txt")
        public.modify("public", "_defaultZone", create("Everything", "public file", {"file": value(asset)}))

    def save_history(self):
        ada = self.place("ada", **{"X-Skylight-Device": "Phone"})
        item = {"recordType": "Item", "recordName": "changed"}
        ada.modify("private", OWN, ("create", item | {"fields": {"text": value("one"), "number": value(1)}}))
        ada.modify("private", OWN, ("forceUpdate", item | {"fields": {"text": value("two")}, "parent": {"recordName": "first"}}))
        self.keep_token("in the middle of a zone", "ada", "private", OWN)
        self.keep_token("in the middle of a database", "ada", "private")
        ada.modify("private", OWN, ("forceReplace", item | {"fields": {"number": value(3)}}))
        for name in ("deleted", "made again"):
            ada.modify("private", OWN, create("Item", name, {"text": value("before")}))
            ada.modify("private", OWN, ("forceDelete", {"recordName": name}))
        ada.modify("private", OWN, create("Item", "made again", {"text": value("after")}))
        ada.own("private/records/revert", zoneID={"zoneName": OWN}, recordName="deleted", position=ada.get(
            "private/records/journal", recordName="deleted", zone=OWN)["changes"][-1]["position"])
        ada.modify("private", OWN, ("forceDelete", {"recordName": "deleted"}))

    def save_references(self):
        ada = self.place("ada")

        def item(name, **members):
            return "create", {"recordType": "Item", "recordName": name, **members} | self.stamps(5)

        ada.modify("private", OWN, item("target"), item("child", parent={"recordName": "target"}), *(
            item(action, fields={"target": value(reference("target", action), "REFERENCE")}) for action in ("NONE", "DELETE_SELF", "VALIDATE")), restores=True)
        ada.modify("private", OWN, item("doomed"), item("falls", fields={"target": value(reference("doomed", "DELETE_SELF"), "REFERENCE")}), restores=True)
        ada.modify("private", OWN, ("forceDelete", {"recordName": "doomed"}))
        ada.modify("private", OWN, item("across", fields={"target": value(reference("elsewhere", zone="Elsewhere"), "REFERENCE")}), item(
            "dangling", fields={"target": value(reference("nobody"), "REFERENCE")}), item("orphan", parent={"recordName": "nobody"}), restores=True)
        ada.modify("private", OWN, ("create", {"recordType": "Everything", "recordName": "several", "fields": {
            "targets": value([reference("target"), reference("child", "DELETE_SELF")], "REFERENCE_LIST")}} | self.stamps(6)), restores=True)
        ada.modify("private", OWN, ("create", {"recordType": "CD_Entry", "recordName": "object", "fields": {
            "CD_entityName": value("Other"), "CD_title": value("An object")}} | self.stamps(7)), restores=True)

    def save_public(self):
        for environment in ("development", "production"):
            for number, user in enumerate(("ada", "grace", "ada")):
                place = self.place(user, environment)
                place.modify("public", "_defaultZone", ("create", {
                    "recordType": "Item", "recordName": f"public {number}", "fields": {"text": value("public"), "number": value(number)}}))
            # Looking them up makes the records of users.
            self.place("ada", environment).post("public/records/lookup", records=[{"recordName": name} for name in self.names.values()])
            page = self.place("ada", environment).post("public/records/query", query={
                "recordType": "Item", "sortBy": [{"fieldName": "number", "ascending": True}]}, resultsLimit=2)
            self.kept["markers"].append({"user": "ada", "environment": environment, "scope": "public", "continuationMarker": page["continuationMarker"]})
        owner = self.place(**{"X-Skylight-Access": "owner"})
        roles = owner.get("public/schema")["roles"]
        assert {"moderator", "editor"} <= {role if isinstance(role, str) else role["name"] for role in roles}, roles
        number = int.from_bytes(hashlib.sha256(b"moderator").digest()[:5], "big")
        grace = {"recordType": "Users", "recordName": self.names["grace"], "fields": {"roles": value([number], "INT64_LIST")}}
        owner.modify("public", "_defaultZone", ("forceUpdate", grace))
        production = self.place("ada", "production")
        self.make_zone("ada", "Live", "production")
        asset = production.upload("private", "Live", "live", "Everything", "file", b"A file of production.\n" * 20, "live.txt")
        production.modify("private", "Live", create("Everything", "live", {"file": value(asset), "text": value("live")}))

    def save_zones(self):
        ada = self.place("ada")
        for name in ("Deleted", "Again", "Purged", "Empty", "Elsewhere"):
            self.make_zone("ada", name)
        for name in ("Deleted", "Again", "Purged"):
            ada.modify("private", name, create("Item", "within", {"text": value(name)}))
            self.keep_token(f"of a zone that went: {name}", "ada", "private", name)
        for name in ("Deleted", "Again"):
            ada.post("private/zones/modify", operations=[{"operationType": "delete", "zone": {"zoneID": {"zoneName": name}}}])
        ada.own("private/zones/purge", zoneID={"zoneName": "Purged"})
        self.make_zone("ada", "Again")
        ada.modify("private", "Again", create("Item", "anew", {"text": value("anew")}))
        ada.modify("private", "Elsewhere", ("create", {"recordType": "Item", "recordName": "elsewhere"} | self.stamps()), restores=True)

    # MARK: Shares

    def participant(self, user=None, permission="READ_WRITE", address=None, **members):
        return {"type": "USER", "permission": permission, "acceptanceStatus": "INVITED", "userIdentity": {
            "lookupInfo": {"emailAddress": address} if address else {"userRecordName": self.names[user]}}} | members

    def accept(self, user, link):
        [result] = self.place(user).post("public/records/accept", shortGUIDs=[{"value": link}])["results"]
        assert "serverErrorCode" not in result, result

    def share(self):
        ada = self.place("ada")
        self.make_zone("ada", "Lists")
        ada.modify("private", "Lists", ("create", {"recordType": "Item", "recordName": "list", "fields": {"text": value("Food")}, "createShortGUID": True}))
        ada.modify("private", "Lists", create("Item", "diary", {"text": value("Not for guests")}), *(
            create("Item", name, parent={"recordName": parent}) for name, parent in (("milk", "list"), ("oat milk", "milk"), ("bread", "list"))))
        # Its first child gave it another tag.
        [root] = ada.post("private/records/lookup", zoneID={"zoneName": "Lists"}, records=[{"recordName": "list"}])["records"]
        [share] = ada.modify("private", "Lists", ("create", {
            "recordType": "cloudkit.share", "recordName": "share", "fields": {"cloudkit.title": value("Food"), "cloudkit.type": value("org.example.list")},
            "forRecord": {"recordName": "list", "recordChangeTag": root["recordChangeTag"]}, "publicPermission": "READ_ONLY", "participants": [
                self.participant("carl"), self.participant(address="Mary@Example.org", permission="READ_ONLY"), self.participant("dan"),
                self.participant(address="nobody@example.org")]}))
        link = share["shortGUID"]
        self.kept["links"]["list"] = link
        for user in ("carl", "dan", "grace"):
            self.accept(user, link)
        self.keep_token("of a guest", "carl", "shared", "Lists", "ada")
        self.keep_token("of a guest's database", "carl", "shared")
        self.keep_token("of a guest who was removed", "dan", "shared")
        zone = {"zoneName": "Lists", "ownerRecordName": self.names["ada"]}
        self.place("carl").modify("shared", zone, ("create", {"recordType": "Item", "recordName": "butter", "parent": {"recordName": "bread"}}))
        self.place("dan").modify("shared", zone, ("forceDelete", {"recordName": "share"}))
        ada.modify("private", "Lists", ("forceUpdate", {"recordType": "Item", "recordName": "oat milk", "parent": None}))
        # A zone at once, for two users of whom one went.
        self.make_zone("ada", "Board")
        ada.modify("private", "Board", create("Item", "note", {"text": value("For the team")}))
        for user, permission in (("mary", "READ_ONLY"), ("carl", "READ_WRITE")):
            ada.own("private/zones/share", zoneID={"zoneName": "Board"}, userRecordName=self.names[user], permission=permission)
        self.keep_token("of a zone that is shared as a whole", "mary", "shared", "Board", "ada")
        self.keep_token("of a zone that is shared no longer", "carl", "shared", "Board", "ada")
        ada.own("private/zones/unshare", zoneID={"zoneName": "Board"}, userRecordName=self.names["carl"])
        ada.modify("private", "Board", create("Item", "second note"))
        # A share that ended leaves its link in the record.
        self.make_zone("ada", "Ended")
        [root] = ada.modify("private", "Ended", create("Item", "once shared"))
        shared = {"recordName": "once shared", "recordChangeTag": root["recordChangeTag"]}
        [share] = ada.modify("private", "Ended", create("cloudkit.share", "ended", forRecord=shared, participants=[]))
        self.kept["links"]["ended"] = share["shortGUID"]
        ada.modify("private", "Ended", ("forceDelete", {"recordName": "ended"}))

    def share_as_earlier_versions(self):
        """A share within another one, shares without guests, and a circle of parents: saved as a restoration, which keeps what was accepted before."""
        ada = self.place("ada")
        for name in ("Nested", "Circle"):
            self.make_zone("ada", name)

        def restored(record_type, name, **members):
            return "create", {"recordType": record_type, "recordName": name, **members} | self.stamps(8)

        def share(name, root, link, *participants):
            [saved] = ada.post("private/records/lookup", zoneID={"zoneName": "Nested"}, records=[{"recordName": root}])["records"]
            ada.modify("private", "Nested", restored(
                "cloudkit.share", name, forRecord={"recordName": root, "recordChangeTag": saved["recordChangeTag"]}, participants=list(participants),
                publicPermission="NONE", shortGUID=link), restores=True)
            self.kept["links"][name] = link

        ada.modify("private", "Nested", restored("Item", "outer", fields={"text": value("outer")}), restores=True)
        ada.modify("private", "Nested", restored("Item", "middle", parent={"recordName": "outer"}), restores=True)
        ada.modify("private", "Nested", restored("Item", "inner", parent={"recordName": "middle"}), restores=True)
        ada.modify("private", "Nested", restored("Item", "below inner", parent={"recordName": "inner"}), restores=True)
        def accepted(user, permission):
            return {"type": "USER", "permission": permission, "acceptanceStatus": "ACCEPTED", "userIdentity": {"userRecordName": self.names[user]}}

        share("outer share", "outer", "0OuterShareOfEarlierTime01", accepted("carl", "READ_WRITE"))
        share("inner share", "inner", "0InnerShareOfEarlierTime02", accepted("grace", "READ_ONLY"))
        ada.modify("private", "Nested", restored("Item", "lonely"), restores=True)
        share("share without guests", "lonely", "0ShareOfNobodyEarlierTim03", self.participant("dan"))
        ada.modify("private", "Circle", *(restored("Item", name, parent={"recordName": parent}) for name, parent in (
            ("one", "two"), ("two", "three"), ("three", "one"), ("beside", "one"))), restores=True)

    # MARK: The rest of a store

    def save_key_values(self):
        ada = self.place("ada")

        def put(key, kind, content):
            return {"operationType": "set", "key": key, "value": {"type": kind, "value": content}}

        ada.own("private/keyvalues/modify", operations=[
            put("text", "STRING", "Zoë \U0001f600"), put("truth", "BOOL", True), put("bytes", "BYTES", "AAEC"), put("integer", "INT64", 2**63 - 1),
            put("removed", "BOOL", False)])
        self.kept["keyValueTokens"].append({"user": "ada", "syncToken": ada.get("private/keyvalues/changes")["syncToken"]})
        ada.own("private/keyvalues/modify", operations=[
            put("double", "DOUBLE", -5e-324), put("moment", "TIMESTAMP", -1),
            put("list", "ARRAY", [{"type": "DICTIONARY", "value": {"é": {"type": "INT64", "value": 1}}}]),
            put("truth", "BOOL", False), {"operationType": "remove", "key": "removed"}])
        self.place("grace").own("private/keyvalues/modify", operations=[put("text", "STRING", "of another user")])

    def subscribe(self):
        def save(user, scope, *subscriptions):
            answers = self.place(user).post(f"{scope}/subscriptions/modify", operations=[
                {"operationType": "create", "subscription": subscription} for subscription in subscriptions])["subscriptions"]
            assert not any("serverErrorCode" in answer for answer in answers), answers

        told = {"notificationInfo": {"alertBody": "Something changed", "shouldBadge": True}}
        query = {"recordType": "Item", "filterBy": [{"fieldName": "text", "comparator": "EQUALS", "fieldValue": {"value": "told"}}]}
        within = {"zoneID": {"zoneName": OWN}}
        save("ada", "private", {"subscriptionID": "items", "subscriptionType": "query", "query": query, "firesOn": ["create", "update"]} | within | told, {
            "subscriptionID": "zone", "subscriptionType": "zone", "recordType": "Everything"} | within | told, {
            "subscriptionID": "database", "subscriptionType": "database"})
        save("ada", "public", {
            "subscriptionID": "deletions", "subscriptionType": "query", "query": {"recordType": "Item"}, "firesOn": ["delete"], "firesOnce": True} | told)
        save("carl", "shared", {"subscriptionID": "shared", "subscriptionType": "database"} | told)
        answer = self.server.ask(f"/device/1/{CONTAINER}/development/tokens/create", {"apnsEnvironment": "development", "clientId": "Watch"}, "ada")
        self.kept["device"] = {"user": "ada", "apnsToken": answer["apnsToken"]}
        self.server.ask(f"/device/1/{CONTAINER}/production/tokens/register", {"apnsEnvironment": "production", "apnsToken": answer["apnsToken"]}, "ada")

    # MARK: Accounts

    def make_credentials(self):
        def make(action, **body):
            return self.server.ask(f"/skylight/1/accounts/{action}", {"container": CONTAINER, **body})

        kept = self.kept["credentials"] = {}
        made = make("tokens/make", name="The app")
        kept["apiToken"] = made["secret"]
        limited = make("tokens/make", name="A page", environment="production", allowedOrigins=["https://app.example.com"], callback="https://app.example.com/back")
        kept["apiTokenOfPage"] = limited["secret"]
        revoked = make("tokens/make", name="Revoked")
        kept["revokedAPIToken"] = revoked["secret"]
        make("tokens/revoke", id=revoked["token"]["id"])
        make("sessions/make", user="grace", apiTokenID=made["token"]["id"], keepSignedIn=True)
        ended = make("sessions/make", user="carl", apiTokenID=made["token"]["id"])
        make("sessions/revoke", id=ended["session"]["id"])
        for name in ("serverKey", "revokedServerKey"):
            key = openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout")
            public = openssl("ec", "-pubout", input=key).decode()
            answer = make("keys/register", publicKey=public, name=name)["key"]
            # DER, so that nothing takes the text for a secret that was left in a repository.
            kept[name] = {"keyID": answer["keyID"], "der": base64.b64encode(openssl("ec", "-outform", "DER", input=key)).decode()}
        make("keys/revoke", keyID=kept["revokedServerKey"]["keyID"])

    def use_console(self):
        def form(action, **answers):
            status, headers, body = self.server.send(
                "POST", f"/c/{CONTAINER}/development/private/{action}", urllib.parse.urlencode(answers),
                {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.server.address, "X-Skylight-User": "ada"})
            assert status in (302, 303), (status, body[:2000])

        form(f"queries/save?zone={OWN}", name="Items called Zoë", question="type=Item&filter1=text&is1=EQUALS&value1=Zo%C3%AB&sort1=number&order1=descending")
        form("queries/save", name="Another", question="type=Everything")
        form("type/title", type="Everything", field="text")
        form("type/title", type="Item", field="-")


    # MARK: After the snapshot

    def change_after_snapshot(self):
        """Differences from the snapshot: a record more, one less, one changed."""
        ada = self.place("ada")
        ada.modify("private", "Empty", create("Item", "after the snapshot"))
        ada.modify("private", "Again", ("forceDelete", {"recordName": "anew"}))
        ada.modify("private", "Lists", ("forceUpdate", {"recordType": "Item", "recordName": "bread", "fields": {"text": value("rye")}}))

    def export_csv(self, file):
        """The results of a query in the console."""
        status, _, body = self.server.send("GET", f"/c/{CONTAINER}/development/private/query.csv?type=Everything&zone={OWN}&all=1&user=ada")
        assert status == 200, body
        file.write_bytes(body)


def openssl(*arguments, input=None):
    return subprocess.run(["openssl", *arguments], input=input, check=True, capture_output=True).stdout


# MARK: A mirror

class StandIn:
    """A server in iCloud's place: it requires credentials, and has nothing but CloudKit's protocol."""

    def __init__(self, server, token, sessions):
        self.server = server
        self.token = token
        self.sessions = sessions

    @classmethod
    @contextlib.contextmanager
    def served(cls, origin):
        place = ["--container", ORIGIN]
        token = origin.run("token", "create-api", *place).split()[0]
        sessions = [origin.run("token", "create-web-auth", "--user", "anna", "--keep-signed-in", *place).split()[0] for _ in range(2)]
        with origin.served("--auth", "required", "--protocol-only") as server:
            yield cls(server, token, sessions)

    def connect(self, program, user):
        """Connects the program's folder to this server."""
        with program.served() as own:
            own.ask("/skylight/1/accounts/connections/make", {
                "container": ORIGIN, "apiToken": self.token, "webAuthToken": self.sessions[0], "userRecordName": user, "address": self.server.address})

    def modify(self, *operations):
        """Changes records as another client of the user."""
        query = urllib.parse.urlencode({"ckAPIToken": self.token, "ckWebAuthToken": self.sessions[1]})
        return self.server.ask(f"/database/1/{ORIGIN}/development/private/records/modify?{query}", {
            "zoneID": {"zoneName": "Trips"}, "operations": [{"operationType": kind, "record": record} for kind, record in operations]})["records"]

    def trips(self):
        query = urllib.parse.urlencode({"ckAPIToken": self.token, "ckWebAuthToken": self.sessions[1]})
        [page] = self.server.ask(f"/database/1/{ORIGIN}/development/private/changes/zone?{query}", {"zones": [{"zoneID": {"zoneName": "Trips"}}]})["zones"]
        return {record["recordName"]: record for record in page["records"] if not record.get("deleted")}


def trip(kind, name, **members):
    return kind, {"recordType": "Trip", "recordName": name, "fields": {member: value(content) for member, content in members.items()}}


def fill_mirror(program, origin):
    """Copies the origin, and changes both: a conflict, and changes that are not sent."""
    with origin.served() as server:
        user = server.place("anna", container=ORIGIN)
        user.post("private/zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": {"zoneName": "Trips"}}}])
        user.modify("private", "Trips", *(trip("create", f"trip {number}", title=f"Trip {number}", number=number) for number in range(6)))
        asset = user.upload("private", "Trips", "with a file", "Trip", "file", b"A file of the origin.\n" * 20, "trip.txt")
        user.modify("private", "Trips", trip("create", "with a file", file=asset))
        name = server.ask("/skylight/1/users/caller", user="anna")["userRecordName"]

    def change_here(*operations):
        with program.served() as own:
            own.place(name, container=f"{ORIGIN}.mirror").modify("private", "Trips", *operations)

    with StandIn.served(origin) as stand_in:
        stand_in.connect(program, name)
        program.run("mirror", ORIGIN, "--assets", "all")
        stand_in.modify(trip("forceUpdate", "trip 0", title="changed there"), trip("forceUpdate", "trip 5", title="not pulled yet"))
        change_here(trip("forceUpdate", "trip 0", title="changed here"))
        program.run("push", ORIGIN, "--yes", status=(1,))
    change_here(trip("forceUpdate", "trip 1", number=100), ("forceDelete", {"recordName": "trip 2"}), trip("create", "new here", title="new"))
    return {"userRecordName": name, "container": f"{ORIGIN}.mirror"}


# MARK: Unfinished work

KILLED = "iCloud.com.example.Killed"
#: Records that one request does not move or delete all at once.
MANY = 700


def unfinished(store):
    """How many cascades, hierarchies and deleted zones a store has to go on with."""
    counts = ("SELECT count(*) FROM cascades", "SELECT count(*) FROM hierarchyWalks", "SELECT count(*) FROM zones WHERE state <> 0 AND swept = 0")
    return [store.execute(count).fetchone()[0] for count in counts]


def leave_unfinished(program):
    """Kills a server that has work in the background. Its latest saves are in the log beside its file."""
    with program.served(is_killed=True) as server:
        ada = server.place("ada", container=KILLED)
        for zone in ("Cascade", "Shared", "Gone"):
            ada.post("private/zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": {"zoneName": zone}}}])
        ada.modify("private", "Shared", create("Item", "list"))
        ada.modify("private", "Cascade", *(("create", {"recordType": "Item", "recordName": name}) for name in ("target", "stays")))
        members = {
            "Cascade": {"fields": {"target": value(reference("target", "DELETE_SELF"), "REFERENCE")}}, "Shared": {"parent": {"recordName": "list"}}, "Gone": {},
        }
        for start in range(0, MANY, 100):
            for zone, each in members.items():
                ada.modify("private", zone, *(("create", {"recordType": "Item", "recordName": f"child {number}", **each}) for number in range(start, start + 100)))
        guest = server.ask("/skylight/1/users/caller", user="carl")["userRecordName"]
        invited = {"type": "USER", "permission": "READ_WRITE", "acceptanceStatus": "INVITED", "userIdentity": {"lookupInfo": {"userRecordName": guest}}}
        [root] = ada.post("private/records/lookup", zoneID={"zoneName": "Shared"}, records=[{"recordName": "list"}])["records"]
        [share] = ada.modify("private", "Shared", create(
            "cloudkit.share", "share", forRecord={"recordName": "list", "recordChangeTag": root["recordChangeTag"]}, participants=[invited]))
        ada.modify("private", "Cascade", ("forceDelete", {"recordName": "target"}))
        ada.post("private/zones/modify", operations=[{"operationType": "delete", "zone": {"zoneID": {"zoneName": "Gone"}}}])
        server.place("carl", container=KILLED).post("public/records/accept", shortGUIDs=[{"value": share["shortGUID"]}])
