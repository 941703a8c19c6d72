public import Accounts
internal import CloudKitClient
public import JSON
public import RecordStore
public import Records

/// A database of a container in iCloud.
///
/// Everything that can fail has Apple's code and text. Pages have at most 200 records, and hold what CloudKit puts into them: limits of bytes do not
/// apply.
public struct CloudKitDatabase: RecordDatabase {
    /// Leave to change the container, besides that of its connection.
    public enum Leave: Sendable, Hashable {
        case given
        /// Nobody was asked yet: changes throw ``UnconfirmedChange``.
        case unasked
        /// Programs only read.
        case refused
    }

    let engine: CloudKitRecordEngine
    public let address: DatabaseAddress
    var leave = Leave.given

    var connection: ContainerConnection { engine.connection }

    /// The user who signed in. CloudKit's own placeholder stands for one that is not known, such as that of a server-to-server key.
    public var caller: Caller { Caller(userRecordName: connection.userRecordName ?? Self.unknownUser) }

    private static let unknownUser: Name = "__defaultOwner__"

    /// Files are sent to CloudKit's own server: a grant's ticket is the address there, for ``upload(_:size:with:progress:)``.
    public var capabilities: Set<Capability> { [.uploadAssets, .shareRecords, .keepSubscriptions] }

    public func unable(_ capability: Capability) -> RecordError { .notInCloudKit(capability) }

    /// The client for a request. The meter of the task counts it, and may limit its time.
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

    /// - Throws: `RecordError` ACCESS_DENIED if nothing may be changed here; ``UnconfirmedChange`` if that has to be asked.
    public func checkWritable() throws {
        if leave == .refused { throw RecordError.savesElsewhere(connection) }
        if connection.isReadOnly { throw RecordError.readOnly(connection) }
        if leave == .unasked { throw UnconfirmedChange(connection: connection) }
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
        // One request changes one zone, and batches are atomic by zone, as in CloudKit's own library.
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
            guard let outcome else { throw RecordError(.internalError, "CloudKit answered fewer operations than it was sent") }
            return outcome
        }
    }

    private func hasAtomicBatches(_ zoneID: ZoneID) -> Bool { address.scope != .public && !zoneID.isDefault }

    private func outcome(_ answer: Result<ModifiedRecord, ServerError>) -> Result<ModifyOutcome, RecordError> {
        switch answer {
        case .success(.saved(let record)): Result { .saved(try stored(record)) }.mapError { RecordError($0, at: connection) }
        case .success(.deleted(let recordID)): .success(.deleted(recordID))
        case .failure(let error): .failure(RecordError(error))
        }
    }

    /// A missing index is refused in Apple's words, which ``CloudKitRecordEngine/learnedIndexes`` remembers.
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
                    request.query, in: area, limit: min(request.limit.records, DatabaseClient.itemLimit), desiredKeys: request.desiredKeys,
                    after: request.continuationMarker)
            }
        } catch let error as RecordError {
            engine.learn(from: error, of: request.query)
            throw error
        }
        engine.learn(fromAnswerTo: request.query)
        return QueryPage(records: try page.records.map { try stored(read($0)) }, continuationMarker: page.continuationMarker)
    }

    public func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<StoredRecord, RecordError>] {
        var found: [RecordID: Result<StoredRecord, RecordError>] = [:]
        for (zoneID, recordIDs) in Dictionary(grouping: Set(recordIDs), by: \.zoneID) {
            do {
                let answers = try await asking { try await client.lookup(recordIDs.map(\.recordName), in: zoneID, desiredKeys: desiredKeys) }
                for (recordID, answer) in zip(recordIDs, answers) {
                    found[recordID] = Result { try stored(read(answer)) }.mapError { RecordError($0, at: connection) }
                }
            } catch let error as RecordError where error.code == .zoneNotFound {
                // One request asks for one zone. Records of other zones are not to blame.
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

/// A change of a container in iCloud that nobody has confirmed. Nothing was changed.
///
/// It is no `RecordError`, so that no form takes it for a refusal of its input.
public struct UnconfirmedChange: Error, CustomStringConvertible {
    public let connection: ContainerConnection

    public var description: String { "\(connection.place) is in iCloud, and nobody confirmed its change" }
}

extension RecordError {
    /// The error for a change of production data without leave.
    static func readOnly(_ connection: ContainerConnection) -> RecordError {
        RecordError(
            .accessDenied,
            "\(connection.place) is connected read-only, because production holds the data of the app's users; to change it, connect it again as writable")
    }

    /// The error for a save through Skylight's own services.
    fileprivate static func savesElsewhere(_ connection: ContainerConnection) -> RecordError {
        RecordError(
            .accessDenied,
            "Skylight's services and commands only read \(connection.place), which is in iCloud; change it in the console, or send the request to CloudKit")
    }
}
