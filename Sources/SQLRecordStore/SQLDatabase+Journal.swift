internal import RecordStore
internal import Records

extension SQLDatabase {
    func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage {
        let now = store.clock()
        return try await store.read { [view, limits = try store.journalLimits] db, catalog in
            var page = RecordJournalPage(entries: [], before: nil, limits: limits)
            guard let zone = try view.zoneUnlessDefault(request.recordID.zoneID, db),
                let reader = try JournalReader(of: request.recordID.recordName, in: zone, limits, at: now, catalog, db)
            else { return page }
            var fill = PageFill(request.limit)
            try reader.each(before: request.before) { entry in
                guard fill.admits(bytes: entry.fields.bytes.count) else {
                    page.before = page.entries.last?.position
                    return .stop
                }
                page.entries.append(entry)
                return .next
            }
            return page
        }
    }

    func revert(_ reversion: RecordReversion) async throws -> StoredRecord {
        let now = store.clock()
        return try await write { [store] db, state, view in
            let limits = state.journalLimits
            let recordID = reversion.recordID
            guard let zone = try view.zoneUnlessDefault(recordID.zoneID, db),
                let reader = try JournalReader(of: recordID.recordName, in: zone, limits, at: now, state.catalog, db),
                let entry = try reader.entry(at: reversion.position)
            else { throw reversion.notKept(limits) }
            let transaction = SQLTransaction(db, state: state, view: view, tickets: try store.assetTickets, now: now, requestID: reversion.requestID)
            var modifier = BatchModifier(transaction, address: view.address, caller: view.caller, now: now)
            let record = try modifier.revert(to: entry, for: reversion)
            state = try transaction.finish()
            return record
        }
    }
}
