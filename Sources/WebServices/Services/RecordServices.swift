internal import RecordStore
internal import Records
internal import RequestLog

/// `records/list`: lists the records of a zone by name. Requires neither an index nor a feed.
struct RecordsList: Endpoint {
    let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let request = RecordListRequest(
            try body.namedZone(), after: try body.name("after"),
            recordTypes: try body.names("recordTypes").map { Set($0) },
            limit: try body.widePageLimit())
        let database = try await call.databaseAsOf()
        call.note?.about([request.zoneID])
        let page = try await database.require(.listRecords).list(request)
        try call.makeRoom(for: page.records)
        call.note?.update { $0.records = page.records.count }
        let downloadURL = try await call.assets.addresses(ifAny: page.records.contains { $0.fields.mayHoldAssets })
        try writer.object { writer in
            try writer.member("records", values: page.records) { try $0.value($1, downloadURL: downloadURL) }
            if let last = page.last { writer.member("last", last) }
            writer.members(of: database, lacking: page.notKnown)
        }
    }
}

/// The services of records whose answers have no fields.
enum RecordServices {
    private typealias Rows = DatabaseServices

    static let rows: [DatabaseService] = [
        Rows.counts.serve { call, request in
            let (zoneID, point) = request
            return try await call.database(asOf: point).require(.countRecords).counts(in: zoneID)
        },
        Rows.referrers.serve { call, request in
            let (recordID, limit) = request
            return try await call.database().require(.traceReferences).referrers(to: recordID, limit: limit.records)
        },
        Rows.assetUses.serve { call, request in
            let (checksum, limit) = request
            return try await call.database().require(.traceAssets).uses(of: checksum, limit: limit.records)
        },
    ]
}

// MARK: - Queries

/// `records/explain`: explains how a page of a query is read, or why the query cannot run. Takes the same body as
/// `records/query`.
struct RecordsExplain: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = try RecordsQuery.request(call.body, limit: call.body.widePageLimit())
        let database = try await call.database()
        let explanation = try await database.require(.explainQueries).explain(request)
        let remedy =
            explanation.problems.isEmpty
            ? nil : try await Self.remedy(of: explanation.problems, request.query, in: database)
        writer.object { writer in
            QueryExplanation.form.write(explanation, &writer)
            remedy.write(as: "remedy", into: &writer)
        }
    }

    /// The schema edits that let the query run; `nil` if there is no such record type.
    private static func remedy(of problems: [QueryProblem], _ query: Query, in database: any RecordDatabase)
        async throws -> [SchemaEdit]?
    {
        guard database.can(.showSchema),
            let type = try await database.require(.showSchema).schema().types[query.recordType]
        else {
            return nil
        }
        return IndexNeeds(problems, of: query, type: type).edits(of: type.name)
    }
}

// MARK: - Journal

/// `records/journal`: lists the changes of a record, the latest first.
struct RecordsJournal: Endpoint {
    let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = RecordJournalRequest(
            try call.body.recordIdentity(), before: try call.body.wholeNumber("before", from: 1).map { Int64($0) },
            limit: try call.body.widePageLimit())
        call.note?.about([request.recordID.zoneID])
        let page = try await call.database().require(.keepJournal).journal(request)
        try call.makeRoom(for: page.entries.reduce(0) { $0 + $1.fields.bytes.count })
        call.note?.update { $0.records = page.entries.count }
        try writer.object { writer in
            try writer.member("changes", values: page.entries) { try $0.value($1) }
            if let before = page.before { writer.member("before", before) }
            page.limits.write(as: "kept", into: &writer)
        }
    }
}

/// `records/revert`: saves a record as it was after an earlier change, and returns it.
struct RecordsRevert: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let recordID = try call.body.recordIdentity()
        let position = try call.body.required("position", "a whole number", call.body.wholeNumber("position", from: 1))
        let reversion = RecordReversion(
            recordID, to: Int64(position), recordChangeTag: try call.body.string("recordChangeTag"),
            requestID: call.requestID)
        call.note?.about([recordID.zoneID])
        let record = try await call.database().require(.keepJournal).revert(reversion)
        call.note?.update { $0.records = 1 }
        try writer.value(record, downloadURL: try await call.assets.addresses(ifAny: record.fields.mayHoldAssets))
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ entry: RecordJournalEntry) throws {
        try object { writer in
            writer.member("change", entry.kind.rawValue)
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
