internal import Console
internal import HTTPTypes
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The page Zones: all zones of a database, and the form for a new one.
struct ZonesView: Page {
    static let template = "zones"
    static let tab = Tab.zones

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
        let marks: [Pill]
    }

    let title = Self.tab.title
    let rows: [Row]
    /// The search form for many zones, and its text.
    let find: Frame.Find?
    let found: String
    /// The title of the page that a zone is chosen for, from the bar.
    let chosenFor: String?
    /// A message if no zone was found.
    let nothing: String?
    let notice: String?
    /// The address of the form for a new zone; `nil` if zones can't be created.
    let create: String?
    /// The form for a new zone, if it was refused.
    let refused: RefusedForm?
    /// The reason why zones can't be created.
    let rule: String?
    let others: [Frame.Link]
    /// A note about zones that are not listed.
    let more: String?
    let gone: GoneZones?
    /// The meanings of the badges on the page.
    let meanings: [ZoneMark.Meaning]
    let count: String
    let milliseconds: String

    /// The maximum number of zones in the table.
    private static let limit = 500

    var status: HTTPResponse.Status { refused == nil ? .ok : .badRequest }

    static func load(_ visit: Visit, refused: RefusedForm? = nil) async throws -> ZonesView {
        var rows: [Row] = []
        var marks: Set<ZoneMark> = []
        let found = visit.fields[Frame.Find.parameter]?.trimmingSpaces ?? ""
        let zones = found.isEmpty ? visit.zones : visit.zones.filter { visit.zoneName($0.zoneID).holds(found) }
        let page = SamePage(asked: visit)
        for zone in zones.prefix(limit) {
            rows.append(try await Row(zone, chosenFor: page, visit: visit))
            marks.formUnion(ZoneMark.all(of: zone.zoneID, in: visit))
        }
        let gone = try await GoneZones(visit)
        let rule: String? =
            switch visit.place.address.scope {
            case .private: nil
            case .public: "The public database has one zone, the default one."
            case .shared: "Zones of other users appear here when their owners share them. Only the owner creates and deletes a zone."
            }
        return ZonesView(
            rows: rows, find: visit.zones.count > Frame.zoneLimit || !found.isEmpty ? Frame.Find(on: .zones, at: visit.place, label: "Find a zone", for: page) : nil,
            found: found, chosenFor: page?.title, nothing: zones.isEmpty && !found.isEmpty ? "No zone’s name contains ‘\(found)’." : nil,
            notice: Notice.text(visit.fields["notice"]), create: rule == nil ? visit.place.link("zones/create") : nil,
            refused: refused, rule: rule,
            others: visit.customZones.isEmpty ? try await visit.othersWithData() : [],
            more: zones.count > limit ? "\(Digits.grouped(zones.count - limit)) more zones are not listed; search for them by name." : nil,
            gone: gone, meanings: ZoneMark.meanings(of: marks.union(gone?.marks ?? [])), count: Digits.count(visit.zones.count, "zone"),
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
            participants = found.isEmpty ? nil : found.map { visit.people.name(of: $0.userRecordName) }.joined(separator: ", ")
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
