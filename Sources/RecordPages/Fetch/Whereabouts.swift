internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// A trace of a record that the chosen zone does not have: `in Book Club`, or `deleted 3 hours ago by Ada`.
struct Whereabouts: ViewModel {
    let text: String
    let href: String
    /// The page that restores the last version of a deleted record; `nil` if it can't be restored.
    let restore: String?

    /// The maximum number of names to trace, and of zones whose journals are read for each.
    private static let nameLimit = 20
    private static let journalLimit = 20

    /// - Parameters:
    ///   - missing: the names without a record.
    ///   - asked: the zone that was asked; `nil` for all.
    /// - Returns: the traces by name. iCloud is not asked for them: each zone takes a request, and it keeps no journal.
    static func all(of missing: [Name], notIn asked: ZoneID?, _ visit: Visit) async throws -> [Name: [Whereabouts]] {
        guard visit.connection == nil, !missing.isEmpty else { return [:] }
        let missing = Array(missing.prefix(nameLimit))
        let others = asked.map { asked in visit.zones.map(\.zoneID).filter { !visit.place.isSame($0, asked) } } ?? []
        let found = others.isEmpty ? [:] : try await ZoneSearch(for: missing, in: others, of: visit).records
        var traces = found.mapValues { records in
            records.map { record in
                Whereabouts(
                    text: "in \(visit.zoneName(record.recordID.zoneID))", href: visit.place.link(toRecord: record.recordID.recordName, in: record.recordID.zoneID),
                    restore: nil)
            }
        }
        guard visit.database.can(.keepJournal) else { return traces }
        let zoneIDs = asked.map { [$0] + others } ?? visit.zones.map(\.zoneID)
        for name in missing where traces[name] == nil {
            for zoneID in zoneIDs.prefix(journalLimit) {
                guard let deleted = try await Whereabouts(deleted: RecordID(recordName: name, zoneID: zoneID), showsZone: asked == nil || others.contains(zoneID), visit)
                else { continue }
                traces[name, default: []].append(deleted)
            }
        }
        return traces
    }
}

extension Whereabouts {
    /// - Returns: `nil` if no deletion of the record is known.
    fileprivate init?(deleted recordID: RecordID, showsZone: Bool, _ visit: Visit) async throws {
        let entries: [RecordJournalEntry]
        do {
            entries = try await visit.measure { try await visit.database.journal(RecordJournalRequest(recordID, limit: PageLimit(records: 2))) }.entries
        } catch let error as RecordError where error.code == .zoneNotFound {
            return nil
        }
        guard let deletion = entries.first, deletion.act == .deleted else { return nil }
        let zone = showsZone ? " in \(visit.zoneName(recordID.zoneID))" : ""
        text = "deleted\(zone) \(deletion.signature.timestamp.agoText(at: .now())) by \(visit.people.name(of: deletion.signature.userRecordName))"
        href = visit.place.link(toRecord: recordID.recordName, in: recordID.zoneID)
        let last = entries.dropFirst().first { $0.act != .deleted && $0.recordType != Share.recordType }
        restore = try await visit.canSave(in: recordID.zoneID)
            ? last.map { visit.place.inZone(recordID.zoneID).link("record/restore", [("name", recordID.recordName.string), ("position", String($0.position))]) }
            : nil
    }
}
