internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// `records/query`: the protocol's service with larger pages.
struct RecordsWideQuery: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        try await RecordsQuery.answer(call, limit: call.body.widePageLimit(), into: &writer)
    }
}

/// `records/restore`: the protocol's `records/modify` for restoring copies. Records keep their
/// `created` and `modified` values instead of getting those of the client and the present.
struct RecordsRestore: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        try await RecordsModify.answer(call, restores: true, into: &writer)
    }
}

/// `records/list`: lists the records of a zone by name. Requires neither an index nor a feed.
struct RecordsList: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let request = RecordListRequest(
            try body.namedZone(), after: try body.name("after"), recordTypes: try body.names("recordTypes").map { Set($0) },
            limit: try body.widePageLimit())
        let database = try await call.database()
        call.note?.about([request.zoneID])
        let page = try await database.list(request)
        try call.makeRoom(for: page.records)
        call.note?.update { $0.records = page.records.count }
        let downloadURL = try await call.assets.addresses(in: page.records)
        try writer.object { writer in
            writer.name("records")
            try writer.array { writer in
                for record in page.records { try writer.value(record, downloadURL: downloadURL) }
            }
            if let last = page.last { writer.member("last", last) }
        }
    }
}

/// `records/counts`: counts a zone's records by type, and its remembered deletions.
struct RecordsCounts: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let zoneID = try call.body.namedZone()
        let database = try await call.database()
        let counts = try await database.counts(in: zoneID)
        writer.object { writer in
            writer.name("records")
            writer.object { writer in
                for (type, count) in counts.records.sorted(by: { $0.key < $1.key }) { writer.member(type, Int64(count)) }
            }
            writer.member("total", Int64(counts.total))
            writer.member("deletions", Int64(counts.deletions))
        }
    }
}

/// `records/referrers`: lists the records of a zone that refer to a record.
struct RecordsReferrers: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let recordID = RecordID(
            recordName: try body.required("recordName", "a string", body.name("recordName")), zoneID: try body.zoneID() ?? .default)
        let limit = try body.widePageLimit().records
        let database = try await call.database()
        let referrers = try await database.referrers(to: recordID, limit: limit)
        writer.object { writer in
            writer.name("referrers")
            writer.array { writer in
                for referrer in referrers {
                    writer.object { writer in
                        writer.member("recordName", referrer.recordName)
                        writer.member("recordType", referrer.recordType)
                        writer.member("fieldName", referrer.fieldName)
                        writer.member("action", referrer.action.rawValue)
                    }
                }
            }
        }
    }
}
