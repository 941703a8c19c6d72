internal import RecordStore
internal import Records

/// A database on a server, accessed as one caller. Its parts are those with a service (docs/services.md).
struct RemoteDatabase: RecordDatabase, SchemaReading, SchemaEditing, TypeMeasuring, QueryDiagnostics, TokenDiagnostics,
    CommitSignals, RecordListing, ReferenceTracing, RecordJournal, SubscriptionKeeping, KeyValueKeeping, ShareLinks,
    ZonePurging, AssetUploading
{
    /// The maximum number of items per request in the protocol.
    private static let itemLimit = 200

    let address: DatabaseAddress
    let caller: Caller
    let line: ServerLine

    // MARK: Records

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        // The protocol's own service does not support the original metadata of records.
        let restores = request.operations.contains { $0.provenance != nil }
        let answer = try await line.post(
            restores ? "records/restore" : "records/modify", of: restores ? .skylight : .database, .saves
        ) { writer in
            writer.name("operations")
            try writer.array { writer in
                for operation in request.operations { try writer.value(operation) }
            }
            writer.member(zoneID: request.zoneID)
            writer.member("atomic", request.atomic)
        }
        let items = try answer.array("records")
        guard items.count == request.operations.count else { throw answer.unexpected("an item for each operation") }
        return try zip(items, request.operations).map { item, operation in
            if let error = item.error { return .failure(error) }
            guard operation.kind.isDeletion else { return .success(.saved(try item.record())) }
            return .success(
                .deleted(
                    RecordID(
                        recordName: try item.name("recordName"), zoneID: itself(operation.zoneID ?? request.zoneID))))
        }
    }

    /// The zone of a request including its owner, as in answers. The protocol omits the owner for deleted records.
    private func itself(_ zoneID: ZoneID) -> ZoneID {
        let owner: Name? =
            switch address.scope {
            case .public: ZoneID.publicOwner
            case .private: caller.userRecordName
            case .shared: zoneID.ownerRecordName
            }
        return ZoneID(zoneName: zoneID.zoneName, ownerRecordName: owner)
    }

    func query(_ request: QueryRequest) async throws -> QueryPage {
        if line.isHeldToRoles { return try await protocolPage(request) }
        // The protocol's own service supports neither a byte limit nor pages of more than 200 records.
        let usual = PageLimit(records: request.limit.records)
        let root: ServerLine.Root =
            request.limit == usual && request.limit.records <= Self.itemLimit ? .database : .skylight
        return try await page(request, of: root)
    }

    /// A page of the protocol's own service, the only one that checks the caller's roles. It may have fewer records
    /// than the byte limit permits.
    private func protocolPage(_ request: QueryRequest) async throws -> QueryPage {
        var request = request
        request.limit = PageLimit(records: min(request.limit.records, Self.itemLimit), bytes: request.limit.bytes)
        let page = try await page(request, of: .database)
        var fill = PageFill(request.limit)
        let count = page.records.prefix { fill.admits($0) }.count
        if count == page.records.count { return page }
        // The continuation marker must belong to the shorter page, so it is requested again.
        request.limit.records = count
        return try await self.page(request, of: .database)
    }

    private func page(_ request: QueryRequest, of root: ServerLine.Root) async throws -> QueryPage {
        let answer = try await line.post("records/query", of: root, .reads) { try $0.members(of: request) }
        return QueryPage(
            records: try answer.array("records").map { try $0.record() },
            continuationMarker: try answer.optionalString("continuationMarker"))
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        var fill = PageFill(PageLimit(records: .max, bytes: bytesLimit))
        var isFull = false
        return try await inParts(recordIDs) { part in
            // If the byte limit is reached, only the existence of the records is checked.
            if isFull { return try await lookup(Array(part), []).map { $0.flatMap { _ in .failure(.tooManyBytes) } } }
            var results: [Result<StoredRecord, RecordError>?] = Array(repeating: nil, count: part.count)
            // Large records need several answers. Each answer contains at least one of the remaining records.
            var left = Array(part.indices)
            while !left.isEmpty, !isFull {
                let answered = try await lookup(left.map { part[$0] }, desiredKeys)
                if answered.allSatisfy(\.isLeftOut) {
                    throw RecordError(.internalError, "The server's responses lack every record of a request")
                }
                for (index, result) in zip(left, answered) where !result.isLeftOut {
                    results[index - part.startIndex] = result.flatMap { record in
                        if fill.admits(record) { return .success(record) }
                        isFull = true
                        return .failure(.tooManyBytes)
                    }
                }
                left = zip(left, answered).filter { $1.isLeftOut }.map { $0.0 }
            }
            return results.map { $0 ?? .failure(.tooManyBytes) }
        }
    }

    /// - Throws: `RecordError` INTERNAL_ERROR unless the answer has one item per record.
    private func lookup(_ recordIDs: [RecordID], _ desiredKeys: Set<Name>?) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        let answer = try await line.post("records/lookup", of: .database, .reads) { writer in
            writer.name("records")
            writer.array { writer in
                for recordID in recordIDs {
                    writer.object { writer in
                        writer.member("recordName", recordID.recordName)
                        writer.member(zoneID: recordID.zoneID)
                    }
                }
            }
            writer.member("desiredKeys", desiredKeys)
        }
        let results = try answer.results("records") { try $0.record() }
        guard results.count == recordIDs.count else { throw answer.unexpected("an item for each record") }
        return results
    }

    // MARK: Zones

    func zones() async throws -> [Zone] {
        try await line.get("zones/list", of: .database).array("zones").map { try $0.zone() }
    }

    func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] {
        try await inParts(zoneIDs) { part in
            let answer = try await line.post("zones/lookup", of: .database, .reads) { writer in
                writer.name("zones")
                writer.array { writer in
                    for zoneID in part {
                        writer.object { $0.member(zoneID: zoneID) }
                    }
                }
            }
            return try answer.results("zones") { try $0.zone() }
        }
    }

    func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        try await inParts(operations) { part in
            let answer = try await line.post("zones/modify", of: .database, .saves) { writer in
                writer.name("operations")
                writer.array { writer in
                    for operation in part { writer.value(operation) }
                }
            }
            return try answer.results("zones") { item in
                // A deleted zone has only its name.
                item.has("deleted") ? Zone(zoneID: try item.zoneID(), syncToken: nil, atomic: true) : try item.zone()
            }
        }
    }

    /// Sends items in consecutive requests within the protocol's limit.
    func inParts<Item, Outcome>(_ items: [Item], _ send: (ArraySlice<Item>) async throws -> [Outcome]) async throws
        -> [Outcome]
    {
        var outcomes: [Outcome] = []
        for start in stride(from: 0, to: items.count, by: Self.itemLimit) {
            let part = items[start..<min(start + Self.itemLimit, items.count)]
            let found = try await send(part)
            guard found.count == part.count else {
                throw RecordError(
                    .internalError, "The server's response has \(found.count) items for a request with \(part.count)")
            }
            outcomes += found
        }
        return outcomes
    }
}

extension Answer {
    /// The items of an answer, each with its value or error.
    func results<Value>(_ name: Name, _ value: (Answer) throws -> Value) throws -> [Result<Value, RecordError>] {
        try array(name).map { item in
            if let error = item.error { return .failure(error) }
            return .success(try value(item))
        }
    }
}

extension Result where Success == StoredRecord, Failure == RecordError {
    /// True if the server omitted the record because of the size limit.
    fileprivate var isLeftOut: Bool {
        if case .failure(let error) = self { error.isTooManyBytes } else { false }
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ operation: ZoneOperation) {
        object { writer in
            switch operation {
            case .create: writer.member("operationType", "create")
            case .delete: writer.member("operationType", "delete")
            }
            writer.name("zone")
            writer.object { $0.member(zoneID: operation.zoneID) }
        }
    }
}

// MARK: - Zones

extension RemoteDatabase {
    func purge(_ zoneID: ZoneID) async throws {
        _ = try await line.post("zones/purge", of: .skylight, .saves) { $0.member(zoneID: zoneID) }
    }

    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        let answer = try await line.post("records/referrers", of: .skylight, .reads) { writer in
            writer.member("recordName", recordID.recordName)
            writer.member(zoneID: recordID.zoneID)
            writer.member("resultsLimit", Int64(max(1, limit)))
        }
        return try answer.array("referrers").prefix(max(0, limit)).map { try $0.referrer() }
    }

    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        let answer = try await line.post("records/counts", of: .skylight, .reads) { $0.member(zoneID: zoneID) }
        return ZoneCounts(
            records: try answer.object("records").integers().mapValues { Int($0) },
            deletions: Int(try answer.integer("deletions")))
    }
}

// MARK: - Sharing

extension RemoteDatabase {
    func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>]
    {
        try await follow(shortGUIDs, "records/resolve", .reads, addresses)
    }

    func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try await follow(shortGUIDs, "records/accept", .saves, addresses)
    }

    /// - Parameter addresses: only used to recognize the invitation in the answer. The server uses the addresses that
    ///   it knows of the caller.
    private func follow(
        _ shortGUIDs: [String], _ action: String, _ purpose: ServerClient.Purpose, _ addresses: LookupInfo
    ) async throws -> [Result<ResolvedShare, RecordError>] {
        try await inParts(shortGUIDs) { part in
            let answer = try await line.post(action, of: .database, purpose) { writer in
                writer.name("shortGUIDs")
                writer.array { writer in
                    for shortGUID in part { writer.object { $0.member("value", shortGUID) } }
                }
            }
            return try answer.results("results") { item in
                let record = try item.object("share").record()
                guard let share = record.sharing?.share else { throw item.unexpected("a share") }
                let participant =
                    share.participant(caller.userRecordName)
                    ?? share.participants.first {
                        $0.status == .invited && $0.userRecordName == nil && $0.lookupInfo.matches(addresses)
                    }
                return ResolvedShare(
                    shortGUID: share.shortGUID, share: record, root: try item.optionalObject("rootRecord")?.record(),
                    participant: participant,
                    isOwner: try item.string("databaseScope") == "PRIVATE")
            }
        }
    }
}

// MARK: - Key-value stores

extension RemoteDatabase {
    func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges {
        try KeyValueChanges(
            await line.post("keyvalues/changes", of: .skylight, .reads) { writer in try writer.member(since: token) }
                .object())
    }

    func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage {
        try KeyValueUsage(
            await line.post("keyvalues/modify", of: .skylight, .saves) { writer in
                writer.name("operations")
                writer.array { writer in
                    for operation in operations { writer.value(operation) }
                }
            }.object())
    }
}
