internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage {
        let now = store.clock()
        return try store.read { state in
            let row = try zoneUnlessDefault(request.recordID.zoneID, in: state)?.rows[request.recordID.recordName]
            let entries = (row.map { state.journal(of: $0, at: now) } ?? []).drop { entry in
                request.before.map { entry.position >= $0 } ?? false
            }
            var fill = PageFill(request.limit)
            let page = Array(entries.prefix { fill.admits(bytes: $0.fields.bytes.count) })
            return RecordJournalPage(
                entries: page, before: page.count < entries.count ? page.last?.position : nil,
                limits: state.journalLimits)
        }
    }

    func revert(_ reversion: RecordReversion) async throws -> StoredRecord {
        let now = store.clock()
        return try store.write { state in
            let recordID = reversion.recordID
            let row = try zoneUnlessDefault(recordID.zoneID, in: state)?.rows[recordID.recordName]
            let entries = row.map { state.journal(of: $0, at: now) } ?? []
            guard let entry = entries.first(where: { $0.position == reversion.position }) else {
                throw reversion.notKept(state.journalLimits)
            }
            let before = state
            let transaction = InMemoryTransaction(
                state, view: view, tickets: store.assetTickets, now: now, requestID: reversion.requestID)
            var modifier = BatchModifier(transaction, address: address, caller: caller, now: now)
            let record = try modifier.revert(to: entry, for: reversion)
            state = transaction.state
            noteGrowth(since: before, in: &state, at: now)
            return record
        }
    }
}

extension InMemoryState {
    /// The readable states of a record, latest first.
    func journal(of row: Row, at now: Timestamp) -> [RecordJournalEntry] {
        let oldest = journalLimits.oldest(at: now)
        let earlier =
            journalLimits.isOff ? [] : row.earlier.reversed().prefix { $0.replaced.map { $0 >= oldest } ?? false }
        return [row.entry] + earlier
    }

    /// The earlier states of a record after its present state is replaced.
    func earlier(than row: Row, replacedAt now: Timestamp) -> [RecordJournalEntry] {
        if journalLimits.isOff { return [] }
        var entry = row.entry
        entry.replaced = now
        return Array((row.earlier + [entry]).suffix(journalLimits.versions))
    }
}

extension InMemoryState.Row {
    /// The present state.
    fileprivate var entry: RecordJournalEntry {
        RecordJournalEntry(
            kind: isDeleted ? .deleted : born == position ? .created : .modified, position: position,
            recordChangeTag: record.recordChangeTag,
            recordType: record.recordType, signature: record.modified, requestID: requestID, fields: record.fields,
            parent: record.parent)
    }
}
