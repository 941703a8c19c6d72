package import Console
package import HTTPTypes
internal import RecordStore
internal import Records

/// The page Zones: all zones of a database, and the form for a new one.
package struct ZonesView: Page {
    package static let template = "zones"
    package static let tab = Tab.zones

    struct Row: ViewModel {
        let name: String
        let owner: String?
        let href: String
        let records: String?
        let deletions: String?
        let types: String?
        let participants: String?
        let changes: String?
        let query: String
        let token: TokenOutput?
        /// Badges for special properties.
        let marks: [IndexBadge]
    }

    package let title = Self.tab.title
    let rows: [Row]
    /// The search form for many zones, and its text.
    let find: Frame.Find?
    let found: String
    /// The title of the page that a zone is chosen for, from the bar.
    let chosenFor: String?
    /// A message if no zone was found.
    let nothing: String?
    /// The address of the form for a new zone; `nil` if zones can't be created.
    let create: String?
    /// The form for a new zone, if it was refused.
    let refused: RefusedForm?
    /// The reason why zones can't be created.
    let rule: String?
    let others: [Frame.Link]
    /// A note about zones that are not listed.
    let more: String?
    let gone: DeletedZones?
    /// The meanings of the badges on the page.
    let meanings: [ZoneMark.Meaning]
    let count: String
    let milliseconds: String

    /// The maximum number of zones in the table.
    private static let limit = 500

    package var status: HTTPResponse.Status { refused == nil ? .ok : .badRequest }

    package static func load(_ visit: Visit) async throws -> ZonesView { try await load(visit, refused: nil) }

    static func load(_ visit: Visit, refused: RefusedForm?) async throws -> ZonesView {
        var rows: [Row] = []
        var marks: Set<ZoneMark> = []
        let found = visit.fields[Frame.Find.parameter]?.trimmingSpaces ?? ""
        let zones = found.isEmpty ? visit.zones : visit.zones.filter { visit.zoneName($0.zoneID).holds(found) }
        let page = SamePage(asked: visit)
        for zone in zones.prefix(limit) {
            rows.append(try await Row(zone, chosenFor: page, visit: visit))
            marks.formUnion(ZoneMark.all(of: zone.zoneID, in: visit))
        }
        let gone = try await DeletedZones(visit)
        let rule: String? =
            switch visit.place.address.scope {
            case .private: nil
            case .public: "The public database has one zone, the default one."
            case .shared:
                "Zones of other users appear here when their owners share them. Only the owner creates and deletes a zone."
            }
        return ZonesView(
            rows: rows,
            find: visit.zones.count > Frame.zoneLimit || !found.isEmpty
                ? Frame.Find(on: .zones, at: visit.place, label: "Find a zone", for: page) : nil,
            found: found, chosenFor: page?.title,
            nothing: zones.isEmpty && !found.isEmpty ? "No zone’s name contains ‘\(found)’." : nil,
            create: rule == nil ? visit.place.link("zones/create") : nil,
            refused: refused, rule: rule,
            others: visit.customZones.isEmpty ? try await visit.othersWithData() : [],
            more: zones.count > limit
                ? "\(Digits.grouped(zones.count - limit)) more zones are not listed; search for them by name." : nil,
            gone: gone, meanings: ZoneMark.meanings(of: marks.union(gone?.marks ?? [])),
            count: Digits.count(visit.zones.count, "zone"),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension ZonesView.Row {
    fileprivate init(_ zone: Zone, chosenFor page: SamePage?, visit: Visit) async throws {
        let zoneID = zone.zoneID
        let place = visit.place.inZone(zoneID)
        let counts = try await visit.counts(in: zoneID)
        name = visit.zoneName(zoneID)
        owner = visit.ownerName(zoneID)
        href = page?.link(at: place) ?? place.link("zone")
        records = counts.map { Digits.grouped($0.total) }
        deletions = counts.map { Digits.grouped($0.deletions) }
        types = counts.map { $0.typesText(limit: 4) }
        var participants: String?
        if visit.place.address.scope == .private, visit.hasFeed(zoneID), visit.database.can(.shareRecords) {
            let found = try await visit.measure { try await visit.database.participants(of: zoneID) }
            participants =
                found.isEmpty ? nil : found.map { visit.people.name(of: $0.userRecordName) }.joined(separator: ", ")
        }
        self.participants = participants
        changes = visit.hasFeed(zoneID) ? place.link("changes") : nil
        query = place.link("query")
        token = zone.syncToken.map { token in
            TokenOutput(
                text: token.text, again: place.link("changes", [("since", "1"), ("token", token.text)]),
                explain: place.link("token", [("token", token.text)]))
        }
        marks = ZoneMark.all(of: zoneID, in: visit).map(\.pill)
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

    var pill: IndexBadge { IndexBadge(text: word, tone: "lacks", explanation: meaning) }

    /// The meaning of a mark on a page.
    struct Meaning: ViewModel {
        let word: String
        let text: String
    }

    static func meanings(of marks: Set<ZoneMark>) -> [Meaning] {
        allCases.filter(marks.contains).map { Meaning(word: $0.word, text: $0.meaning) }
    }
}

// MARK: - Deleted zones

/// Deleted zones. The database remembers them only to inform its clients.
struct DeletedZones: ViewModel {
    struct Row: ViewModel {
        let name: String
        let owner: String?
        let mark: IndexBadge
        let when: ValueView
    }

    let rows: [Row]
    /// A note about zones that are not listed.
    let more: String?
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
        rows = shown.map { change, mark in
            Row(
                name: visit.zoneName(change.zoneID), owner: visit.ownerName(change.zoneID), mark: mark.pill,
                when: change.timestamp.map { ValueView(.time($0)) } ?? .missing)
        }
        let earlier =
            gone.count > shown.count
            ? "\(Digits.count(gone.count - shown.count, "more zone")) were deleted earlier." : nil
        let later =
            page.moreComing
            ? "Only \(Digits.grouped(Self.lookedThroughLimit)) zones were checked; others may have been deleted later."
            : nil
        let remarks = [earlier, later].compactMap { $0 }
        more = remarks.isEmpty ? nil : remarks.joined(separator: " ")
        marks = Set(shown.map { $0.1 })
        count = gone.count
    }

    func child(named name: String) -> Any? {
        switch name {
        case "rows": rows
        case "more": more ?? Absent()
        default: nil
        }
    }
}
