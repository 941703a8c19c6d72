"""People who share zones until the server dies, with a model of who sees what, computed from scratch at each question."""

import random
import time

GUESTS = ["grace", "mary", "carl"]
NAMES = [f"r{number}" for number in range(14)]
# A tree that is larger than one request moves.
BIG = 450
PATIENCE = 300


class Model:
    """One zone: its records with their parents and numbers, and its shares."""

    def __init__(self):
        # By name: the parent, which may be missing, and the saved number.
        self.records = {}
        # By name: root (None for the zone), public permission, and people by user: status, permission, came by the link.
        self.shares = {}

    def copy(self):
        other = Model()
        other.records = dict(self.records)
        other.shares = {name: details | {"people": dict(details["people"])} for name, details in self.shares.items()}
        return other

    def share_of(self, name):
        """The name of the share that a record is in: that of the nearest root above it."""
        for share, details in self.shares.items():
            if details["root"] is None:
                return share
        passed = set()
        while name in self.records and name not in passed:
            passed.add(name)
            for share, details in self.shares.items():
                if details["root"] == name:
                    return share
            name = self.records[name][0]
        return None

    def permission(self, share, user):
        details = self.shares.get(share)
        status, permission, is_public = details["people"].get(user, (None, None, False)) if details else (None, None, False)
        return None if status != "ACCEPTED" else details["public"] if is_public else permission

    def is_root(self, name):
        return any(details["root"] == name for details in self.shares.values())

    def visible(self, user):
        """Numbers by name, and None for shares."""
        mine = {share for share in self.shares if self.permission(share, user)}
        seen = {name: number for name, (_, number) in self.records.items() if self.share_of(name) in mine}
        return seen | {share: None for share in mine}

    def whole(self):
        return {name: number for name, (_, number) in self.records.items()} | {share: None for share in self.shares}

    def is_below(self, name, top):
        """True if the way up from a record passes another, which may be missing."""
        passed = set()
        while name != top:
            if name not in self.records or name in passed:
                return False
            passed.add(name)
            name = self.records[name][0]
        return True

    def ancestors(self, name):
        """The records above a record, the nearest first; one that is in a circle is above itself."""
        found = []
        while name in self.records and (name := self.records[name][0]) in self.records and name not in found:
            found.append(name)
        return found

    def may_have(self, name, before):
        """True unless a save puts a record below itself, or a share within another one. What stays, stays."""
        parent = self.records[name][0]
        if parent is None or before.records.get(name, (None,))[0] == parent:
            return True
        return name not in self.ancestors(name) and not self.is_nested(name)

    def is_nested(self, name):
        """True for the root of a share below the root of another one, and for a shared record above a root."""
        roots = {details["root"] for details in self.shares.values()} - {None}
        below_root = not roots.isdisjoint(self.ancestors(name))
        if name in roots and below_root:
            return True
        return (name in roots or below_root) and any(name in self.ancestors(root) for root in roots - {name})

    def forget(self, name):
        self.records.pop(name, None)
        self.shares = {share: details for share, details in self.shares.items() if details["root"] != name}


class Sharer:
    """One owner with a zone, and its guests, who act in turn and wait for each answer."""

    def __init__(self, number, seed):
        self.owner = f"owner{number}"
        self.zone = {"zoneName": f"Shared {number}"}
        self.random = random.Random(f"{seed} sharer {number}")
        self.model = None
        # The model after the request in progress, if there is one. The zone may be deleted: None.
        self.open = []
        self.number = 0
        self.shares = 0
        self.links = {}
        # Copies of the guests, with their tokens.
        self.copies = {}
        self.acknowledged = 0
        self.refused = 0
        self.seen_by_guests = 0
        self.names = {}

    def prepare(self, connection):
        for user in [self.owner, *GUESTS]:
            self.names[user] = connection.post("users/caller", "public", user)["userRecordName"]
        self.seen = {**self.zone, "ownerRecordName": self.names[self.owner]}

    # MARK: Requests

    def act(self, connection):
        if self.model is None:
            self.edit_zone(connection, "create", Model())
        choice = self.random.choices(
            [self.save, self.delete, self.share, self.stop, self.change, self.accept, self.leave, self.write, self.trespass, self.big, self.remake, self.look],
            [7, 3, 4, 1, 3, 6, 1, 6, 3, 2, 0.2, 3])[0]
        choice(connection)

    def edit_zone(self, connection, kind, after):
        self.open = [after]
        [answer] = connection.post("zones/modify", "private", self.owner, operations=[{"operationType": kind, "zone": {"zoneID": self.zone}}])["zones"]
        assert "serverErrorCode" not in answer, answer
        self.done(after)

    def done(self, after):
        self.adopt(after)
        self.acknowledged += 1

    def adopt(self, model):
        self.model, self.open = model, []
        # The tokens of a guest who has lost everything expire.
        self.copies = {user: copy for user, copy in self.copies.items() if model and model.visible(user)}

    def send(self, connection, user, operations, after, refusal=None):
        """Sends operations, whose outcome the model knows: all are done, or all are refused with one of the codes."""
        scope, zone = ("private", self.zone) if user == self.owner else ("shared", self.seen)
        self.open = [] if refusal else [after]
        # An import restores what earlier versions accepted.
        restores = any("created" in operation["record"] for operation in operations)
        way = "skylight" if restores else "database"
        answers = connection.post("records/restore" if restores else "records/modify", scope, user, way=way, zoneID=zone, operations=operations)["records"]
        codes = {answer.get("serverErrorCode") for answer in answers}
        if codes == {"ZONE_BUSY"}:
            # Nothing has happened.
            self.open = []
            return None
        assert codes == {None} if refusal is None else codes <= set(refusal), (user, operations[:2], answers[:2])
        if refusal:
            self.refused += 1
        else:
            self.done(after)
        return answers

    def item(self, kind, name, after=None, **more):
        """An operation, which the model carries out."""
        if kind == "forceDelete":
            if after:
                after.forget(name)
            return {"operationType": kind, "record": {"recordName": name}}
        self.number += 1
        record = {"recordType": "Item", "recordName": name, "fields": {"number": {"value": self.number}}, **more}
        if after:
            parent = after.records[name][0] if name in after.records else None
            if "parent" in more:
                parent = more["parent"] and more["parent"]["recordName"]
            after.records[name] = (parent, self.number)
        return {"operationType": kind, "record": record}

    def parent(self, name):
        """A parent, which may make a circle or be named in another zone, or none, or the one there is."""
        choice = self.random.random()
        if choice < 0.15:
            return {"parent": None}
        if choice < 0.3:
            return {}
        candidates = [other for other in [*NAMES, "big"] if other in self.model.records]
        # Most make no circle.
        if choice < 0.9:
            candidates = [other for other in candidates if not self.model.is_below(other, name)]
        if not candidates:
            return {"parent": None}
        parent = {"recordName": self.random.choice(candidates)}
        if choice < 0.34:
            parent["zoneID"] = {"zoneName": self.random.choice(["Other", self.zone["zoneName"]])}
        return {"parent": parent}

    def restoration(self):
        """Some saves restore a record, as an import does: with what earlier versions accepted."""
        signature = {"timestamp": 1, "userRecordName": self.names[self.owner], "deviceID": "2"}
        return {"created": signature, "modified": signature} if self.random.random() < 0.15 else {}

    def place(self, connection, name, parent):
        """The owner saves a record with a parent."""
        after, restoration = self.model.copy(), self.restoration()
        operations = [self.item("forceUpdate", name, after, **parent, **restoration)]
        is_foreign = parent.get("parent") and parent["parent"].get("zoneID", self.zone) != self.zone
        is_refused = is_foreign or not restoration and not after.may_have(name, self.model)
        # No record is restored below itself within a hierarchy. Where a large one ends, only the server knows at any moment.
        if restoration and name in after.ancestors(name):
            return
        self.send(connection, self.owner, operations, after, ["BAD_REQUEST"] if is_refused else None)

    def save(self, connection):
        name = self.random.choice(NAMES)
        self.place(connection, name, self.parent(name))

    def delete(self, connection):
        name, after = self.random.choice(NAMES), self.model.copy()
        operations = [self.item("forceDelete", name, after)]
        self.send(connection, self.owner, operations, after, self.refusal_of_deletion(name))

    def refusal_of_deletion(self, name):
        """A record with children goes after them."""
        is_parent = name in self.model.records and any(parent == name for parent, _ in self.model.records.values())
        return ["VALIDATING_REFERENCE_ERROR"] if is_parent else None

    def big(self, connection):
        """Makes a tree that is larger than one request moves, or moves it."""
        have = sum(name.startswith("b") for name in self.model.records)
        after = self.model.copy()
        if have <= BIG:
            first = max(0, have - 1)
            operations = [] if have else [self.item("forceUpdate", "big", after)]
            operations += [self.item("forceUpdate", f"b{number}", after, parent={"recordName": "big"}) for number in range(first, min(BIG, first + 150))]
            self.send(connection, self.owner, operations, after)
        elif not self.model.is_root("big"):
            self.place(connection, "big", self.parent("big"))

    def participant(self, user):
        permission = self.random.choice(["READ_ONLY", "READ_WRITE"])
        info = {"userRecordName": self.names[user]} if self.random.random() < 0.7 else {"emailAddress": f"{user.upper()}@example.org"}
        return permission, {"type": "USER", "permission": permission, "acceptanceStatus": "INVITED", "userIdentity": {"lookupInfo": info}}

    def share(self, connection):
        after = self.model.copy()
        self.shares += 1
        name, root = f"share{self.shares}", self.random.choice([*NAMES, *NAMES, "big", None])
        is_whole = root is None
        if is_whole:
            name = "cloudkit.zoneshare"
        people = {user: self.participant(user) for user in GUESTS if self.random.random() < 0.6}
        public = self.random.choice(["NONE", "NONE", "NONE", "READ_ONLY", "READ_WRITE"])
        record = {
            "recordType": "cloudkit.share", "recordName": name, "publicPermission": public, "participants": [given for _, given in people.values()],
        } | ({} if is_whole else {"forRecord": {"recordName": root}}) | self.restoration()
        refusal = None
        if name in self.model.shares:
            refusal = ["CONFLICT"]
        elif any(details["root"] is None for details in self.model.shares.values()) or is_whole and self.model.shares:
            refusal = ["BAD_REQUEST"]
        elif not is_whole and root not in self.model.records:
            refusal = ["NOT_FOUND"]
        elif self.model.is_root(root):
            refusal = ["BAD_REQUEST"]
        after.shares[name] = {"root": root, "public": public, "people": {user: ("INVITED", permission, False) for user, (permission, _) in people.items()}}
        if not refusal and not is_whole and "created" not in record and after.is_nested(root):
            refusal = ["BAD_REQUEST"]
        answers = self.send(connection, self.owner, [{"operationType": "create", "record": record}], after, refusal)
        if answers and not refusal:
            self.links[name] = answers[0]["shortGUID"]

    def any_share(self):
        return self.random.choice(sorted(self.model.shares)) if self.model.shares else None

    def stop(self, connection):
        if share := self.any_share():
            after = self.model.copy()
            del after.shares[share]
            self.send(connection, self.owner, [self.item("forceDelete", share)], after)

    def change(self, connection):
        """Changes rights, drops and invites participants, and opens or closes the link."""
        share = self.any_share()
        if share is None:
            return
        after = self.model.copy()
        [record] = connection.post("records/lookup", "private", self.owner, zoneID=self.zone, records=[{"recordName": share}])["records"]
        assert "serverErrorCode" not in record, record
        assert self.people(record) == self.model.shares[share]["people"], (record, self.model.shares[share])
        details = after.shares[share]
        people, details["people"], kept, seen = details["people"], {}, [], set()
        former, refusal = details["public"], None
        details["public"] = self.random.choice([former, "NONE", "READ_ONLY", "READ_WRITE"])
        for participant in record["participants"]:
            if participant["type"] == "OWNER":
                continue
            user = self.user(participant)
            seen.add(user)
            if participant["acceptanceStatus"] == "REMOVED" or self.random.random() < 0.25:
                continue
            status, permission, is_public = people[user]
            permission = self.random.choice(["READ_ONLY", "READ_WRITE"])
            kept.append(participant | {"permission": permission})
            # Who came by the link has the right of the link.
            if is_public and permission not in (former, details["public"]):
                refusal = ["BAD_REQUEST"]
            details["people"][user] = (status, details["public"] if is_public else permission, is_public)
        for user in GUESTS:
            if user not in seen and self.random.random() < 0.4:
                permission, given = self.participant(user)
                details["people"][user] = ("INVITED", permission, False)
                kept.append(given)
        if details["public"] == "NONE":
            details["people"] = {user: entry for user, entry in details["people"].items() if not entry[2]}
        changed = {
            "recordType": "cloudkit.share", "recordName": share, "recordChangeTag": record["recordChangeTag"], "participants": kept, "publicPermission": details["public"],
        }
        self.send(connection, self.owner, [{"operationType": "update", "record": changed}], after, refusal)

    def user(self, participant):
        users = {name: user for user, name in self.names.items()} | {f"{user.upper()}@example.org": user for user in GUESTS}
        identity = participant["userIdentity"]
        return users[identity.get("userRecordName") or identity["lookupInfo"].get("emailAddress") or identity["lookupInfo"]["userRecordName"]]

    def people(self, record):
        """The participants of a share as the model has them."""
        return {
            self.user(participant): (participant["acceptanceStatus"], participant["permission"], participant["type"] == "PUBLIC_USER")
            for participant in record["participants"] if participant["type"] != "OWNER" and participant["acceptanceStatus"] != "REMOVED"
        }

    def accept(self, connection):
        user, share = self.random.choice(GUESTS), self.any_share()
        if share is None or share not in self.links:
            return
        after = self.model.copy()
        details = after.shares[share]
        entry = details["people"].get(user)
        may = entry is not None or details["public"] != "NONE"
        if entry is None and may:
            details["people"][user] = ("ACCEPTED", details["public"], True)
        elif may:
            details["people"][user] = ("ACCEPTED", *entry[1:])
        self.open = [after] if may else []
        [answer] = connection.post("records/accept", "public", user, shortGUIDs=[{"value": self.links[share]}])["results"]
        assert ("serverErrorCode" not in answer) == may, (user, share, self.model.shares[share], answer)
        if may:
            self.done(after)

    def leave(self, connection):
        user = self.random.choice(GUESTS)
        mine = [share for share in sorted(self.model.shares) if self.model.permission(share, user)]
        if not mine:
            return
        after = self.model.copy()
        if self.random.random() < 0.5:
            for share in mine:
                del after.shares[share]["people"][user]
            self.open = [after]
            operations = [{"operationType": "delete", "zone": {"zoneID": self.seen}}]
            [answer] = connection.post("zones/modify", "shared", user, operations=operations)["zones"]
            if answer.get("serverErrorCode") == "ZONE_BUSY":
                self.open = []
                return
            assert "serverErrorCode" not in answer, answer
            self.done(after)
        else:
            share = self.random.choice(mine)
            del after.shares[share]["people"][user]
            self.send(connection, user, [self.item("forceDelete", share)], after)

    def write(self, connection):
        """A guest saves, moves or deletes what the guest may."""
        user, after = self.random.choice(GUESTS), self.model.copy()
        mine = [name for name in NAMES if name in self.model.records and self.model.permission(self.model.share_of(name), user) == "READ_WRITE"]
        if not mine:
            return
        name, parent, refusal = self.random.choice(mine), self.random.choice(mine), None
        # Records that come into a large hierarchy come little by little.
        self.look(connection, user)
        choice = self.random.random()
        new = [other for other in NAMES if other not in self.model.records]
        if choice < 0.3 and new:
            # The record may be the missing parent of its own parent.
            name = self.random.choice(new)
            if self.model.is_below(parent, name):
                return
            operations = [self.item("create", name, after, parent={"recordName": parent})]
            refusal = None if after.may_have(name, self.model) else ["BAD_REQUEST"]
        elif choice < 0.5 and not self.model.is_root(name):
            operations, refusal = [self.item("forceDelete", name, after)], self.refusal_of_deletion(name)
        elif choice < 0.7 and not self.model.is_root(name) and not self.model.is_below(parent, name):
            operations = [self.item("forceUpdate", name, after, parent={"recordName": parent})]
            refusal = None if after.may_have(name, self.model) else ["BAD_REQUEST"]
        else:
            operations = [self.item("forceUpdate", name, after)]
        self.send(connection, user, operations, after, refusal)

    def trespass(self, connection):
        """A guest tries what the guest must not."""
        user, name = self.random.choice(GUESTS), self.random.choice(NAMES)
        share = self.model.share_of(name) if name in self.model.records else None
        if not self.model.visible(user):
            refusal = ["ZONE_NOT_FOUND"]
        elif name not in self.model.records or self.model.permission(share, user) == "READ_WRITE":
            return
        else:
            refusal = ["ACCESS_DENIED"]
        self.send(connection, user, [self.item("forceUpdate", name)], None, refusal)

    def remake(self, connection):
        """The owner deletes the zone, and makes it again."""
        self.edit_zone(connection, "delete", None)
        self.links = {}
        self.edit_zone(connection, "create", Model())

    # MARK: Looking

    def look(self, connection, user=None):
        _, problem = self.agreeing(connection, user or self.random.choice(GUESTS), [self.model])
        assert not problem, problem

    def check(self, connection):
        """After a restart: everybody sees what the model says, before the request in progress or after it. Continues from there."""
        candidates = [self.model, *self.open]
        for user in [self.owner, *GUESTS]:
            candidates, problem = self.agreeing(connection, user, candidates)
            if problem:
                return problem
        # Invitations and rights are seen in the shares only.
        candidates = [model for model in candidates if model is None or self.has_shares_of(model, connection)]
        if not candidates:
            return f"{self.zone} has other participants than {self.model.shares}"
        self.adopt(candidates[0])
        return None

    def has_shares_of(self, model, connection):
        names = [{"recordName": name} for name in model.shares]
        found = connection.post("records/lookup", "private", self.owner, zoneID=self.zone, records=names)["records"] if names else []
        return {record["recordName"]: self.people(record) for record in found} == {name: details["people"] for name, details in model.shares.items()}

    def agreeing(self, connection, user, candidates):
        """The models that agree with what a user sees, after waiting for the server to finish. Nobody may see more at any moment."""
        until = time.monotonic() + PATIENCE
        expected = [self.expected(user, model) for model in candidates]
        while True:
            sights = self.sights(connection, user, candidates)
            for way, found in sights.items():
                if not any(found.items() <= seen.items() for seen in expected):
                    return [], f"{self.zone} {user} sees by {way} {sorted(found.items())}, and may see {[sorted(seen.items()) for seen in expected]}"
            right = [model for model, seen in zip(candidates, expected) if sights and all(
                found == {name: number for name, number in seen.items() if way != "query" or number is not None} for way, found in sights.items())]
            if right:
                self.seen_by_guests += len(expected[0]) if user != self.owner else 0
                return right, None
            if time.monotonic() > until:
                return [], f"{self.zone} {user} sees {sights}, not {expected}"
            time.sleep(0.02)

    def expected(self, user, model):
        if model is None:
            return {}
        return model.visible(user) if user != self.owner else {name: number for name, (_, number) in model.records.items()} | dict.fromkeys(model.shares)

    def sights(self, connection, user, candidates):
        """Numbers by name, by each way of reading. Nothing while records are leaving."""
        scope, zone = ("private", self.zone) if user == self.owner else ("shared", self.seen)
        zones = connection.post("zones/list", scope, user)["zones"]
        if not any(found["zoneID"].items() >= zone.items() for found in zones):
            return {"zones": {}}
        names = sorted({*NAMES, *(name for model in candidates if model for name in [*model.records, *model.shares])})
        try:
            return {
                "lookup": self.looked_up(connection, user, scope, zone, names), "query": self.queried(connection, user, scope, zone),
                "pull": self.pulled(connection, user, scope, zone, {}, None)[0], "copy": self.renewed(connection, user, scope, zone),
            }
        except Busy:
            return {}

    def looked_up(self, connection, user, scope, zone, names):
        found = {}
        for first in range(0, len(names), 200):
            asked = [{"recordName": name} for name in names[first:first + 200]]
            for record in refusing_busy(connection.post("records/lookup", scope, user, zoneID=zone, records=asked)["records"]):
                if record.get("serverErrorCode") not in ("NOT_FOUND", "ZONE_NOT_FOUND"):
                    found[record["recordName"]] = number(record)
        return found

    def queried(self, connection, user, scope, zone):
        found, marker = {}, {}
        while True:
            page = connection.post("records/query", scope, user, refusals=("ZONE_BUSY",), zoneID=zone, query={"recordType": "Item"}, resultsLimit=200, **marker)
            refusing_busy([page])
            found |= {record["recordName"]: number(record) for record in page["records"]}
            if "continuationMarker" not in page:
                return found
            marker = {"continuationMarker": page["continuationMarker"]}

    def renewed(self, connection, user, scope, zone):
        """A copy that is brought up to date with its token."""
        self.copies[user] = self.pulled(connection, user, scope, zone, *self.copies.get(user, ({}, None)))
        return self.copies[user][0]

    def pulled(self, connection, user, scope, zone, held, token):
        records = dict(held)
        while True:
            asked = {"zoneID": zone, "resultsLimit": 150} | ({"syncToken": token} if token else {})
            [page] = refusing_busy(connection.post("changes/zone", scope, user, zones=[asked])["zones"])
            assert "serverErrorCode" not in page, (user, zone, token, page)
            for record in page["records"]:
                if record.get("deleted"):
                    records.pop(record["recordName"], None)
                else:
                    records[record["recordName"]] = number(record)
            token = page["syncToken"]
            if not page["moreComing"]:
                return records, token


class Busy(Exception):
    """Records are leaving what the guest sees."""


def refusing_busy(answers):
    if any(answer.get("serverErrorCode") == "ZONE_BUSY" for answer in answers):
        raise Busy
    return answers


def number(record):
    """The saved number; None for a share."""
    return record["fields"].get("number", {}).get("value")
