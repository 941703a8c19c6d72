internal import AssetStore
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The history of a record, change by change.
struct RecordHistory: ViewModel {
    struct Row: ViewModel {
        /// `created`, `modified` or `deleted`.
        let act: String
        let when: ValueView
        let who: String
        let tag: String
        let isNow: Bool
        let request: Frame.Link?
        let differences: [FieldDifference]
        /// Differences that the user expands.
        let more: [FieldDifference]
        let moreText: String
        /// A remark if there are no differences to show.
        let remark: String?
        let position: Int64
        let isShare: Bool
        /// The link that asks to restore this version; `nil` for deletions and the current version.
        let restore: String?
    }

    /// The maximum number of fields of a change that are initially visible.
    private static let fieldLimit = 6

    let rows: [Row]
    /// The retention of versions, in a sentence.
    let kept: String
    /// A remark below the last row about earlier changes that are not kept.
    let beginning: String?
    /// The link to the whole history; `nil` if this is all of it.
    let whole: Frame.Link?
    let earlier: String?

    /// - Parameters:
    ///   - before: only changes before this position.
    ///   - limit: the maximum number of changes.
    /// - Returns: `nil` if the engine keeps no journal or has no entries for the record.
    static func load(_ name: Name, in zoneID: ZoneID, before: Int64? = nil, limit: Int, _ visit: Visit) async throws -> RecordHistory? {
        guard visit.database.can(.keepJournal) else { return nil }
        let recordID = RecordID(recordName: name, zoneID: zoneID)
        // Reads one extra entry, to determine the differences of the last one.
        let request = RecordJournalRequest(recordID, before: before, limit: PageLimit(records: limit + 1))
        let page = try await visit.measure { try await visit.database.journal(request) }
        if page.entries.isEmpty { return nil }
        let presenter = try await visit.presenter(of: page.entries, in: zoneID)
        // A page of the journal also has a byte limit. If it ends early, its last entry serves only to determine the differences of the previous one.
        let count = page.before == nil ? page.entries.count : page.entries.count - 1
        let shown = page.entries.prefix(max(1, min(limit, count)))
        let place = visit.inZone(zoneID).place
        let isWhole = shown.count == page.entries.count && page.before == nil
        let versions = try page.entries.map { try FieldDifference.Version($0.fields, parent: $0.parent) }
        let rows = shown.enumerated().map { index, entry in
            let previous = index + 1 < page.entries.count ? page.entries[index + 1] : nil
            return Row(
                entry, versions[index], after: previous.map { ($0, versions[index + 1]) }, isCut: page.before != nil, presenter, name, place,
                visit.people)
        }
        let link = { (before: Int64?) in place.link("record/history", [("name", name.string)] + (before.map { [("before", String($0))] } ?? [])) }
        return RecordHistory(
            rows: rows, kept: page.limits.sentence, beginning: isWhole && shown.last?.act != .created ? Self.beginning(page.limits) : nil,
            whole: isWhole && before == nil ? nil : Frame.Link(text: "Full history", href: link(nil)),
            earlier: isWhole ? nil : shown.last.map { link($0.position) })
    }

    private static func beginning(_ limits: JournalLimits) -> String {
        limits.isOff ? "This server keeps no earlier versions." : "Earlier versions are not kept."
    }
}

extension RecordHistory.Row {
    /// - Parameter isCut: true if more entries exist than were read, so that a missing `previous` does not mean a first version.
    fileprivate init(
        _ entry: RecordJournalEntry, _ version: FieldDifference.Version, after previous: (entry: RecordJournalEntry, version: FieldDifference.Version)?,
        isCut: Bool, _ presenter: ValuePresenter, _ name: Name, _ place: Place, _ people: People
    ) {
        act = entry.act.rawValue
        when = ValueView(.time(entry.signature.timestamp))
        who = people.name(of: entry.signature.userRecordName) + entry.signature.onDevice
        tag = entry.recordChangeTag
        isNow = entry.replaced == nil
        request = entry.requestID.map { Frame.Link(text: "request", href: place.link(Tab.requests.rawValue, [("id", $0)])) }
        let all: [FieldDifference]
        switch (entry.act, previous) {
        case (.deleted, _): (all, remark) = ([], nil)
        case (.created, _):
            all = FieldDifference.all(from: .nothing, to: version, presenter)
            remark = all.isEmpty ? "without fields" : nil
        case (.modified, nil): (all, remark) = ([], isCut ? "The version before it is under Earlier." : "The version before it is not kept.")
        case (.modified, let previous?):
            all = FieldDifference.all(from: previous.version, to: version, presenter)
            remark = all.isEmpty ? "saved again with the same values" : nil
        }
        let limit = all.count <= RecordHistory.fieldLimit + 1 ? all.count : RecordHistory.fieldLimit
        differences = Array(all.prefix(limit))
        more = Array(all.dropFirst(limit))
        moreText = "\(Digits.count(more.count, "more field"))"
        position = entry.position
        isShare = entry.recordType == Share.recordType
        restore =
            isNow || entry.act == .deleted
            ? nil : place.link("record/restore", [("name", name.string), ("position", String(entry.position))])
    }
}

extension JournalLimits {
    /// The retention policy, in a sentence.
    var sentence: String {
        if isOff { return "This server keeps no earlier versions. To keep them, start it with skylight serve --journal-days 30." }
        return "Earlier versions are kept for \(Digits.count(days, "day")), up to \(Digits.grouped(versions)) per record."
    }
}

extension Visit {
    /// The presenter for the values of a record's versions.
    func presenter(of entries: [RecordJournalEntry], in zoneID: ZoneID) async throws -> ValuePresenter {
        var presenter = ValuePresenter(place: place, zoneID: zoneID, links: nil)
        if assets.keepsFiles(of: place.address.container), entries.contains(where: \.fields.mayHoldAssets) {
            presenter = ValuePresenter(
                place: place, zoneID: zoneID,
                links: try await measure { try await assets.links(place.address.container, place.address.environment, origin: "") })
        }
        return presenter
    }
}
