"""The rights of everybody a share concerns, by role, operation and place in the hierarchy: every cell of a table, over HTTP."""

import pytest
import requests
from sharing_client import Person, Refused, declare_items, invitation

PLACES = ["root", "child", "grandchild", "share", "other", "loose", "outside", "orphan"]
ABOVE = {"child": "root", "grandchild": "child", "other": "others", "outside": "others' outsider", "orphan": "nobody"}
KINDS = ["create", "update", "forceUpdate", "replace", "forceReplace", "delete", "forceDelete"]
# Each has a hierarchy of its own, so that no operation finds what another one left.
OPERATIONS = ["lookup", "query", "feed", *KINDS, "below", "moveBelow", "upload", "download", "participants"]

# 'done' changed something, 'nothing' was a success without a change. Refusals are CloudKit's codes: CONFLICT, NOT_FOUND, DENIED (ACCESS_DENIED) and
# NO_PARENT (VALIDATING_REFERENCE_ERROR).
OWNER = """
                root      child     grandchild share    other     loose     outside   orphan
  lookup        done      done      done      done      done      done      done      done
  query         done      done      done      -         done      done      done      done
  feed          done      done      done      done      done      done      done      done
  create        CONFLICT  CONFLICT  CONFLICT  CONFLICT  CONFLICT  CONFLICT  CONFLICT  CONFLICT
  update        done      done      done      done      done      done      done      done
  forceUpdate   done      done      done      done      done      done      done      done
  replace       done      done      done      done      done      done      done      NO_PARENT
  forceReplace  done      done      done      done      done      done      done      NO_PARENT
  delete        done      done      done      done      done      done      done      done
  forceDelete   done      done      done      done      done      done      done      done
  below         done      done      done      done      done      done      done      done
  moveBelow     done      done      done      done      done      done      done      done
  upload        done      done      done      -         done      done      done      done
  download      done      done      done      -         done      done      done      done
  participants  -         -         -         done      -         -         -         -
"""
# An upload alone changes no record, so it needs no more than the right to write somewhere in the zone.
WRITER = """
                root      child     grandchild share    other     loose     outside   orphan
  lookup        done      done      done      done      NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  query         done      done      done      -         NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  feed          done      done      done      done      NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  create        CONFLICT  CONFLICT  CONFLICT  CONFLICT  CONFLICT  CONFLICT  CONFLICT  CONFLICT
  update        done      done      done      done      NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  forceUpdate   done      done      done      done      DENIED    DENIED    DENIED    DENIED
  replace       done      done      done      done      NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  forceReplace  done      done      done      done      DENIED    DENIED    DENIED    DENIED
  delete        DENIED    done      done      left      NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  forceDelete   DENIED    done      done      left      nothing   nothing   nothing   nothing
  below         done      done      done      DENIED    DENIED    DENIED    DENIED    DENIED
  moveBelow     done      done      done      DENIED    DENIED    DENIED    DENIED    DENIED
  upload        done      done      done      -         done      done      done      done
  download      done      done      done      -         NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  participants  -         -         -         DENIED    -         -         -         -
"""
READER = """
                root      child     grandchild share    other     loose     outside   orphan
  lookup        done      done      done      done      NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  query         done      done      done      -         NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  feed          done      done      done      done      NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  create        DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED
  update        DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED
  forceUpdate   DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED
  replace       DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED
  forceReplace  DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED
  delete        DENIED    DENIED    DENIED    left      DENIED    DENIED    DENIED    DENIED
  forceDelete   DENIED    DENIED    DENIED    left      DENIED    DENIED    DENIED    DENIED
  below         DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED
  moveBelow     DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED    DENIED
  upload        DENIED    DENIED    DENIED    -         DENIED    DENIED    DENIED    DENIED
  download      done      done      done      -         NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND
  participants  -         -         -         DENIED    -         -         -         -
"""
# The table of each role, what the database feed says of the zone, and what resolve and accept answer.
ROLES = {
    "owner": (OWNER, None, "OWNER ACCEPTED READ_WRITE", "BAD_REQUEST"),
    "administrator": (WRITER, "there", "ADMINISTRATOR ACCEPTED READ_WRITE", "ADMINISTRATOR ACCEPTED READ_WRITE"),
    "writer": (WRITER, "there", "USER ACCEPTED READ_WRITE", "USER ACCEPTED READ_WRITE"),
    "reader": (READER, "there", "USER ACCEPTED READ_ONLY", "USER ACCEPTED READ_ONLY"),
    "public writer": (WRITER, "there", "PUBLIC_USER ACCEPTED READ_WRITE", "PUBLIC_USER ACCEPTED READ_WRITE"),
    "public reader": (READER, "there", "PUBLIC_USER ACCEPTED READ_ONLY", "PUBLIC_USER ACCEPTED READ_ONLY"),
    "invited": (None, "unknown", "USER INVITED READ_WRITE", "USER ACCEPTED READ_WRITE"),
    "left": (None, "deleted", "DENIED", "DENIED"),
    "removed": (None, "deleted", "DENIED", "DENIED"),
    "stranger": (None, "unknown", "DENIED", "DENIED"),
}
INVITATIONS = {
    "administrator": ("READ_WRITE", "ADMINISTRATOR"), "writer": ("READ_WRITE", "USER"), "reader": ("READ_ONLY", "USER"),
    "invited": ("READ_WRITE", "USER"), "left": ("READ_WRITE", "USER"), "removed": ("READ_WRITE", "USER"),
}


def cells(table):
    lines = [line.split() for line in table.strip().splitlines()]
    assert lines[0] == PLACES and [line[0] for line in lines[1:]] == OPERATIONS
    return {(line[0], place): outcome for line in lines[1:] for place, outcome in zip(PLACES, line[1:], strict=True)}


def order(cell, is_owner):
    """Children are deleted before their parents. An owner who deletes a root deletes its share; a guest who deletes a share sees no root."""
    operation, place = cell
    if operation not in ("delete", "forceDelete"):
        return 0
    return 1 if place == "share" and not is_owner else -PLACES.index(place)


def code(answer):
    return {"ACCESS_DENIED": "DENIED", "VALIDATING_REFERENCE_ERROR": "NO_PARENT"}.get(answer.get("serverErrorCode"), answer.get("serverErrorCode", "done"))


class Stage:
    """A zone with a hierarchy for each operation, and one user in the role."""

    def __init__(self, address, role):
        declare_items(address)
        self.owner = Person(address, headers={"X-Skylight-User": "owner"})
        self.user = self.owner if role == "owner" else Person(address, headers={"X-Skylight-User": role.replace(" ", "-")})
        name = f"Rights of {role}"
        self.zone = self.owner.make_zone(name)
        self.seen = self.zone if role == "owner" else self.user.seen(self.owner, name)
        for name in ("others", "others' outsider"):
            self.zone.save(recordName=name)
        self.zone.share("others", None, name="others' share")
        self.links = {operation: self.make(operation, role) for operation in OPERATIONS}
        if role not in ("owner", "invited", "stranger"):
            for link in self.links.values():
                assert "serverErrorCode" not in self.user.accept(link)
        self.token = self.user.post("shared/changes/database").get("syncToken")
        for operation in OPERATIONS:
            share = self.name(operation, "share")
            if role == "left":
                self.seen.modify(("forceDelete", {"recordName": share}))
            if role == "removed":
                record = self.zone.lookup(share)[share]
                self.zone.save("update", recordType="cloudkit.share", recordName=share, recordChangeTag=record["recordChangeTag"], participants=[])
        self.before = self.records()
        self.pulled = None

    def name(self, operation, place):
        return f"{operation} {place}"

    def above(self, operation, place):
        parent = ABOVE.get(place)
        if parent in PLACES:
            parent = self.name(operation, parent)
        if parent == "nobody":
            parent = self.name(operation, parent)
        return {"parent": {"recordName": parent}} if parent else {}

    def make(self, operation, role):
        records = [place for place in PLACES if place != "share"]
        fields = {place: {"file": {"value": self.upload(self.zone, operation, place)}} if operation == "download" else {} for place in records}
        # A record that has children goes only if it depends on another one.
        nobody, ground = self.name(operation, "nobody"), self.name(operation, "ground")
        self.zone.save(recordName=ground)
        self.zone.save(recordName=nobody, fields={"on": {"value": {"recordName": ground, "action": "DELETE_SELF"}, "type": "REFERENCE"}})
        operations = [
            ("create", {"recordType": "Item", "recordName": self.name(operation, place), "fields": fields[place], **self.above(operation, place)})
            for place in records
        ]
        if operation == "moveBelow":
            operations.append(("create", {"recordType": "Item", "recordName": f"{operation} moved", **self.above(operation, "child")}))
        saved = self.zone.modify(*operations)
        assert not any("serverErrorCode" in record for record in saved), saved
        self.zone.modify(("forceDelete", {"recordName": ground}))
        invitations = [invitation(*INVITATIONS[role], userRecordName=self.user.name)] if role in INVITATIONS else []
        permission = {"public writer": "READ_WRITE", "public reader": "READ_ONLY"}.get(role, "NONE")
        share = self.zone.share(self.name(operation, "root"), None, *invitations, name=self.name(operation, "share"), permission=permission)
        assert "serverErrorCode" not in share, share
        return share["shortGUID"]

    def upload(self, zone, operation, place):
        """The value for a field, from an upload; the error of the request if it is refused."""
        token = {"recordType": "Item", "fieldName": "file", "recordName": self.name(operation, place)}
        try:
            [answer] = zone.post("assets/upload", tokens=[token])["tokens"]
        except Refused as refusal:
            return {"serverErrorCode": refusal.code}
        return requests.post(answer["url"], data=f"a file for {place}".encode(), timeout=60).json()["singleFile"]

    def records(self):
        """All records of the owner by name."""
        return {name: record for name, record in self.zone.pull()[0].items() if not record["deleted"]}

    def outcome(self, operation, place):
        """The user's answer, and the change that it made, if any."""
        name = self.name(operation, place)
        before = self.before[name]
        if operation == "delete" and place == "root" and self.seen is self.zone:
            # Its share was deleted before.
            before = self.zone.lookup(name)[name]
        answer = code(self.answer(operation, place, name, before))
        if operation in ("lookup", "query", "feed", "upload", "download"):
            return answer
        after = self.zone.lookup(name, *([f"{operation} moved"] if operation == "moveBelow" else []))
        new = self.zone.lookup(f"new {place}")[f"new {place}"]
        is_changed = after[name].get("recordChangeTag") != before["recordChangeTag"]
        if operation == "below":
            is_changed = "serverErrorCode" not in new
        if operation == "moveBelow":
            is_changed = after["moveBelow moved"].get("parent") == {"recordName": name} and place != "root"
            if place == "root":
                is_changed = answer == "done"
        if place == "share" and operation in ("delete", "forceDelete") and answer == "done" and "participants" in after[name]:
            return "left" if after[name]["participants"][1]["acceptanceStatus"] == "REMOVED" else "stayed"
        if is_changed != (answer == "done"):
            return "nothing" if answer == "done" else f"{answer}, and changed it"
        return answer

    def answer(self, operation, place, name, before):
        zone = self.seen
        kind = "cloudkit.share" if place == "share" else "Item"
        record = {"recordName": name, "recordType": kind}
        missing = {"serverErrorCode": "NOT_FOUND"}
        match operation:
            case "lookup":
                return zone.lookup(name)[name]
            case "query":
                return next((record for record in zone.query() if record["recordName"] == name), missing)
            case "feed":
                self.pulled = self.pulled or zone.pull()[0]
                return self.pulled.get(name, missing)
            case "create" | "forceUpdate":
                return zone.modify((operation, record))[0]
            case "update":
                return zone.modify((operation, {**record, "recordChangeTag": before["recordChangeTag"]}))[0]
            case "replace" | "forceReplace":
                return zone.modify((operation, {**record, **self.above(operation, place), "recordChangeTag": before["recordChangeTag"]}))[0]
            case "delete" | "forceDelete":
                return zone.modify((operation, {"recordName": name, "recordChangeTag": before["recordChangeTag"]}))[0]
            case "below":
                return zone.save(recordName=f"new {place}", parent={"recordName": name})
            case "moveBelow":
                return zone.save("forceUpdate", recordName="moveBelow moved", parent={"recordName": name})
            case "upload":
                return self.upload(zone, operation, place)
            case "download":
                record = zone.lookup(name)[name]
                if "serverErrorCode" in record:
                    return record
                file = requests.get(record["fields"]["file"]["value"]["downloadURL"].replace("${f}", "file"), timeout=60)
                return {} if file.content == f"a file for {place}".encode() else {"serverErrorCode": f"{file.status_code}"}
            case "participants":
                return zone.modify(("update", {**record, "recordChangeTag": before["recordChangeTag"], "participants": []}))[0]


def link_outcome(result):
    if "serverErrorCode" in result:
        return code(result)
    return f"{result['participantType']} {result['participantStatus']} {result['participantPermission']}"


@pytest.mark.parametrize("role", ROLES)
def test_rights(server, role):
    table, news, resolved, accepted = ROLES[role]
    stage = Stage(server, role)
    zone_news = {
        (zone["zoneID"]["zoneName"], zone["zoneID"].get("ownerRecordName")): "deleted" if zone.get("deleted") else "there"
        for zone in stage.user.post("shared/changes/database", **({"syncToken": stage.token} if news == "deleted" else {}))["zones"]
    }
    found = zone_news.get((stage.zone.zone_id["zoneName"], stage.owner.name), "unknown")
    assert found == (news or "unknown")
    wrong = {}
    if table:
        expected = cells(table)
        if role == "administrator":
            expected["participants", "share"] = "done"
        for cell, outcome in sorted(expected.items(), key=lambda item: order(item[0], role == "owner")):
            if outcome != "-" and (answered := stage.outcome(*cell)) != outcome:
                wrong[cell] = f"{answered}, not {outcome}"
    else:
        for cell in cells(OWNER):
            if cells(OWNER)[cell] == "-":
                continue
            try:
                answered = stage.outcome(*cell)
            except Refused as refused:
                answered = refused.code
            if answered != "ZONE_NOT_FOUND":
                wrong[cell] = answered
        assert stage.records() == stage.before
    assert not wrong
    assert link_outcome(stage.user.resolve(stage.links["lookup"])) == resolved
    assert link_outcome(stage.user.accept(stage.links["lookup"])) == accepted
