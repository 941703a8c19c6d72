public import Accounts
public import CloudKitClient
public import NIOCore
public import RecordStore
public import Records

/// A database of a container in iCloud.
///
/// Errors have Apple's code and text. Pages have at most 200 records. CloudKit determines their size, so byte limits do
/// not apply.
public struct CloudKitDatabase: RecordDatabase, AssetUploading, ShareLinks, SubscriptionKeeping {
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

    /// Runs a request, and throws its failure as `RecordError`.
    func asking<Answer>(_ request: () async throws -> Answer) async throws -> Answer {
        do {
            return try await request()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw RecordError(error, at: connection)
        }
    }

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
            let answers = try await asking {
                try await client.modify(operations, in: zoneID, atomic: request.atomic && hasAtomicBatches(zoneID))
            }
            for (place, answer) in zip(places, answers) { outcomes[place] = outcome(answer) }
        }
        return try outcomes.map { outcome in
            guard let outcome else {
                throw RecordError(.internalError, "CloudKit answered fewer operations than it was sent")
            }
            return outcome
        }
    }

    private func hasAtomicBatches(_ zoneID: ZoneID) -> Bool { address.scope != .public && !zoneID.isDefault }

    private func outcome(_ answer: Result<ModifiedRecord, ServerError>) -> Result<ModifyOutcome, RecordError> {
        switch answer {
        case .success(.saved(let record)):
            Result { .saved(try stored(record)) }.mapError { RecordError($0, at: connection) }
        case .success(.deleted(let recordID)): .success(.deleted(recordID))
        case .failure(let error): .failure(RecordError(error))
        }
    }

    /// A query without a required index throws Apple's error, which ``CloudKitRecordEngine/learnedIndexes`` remembers.
    public func query(_ request: QueryRequest) async throws -> QueryPage {
        let area: DatabaseClient.QueryArea =
            switch request.area {
            case .zone(let zoneID): .zone(zoneID)
            case .allZones: .allZones
            }
        let page: RecordsPage
        do {
            page = try await asking {
                try await client.query(
                    request.query, in: area, limit: min(request.limit.records, DatabaseClient.itemLimit),
                    desiredKeys: request.desiredKeys,
                    after: request.continuationMarker)
            }
        } catch let error as RecordError {
            engine.learn(from: error, of: request.query)
            throw error
        }
        engine.learn(fromAnswerTo: request.query)
        return QueryPage(
            records: try page.records.map { try stored(read($0)) }, continuationMarker: page.continuationMarker)
    }

    public func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        var found: [RecordID: Result<StoredRecord, RecordError>] = [:]
        for (zoneID, recordIDs) in Dictionary(grouping: Set(recordIDs), by: \.zoneID) {
            do {
                let answers = try await asking {
                    try await client.lookup(recordIDs.map(\.recordName), in: zoneID, desiredKeys: desiredKeys)
                }
                for (recordID, answer) in zip(recordIDs, answers) {
                    found[recordID] = Result { try stored(read(answer)) }.mapError { RecordError($0, at: connection) }
                }
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

    /// - Throws: `RecordError` with the record's name for a record that CloudKit could not read.
    private func read(_ answer: Result<ReceivedRecord, ServerError>) throws -> ReceivedRecord {
        switch answer {
        case .success(let record): return record
        case .failure(let error): throw RecordError(error)
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

// MARK: - Records in answers

extension CloudKitDatabase {
    /// Converts a record to the type of the storage interface. Download addresses are left out, because they expire.
    /// - Throws: `RecordError` INTERNAL_ERROR if CloudKit's answer lacks a required member, or contains an unreadable
    ///   field.
    func stored(_ received: ReceivedRecord) throws -> StoredRecord {
        func lacking(_ member: String) -> RecordError {
            RecordError(
                .internalError,
                "CloudKit's answer does not tell the \(member) of the record '\(received.recordID.recordName)'")
        }
        guard let recordType = received.recordType else { throw lacking("type") }
        guard let recordChangeTag = received.recordChangeTag else { throw lacking("change tag") }
        guard let created = received.created.flatMap({ Signature($0) }) else { throw lacking("creation") }
        guard let modified = received.modified.flatMap({ Signature($0) }) else { throw lacking("latest change") }
        let record = StoredRecord(
            recordID: received.recordID, recordType: recordType,
            recordChangeTag: recordChangeTag, created: created, modified: modified, parent: received.parent,
            fields: FieldsText(
                try received.fields.compactMap { try field($0.key, $0.value, of: received.recordID.recordName) }),
            sharing: received.sharing)
        try engine.learn(from: record)
        return record
    }

    /// - Returns: `nil` for a field without a value.
    private func field(_ name: Name, _ received: ReceivedField, of recordName: Name) throws -> Field? {
        if let value = received.value { return Field(name: name, value: value, isEncrypted: received.isEncrypted) }
        guard let json = received.json["value"], json != .null else { return nil }
        throw RecordError(
            .internalError,
            "CloudKit sent the field '\(name)' of the record '\(recordName)' as \(received.typeName ?? "a value without a type"), which Skylight can't read; "
                + "leave it out with desiredKeys")
    }
}

extension Signature {
    /// The user and the device are empty if CloudKit does not report them.
    fileprivate init?(_ received: ReceivedSignature) {
        guard let timestamp = received.timestamp else { return nil }
        self.init(
            timestamp: timestamp, userRecordName: received.userRecordName ?? "", deviceID: received.deviceID ?? "")
    }
}

// MARK: - Assets

extension CloudKitDatabase {
    /// Files are uploaded to CloudKit's own server: the ticket of a grant is the address there, for
    /// ``upload(_:size:with:progress:)``.
    public func grantUploads(_ requests: [UploadRequest], in zoneID: ZoneID?) async throws -> [Result<
        UploadGrant, RecordError
    >] {
        try checkWritable()
        return try await asking { try await client.uploadSlots(requests, in: zoneID ?? .default) }.map { answer in
            answer.map { UploadGrant(recordName: $0.recordName, fieldName: $0.fieldName, ticket: $0.url) }.mapError {
                RecordError($0)
            }
        }
    }

    /// - Throws: in addition, `RecordError` BAD_REQUEST for a single asset of a list, which CloudKit's request cannot
    ///   name.
    public func rereference(
        _ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID
    ) async throws -> [Result<Asset, RecordError>] {
        try checkWritable()
        if sources.contains(where: { $0.index != nil }) {
            throw RecordError(.badRequest, "CloudKit has no way to name one asset of a list; upload the file again")
        }
        var body = JSONObject()
        body["zoneID"] = zoneID.json
        body["targetZoneID"] = targetZoneID.json
        body["assets"] = .array(
            sources.map { ["recordName": .string($0.recordName.string), "fieldName": .string($0.fieldName.string)] })
        let answer: JSONObject
        do {
            answer = try await asking { [body] in try await client.call("assets/rereference", body: body, saves: false)
            }
        } catch let denial as RecordError where denial.code == .accessDenied {
            // The service denies access to all items with one error.
            return sources.map { _ in .failure(denial) }
        }
        guard case .array(let assets)? = answer["assets"], assets.count == sources.count else {
            throw RecordError(.internalError, "CloudKit answered \(sources.count) assets with another number of them")
        }
        return assets.map { element in
            guard case .object(let object) = element else {
                return .failure(RecordError(.internalError, "CloudKit's answer has something else than an asset"))
            }
            if let error = ServerError(object) { return .failure(RecordError(error)) }
            var field = JSONObject()
            field["type"] = "ASSETID"
            field["value"] = element
            guard case .asset(let asset)? = ReceivedField(field).value else {
                return .failure(RecordError(.internalError, "CloudKit's answer has an asset that can't be read"))
            }
            return .success(asset)
        }
    }

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
        let answer = try await asking {
            try await client.lookup([recordID.recordName], in: recordID.zoneID, desiredKeys: [fieldName])
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
        var parts = try await asking { try client.download(assets[index], from: offset) }.makeAsyncIterator()
        while let part = try await asking({ try await parts.next() }) { try await take(part) }
        return assets[index].asset.size
    }
}

extension ZoneID {
    fileprivate var json: JSONValue {
        var object = JSONObject()
        object["zoneName"] = .string(zoneName.string)
        object["ownerRecordName"] = ownerRecordName.map { .string($0.string) }
        return .object(object)
    }
}

// MARK: - Sharing

extension CloudKitDatabase {
    /// - Parameter addresses: not sent. CloudKit uses the addresses that it knows of the user.
    public func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<
        ResolvedShare, RecordError
    >] {
        try await asking { try await client.resolveShares(shortGUIDs) }.map(resolved)
    }

    /// - Parameter addresses: not sent, as in ``resolve(_:by:)``.
    public func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<
        ResolvedShare, RecordError
    >] {
        try checkWritable()
        return try await asking { try await client.acceptShares(shortGUIDs) }.map(resolved)
    }

    private func resolved(_ answer: Result<ReceivedShareMetadata, ServerError>) -> Result<ResolvedShare, RecordError> {
        switch answer {
        case .failure(let error): .failure(RecordError(error))
        case .success(let received): Result { try resolved(received) }.mapError { RecordError($0, at: connection) }
        }
    }

    private func resolved(_ received: ReceivedShareMetadata) throws -> ResolvedShare {
        var share = try stored(received.share)
        if let sharing = share.sharing, var top = sharing.share {
            // Only this answer contains the root.
            top.rootName = received.rootRecordName
            share.sharing = RecordSharing(shortGUID: sharing.shortGUID, share: top)
        }
        return ResolvedShare(
            shortGUID: received.shortGUID, share: share, root: try received.rootRecord.map { try stored($0) },
            participant: received.participant,
            isOwner: received.databaseScope == .private)
    }
}

extension ReceivedShareMetadata {
    /// The user's participation or invitation; `nil` for a user who opened the link and has not accepted.
    fileprivate var participant: ShareParticipant? {
        if let own = share.currentUserParticipant { return own.participant }
        guard let role = participantType, let status = participantStatus, role != .publicUser || status == .accepted
        else { return nil }
        return ShareParticipant(
            participantID: "", role: role, status: status, permission: participantPermission ?? .none)
    }
}

// MARK: - Subscriptions

extension CloudKitDatabase {
    public func subscriptions() async throws -> [Subscription] {
        try await asking { try await client.subscriptions() }.sorted { $0.subscriptionID < $1.subscriptionID }
    }

    public func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<
        SubscriptionOperation, RecordError
    >] {
        try checkWritable()
        let answers = try await asking { try await client.modifySubscriptions(operations) }
        return zip(operations, answers).map { operation, answer in
            answer.map { _ in operation }.mapError { RecordError($0) }
        }
    }
}
