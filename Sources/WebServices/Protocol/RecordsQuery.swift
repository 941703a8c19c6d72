internal import RecordStore
internal import Records
internal import RequestLog

/// `records/query`: returns one page of the records of a type that match filters, in sorted order (Apple's reference
/// page "Querying Records").
struct RecordsQuery: Endpoint {
    let isBrief = true
    /// The page limit of a request. Our own service has larger pages.
    var limit: @Sendable (RequestObject) throws -> PageLimit = {
        PageLimit(records: try $0.resultsLimit() ?? RequestObject.pageLimit)
    }
    /// The database of a request. Our own service also reads earlier states.
    var open: @Sendable (EndpointCall) async throws -> any RecordDatabase = { try await $0.database() }

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = try Self.request(call.body, limit: limit(call.body))
        let numbersAsStrings = try call.body.numbersAsStrings() ?? false
        call.note?.update { $0.note(request) }
        call.note?.queried(request, limit: try call.body.resultsLimit())
        let database = try await open(call)
        try await call.note?.checkDesiredKeys(request.desiredKeys, of: request.query.recordType, in: database)
        // The token is read before the records. A change in between is then pulled twice instead of being missed.
        let token: ChangeToken? =
            if case .zone(let zoneID) = request.area { try await call.syncToken(of: zoneID, in: database) } else { nil }
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
        let downloadURL = try await call.assets.addresses(ifAny: page.records.contains { $0.fields.mayHoldAssets })
        try writer.object { writer in
            try writer.member("records", values: page.records) { writer, record in
                try writer.value(
                    record, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL,
                    for: call.caller.userRecordName)
            }
            if let marker = page.continuationMarker { writer.member("continuationMarker", marker) }
            if let token { writer.member("syncToken", token.text) }
            writer.members(of: database, lacking: page.notKnown)
        }
    }

    /// Parses the body of a query.
    static func request(_ body: RequestObject, limit: PageLimit) throws -> QueryRequest {
        let query = try Query(body.required("query", "an object", body.object("query")))
        let zoneID = try body.zoneID()
        let isZoneWide = try body.bool("zoneWide") ?? false
        return QueryRequest(
            query, in: isZoneWide && zoneID == nil ? .allZones : .zone(zoneID ?? .default),
            limit: limit, continuationMarker: try body.string("continuationMarker").flatMap { $0.isEmpty ? nil : $0 },
            desiredKeys: try body.desiredKeys())
    }
}

extension ServedRequest {
    mutating func note(_ request: QueryRequest) {
        recordType = request.query.recordType
        isContinuation = request.continuationMarker != nil
        if case .zone(let zoneID) = request.area { zoneIDs = [zoneID] }
        asksByModificationTime = request.query.filters.contains { filter in
            SystemField(named: filter.fieldName) == .modTime
                && [.greaterThan, .greaterThanOrEquals].contains(filter.comparator)
        }
    }
}

// MARK: - Lookup

/// `records/lookup`: returns records by name, one item per name, in the order
/// of the request (Apple's reference page "Fetching Records by Record Name").
struct RecordsLookup: Endpoint {
    let isBrief = true

    private struct Item {
        let recordID: RecordID
        let desiredKeys: Set<Name>?
    }

    /// The maximum size in bytes of the fields in an answer, equal to the limit of a request. CloudKit documents no
    /// limit; 200 records of 160 kB fit.
    static let bytesLimit = 32 << 20
    /// The maximum size in bytes of the fields to read if items request different fields.
    private static let readLimit = 4 * bytesLimit

    /// The database of a request. Our own service also reads earlier states.
    var open: @Sendable (EndpointCall) async throws -> any RecordDatabase = { try await $0.database() }

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let zoneID = try body.zoneID() ?? .default
        let desiredKeys = try body.desiredKeys()
        let numbersAsStrings = try body.numbersAsStrings() ?? false
        let items = try body.items("records").map { item in
            Item(
                recordID: RecordID(
                    recordName: try item.required("recordName", "a string", item.name("recordName")),
                    zoneID: try item.zoneID() ?? zoneID),
                desiredKeys: try item.desiredKeys())
        }
        call.note?.about(items.map(\.recordID.zoneID))
        call.note?.update { $0.isSingleLookup = items.count == 1 }
        let database = try await open(call)
        try await call.note?.checkDesiredKeys(
            items.reduce(into: desiredKeys ?? []) { $0.formUnion($1.desiredKeys ?? []) }, in: database)
        let token = try await call.syncToken(of: zoneID, in: database)
        let records = try await Self.records(items.map { ($0.recordID, $0.desiredKeys ?? desiredKeys) }, in: database)
        try call.makeRoom(for: records.lazy.compactMap { try? $0.get() })
        call.note?.items(records) { items[$0].recordID.recordName }
        // Failed items have no assets; their errors are written below.
        let downloadURL = try await call.assets.addresses(
            ifAny: records.contains { (try? $0.get().fields.mayHoldAssets) ?? false })
        try writer.object { writer in
            try writer.member("records", values: zip(items, records)) { writer, pair in
                let (item, result) = pair
                switch result {
                case .success(let record):
                    try writer.value(
                        record, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL,
                        for: call.caller.userRecordName)
                case .failure(let error): writer.value(error, recordName: item.recordID.recordName)
                }
            }
            if let token { writer.member("syncToken", token.text) }
            writer.members(of: database)
        }
    }

    /// The records with the requested fields of each, up to the size limit of an answer.
    private static func records(
        _ wanted: [(recordID: RecordID, keys: Set<Name>?)], in database: any RecordDatabase
    ) async throws -> [Result<StoredRecord, RecordError>] {
        let recordIDs = wanted.map(\.recordID)
        if wanted.allSatisfy({ $0.keys == wanted.first?.keys }) {
            return try await database.fetch(recordIDs, desiredKeys: wanted.first?.keys, bytesLimit: bytesLimit)
        }
        // Reads the union of all requested fields, then reduces each record to its own.
        let all: Set<Name>? =
            wanted.contains { $0.keys == nil } ? nil : wanted.reduce(into: []) { $0.formUnion($1.keys ?? []) }
        var fill = PageFill(PageLimit(records: .max, bytes: bytesLimit))
        return try await zip(wanted, database.fetch(recordIDs, desiredKeys: all, bytesLimit: readLimit)).map {
            item, result in
            guard case .success(let whole) = result else { return result }
            let record = try whole.keeping(item.keys)
            return fill.admits(record) ? .success(record) : .failure(.tooManyBytes)
        }
    }
}
