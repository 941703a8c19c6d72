internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// `records/journal`: lists the changes of a record, the latest first.
struct RecordsJournal: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = RecordJournalRequest(
            try call.body.recordIdentity(), before: try call.body.wholeNumber("before", from: 1).map { Int64($0) },
            limit: try call.body.widePageLimit())
        call.note?.about([request.recordID.zoneID])
        let page = try await call.database().journal(request)
        try call.makeRoom(for: page.entries.reduce(0) { $0 + $1.fields.bytes.count })
        call.note?.update { $0.records = page.entries.count }
        try writer.object { writer in
            writer.name("changes")
            try writer.array { writer in
                for entry in page.entries { try writer.value(entry) }
            }
            if let before = page.before { writer.member("before", before) }
            writer.name("kept")
            writer.object { writer in
                writer.member("days", Int64(page.limits.days))
                writer.member("versions", Int64(page.limits.versions))
                writer.member("bytes", page.limits.bytes)
            }
        }
    }
}

/// `records/revert`: saves a record as it was after an earlier change, and returns it.
struct RecordsRevert: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let recordID = try call.body.recordIdentity()
        let position = try call.body.required("position", "a whole number", call.body.wholeNumber("position", from: 1))
        let reversion = RecordReversion(recordID, to: Int64(position), recordChangeTag: try call.body.string("recordChangeTag"), requestID: call.requestID)
        call.note?.about([recordID.zoneID])
        let record = try await call.database().revert(reversion)
        call.note?.update { $0.records = 1 }
        try writer.value(record, downloadURL: try await call.assets.addresses(in: CollectionOfOne(record)))
    }
}

extension RequestObject {
    fileprivate func recordIdentity() throws -> RecordID {
        RecordID(recordName: try required("recordName", "a string", name("recordName")), zoneID: try zoneID() ?? .default)
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ entry: RecordJournalEntry) throws {
        try object { writer in
            writer.member("change", entry.act.rawValue)
            writer.member("position", entry.position)
            writer.member("recordType", entry.recordType)
            writer.member("recordChangeTag", entry.recordChangeTag)
            writer.name("modified")
            writer.value(entry.signature)
            if let replaced = entry.replaced { writer.member("replaced", replaced.milliseconds) }
            if let requestID = entry.requestID { writer.member("uuid", requestID) }
            writer.name("fields")
            try writer.text(entry.fields.spelledAsAnswered().bytes)
            guard let parent = entry.parent else { return }
            writer.name("parent")
            writer.object { $0.member("recordName", parent) }
        }
    }
}
