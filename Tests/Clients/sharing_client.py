"""A client for the requests of sharing, written from the protocol alone: Apple's reference pages, and what CloudKit JS sends."""

import json

import requests

CONTAINER = "iCloud.com.example.Lists"


def declare_items(address, administrator=None):
    """The type of the records, which can be queried. Production takes no types from records, so it is deployed."""
    edits = [{"addType": {"name": "Item", "fields": {"text": {"type": "STRING"}, "file": {"type": "ASSET"}}, "systemIndexes": {"___recordID": ["QUERYABLE"]}}}]
    place = f"{address}/skylight/1/{CONTAINER}"
    schema = requests.get(f"{place}/development/private/schema", auth=administrator, timeout=60).json()
    if not any(record_type["name"] == "Item" for record_type in schema.get("types", [])):
        edited = requests.post(f"{place}/development/private/schema/edit", json={"edits": edits}, auth=administrator, timeout=60)
        assert edited.status_code == 200, edited.text
    deployed = requests.post(f"{place}/production/private/schema/deploy", json={}, auth=administrator, timeout=60)
    assert deployed.status_code == 200, deployed.text


class Refused(Exception):
    """An answer that is an error as a whole."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body}")
        self.status = status
        self.code = body.get("serverErrorCode")


class Person:
    """A user of the app, whose requests have the credentials given."""

    def __init__(self, address, environment="development", headers=None, parameters=None):
        self.root = f"{address}/database/1/{CONTAINER}/{environment}"
        self.session = requests.Session()
        self.session.headers.update(headers or {})
        self.parameters = parameters or {}
        self.name = self.get("public/users/caller")["userRecordName"]

    def get(self, action):
        return self.answer(self.session.get(f"{self.root}/{action}", params=self.parameters, timeout=60))

    def post(self, action, **body):
        # CloudKit JS sends JSON as plain text.
        headers = {"Content-Type": "text/plain"}
        return self.answer(self.session.post(f"{self.root}/{action}", params=self.parameters, data=json.dumps(body), headers=headers, timeout=60))

    def answer(self, response):
        # A session's token is good for one request, and the answer has the next one.
        if "ckWebAuthToken" in self.parameters:
            self.parameters["ckWebAuthToken"] = response.headers.get("X-Apple-CloudKit-Web-Auth-Token", self.parameters["ckWebAuthToken"])
        if response.status_code != 200:
            raise Refused(response.status_code, response.json())
        return response.json()

    # Zones

    def make_zone(self, name):
        self.post("private/zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": {"zoneName": name}}}])
        return Zone(self, "private", {"zoneName": name})

    def seen(self, owner, name):
        """Another user's zone, as the shared database has it."""
        return Zone(self, "shared", {"zoneName": name, "ownerRecordName": owner.name})

    def shared_zones(self):
        return [(zone["zoneID"]["zoneName"], zone["zoneID"]["ownerRecordName"]) for zone in self.get("shared/zones/list")["zones"]]

    # Links

    def resolve(self, link):
        [result] = self.post("public/records/resolve", shortGUIDs=[{"value": link, "shouldFetchRootRecord": True}])["results"]
        return result

    def accept(self, link):
        [result] = self.post("public/records/accept", shortGUIDs=[{"value": link, "shouldFetchRootRecord": True}])["results"]
        return result


class Zone:
    """A zone in one of a person's databases."""

    def __init__(self, person, scope, zone_id):
        self.person = person
        self.scope = scope
        self.zone_id = zone_id

    def post(self, action, **body):
        return self.person.post(f"{self.scope}/{action}", zoneID=self.zone_id, **body)

    def modify(self, *operations, **options):
        return self.post("records/modify", operations=[{"operationType": kind, "record": record} for kind, record in operations], **options)["records"]

    def save(self, kind="create", **record):
        [saved] = self.modify((kind, {"recordType": "Item", **record}))
        return saved

    def lookup(self, *names):
        """Records by name; those that are not there have an error code."""
        return {record["recordName"]: record for record in self.post("records/lookup", records=[{"recordName": name} for name in names])["records"]}

    def query(self):
        query = {"recordType": "Item", "filterBy": [], "sortBy": []}
        found, marker = [], {}
        while True:
            page = self.post("records/query", query=query, resultsLimit=100, **marker)
            found += page["records"]
            if "continuationMarker" not in page:
                return found
            marker = {"continuationMarker": page["continuationMarker"]}

    def pull(self, token=None):
        """The changes since a token, by name, and the next token."""
        changes = {}
        while True:
            asked = {"zoneID": self.zone_id} | ({"syncToken": token} if token else {})
            [page] = self.person.post(f"{self.scope}/changes/zone", zones=[asked])["zones"]
            if "serverErrorCode" in page:
                raise Refused(200, page)
            changes |= {record["recordName"]: record for record in page["records"]}
            token = page["syncToken"]
            if not page["moreComing"]:
                return changes, token

    def share(self, root, tag, *participants, name="share", permission="NONE", **fields):
        record = {
            "recordType": "cloudkit.share", "recordName": name, "fields": {f"cloudkit.{key}": {"value": value} for key, value in fields.items()},
            "forRecord": {"recordName": root, "recordChangeTag": tag}, "publicPermission": permission, "participants": list(participants),
        }
        [saved] = self.modify(("create", record))
        return saved


def invitation(permission="READ_WRITE", kind="USER", **lookup_info):
    """A participant to be, by emailAddress or userRecordName."""
    return {"type": kind, "permission": permission, "acceptanceStatus": "INVITED", "userIdentity": {"lookupInfo": lookup_info}}
