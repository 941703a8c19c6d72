internal import AsyncHTTPClient
internal import CloudKitClient
internal import NIOCore
internal import RecordStore
internal import Records

extension RemoteDatabase {
    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        _ = try TokenCodec.sendable(request.since)
        return try await line.ask(DatabaseServices.changedZones, request)
    }

    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        let answer = try await line.post("changes/page", of: .skylight, .reads) { writer in
            writer.member(zoneID: request.zoneID)
            try TokenCodec.sendable(request.since).write(as: "syncToken", into: &writer)
            writer.members(of: request.limit)
            writer.member("desiredKeys", request.desiredKeys)
            writer.member("desiredRecordTypes", request.desiredRecordTypes)
            writer.member("reverse", request.reverse)
        }
        return try answer.read { answer in
            ZoneChangesPage(
                zoneID: try .member("zoneID", of: answer),
                changes: try [RequestObject].member("changes", of: answer).map { try $0.change() },
                syncToken: try .member("syncToken", of: answer), moreComing: try .member("moreComing", of: answer))
        }
    }

    func currentToken() async throws -> ChangeToken { try await line.ask(DatabaseServices.currentToken, nil).1 }

    func explain(_ token: ChangeToken) async throws -> TokenExplanation {
        _ = try TokenCodec.sendable(token)
        return try await line.ask(
            DatabaseServices.explainToken, (token.text, nil), parameters: ["token": token.text])
    }

    func expireTokens() async throws { _ = try await line.ask(DatabaseServices.expireTokens) }

    func list(_ request: RecordListRequest) async throws -> RecordListPage { try await list(request, asOf: nil) }

    fileprivate func list(_ request: RecordListRequest, asOf position: Int64?) async throws -> RecordListPage {
        let answer = try await line.post("records/list", of: .skylight, .reads) { writer in
            writer.member(zoneID: request.zoneID)
            if let after = request.after { writer.member("after", after) }
            writer.member("recordTypes", request.recordTypes)
            writer.members(of: request.limit)
            if let position { writer.member("asOf", String(position)) }
        }
        return try answer.read { answer in
            RecordListPage(
                records: try [RequestObject].member("records", of: answer).map { try $0.record() },
                last: try .member("last", of: answer),
                notKnown: try NotKnown?.member("notKnown", of: answer) ?? NotKnown())
        }
    }
}

// MARK: - Commits

extension RemoteDatabase {
    /// The delay before a reconnection.
    private static let pause: Duration = .seconds(1)

    /// A signal after each commit on the server, and after each connect and disconnect, because
    /// commits in between are unknown. Ends when the engine is closed or the consumer stops listening.
    func commits() -> AsyncStream<Void> {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let listening = Task { [line] in
            while !Task.isCancelled, line.server.isOpen {
                do {
                    // The server sends the first signal as soon as it listens.
                    for try await part in try await line.stream("commits") where Self.holdsSign(part.readableBytesView)
                    { continuation.yield() }
                } catch {
                    // The consumer's own requests report why there is no connection.
                }
                if Task.isCancelled || !line.server.isOpen { break }
                continuation.yield()
                // Cancellation ends the sleep, and then the loop.
                try? await Task.sleep(for: Self.pause)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in listening.cancel() }
        return signals
    }

    /// The keep-alive message of the server.
    private static let signOfLife = Array(": still here\n\n".utf8)

    /// True if a part of the stream is more than a keep-alive message. Parts may be split anywhere and may combine
    /// several messages. Only an exact keep-alive message is ignored, because an extra signal does no harm.
    static func holdsSign(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.elementsEqual(signOfLife)
    }
}

// MARK: - Earlier states

/// A database of a server as it was at a position.
private struct RemoteEarlierDatabase: EarlierDatabase {
    let database: RemoteDatabase
    let position: Int64

    var base: any RecordDatabase { database }

    func query(_ request: QueryRequest) async throws -> QueryPage {
        let answer = try await database.line.post("records/query", of: .skylight, .reads) { writer in
            try writer.members(of: request)
            writer.member("asOf", String(position))
        }
        return try answer.read { answer in
            QueryPage(
                records: try [RequestObject].member("records", of: answer).map { try $0.record() },
                continuationMarker: try .member("continuationMarker", of: answer),
                notKnown: try NotKnown?.member("notKnown", of: answer) ?? NotKnown())
        }
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        try await database.fetch(recordIDs, desiredKeys, bytesLimit, asOf: position)
    }

    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        try await database.line.ask(DatabaseServices.counts, (zoneID, .position(position)))
    }

    func list(_ request: RecordListRequest) async throws -> RecordListPage {
        try await database.list(request, asOf: position)
    }
}

extension RemoteDatabase {
    /// The server finds the position once, so that all pages are of one state.
    func database(asOf point: AsOf) async throws -> any EarlierDatabase {
        if case .token(let token) = point { _ = try TokenCodec.sendable(token) }
        return RemoteEarlierDatabase(database: self, position: try await line.ask(DatabaseServices.position, point))
    }
}

// MARK: - Journal

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
        return try answer.read { answer in
            RecordJournalPage(
                entries: try [RequestObject].member("changes", of: answer).map { try $0.journalEntry() },
                before: try .member("before", of: answer), limits: try .member("kept", of: answer))
        }
    }

    func revert(_ reversion: RecordReversion) async throws -> StoredRecord {
        try await line.post("records/revert", of: .skylight, .saves) { writer in
            writer.member("recordName", reversion.recordID.recordName)
            writer.member(zoneID: reversion.recordID.zoneID)
            writer.member("position", max(1, reversion.position))
            if let tag = reversion.recordChangeTag { writer.member("recordChangeTag", tag) }
        }.read { try $0.record() }
    }
}

extension RequestObject {
    fileprivate func journalEntry() throws -> RecordJournalEntry {
        let modified = try RequestObject.member("modified", of: self)
        return RecordJournalEntry(
            kind: try .member("change", of: self), position: try .member("position", of: self),
            recordChangeTag: try .member("recordChangeTag", of: self), recordType: try .member("recordType", of: self),
            signature: Signature(
                timestamp: try .member("timestamp", of: modified),
                userRecordName: try .member("userRecordName", of: modified),
                deviceID: try .member("deviceID", of: modified)),
            replaced: try .member("replaced", of: self), requestID: try .member("uuid", of: self),
            fields: value("fields").map { FieldsText(bytes: JSONWriter.bytes(of: $0)) } ?? .empty,
            parent: try RequestObject?.member("parent", of: self)?.name("recordName"))
    }
}
