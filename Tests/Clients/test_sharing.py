"""Sharing, in the requests that CloudKit JS sends: with users named in a header and signed-in ones, in development and production."""

import pytest
import requests
from required_server import RequiredServer
from sharing_client import CONTAINER, Person, Refused, declare_items, invitation

ZONE = "Lists"


class OpenApp:
    """Users named by Skylight's header."""

    def __init__(self, address):
        self.address = address
        self.administrator = None
        self.prepare()

    def ask(self, action, body):
        answer = requests.post(f"{self.address}/skylight/1/{action}", json=body, auth=self.administrator, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def prepare(self):
        """Users who can be invited by an address."""
        for name in ("mary", "carol"):
            self.ask("accounts/users/make", {"displayName": name.capitalize(), "emailAddress": f"{name}@example.org"})
        declare_items(self.address, self.administrator)

    def person(self, user, environment):
        return Person(self.address, environment, headers={"X-Skylight-User": user})


class SignedInApp(OpenApp):
    """Users of an app with an API token, who have signed in."""

    def __init__(self, server):
        self.address = server.address
        self.administrator = server.administrator
        self.prepare()

    def person(self, user, environment):
        place = {"container": CONTAINER, "environment": environment}
        token = self.ask("accounts/tokens/make", {**place, "name": "The app"})["secret"]
        session = self.ask("accounts/sessions/make", {**place, "user": user})["webAuthToken"]
        return Person(self.address, environment, parameters={"ckAPIToken": token, "ckWebAuthToken": session})


@pytest.fixture(scope="module", params=["open", "required"])
def app(request):
    if request.param == "open":
        yield OpenApp(request.getfixturevalue("server"))
    else:
        with RequiredServer() as server:
            yield SignedInApp(server)


@pytest.mark.parametrize("environment", ["development", "production"])
def test_a_list_is_shared_used_and_left(app, environment):
    ada, mary, carol, eve = (app.person(user, environment) for user in ("ada", "mary", "carol", "eve"))
    own = ada.make_zone(ZONE)
    root = own.save(recordName="list", fields={"text": {"value": "Food"}}, createShortGUID=True)
    link = root["shortGUID"]
    assert "share" not in root
    own.modify(*(("create", {"recordType": "Item", "recordName": name, "parent": {"recordName": "list"}}) for name in ("milk", "bread")))
    own.save(recordName="diary")

    # A root that changed since is no root to share: its first child gave it another tag.
    for tag in ("0", root["recordChangeTag"]):
        stale = own.share("list", tag, invitation(emailAddress="mary@example.org"))
        assert stale["serverErrorCode"] == "CONFLICT"
    share = own.share(
        "list", own.lookup("list")["list"]["recordChangeTag"], invitation(emailAddress="Mary@Example.org"), invitation("READ_ONLY", userRecordName=carol.name),
        title="Food", type="org.example.list")
    assert share["shortGUID"] == link and share["fields"]["cloudkit.title"]["value"] == "Food"
    assert share["currentUserParticipant"] == share["owner"] == share["participants"][0]
    assert share["owner"] | {"type": "OWNER", "permission": "READ_WRITE", "acceptanceStatus": "ACCEPTED"} == share["owner"]
    assert own.lookup("list")["list"]["share"]["recordName"] == share["recordName"] == "share"

    # The link, before and after it is followed.
    for person, scope, kind, status in ((ada, "PRIVATE", "OWNER", "ACCEPTED"), (mary, "SHARED", "USER", "INVITED"), (carol, "SHARED", "USER", "INVITED")):
        found = person.resolve(link)
        assert (found["databaseScope"], found["participantType"], found["participantStatus"]) == (scope, kind, status), found
        assert found["zoneID"] | {"zoneName": ZONE, "ownerRecordName": ada.name} == found["zoneID"]
        assert found["containerIdentifier"] == CONTAINER and found["environment"] == environment.upper()
        assert found["rootRecordName"] == found["rootRecord"]["recordName"] == "list"
    assert eve.resolve(link)["serverErrorCode"] == eve.accept(link)["serverErrorCode"] == "ACCESS_DENIED"
    assert ada.resolve("0" * 26)["serverErrorCode"] == "NOT_FOUND"
    assert mary.shared_zones() == []
    before = mary.post("shared/changes/database")["syncToken"]
    for person, permission in ((mary, "READ_WRITE"), (carol, "READ_ONLY")):
        for _ in range(2):
            accepted = person.accept(link)
            assert (accepted["participantStatus"], accepted["participantPermission"]) == ("ACCEPTED", permission)
            assert accepted["share"]["currentUserParticipant"]["userIdentity"]["userRecordName"] == person.name
        assert person.shared_zones() == [(ZONE, ada.name)]
    news = mary.post("shared/changes/database", syncToken=before)["zones"]
    assert [(zone["zoneID"]["ownerRecordName"], zone.get("deleted", False)) for zone in news] == [(ada.name, False)]

    # The guests see the list, and nothing else.
    theirs = {person: person.seen(ada, ZONE) for person in (mary, carol)}
    for zone in theirs.values():
        changes, _ = zone.pull()
        assert changes.keys() == {"list", "milk", "bread", "share"}
        assert {record["recordName"] for record in zone.query()} == {"list", "milk", "bread"}
        assert zone.lookup("diary")["diary"]["serverErrorCode"] == "NOT_FOUND"
        with pytest.raises(Refused):
            zone.person.post("shared/records/query", query={"recordType": "Item"}, zoneID={"zoneName": ZONE})
    _, token = theirs[carol].pull()

    # One writes, the other may not.
    tag = theirs[mary].lookup("milk")["milk"]["recordChangeTag"]
    saved = theirs[mary].save("update", recordName="milk", recordChangeTag=tag, fields={"text": {"value": "oat"}})
    assert saved["modified"]["userRecordName"] == mary.name
    assert theirs[mary].save(recordName="butter", parent={"recordName": "bread"})["created"]["userRecordName"] == mary.name
    assert theirs[mary].save(recordName="top")["serverErrorCode"] == "ACCESS_DENIED"
    assert theirs[mary].modify(("forceDelete", {"recordName": "list"}))[0]["serverErrorCode"] == "ACCESS_DENIED"
    assert theirs[carol].save("forceUpdate", recordName="milk")["serverErrorCode"] == "ACCESS_DENIED"
    changes, token = theirs[carol].pull(token)
    # Bread is new to be a parent, so it has another tag.
    assert changes.keys() == {"milk", "bread", "butter"} and changes["milk"]["fields"]["text"]["value"] == "oat"

    # The owner changes the participants: all of them are sent, with the tag.
    share = own.lookup("share")["share"]
    assert [participant["acceptanceStatus"] for participant in share["participants"]] == ["ACCEPTED"] * 3
    changed = [participant | {"permission": "READ_WRITE"} for participant in share["participants"]]
    stale = own.save("forceUpdate", recordType="cloudkit.share", recordName="share", recordChangeTag="0", participants=changed)
    assert stale["serverErrorCode"] == "CONFLICT"
    refused = theirs[mary].save(
        "update", recordType="cloudkit.share", recordName="share", recordChangeTag=share["recordChangeTag"], participants=changed[:2])
    assert refused["serverErrorCode"] == "ACCESS_DENIED"
    share = own.save("update", recordType="cloudkit.share", recordName="share", recordChangeTag=share["recordChangeTag"], participants=changed)
    assert [participant["permission"] for participant in share["participants"]] == ["READ_WRITE"] * 3
    assert "serverErrorCode" not in theirs[carol].save("forceUpdate", recordName="milk", fields={"text": {"value": "soy"}})
    changes, token = theirs[carol].pull(token)
    assert changes.keys() == {"milk", "share"}

    # Everybody with the link, until it is closed.
    share = own.save("update", recordType="cloudkit.share", recordName="share", recordChangeTag=share["recordChangeTag"], publicPermission="READ_ONLY")
    assert eve.accept(link)["participantType"] == "PUBLIC_USER"
    assert eve.seen(ada, ZONE).lookup("milk")["milk"]["fields"]["text"]["value"] == "soy"
    own.save("forceUpdate", recordType="cloudkit.share", recordName="share", publicPermission="NONE")
    assert eve.shared_zones() == [] and eve.accept(link)["serverErrorCode"] == "ACCESS_DENIED"

    # A record is moved out and back.
    _, token = theirs[carol].pull(token)
    own.save("forceUpdate", recordName="bread", parent=None)
    changes, token = theirs[carol].pull(token)
    assert {name for name, record in changes.items() if record["deleted"]} == {"bread", "butter"} == changes.keys()
    own.save("forceUpdate", recordName="bread", parent={"recordName": "list"})
    changes, token = theirs[carol].pull(token)
    assert {name for name, record in changes.items() if not record["deleted"]} == {"bread", "butter"} == changes.keys()

    # One leaves by the share, one by the zone, and one of them is invited again.
    seen = {person: person.post("shared/changes/database")["syncToken"] for person in theirs}
    assert theirs[mary].modify(("forceDelete", {"recordName": "share"}))[0]["deleted"]
    carol.post("shared/zones/modify", operations=[{"operationType": "delete", "zone": {"zoneID": theirs[carol].zone_id}}])
    for person, zone in theirs.items():
        assert person.shared_zones() == []
        [gone] = person.post("shared/changes/database", syncToken=seen[person])["zones"]
        assert gone["deleted"] and gone["zoneID"]["zoneName"] == ZONE
        assert zone.lookup("list")["list"]["serverErrorCode"] == "ZONE_NOT_FOUND"
        assert person.accept(link)["serverErrorCode"] == "ACCESS_DENIED"
    share = own.lookup("share")["share"]
    assert [participant["acceptanceStatus"] for participant in share["participants"]] == ["ACCEPTED", "REMOVED", "REMOVED"]
    # CloudKit JS appends to what it has.
    participants = [*share["participants"], invitation("READ_ONLY", emailAddress="mary@example.org")]
    share = own.save("update", recordType="cloudkit.share", recordName="share", recordChangeTag=share["recordChangeTag"], participants=participants)
    assert mary.accept(link).get("participantStatus") == "ACCEPTED"
    assert theirs[mary].pull()[0].keys() == {"list", "milk", "bread", "butter", "share"}
    with pytest.raises(Refused) as expired:
        theirs[carol].pull(token)
    assert expired.value.code == "ZONE_NOT_FOUND"

    # The owner stops: the records stay, and the link leads nowhere until the list is shared again.
    before = own.lookup("list")["list"]
    assert own.modify(("forceDelete", {"recordName": "share"}))[0]["deleted"]
    root = own.lookup("list")["list"]
    assert "share" not in root and root["recordChangeTag"] != before["recordChangeTag"]
    assert mary.shared_zones() == [] and mary.resolve(link)["serverErrorCode"] == "NOT_FOUND"
    assert own.share("list", before["recordChangeTag"])["serverErrorCode"] == "CONFLICT"
    assert own.share("list", root["recordChangeTag"])["shortGUID"] == link
    assert own.modify(("forceDelete", {"recordName": "list"}))[0]["serverErrorCode"] == "VALIDATING_REFERENCE_ERROR"
    records = ["list", *(name for name, record in own.pull()[0].items() if record.get("parent"))]
    assert all(record.get("deleted") for record in own.modify(*(("forceDelete", {"recordName": name}) for name in records)))
    assert own.lookup("share")["share"]["serverErrorCode"] == "NOT_FOUND"
    assert {record["recordName"] for record in own.query()} == {"diary"}


@pytest.mark.parametrize("permission", ["READ_ONLY", "READ_WRITE"])
def test_a_whole_zone_is_shared(app, permission):
    ada, mary = app.person("ada", "development"), app.person("mary", "development")
    zone = ada.make_zone(f"Whole {permission}")
    zone.save(recordName="loose")
    record = {"recordType": "cloudkit.share", "recordName": "cloudkit.zoneshare", "participants": [invitation(permission, userRecordName=mary.name)]}
    [share] = zone.modify(("create", record))
    assert zone.modify(("create", record))[0]["reason"] == "record to insert already exists"
    found = mary.accept(share["shortGUID"])
    assert found["participantStatus"] == "ACCEPTED" and "rootRecord" not in found and "rootRecordName" not in found
    seen = mary.seen(ada, zone.zone_id["zoneName"])
    assert seen.pull()[0].keys() == {"loose", "cloudkit.zoneshare"}
    answers = [
        seen.save(recordName="more"), seen.save("forceUpdate", recordName="loose"),
        seen.save("forceUpdate", recordType="cloudkit.share", recordName="cloudkit.zoneshare", fields={"cloudkit.title": {"value": "Mine"}}),
    ]
    assert [answer.get("serverErrorCode") for answer in answers] == [None if permission == "READ_WRITE" else "ACCESS_DENIED"] * 3
    assert seen.modify(("forceDelete", {"recordName": "cloudkit.zoneshare"}))[0]["deleted"]
    assert (zone.zone_id["zoneName"], ada.name) not in mary.shared_zones()
    assert zone.lookup("cloudkit.zoneshare")["cloudkit.zoneshare"]["participants"][1]["acceptanceStatus"] == "REMOVED"
