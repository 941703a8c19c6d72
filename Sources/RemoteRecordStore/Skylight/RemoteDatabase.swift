internal import CloudKitClient
internal import RecordStore
internal import Records

/// A database on a server, accessed as one caller. Its parts are those with a service (docs/services.md).
struct RemoteDatabase: ClientDatabase, SchemaReading, SchemaEditing, TypeMeasuring, QueryDiagnostics, TokenDiagnostics,
    CommitSignals, RecordListing, ReferenceTracing, RecordJournal, EarlierReading, KeyValueKeeping, ZonePurging
{
    let address: DatabaseAddress
    let caller: Caller
    let line: ServerLine

    // MARK: Records

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        // The protocol's own service does not support the original metadata of records.
        let restores = request.operations.contains { $0.provenance != nil }
        if restores { try line.allow("records/restore") }
        let answers = try await saving {
            try await $0.modify(
                request.operations, of: restores ? .skylight : .database, in: request.zoneID, atomic: request.atomic)
        }
        return zip(answers, request.operations).map { answer, operation in
            item(answer) { outcome in
                switch outcome {
                case .saved(let record): .saved(try stored(record))
                case .deleted(let recordID):
                    .deleted(
                        RecordID(
                            recordName: recordID.recordName, zoneID: itself(operation.zoneID ?? request.zoneID)))
                }
            }
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
        let isUsual = request.limit == usual && request.limit.records <= DatabaseClient.itemLimit
        return try await page(request, of: isUsual ? .database : .skylight)
    }

    /// A page of the protocol's own service, the only one that checks the caller's roles. It may have fewer records
    /// than the byte limit permits.
    private func protocolPage(_ request: QueryRequest) async throws -> QueryPage {
        var request = request
        request.limit = PageLimit(
            records: min(request.limit.records, DatabaseClient.itemLimit), bytes: request.limit.bytes)
        let page = try await page(request, of: .database)
        var fill = PageFill(request.limit)
        let count = page.records.prefix { fill.admits($0) }.count
        if count == page.records.count { return page }
        // The continuation marker must belong to the shorter page, so it is requested again.
        request.limit.records = count
        return try await self.page(request, of: .database)
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        try await fetch(recordIDs, desiredKeys, bytesLimit, asOf: nil)
    }

    /// - Parameter position: an earlier position; `nil` for the present state.
    func fetch(_ recordIDs: [RecordID], _ desiredKeys: Set<Name>?, _ bytesLimit: Int, asOf position: Int64?)
        async throws -> [Result<StoredRecord, RecordError>]
    {
        var fill = PageFill(PageLimit(records: .max, bytes: bytesLimit))
        var isFull = false
        return try await inParts(recordIDs) { part in
            // If the byte limit is reached, only the existence of the records is checked.
            if isFull {
                return try await lookup(Array(part), [], position).map { $0.flatMap { _ in .failure(.tooManyBytes) } }
            }
            var results: [Result<StoredRecord, RecordError>?] = Array(repeating: nil, count: part.count)
            // Large records need several answers. Each answer contains at least one of the remaining records.
            var left = Array(part.indices)
            while !left.isEmpty, !isFull {
                let answered = try await lookup(left.map { part[$0] }, desiredKeys, position)
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

    private func lookup(_ recordIDs: [RecordID], _ desiredKeys: Set<Name>?, _ position: Int64?) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        if position != nil { try line.allow("records/lookup") }
        return try await reading {
            try await $0.lookup(recordIDs, desiredKeys: desiredKeys, asOf: position)
        }.map { item($0, stored) }
    }

    /// Sends items in consecutive requests within the protocol's limit.
    func inParts<Item, Outcome>(_ items: [Item], _ send: (ArraySlice<Item>) async throws -> [Outcome]) async throws
        -> [Outcome]
    {
        var outcomes: [Outcome] = []
        for start in stride(from: 0, to: items.count, by: DatabaseClient.itemLimit) {
            let part = items[start..<min(start + DatabaseClient.itemLimit, items.count)]
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

extension Result where Success == StoredRecord, Failure == RecordError {
    /// True if the server omitted the record because of the size limit.
    fileprivate var isLeftOut: Bool {
        if case .failure(let error) = self { error.isTooManyBytes } else { false }
    }
}

// MARK: - Zones

extension RemoteDatabase {
    func purge(_ zoneID: ZoneID) async throws { _ = try await line.ask(DatabaseServices.purgeZone, zoneID) }

    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        Array(
            try await line.ask(DatabaseServices.referrers, (recordID, PageLimit(records: limit)))
                .prefix(max(0, limit)))
    }

    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        try await line.ask(DatabaseServices.counts, (zoneID, nil))
    }
}

// MARK: - Members of requests

extension TokenCodec {
    /// The token to continue from. An empty token can't be sent, because an empty text means the beginning.
    /// - Throws: `RecordError` BAD_REQUEST for an empty token, like every store.
    static func sendable(_ token: ChangeToken?) throws -> ChangeToken? {
        if let token, token.bytes.isEmpty { throw foreign }
        return token
    }
}

extension JSONWriter {
    /// Writes the members of a query request.
    /// - Throws: ``CloudKitFailure`` for a number that JSON can't represent.
    mutating func members(of request: QueryRequest) throws {
        try members(
            of: request.query, .skylight, in: DatabaseClient.QueryArea(request.area), limit: request.limit.records,
            bytes: max(0, request.limit.bytes), desiredKeys: request.desiredKeys, after: request.continuationMarker)
    }
}

// MARK: - Requests of the protocol

extension RemoteDatabase {
    func reading<Answer>(_ requests: (DatabaseClient) async throws -> Answer) async throws -> Answer {
        try await line.server.asking { try await requests(line.client(.reads)) }
    }

    func saving<Answer>(_ requests: (DatabaseClient) async throws -> Answer) async throws -> Answer {
        try await line.server.asking { try await requests(line.client(.saves)) }
    }

    func error(_ error: ServerError) -> RecordError { line.server.error(error) }
    func error(_ lack: RecordLack) -> RecordError { line.server.unexpected(lack.expected) }

    /// The ticket of an upload is the last path component of its address.
    func ticket(for slot: UploadSlot) throws -> String {
        guard let ticket = slot.url.split(separator: "/").last else {
            throw line.server.unexpected("an upload address")
        }
        return String(ticket)
    }

    func participant(in received: ReceivedShareMetadata, _ addresses: LookupInfo) -> ShareParticipant? {
        let participants = received.share.participants?.map(\.participant) ?? []
        return participants.first { $0.userRecordName == caller.userRecordName }
            ?? participants.first {
                $0.status == .invited && $0.userRecordName == nil && $0.lookupInfo.matches(addresses)
            }
    }
}

// MARK: - Key-value stores

extension RemoteDatabase {
    func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges {
        try await line.ask(DatabaseServices.keyValues, (TokenCodec.sendable(token), nil))
    }

    func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage {
        try await line.ask(DatabaseServices.modifyKeyValues, operations)
    }
}
