internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// `records/query`: returns one page of the records of a type that match filters, in sorted order (Apple's reference page "Querying Records").
struct RecordsQuery: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let limit = PageLimit(records: try call.body.resultsLimit() ?? RequestObject.pageLimit)
        try await Self.answer(call, limit: limit, into: &writer)
    }

    static func answer(_ call: EndpointCall, limit: PageLimit, into writer: inout JSONWriter) async throws {
        let request = try request(call.body, limit: limit)
        let numbersAsStrings = try call.body.numbersAsStrings() ?? false
        call.note?.update { $0.note(request) }
        call.note?.queried(request, limit: try call.body.resultsLimit())
        let database = try await call.database()
        await call.note?.checkDesiredKeys(request.desiredKeys, of: request.query.recordType, in: database)
        // The token is read before the records. A change in between is then pulled twice instead of being missed.
        let token: ChangeToken? = if case .zone(let zoneID) = request.area { try await call.syncToken(of: zoneID, in: database) } else { nil }
        let page = try await database.query(request)
        try call.makeRoom(for: page.records)
        if let note = call.note {
            let plan = page.plan.map { ServedRequest.Plan(index: $0.index?.description, sentence: $0.summary) }
            note.update { request in
                request.records = page.records.count
                request.plan = plan
                request.hasNextPage = page.continuationMarker != nil
            }
        }
        let downloadURL = try await call.assets.addresses(in: page.records)
        try writer.object { writer in
            writer.name("records")
            try writer.array { writer in
                for record in page.records {
                    try writer.value(record, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL, for: call.caller.userRecordName)
                }
            }
            if let marker = page.continuationMarker { writer.member("continuationMarker", marker) }
            if let token { writer.member("syncToken", token.text) }
        }
    }

    /// Parses the body of a query.
    static func request(_ body: RequestObject, limit: PageLimit) throws -> QueryRequest {
        let query = try Query(body.required("query", "an object", body.object("query")))
        let zoneID = try body.zoneID()
        let isZoneWide = try body.bool("zoneWide") ?? false
        return QueryRequest(
            query, in: isZoneWide && zoneID == nil ? .allZones : .zone(zoneID ?? .default),
            limit: limit, continuationMarker: try body.string("continuationMarker").flatMap { $0.isEmpty ? nil : $0 }, desiredKeys: try body.desiredKeys())
    }
}

extension ServedRequest {
    fileprivate mutating func note(_ request: QueryRequest) {
        recordType = request.query.recordType
        isContinuation = request.continuationMarker != nil
        if case .zone(let zoneID) = request.area { zoneIDs = [zoneID] }
        asksByModificationTime = request.query.filters.contains { filter in
            SystemField(named: filter.fieldName) == .modTime && [.greaterThan, .greaterThanOrEquals].contains(filter.comparator)
        }
    }
}
