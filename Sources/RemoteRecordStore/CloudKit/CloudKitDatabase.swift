public import Accounts
public import CloudKitClient
public import NIOCore
public import RecordStore
public import Records

/// A database of a container in iCloud.
///
/// Errors have Apple's code and text. Pages have at most 200 records. CloudKit determines their size, so byte limits do
/// not apply.
public struct CloudKitDatabase: ClientDatabase {
    /// The permission to change the container, in addition to the permission of its connection.
    public enum WritePermission: Sendable, Hashable {
        case granted
        /// The user has not confirmed changes yet. Changes throw ``UnconfirmedChange``.
        case unconfirmed
        /// Requests of programs, which may only read.
        case denied
    }

    let engine: CloudKitRecordEngine
    public let address: DatabaseAddress
    var writePermission = WritePermission.granted

    var connection: ContainerConnection { engine.connection }

    /// The user who signed in. If the user is unknown, as with a server-to-server key, it is CloudKit's placeholder.
    public var caller: Caller { Caller(userRecordName: connection.userRecordName ?? Self.unknownUser) }

    private static let unknownUser: Name = "__defaultOwner__"

    public func unable(to task: String) -> RecordError { .notInCloudKit(task) }

    /// The client for requests of this task. The task's meter counts them, and may limit their time.
    var client: DatabaseClient {
        let client = engine.client.database(address.scope)
        guard let meter = CloudKitMeter.current else { return client }
        let counted = client.observing { meter.note($0) }
        return meter.deadline.map { counted.until($0) } ?? counted
    }

    public func reading<Answer>(_ requests: (DatabaseClient) async throws -> Answer) async throws -> Answer {
        do {
            return try await requests(client)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw RecordError(error, at: connection)
        }
    }

    public func saving<Answer>(_ requests: (DatabaseClient) async throws -> Answer) async throws -> Answer {
        try checkWritable()
        return try await reading(requests)
    }

    public func error(_ error: ServerError) -> RecordError { RecordError(error) }

    public func error(_ lack: RecordLack) -> RecordError {
        switch lack {
        case .member(_, let word, let recordName):
            RecordError(
                .internalError, "CloudKit's answer does not tell the \(word) of the record '\(recordName)'")
        case .value(let name, let field, let recordName):
            RecordError(
                .internalError,
                "CloudKit sent the field '\(name)' of the record '\(recordName)' as \(field.typeName ?? "a value without a type"), which Skylight can't read; "
                    + "leave it out with desiredKeys")
        }
    }

    public func note(_ record: StoredRecord) throws { try engine.learn(from: record) }

    /// - Throws: `RecordError` ACCESS_DENIED if this container must not be changed; ``UnconfirmedChange`` if the user
    ///   must confirm changes first.
    public func checkWritable() throws {
        if writePermission == .denied { throw RecordError.savesElsewhere(connection) }
        if connection.isReadOnly { throw RecordError.readOnly(connection) }
        if writePermission == .unconfirmed { throw UnconfirmedChange(connection: connection) }
    }

    // MARK: Records

    public func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        try checkWritable()
        var places: [ZoneID: [Int]] = [:]
        var order: [ZoneID] = []
        for (index, operation) in request.operations.enumerated() {
            let zoneID = operation.zoneID ?? request.zoneID
            if places[zoneID] == nil { order.append(zoneID) }
            places[zoneID, default: []].append(index)
        }
        // One request changes one zone, and batches are atomic within a zone, as in CloudKit's own library.
        var outcomes: [Result<ModifyOutcome, RecordError>?] = Array(repeating: nil, count: request.operations.count)
        for zoneID in order {
            let places = places[zoneID] ?? []
            let operations = places.map { request.operations[$0] }
            let answers = try await reading {
                try await $0.modify(operations, in: zoneID, atomic: request.atomic && hasAtomicBatches(zoneID))
            }
            for (place, answer) in zip(places, answers) {
                outcomes[place] = item(answer) { outcome in
                    switch outcome {
                    case .saved(let record): .saved(try stored(record))
                    case .deleted(let recordID): .deleted(recordID)
                    }
                }
            }
        }
        return try outcomes.map { outcome in
            guard let outcome else {
                throw RecordError(.internalError, "CloudKit answered fewer operations than it was sent")
            }
            return outcome
        }
    }

    private func hasAtomicBatches(_ zoneID: ZoneID) -> Bool { address.scope != .public && !zoneID.isDefault }

    /// A query without a required index throws Apple's error, which ``CloudKitRecordEngine/learnedIndexes`` remembers.
    public func query(_ request: QueryRequest) async throws -> QueryPage {
        var request = request
        request.limit.records = min(request.limit.records, DatabaseClient.itemLimit)
        let page: QueryPage
        do {
            page = try await self.page(request)
        } catch let error as RecordError {
            engine.learn(from: error, of: request.query)
            throw error
        }
        engine.learn(fromAnswerTo: request.query)
        return page
    }

    public func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        var found: [RecordID: Result<StoredRecord, RecordError>] = [:]
        for (zoneID, recordIDs) in Dictionary(grouping: Set(recordIDs), by: \.zoneID) {
            do {
                let answers = try await reading {
                    try await $0.lookup(recordIDs.map(\.recordName), in: zoneID, desiredKeys: desiredKeys)
                }
                for (recordID, answer) in zip(recordIDs, answers) { found[recordID] = item(answer, stored) }
            } catch let error as RecordError where error.code == .zoneNotFound {
                // One request reads one zone. An error of one request must not affect records of other zones.
                for recordID in recordIDs { found[recordID] = .failure(error) }
            }
        }
        var fill = PageFill(PageLimit(records: .max, bytes: bytesLimit))
        return recordIDs.map { recordID in
            switch found[recordID] ?? .failure(.recordNotFound) {
            case .success(let record): fill.admits(record) ? .success(record) : .failure(.tooManyBytes)
            case .failure(let error): .failure(error)
            }
        }
    }
}

/// The error of a change in iCloud that the user has not confirmed. Nothing was changed.
///
/// It is not a `RecordError`, so that forms do not show it as an error of their input.
public struct UnconfirmedChange: Error, CustomStringConvertible {
    public let connection: ContainerConnection

    public var description: String { "\(connection.place) is in iCloud, and nobody confirmed its change" }
}

extension RecordError {
    /// The error for a change of production data without permission.
    static func readOnly(_ connection: ContainerConnection) -> RecordError {
        RecordError(
            .accessDenied,
            "\(connection.place) is connected read-only, because production holds the data of the app's users; to change it, connect it again as writable"
        )
    }

    /// The error for a save through Skylight's own services, which cannot save in iCloud.
    fileprivate static func savesElsewhere(_ connection: ContainerConnection) -> RecordError {
        RecordError(
            .accessDenied,
            "Skylight's services and commands only read \(connection.place), which is in iCloud; change it in the console, or send the request to CloudKit"
        )
    }
}

// MARK: - Assets

extension CloudKitDatabase {
    /// Files are uploaded to CloudKit's own server: the ticket of a grant is the address there, for
    /// ``upload(_:size:with:progress:)``.
    public func ticket(for slot: UploadSlot) -> String { slot.url }

    /// Uploads a file as a stream. If the connection breaks, the upload begins again.
    /// - Parameters:
    ///   - size: the size of the file in bytes.
    ///   - grant: an upload grant of this database.
    ///   - progress: receives the number of bytes that the connection accepted so far. It must return quickly.
    ///   - file: opens the file from its start, for each attempt.
    /// - Returns: the asset with its receipt, to save in the record and the field of the grant.
    /// - Throws: `RecordError`; an error of the file.
    public func upload<File: AsyncSequence & Sendable>(
        size: Int64, with grant: UploadGrant, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in },
        _ file: @Sendable () async throws -> File
    ) async throws -> Asset where File.Element == ByteBuffer {
        try checkWritable()
        let slot = UploadSlot(recordName: grant.recordName, fieldName: grant.fieldName, url: grant.ticket)
        do {
            return try await client.upload(to: slot, size: size, progress: progress, file)
        } catch let failure as CloudKitFailure {
            throw RecordError(failure, at: connection)
        }
    }

    /// Downloads the file of a record's asset, streamed with backpressure. The record is fetched first to get a new
    /// address, because addresses expire.
    /// - Parameters:
    ///   - index: the index of the asset in a list.
    ///   - offset: the number of bytes to skip, because the caller already has them.
    ///   - take: receives the bytes in order. The next part is only read after it returns.
    /// - Returns: the size of the whole file in bytes.
    /// - Throws: `RecordError` NOT_FOUND if the record has no such asset, or if the download fails; errors of `take`.
    @discardableResult
    public func download(
        _ fieldName: Name, at index: Int = 0, of recordID: RecordID, from offset: Int64 = 0,
        _ take: (ByteBuffer) async throws -> Void
    ) async throws -> Int64 {
        let answer = try await reading {
            try await $0.lookup([recordID.recordName], in: recordID.zoneID, desiredKeys: [fieldName])
        }.first
        let record: ReceivedRecord
        switch answer {
        case .success(let found)?: record = found
        case .failure(let error)?: throw RecordError(error)
        case nil: throw RecordError.recordNotFound
        }
        let assets = record.fields[fieldName]?.assets ?? []
        guard assets.indices.contains(index) else {
            throw RecordError(.notFound, "The record '\(recordID.recordName)' has no asset in its field '\(fieldName)'")
        }
        var parts = try await reading { try $0.download(assets[index], from: offset) }.makeAsyncIterator()
        while let part = try await reading({ _ in try await parts.next() }) { try await take(part) }
        return assets[index].asset.size
    }
}

// MARK: - Sharing

extension CloudKitDatabase {
    /// - Returns: `nil` for a user who opened the link and has not accepted.
    public func participant(in received: ReceivedShareMetadata, _ addresses: LookupInfo) -> ShareParticipant? {
        if let own = received.share.currentUserParticipant { return own.participant }
        guard let role = received.participantType, let status = received.participantStatus,
            role != .publicUser || status == .accepted
        else { return nil }
        return ShareParticipant(
            participantID: "", role: role, status: status, permission: received.participantPermission ?? .none)
    }
}
