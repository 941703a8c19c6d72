internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The confirmation page for a restore, with the changes that it makes.
struct RestoreView: Page {
    static let template = "record_restore"
    static let tab = Tab.fetch

    let title: String
    let recordName: String
    let type: String
    let zone: String
    let when: ValueView
    let who: String
    /// True if no record of that name exists now.
    let isDeleted: Bool
    let differences: [FieldDifference]
    let action: String
    let fields: [Frame.Hidden]
    let cancel: String
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> RestoreView {
        let (name, zoneID) = try RecordRestoring.target(visit)
        let position = try RecordRestoring.position(visit)
        let recordID = RecordID(recordName: name, zoneID: zoneID)
        let latest = try await visit.measure { try await visit.database.journal(RecordJournalRequest(recordID, limit: PageLimit(records: 1))) }
        let wanted = try await visit.measure {
            try await visit.database.journal(RecordJournalRequest(recordID, before: position.addingSaturated(1), limit: PageLimit(records: 1)))
        }
        guard let now = latest.entries.first, let entry = wanted.entries.first, entry.position == position else {
            throw RecordReversion(recordID, to: position, recordChangeTag: nil).notKept(latest.limits)
        }
        if entry.act == .deleted { throw RecordError(.badRequest, "That change deleted the record; restore an earlier version") }
        let isDeleted = now.act == .deleted
        let history = visit.place.link("record/history", [("name", name.string)])
        var fields = [Frame.Hidden(name: "name", value: name.string), Frame.Hidden(name: "position", value: String(position))]
        if !isDeleted { fields.append(Frame.Hidden(name: "tag", value: now.recordChangeTag)) }
        fields.append(Frame.Hidden(name: "from", value: history))
        let version = Dictionary(try entry.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        return RestoreView(
            title: "Restore \(visit.titles.words(for: name, title: visit.titles.title(of: entry.recordType, version)))?", recordName: name.string, type: entry.recordType.string, zone: visit.zoneName(zoneID),
            when: ValueView(.time(entry.signature.timestamp)), who: visit.people.name(of: entry.signature.userRecordName), isDeleted: isDeleted,
            differences: FieldDifference.all(
                from: try FieldDifference.Version(now.fields, parent: now.parent), to: try FieldDifference.Version(entry.fields, parent: entry.parent),
                try await visit.presenter(of: [now, entry], in: zoneID)),
            action: visit.place.link("record/restore"), fields: fields, cancel: history, milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}
