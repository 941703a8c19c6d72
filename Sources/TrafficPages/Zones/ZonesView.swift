package import Console
internal import HTTPTypes
internal import RecordStore
internal import Records

/// The page Zones: all zones of a database, and the form for a new one.
package enum ZonesView {
    /// The maximum number of zones in the table.
    private static let limit = 500

    package static func load(_ visit: Visit) async throws -> ComponentPage { try await load(visit, refused: nil) }

    static func load(_ visit: Visit, refused: RefusedForm?) async throws -> ComponentPage {
        var rows: [Table.Row] = []
        var marks: Set<ZoneMark> = []
        let found = visit.fields[Frame.Find.parameter]?.trimmingSpaces ?? ""
        let zones = found.isEmpty ? visit.zones : visit.zones.filter { visit.zoneName($0.zoneID).holds(found) }
        let page = SamePage(asked: visit)
        for zone in zones.prefix(limit) {
            rows.append(try await row(zone, chosenFor: page, visit: visit))
            marks.formUnion(ZoneMark.all(of: zone.zoneID, in: visit))
        }
        let gone = try await DeletedZones(visit)
        let meanings = ZoneMark.allCases.filter(marks.union(gone?.marks ?? []).contains)
        let others = visit.customZones.isEmpty ? try await visit.othersWithData() : []
        let rule: String? =
            switch visit.place.address.scope {
            case .private: nil
            case .public: "The public database has one zone, the default one."
            case .shared:
                "Zones of other users appear here when their owners share them. Only the owner creates and deletes a zone."
            }
        let create = Form(
            .line, visit.place.link("zones/create"),
            [
                FormField(
                    .name, "zoneName", "New zone", value: refused?.typed, placeholder: "Chats", limit: 255,
                    isRequired: true)
            ], button: "Create")
        let find = Frame.Find(on: .zones, at: visit.place, label: "Find a zone", for: page)
        return ComponentPage(
            .zones, status: refused == nil ? .ok : .badRequest,
            PageHead(
                Tab.zones.title,
                [rule, page.map { "A zone leads back to \($0.title)." }].compactMap { $0 }.map { Inline($0) },
                forms: (rule == nil ? [create] : [])
                    + (visit.zones.count > Frame.zoneLimit || !found.isEmpty ? [.search(find, found: found)] : [])),
            (refused.map { [Note($0)] } ?? [])
                + (others.isEmpty
                    ? []
                    : [
                        Paragraph.actions(
                            after: "Other users have data here: ", others.map { .button("as \($0.text)", $0.href) })
                    ]) + [
                    Table(
                        "Zones of the database",
                        [
                            "zone", .number("records"), .number("deletions"), .column("types", "faint listed"),
                            "current token", "shared with", "read",
                        ], rows,
                        nothing: EmptyState(
                            found.isEmpty ? "No zones" : "No zone’s name contains ‘\(found)’."),
                        more: zones.count > limit
                            ? "\(Digits.grouped(zones.count - limit)) more zones are not listed; search for them by name."
                            : nil)
                ] + (gone.map { [Section("gone", "Deleted zones", [$0.table])] } ?? [])
                + (meanings.isEmpty
                    ? []
                    : [
                        Section(
                            "meanings", "Meaning for a client",
                            [
                                Facts(
                                    style: "wide",
                                    meanings.map { Facts.Fact(.badge($0.word, "lacks"), Inline($0.meaning)) })
                            ])
                    ]),
            foot: PageFooter(count: Digits.count(visit.zones.count, "zone")))
    }

    private static func row(_ zone: Zone, chosenFor page: SamePage?, visit: Visit) async throws -> Table.Row {
        let zoneID = zone.zoneID
        let place = visit.place.inZone(zoneID)
        let counts = try await visit.counts(in: zoneID)
        var participants: [String] = []
        if visit.place.address.scope == .private, visit.hasFeed(zoneID), visit.database.can(.shareRecords) {
            let found = try await visit.measure { try await visit.database.participants(of: zoneID) }
            participants = found.map { visit.people.name(of: $0.userRecordName) }
        }
        let token = zone.syncToken.map {
            Inline(ValueView(.token($0.text, href: place.link("token", [("token", $0.text)]))))
        }
        let query = Inline.link("Query", place.link("query"))
        return Table.Row([
            visit.named(zoneID, page?.link(at: place) ?? place.link("zone")),
            Inline(counts.map { Digits.grouped($0.total) } ?? "–"),
            Inline(counts.map { Digits.grouped($0.deletions) } ?? "–"),
            Inline(counts.map { $0.typesText(limit: 4) } ?? ""),
            ZoneMark.all(of: zoneID, in: visit).reduce(token ?? "") { $0 + $1.badge + " " },
            participants.isEmpty ? .missing : Inline(participants.joined(separator: ", ")),
            visit.hasFeed(zoneID) ? "\(query) · \(.link("Changes", place.link("changes")))" : query,
        ])
    }
}

extension Visit {
    /// The name of a zone and its owner.
    fileprivate func named(_ zoneID: ZoneID, _ href: String? = nil) -> Inline {
        let name = zoneName(zoneID)
        let link = href.map { Inline.link(name, $0) } ?? Inline(name)
        return ownerName(zoneID).map { "\(link) \(.faint(Inline($0)))" } ?? link
    }
}

extension String {
    /// True if a part of the text equals the other one, in capital or small letters.
    fileprivate func holds(_ part: String) -> Bool {
        Array(lowercased().utf8).firstRange(of: Array(part.lowercased().utf8)) != nil
    }
}

extension ZoneCounts {
    /// `Message 1,940, Person 4`: the most frequent types first.
    func typesText(limit: Int) -> String {
        let sorted = records.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let text = sorted.prefix(limit).map { "\($0.key) \(Digits.grouped($0.value))" }.joined(separator: ", ")
        return sorted.count > limit ? "\(text), …" : text
    }
}

// MARK: - Marks

/// A special property of a zone that affects syncing clients.
enum ZoneMark: String, Sendable, CaseIterable {
    /// The zone has no change token.
    case noToken
    /// The changes of the database never list the zone.
    case hidden
    /// The zone was deleted by a client or in the console.
    case deleted
    /// The owner stopped sharing the zone with this user.
    case unshared
    /// The zone was deleted at the request of its user.
    case purged

    /// The marks of an existing zone.
    static func all(of zoneID: ZoneID, in visit: Visit) -> [ZoneMark] {
        if visit.hasFeed(zoneID) { return [] }
        return visit.place.hasFeed ? [.noToken, .hidden] : [.noToken]
    }

    /// The mark of a deleted zone; `nil` for an existing one.
    init?(_ kind: ZoneChange.Kind, in place: Place) {
        switch kind {
        case .changed: return nil
        case .deleted: self = place.address.scope == .shared ? .unshared : .deleted
        case .purged: self = .purged
        }
    }

    var word: String {
        switch self {
        case .noToken: "no token"
        case .hidden: "hidden"
        case .deleted: "deleted"
        case .unshared: "no longer shared"
        case .purged: "purged"
        }
    }

    /// The meaning for a client.
    var meaning: String {
        switch self {
        case .noToken:
            "The zone has no changes feed, so a pull of it is refused: ‘\(ZoneRules.noFeed.reason)’. Read it with Query or Fetch."
        case .hidden:
            "The database’s changes never list the zone. A client that relies on them does not know the zone. zones/list returns it."
        case .deleted:
            "The database’s changes list it once as deleted. Clients delete their copy and its token. A new zone with the same name starts empty."
        case .unshared:
            "It was deleted, or is no longer shared with this user. The changes of the shared database list it as deleted. Clients delete their copy."
        case .purged:
            "The user deleted the app’s data in the settings. CloudKit’s web services report the zone as deleted. Native clients get a separate error (zone was purged by user) and don’t upload their copies again."
        }
    }

    var badge: Inline { .badge(word, "lacks", hint: meaning) }
}

// MARK: - Deleted zones

/// Deleted zones. The database remembers them only to inform its clients.
struct DeletedZones {
    let table: Table
    let marks: Set<ZoneMark>
    let count: Int

    /// The maximum number of zones to show, the most recently deleted first.
    private static let limit = 100
    /// The maximum number of zones to read at once. Zones are in the order of their latest change, so the most recently
    /// deleted ones come last.
    private static let lookedThroughLimit = 100_000

    /// - Returns: `nil` if there are none.
    init?(_ visit: Visit) async throws {
        guard visit.place.hasFeed else { return nil }
        let request = DatabaseChangesRequest(includesGoneZones: true, limit: Self.lookedThroughLimit)
        let page = try await visit.measure { try await visit.database.databaseChanges(request) }
        let gone = page.changes.filter { $0.kind != .changed }
        if gone.isEmpty { return nil }
        let shown = gone.suffix(Self.limit).reversed().compactMap { change in
            ZoneMark(change.kind, in: visit.place).map { (change, $0) }
        }
        let earlier =
            gone.count > shown.count
            ? "\(Digits.count(gone.count - shown.count, "more zone")) were deleted earlier." : nil
        let later =
            page.moreComing
            ? "Only \(Digits.grouped(Self.lookedThroughLimit)) zones were checked; others may have been deleted later."
            : nil
        let remarks = [earlier, later].compactMap { $0 }
        table = Table(
            "Deleted zones of the database", style: .narrow, ["zone", "event", "when"],
            shown.map { change, mark in
                Table.Row([
                    visit.named(change.zoneID), mark.badge,
                    Inline(change.timestamp.map { ValueView(.time($0)) } ?? .missing),
                ])
            }, more: remarks.isEmpty ? nil : remarks.joined(separator: " "))
        marks = Set(shown.map { $0.1 })
        count = gone.count
    }
}
