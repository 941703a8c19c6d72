internal import Accounts
package import Console
internal import RecordStore
internal import Records

/// The page of a zone: its content, its participants, and its deletion.
package enum ZoneView {
    package static func load(_ visit: Visit) async throws -> ComponentPage {
        guard let asked = visit.place.zoneID else {
            throw RecordError(.badRequest, "The address of a zone needs its name: zone?zone=…")
        }
        guard let zone = visit.zones.first(where: { visit.place.isSame($0.zoneID, asked) }) else {
            throw RecordError.zoneNotFound
        }
        let place = visit.place
        let isOwned = place.address.scope == .private && visit.hasFeed(asked)
        var crumb = Inline("zone" + (visit.ownerName(asked).map { " \($0)" } ?? ""))
        if visit.mayShare(asked) { crumb = crumb + " · \(.link("Who sees what", place.link("sees")))" }
        let actions: [Frame.Link?] = [
            isOwned && visit.database.can(.listShares)
                ? .button("Share the whole zone…", place.link("share")) : nil,
            visit.database.can(.listRecords) ? .button("Copy to…", place.link("zone/copy")) : nil,
        ]
        let deletions: [Frame.Link?] = [
            isOwned && visit.database.can(.purgeZones)
                ? Frame.Link(text: "Purge…", href: place.link("zone/purge"), style: "danger") : nil,
            isOwned ? Frame.Link(text: "Delete…", href: place.link("zone/delete"), style: "danger") : nil,
        ]
        let sharing = isOwned ? try await Self.sharing(asked, visit) : nil
        return ComponentPage(
            .zones,
            PageHead(
                visit.zoneName(asked), crumb: crumb, actions: actions.compactMap(\.self), more: Menu(deletions)),
            [Columns([contents(zone, try await visit.counts(in: asked), place)] + (sharing.map { [$0] } ?? []))])
    }

    private static func contents(_ zone: Zone, _ counts: ZoneCounts?, _ place: Place) -> Section {
        var facts: [Facts.Fact] = []
        if let counts {
            facts.append(Facts.Fact("records", Inline(Digits.count(counts.total, "record"))))
            facts.append(
                Facts.Fact(
                    "deletions",
                    "\(Digits.count(counts.deletions, "deletion")) \(.faint("kept for clients with an older token"))"))
        }
        if let token = zone.syncToken?.text {
            facts.append(
                Facts.Fact("token", Inline(ValueView(.token(token, href: place.link("token", [("token", token)]))))))
        }
        let types = (counts?.records ?? [:]).filter { $0.value > 0 }.sorted { $0.key < $1.key }
        return Section(
            "contents", "Contents",
            [
                Facts(facts),
                Table(
                    "Records by type", style: .narrow, ["type", .number("records")],
                    types.map { type, count in
                        Table.Row([
                            .link(type.string, place.link("query", [("type", type.string)])),
                            Inline(Digits.grouped(count)),
                        ])
                    }),
            ])
    }

    /// Who else has the whole zone, and the form that shares it.
    private static func sharing(_ zoneID: ZoneID, _ visit: Visit) async throws -> Section? {
        guard visit.database.can(.shareRecords) else { return nil }
        let found = try await visit.measure { try await visit.database.participants(of: zoneID) }
        let actor = visit.people.actor
        let others = UserField(visit.people, name: "with", id: "with") { $0 != actor && !$0.isServerKey }
        let people: any Component =
            found.isEmpty
            ? Paragraph.faint("Nobody else sees all of this zone.")
            : Listing(found.map { participant($0, of: zoneID, visit) }, style: "people")
        let next: any Component =
            others.isTyped || !others.choices.isEmpty
            ? Form(
                .line, visit.place.link("zone/share"),
                [
                    FormField(.user(others), "with", "Share with"),
                    FormField(
                        .choice([
                            Choice("READ_ONLY", "read only", isSelected: true),
                            Choice("READ_WRITE", "read and write", isSelected: false),
                        ]), "permission", "Permission", isLabelled: false),
                ], button: "Share")
            : Paragraph("There is no other user yet. \(.link("Add one", visit.place.link("users"))) to share with.")
        return Section("shared", "Shared with", [people, next])
    }

    private static func participant(_ participant: ZoneParticipant, of zoneID: ZoneID, _ visit: Visit) -> Inline {
        let name = visit.people.name(of: participant.userRecordName)
        let right = participant.permission == .readOnly ? "may read" : "may read and write"
        let act = visit.people.user(participant.userRecordName).map { user in
            let place = visit.place.with {
                $0.address.scope = .shared
                $0.user = user.handle == User.developerHandle ? nil : user.handle
                $0.zone = .one(
                    ZoneID(zoneName: zoneID.zoneName, ownerRecordName: visit.people.actor.userRecordName))
            }
            return Frame.Link(text: "Act as \(name)", href: place.link("changes"))
        }
        let stop = visit.place.link("zone/unshare", [("with", participant.userRecordName.string)])
        return "\(strong: name) \(.faint(Inline(right))) "
            + Inline((act.map { [$0] } ?? []) + [.button("Stop sharing…", stop)])
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
