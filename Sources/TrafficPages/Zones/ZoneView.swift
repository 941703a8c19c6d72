internal import Accounts
package import Console
internal import RecordStore
internal import Records

/// The page of a zone: its content, its participants, and its deletion.
package struct ZoneView: Page {
    package static let template = "zone"
    package static let tab = Tab.zones

    struct TypeRow: ViewModel {
        let name: String
        let count: String
        let query: String
    }

    struct Participant: ViewModel {
        let name: String
        let handle: String?
        let permission: String
        let stop: String
        /// The link to the zone as this user sees it.
        let view: String?
    }

    struct Sharing: ViewModel {
        let participants: [Participant]
        let action: String
        /// The input for the user to share with; `nil` if there are no other users.
        let user: UserField?
        let usersPage: String
    }

    package let title: String
    let name: String
    let owner: String?
    /// The page Who sees what; `nil` if the zone can have no shares.
    let sees: String?
    let types: [TypeRow]
    let records: String?
    let deletions: String?
    let token: TokenOutput?
    let sharing: Sharing?
    /// The form that shares the whole zone; `nil` for zones that can't be shared.
    let share: String?
    /// The link that copies the zone; `nil` if the engine can't list records.
    let copy: String?
    /// The link to the confirmation of the deletion; `nil` for zones that can't be deleted.
    let delete: String?
    let purge: String?

    package static func load(_ visit: Visit) async throws -> ZoneView {
        guard let asked = visit.place.zoneID else {
            throw RecordError(.badRequest, "The address of a zone needs its name: zone?zone=…")
        }
        guard let zone = visit.zones.first(where: { visit.place.isSame($0.zoneID, asked) }) else {
            throw RecordError.zoneNotFound
        }
        let place = visit.place
        let counts = try await visit.counts(in: asked)
        let isOwned = place.address.scope == .private && visit.hasFeed(asked)
        return ZoneView(
            title: visit.zoneName(asked), name: visit.zoneName(asked), owner: visit.ownerName(asked),
            sees: visit.mayShare(asked) ? place.link("sees") : nil,
            types: (counts?.records ?? [:]).filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { type, count in
                TypeRow(
                    name: type.string, count: Digits.grouped(count), query: place.link("query", [("type", type.string)])
                )
            },
            records: counts.map { Digits.count($0.total, "record") },
            deletions: counts.map { Digits.count($0.deletions, "deletion") },
            token: zone.syncToken.map { token in
                TokenOutput(
                    text: token.text, again: place.link("changes", [("since", "1"), ("token", token.text)]),
                    explain: place.link("token", [("token", token.text)]))
            },
            sharing: isOwned ? try await Sharing(asked, visit: visit) : nil,
            share: isOwned && visit.database.can(.listShares) ? place.link("share") : nil,
            copy: visit.database.can(.listRecords) ? place.link("zone/copy") : nil,
            delete: isOwned ? place.link("zone/delete") : nil,
            purge: isOwned && visit.database.can(.purgeZones) ? place.link("zone/purge") : nil)
    }
}

extension ZoneView.Sharing {
    fileprivate init?(_ zoneID: ZoneID, visit: Visit) async throws {
        guard visit.database.can(.shareRecords) else { return nil }
        let found = try await visit.measure { try await visit.database.participants(of: zoneID) }
        let place = visit.place
        participants = found.map { participant in
            let user = visit.people.user(participant.userRecordName)
            let theirs = user.map { user in
                Place(
                    address: DatabaseAddress(
                        container: place.address.container, environment: place.address.environment, scope: .shared),
                    user: user.handle == User.developerHandle ? nil : user.handle,
                    zone: .one(ZoneID(zoneName: zoneID.zoneName, ownerRecordName: visit.people.actor.userRecordName)))
            }
            return ZoneView.Participant(
                name: visit.people.name(of: participant.userRecordName), handle: user?.handle,
                permission: participant.permission == .readOnly ? "may read" : "may read and write",
                stop: place.link("zone/unshare", [("with", participant.userRecordName.string)]),
                view: theirs?.link("changes"))
        }
        action = place.link("zone/share")
        let actor = visit.people.actor
        let others = UserField(visit.people, name: "with", id: "with") { $0 != actor && !$0.isServerKey }
        user = others.isTyped || !others.choices.isEmpty ? others : nil
        usersPage = place.link("users")
    }
}

// MARK: - Actions

/// The actions on zones.
package enum ZoneActions {
    package static func create(_ visit: Visit) async throws -> Answer {
        let name = visit.fields["zoneName"]?.trimmingSpaces ?? ""
        let zoneID = ZoneID(zoneName: Name(name))
        // A connected container is not asked for its zones here: iCloud answers the same for one that exists.
        guard visit.connection == nil, visit.place.address.scope == .private else {
            try await modify(.create(zoneID), visit: visit)
            return .redirect(visit.place.inZone(zoneID).link("zone", [Notice.zoneCreated.parameter]))
        }
        if visit.zones.contains(where: { visit.place.isSame($0.zoneID, zoneID) }) {
            let error = RecordError(.badRequest, "The zone '\(name)' exists already; choose another name")
            let link = Frame.Link(text: "Open \(visit.zoneName(zoneID))", href: visit.place.inZone(zoneID).link("zone"))
            return .page(try await ZonesView.load(visit, refused: RefusedForm(error, typed: name, link: link)))
        }
        do {
            try await modify(.create(zoneID), visit: visit)
        } catch let error as RecordError where error.code == .badRequest {
            return .page(try await ZonesView.load(visit, refused: RefusedForm(error, typed: name)))
        }
        return .redirect(visit.place.inZone(zoneID).link("zone", [Notice.zoneCreated.parameter]))
    }

    // MARK: Deletion

    package static func confirmDeletion(_ visit: Visit) async throws -> ConfirmationView {
        try await confirmation(
            visit, title: "Delete the zone", page: "zone/delete", button: "Delete the zone",
            then:
                "Users it is shared with lose access. The database's changes list it as deleted, and its tokens expire."
        )
    }

    package static func confirmPurge(_ visit: Visit) async throws -> ConfirmationView {
        try await confirmation(
            visit, title: "Purge the zone", page: "zone/purge", button: "Purge the zone",
            then:
                "CloudKit does this when a user deletes an app's data in the system settings. Clients must not upload it again."
        )
    }

    package static func delete(_ visit: Visit) async throws -> String {
        try await modify(.delete(try zoneID(visit)), visit: visit)
        return visit.place.with { $0.zone = .unspecified }.link("zones", [Notice.zoneDeleted.parameter])
    }

    package static func purge(_ visit: Visit) async throws -> String {
        let zoneID = try zoneID(visit)
        try await visit.measure { try await visit.database.require(.purgeZones).purge(zoneID) }
        return visit.place.with { $0.zone = .unspecified }.link("zones", [Notice.zonePurged.parameter])
    }

    // MARK: Sharing

    package static func share(_ visit: Visit) async throws -> String {
        guard let handle = visit.fields.text("with"), let user = visit.people.user(named: handle) else {
            throw RecordError(.badRequest, "Choose a user to share the zone with")
        }
        guard !user.isServerKey else {
            throw RecordError(
                .badRequest,
                "'\(user.handle)' is the user of a server-to-server key, which has no shared database; choose another user"
            )
        }
        guard let permission = visit.fields["permission"].flatMap({ ZoneParticipant.Permission(rawValue: $0) }) else {
            throw RecordError(.badRequest, "The permission is READ_ONLY or READ_WRITE")
        }
        let zoneID = try zoneID(visit)
        let participant = ZoneParticipant(userRecordName: user.userRecordName, permission: permission)
        try await visit.measure { try await visit.database.share(zoneID, with: participant, on: visit.engine) }
        return visit.place.link("zone", [Notice.shared.parameter])
    }

    package static func confirmEndOfSharing(_ visit: Visit) async throws -> ConfirmationView {
        let zoneID = try zoneID(visit)
        let name = Name(visit.fields["with"] ?? "")
        guard try await visit.database.participants(of: zoneID).contains(where: { $0.userRecordName == name }) else {
            throw ZoneRules.notShared
        }
        let userName = visit.people.name(of: name)
        return ConfirmationView(
            on: .zones, title: "Stop sharing \(visit.zoneName(zoneID)) with \(userName)?",
            lines: [
                "The shared database of \(userName) reports the zone as deleted, and clients delete their copy. The zone itself stays."
            ],
            action: visit.place.link("zone/unshare"), fields: [Frame.Hidden(name: "with", value: name.string)],
            button: "Stop sharing",
            cancel: visit.place.link("zone"))
    }

    package static func stopSharing(_ visit: Visit) async throws -> String {
        let zoneID = try zoneID(visit)
        let name = Name(visit.fields["with"] ?? "")
        try await visit.measure { try await visit.database.stopSharing(zoneID, with: name) }
        return visit.place.link("zone", [Notice.unshared.parameter])
    }

    // MARK: Parts

    private static func confirmation(_ visit: Visit, title: String, page: String, button: String, then: String)
        async throws -> ConfirmationView
    {
        let zoneID = try zoneID(visit)
        let found = try await visit.measure { try await visit.database.fetchZones([zoneID]) }
        guard let zone = found.first else { throw RecordError.zoneNotFound }
        _ = try zone.get()
        let counts = try await visit.counts(in: zoneID)
        let content = counts.map {
            $0.total == 0 ? "It is empty." : "This permanently deletes \(Digits.count($0.total, "record"))."
        }
        return ConfirmationView(
            on: .zones, title: "\(title) \(visit.zoneName(zoneID))?",
            lines: [content ?? "Its records are permanently deleted.", then],
            action: visit.place.link(page), fields: [], button: button, cancel: visit.place.link("zone"),
            losing: counts?.total == 0 ? nil : visit)
    }

    private static func modify(_ operation: ZoneOperation, visit: Visit) async throws {
        let results = try await visit.measure { try await visit.database.modifyZones([operation]) }
        for result in results { _ = try result.get() }
    }

    private static func zoneID(_ visit: Visit) throws -> ZoneID {
        guard let zoneID = visit.place.zoneID else {
            throw RecordError(.badRequest, "The address needs the zone: zone=…")
        }
        return zoneID
    }
}
