internal import JSON
internal import RecordStore
internal import Records

extension RemoteDatabase {
    func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage {
        // The server accepts positions from 1. No changes precede position 1.
        let before = request.before.map { max(1, $0) }
        let answer = try await line.post("records/journal", of: .skylight, .reads) { writer in
            writer.member("recordName", request.recordID.recordName)
            writer.member(zoneID: request.recordID.zoneID)
            if let before { writer.member("before", before) }
            writer.members(of: request.limit)
        }
        let kept = try answer.object("kept")
        return RecordJournalPage(
            entries: try answer.array("changes").map { try $0.journalEntry() },
            before: answer.has("before") ? try answer.integer("before") : nil,
            limits: JournalLimits(
                days: Int(clamping: try kept.integer("days")), versions: Int(clamping: try kept.integer("versions")), bytes: try kept.integer("bytes")))
    }

    func revert(_ reversion: RecordReversion) async throws -> StoredRecord {
        try await line.post("records/revert", of: .skylight, .saves) { writer in
            writer.member("recordName", reversion.recordID.recordName)
            writer.member(zoneID: reversion.recordID.zoneID)
            writer.member("position", max(1, reversion.position))
            if let tag = reversion.recordChangeTag { writer.member("recordChangeTag", tag) }
        }.record()
    }
}

extension Answer {
    fileprivate func journalEntry() throws -> RecordJournalEntry {
        guard let act = RecordJournalEntry.Act(rawValue: try string("change")) else { throw unexpected("a kind of change that is known") }
        return RecordJournalEntry(
            act: act, position: try integer("position"), recordChangeTag: try string("recordChangeTag"), recordType: try name("recordType"),
            signature: try object("modified").signature(), replaced: try optionalTimestamp("replaced"),
            requestID: try optionalString("uuid"), fields: text("fields").map { FieldsText(bytes: Array($0)) } ?? .empty,
            parent: try optionalObject("parent")?.name("recordName"))
    }
}
