internal import CloudKitClient
public import Foundation
public import Records

/// Fetches the records that match a query (CKQueryOperation).
public struct QueryRecords: DatabaseOperation {
    /// The position in a query's results where the next operation continues. It includes the query and the zone.
    public struct Cursor: Sendable, Hashable {
        fileprivate let query: Query
        fileprivate let area: DatabaseClient.QueryArea
        fileprivate let marker: String

        fileprivate init(query: Query, area: DatabaseClient.QueryArea, marker: String) {
            (self.query, self.area, self.marker) = (query, area, marker)
        }

        /// Creates a cursor for tests with ``DatabaseCalls`` of the app's own. Servers refuse markers that are not
        /// theirs.
        public init(query: Query, zoneID: ZoneID? = nil, marker: String) {
            self.init(query: query, area: zoneID.map { .zone($0) } ?? .allZones, marker: marker)
        }
    }

    /// A step of the operation.
    public enum Event: Sendable {
        /// A record, in the order of the query. The ID is `nil` if the server could not read a record and does not name
        /// it.
        case matched(RecordID?, Result<Record, OperationError>)
    }

    /// The keys to fetch; `nil` for all keys, empty for none.
    public var desiredKeys: Set<Name>?
    /// The maximum number of records; `nil` or 0 for one page of the server's choice, at most 200.
    public var resultsLimit: Int?

    /// The record type, the filters and the sort order, also those of a cursor.
    public var query: Query {
        switch start {
        case .query(let query, _): query
        case .cursor(let cursor): cursor.query
        }
    }
    /// The cursor after which the operation continues; `nil` for the first page.
    public var cursor: Cursor? { if case .cursor(let cursor) = start { cursor } else { nil } }

    private let start: Start

    private enum Start: Sendable {
        case query(Query, ZoneID?)
        case cursor(Cursor)
    }

    /// - Parameters:
    ///   - query: the record type, the filters and the sort order.
    ///   - zoneID: the zone to query; `nil` for all zones of the database. The shared database requires a zone.
    ///   - desiredKeys: the keys to fetch; `nil` for all keys, empty for none.
    ///   - resultsLimit: the maximum number of records; `nil` or 0 for one page of the server's choice.
    public init(_ query: Query, in zoneID: ZoneID? = nil, desiredKeys: Set<Name>? = nil, resultsLimit: Int? = nil) {
        start = .query(query, zoneID)
        self.desiredKeys = desiredKeys
        self.resultsLimit = resultsLimit
    }

    /// - Parameters:
    ///   - cursor: the output of the previous operation.
    ///   - desiredKeys: the keys to fetch; `nil` for all keys, empty for none.
    ///   - resultsLimit: the maximum number of records; `nil` or 0 for one page of the server's choice.
    public init(continuing cursor: Cursor, desiredKeys: Set<Name>? = nil, resultsLimit: Int? = nil) {
        start = .cursor(cursor)
        self.desiredKeys = desiredKeys
        self.resultsLimit = resultsLimit
    }

    /// - Returns: the cursor for more records; `nil` if there are none.
    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) -> Cursor? {
        let query: Query
        let area: DatabaseClient.QueryArea
        var marker: String?
        switch start {
        case .cursor(let cursor): (query, area, marker) = (cursor.query, cursor.area, cursor.marker)
        case .query(let asked, let zoneID?): (query, area) = (asked, .zone(zoneID))
        case .query(let asked, nil):
            guard context.scope != .shared else {
                throw OperationError(.invalidArguments, "A query of the shared database needs a zone")
            }
            // The public database has only the default zone.
            (query, area) = (asked, context.scope == .public ? .zone(.default) : .allZones)
        }
        if let error = query.unwritable { throw error }
        var left = resultsLimit.flatMap { $0 > 0 ? $0 : nil }
        var trail = context.client.trail(of: "records/query", after: marker)
        while true {
            let after = marker
            let limit = left.map { min($0, DatabaseClient.itemLimit) }
            let page = try await context.request {
                try await $0.query(query, in: area, limit: limit, desiredKeys: desiredKeys, after: after)
            }
            for answer in page.records {
                let recordID: RecordID? =
                    switch (answer, area) {
                    case (.success(let received), _): context.local(received.recordID)
                    case (.failure(let error), .zone(let zoneID)):
                        error.recordName.map { RecordID(recordName: $0, zoneID: zoneID) }
                    case (.failure, .allZones): nil
                    }
                await deliver(.matched(recordID, context.record(answer)))
            }
            guard let next = page.continuationMarker else { return nil }
            marker = next
            left = left.map { $0 - page.records.count }
            if Task.isCancelled { throw .cancelled }
            let goesOn = (left ?? 0) > 0
            try await trail.followed(next, isEmpty: goesOn && page.records.isEmpty)
            guard goesOn else { break }
        }
        return marker.map { Cursor(query: query, area: area, marker: $0) }
    }
}

/// The pages of a query, as an asynchronous sequence. A page is requested when the loop asks for it. Its `queryCursor`
/// continues after it, in another sequence or run of the program.
public struct QueryPages: AsyncSequence, Sendable {
    public typealias Element = Database.QueryResults

    fileprivate let database: any DatabaseCalls
    fileprivate let first: QueryRecords

    /// Requests the pages one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        fileprivate let database: any DatabaseCalls
        fileprivate var next: QueryRecords?

        /// - Throws: ``OperationError``. The same page is requested by the next call.
        public mutating func next() async throws(OperationError) -> Database.QueryResults? {
            guard let operation = next else { return nil }
            let page = try await database.page(of: operation)
            next = page.queryCursor.map {
                QueryRecords(
                    continuing: $0, desiredKeys: operation.desiredKeys, resultsLimit: operation.resultsLimit)
            }
            return page
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(OperationError)
            -> Database.QueryResults?
        {
            try await next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(database: database, next: first) }
}

extension DatabaseCalls {
    /// Returns all pages of a query, of which each is requested when a loop asks for it.
    /// - Parameters:
    ///   - query: the record type, the filters and the sort order.
    ///   - zoneID: the zone to query; `nil` for all zones. The shared database requires a zone.
    ///   - desiredKeys: the keys to fetch; `nil` for all keys, empty for none.
    ///   - resultsLimit: the maximum number of records of a page; `nil` for the server's choice.
    public func pages(
        matching query: Query, inZoneWith zoneID: ZoneID? = nil, desiredKeys: Set<Name>? = nil, resultsLimit: Int? = nil
    ) -> QueryPages {
        let first = QueryRecords(query, in: zoneID, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
        return QueryPages(database: self, first: first)
    }
}

// MARK: - Fetch

/// Fetches records by their IDs (CKFetchRecordsOperation). Unlike a query, it always returns the latest saved version.
public struct FetchRecords: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// The downloaded share of the record's files, from 0 to 1. Only reported if there is a folder for files.
        case progress(RecordID, Double)
        /// A record, or its error: `unknownItem` if it does not exist.
        case fetched(RecordID, Result<Record, OperationError>)
    }

    /// The records to fetch, from any zones.
    public var recordIDs: [RecordID]
    /// The keys to fetch; `nil` for all keys, empty for none.
    public var desiredKeys: Set<Name>?
    /// The folder to download files to. If it is `nil`, files are not downloaded, and the fields contain their download
    /// addresses.
    public var assetFolder: URL?

    /// Creates an operation that fetches records by their IDs.
    public init(_ recordIDs: [RecordID], desiredKeys: Set<Name>? = nil, assetFolder: URL? = nil) {
        self.recordIDs = recordIDs
        self.desiredKeys = desiredKeys
        self.assetFolder = assetFolder
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        var errors: [OperationError.Item: OperationError] = [:]
        for (zoneID, recordIDs) in recordIDs.byZone(\.zoneID) {
            for start in stride(from: 0, to: recordIDs.count, by: DatabaseClient.itemLimit) {
                let part = Array(recordIDs[start..<min(start + DatabaseClient.itemLimit, recordIDs.count)])
                let answers = try await context.request {
                    try await $0.lookup(part.map(\.recordName), in: zoneID, desiredKeys: desiredKeys)
                }
                // Downloads take time, so records with files are delivered one by one.
                for some in assetFolder == nil
                    ? [zip(part, answers).map { ($0, $1) }] : zip(part, answers).map({ [($0, $1)] })
                {
                    var fetched: [(RecordID, Result<Record, OperationError>)] = []
                    for (recordID, answer) in some {
                        let result = try await withFiles(context.record(answer), recordID, context, deliver)
                        if case .failure(let error) = result { errors[.record(recordID)] = error }
                        fetched.append((recordID, result))
                    }
                    await context.steps?.answered(
                        fetched.map(\.0), fetched.compactMap { Self.json(of: .fetched($0, $1)) })
                    for (recordID, result) in fetched { await deliver(.fetched(recordID, result)) }
                }
            }
        }
        if !errors.isEmpty { throw .partialFailure(errors) }
    }

    /// The record, with its files downloaded if there is a folder for them.
    private func withFiles(
        _ result: Result<Record, OperationError>, _ recordID: RecordID, _ context: OperationContext,
        _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) -> Result<Record, OperationError> {
        guard let assetFolder, case .success(let record) = result else { return result }
        do throws(OperationError) {
            return .success(
                try await context.downloadingFiles(of: record, to: assetFolder) {
                    await deliver(.progress(recordID, $0))
                })
        } catch {
            if error.isOfNetwork || error.code == .operationCancelled { throw error }
            return .failure(error)
        }
    }
}

extension OperationContext {
    /// Downloads all files of a record. If one fails, the others are removed. The files get unique names.
    func downloadingFiles(
        of record: Record, to folder: URL, _ tell: @escaping @Sendable (Double) async -> Void
    ) async throws(OperationError) -> Record {
        var record = record
        // Sizes come from the server and may be any number, so the sum must not overflow.
        let total = record.fields.values.flatMap(\.files).reduce(0 as Int64) {
            $0.addingReportingOverflow($1.asset?.size ?? 0).partialValue
        }
        var received: Int64 = 0
        var done: [URL] = []
        for (key, content) in record.fields.sorted(by: { $0.key < $1.key }) where !content.files.isEmpty {
            var files = content.files
            for (place, file) in files.enumerated() {
                guard let asset = file.asset else { continue }
                let url = folder.appending(path: "\(UUID().uuidString)")
                do throws(OperationError) {
                    try await withProgress(of: total, after: received, tell) {
                        (progress: @escaping @Sendable (Int64) -> Void) async throws(OperationError) -> Void in
                        try await download(file, to: url) { progress($0.bytes) }
                    }
                } catch {
                    await FileBytes.remove(done)
                    throw error
                }
                files[place].fileURL = url
                done.append(url)
                received = received.addingReportingOverflow(asset.size).partialValue
            }
            record = record.uploading(content.replacing(files), for: key)
        }
        await tell(1)
        return record
    }

    /// Downloads a file.
    func download(_ file: AssetFile, to url: URL, progress: @escaping @Sendable (TransferProgress) -> Void)
        async throws(OperationError)
    {
        guard let asset = file.asset else { throw OperationError(.assetNotAvailable, "The file was never uploaded") }
        let received = ReceivedAsset(asset: asset, downloadURL: file.downloadURL)
        try await transfer { _, database in
            try await FileBytes.write(try database.download(received, progress: progress), to: url)
        }
    }
}

extension Array {
    /// The elements of each zone, both in the order of the array.
    func byZone(_ zoneID: (Element) -> ZoneID) -> [(zoneID: ZoneID, elements: [Element])] {
        var zones: [(zoneID: ZoneID, elements: [Element])] = []
        var places: [ZoneID: Int] = [:]
        for element in self {
            let zoneID = zoneID(element)
            if let place = places[zoneID] {
                zones[place].elements.append(element)
            } else {
                places[zoneID] = zones.count
                zones.append((zoneID, [element]))
            }
        }
        return zones
    }
}

extension OperationContext {
    func local(_ zoneID: ZoneID) -> ZoneID { scope.local(zoneID) }
    func local(_ recordID: RecordID) -> RecordID { scope.local(recordID) }

    func local(_ zone: ReceivedZone) -> ReceivedZone {
        var zone = zone
        zone.zoneID = local(zone.zoneID)
        return zone
    }

    /// Converts the record of an answer.
    func record(_ answer: Result<ReceivedRecord, ServerError>) -> Result<Record, OperationError> {
        scope.record(answer)
    }
}

extension DatabaseScope {
    /// Converts a zone ID from the server to the form that apps use. In the private database the server adds the owner,
    /// which apps leave out.
    func local(_ zoneID: ZoneID) -> ZoneID {
        self == .shared ? zoneID : ZoneID(zoneName: zoneID.zoneName)
    }

    func local(_ recordID: RecordID) -> RecordID {
        RecordID(recordName: recordID.recordName, zoneID: local(recordID.zoneID))
    }

    /// Converts the zone IDs of references as ``local(_:)`` does; `nil` if nothing changes.
    private func local(_ content: FieldContent) -> FieldContent? {
        func local(_ value: FieldValue) -> FieldValue {
            guard case .reference(var reference) = value else { return value }
            reference.zoneID = reference.zoneID.map { self.local($0) }
            return .reference(reference)
        }
        return switch content {
        case _ where self == .shared: nil
        case .value(.reference(let reference), let isEncrypted):
            .value(local(.reference(reference)), isEncrypted: isEncrypted)
        case .value(.list(let elements, .reference?), let isEncrypted):
            .value(.list(elements.map { local($0) }, of: .reference), isEncrypted: isEncrypted)
        default: nil
        }
    }

    /// Converts the record of an answer.
    func record(_ answer: Result<ReceivedRecord, ServerError>) -> Result<Record, OperationError> {
        switch answer {
        case .success(var received):
            received.recordID = local(received.recordID)
            received.share = received.share.map { local($0) }
            guard var record = Record(received) else {
                return .failure(OperationError(.serverRejectedRequest, "The server does not tell the record's type"))
            }
            for (key, content) in record.fields { if let local = local(content) { record.restore(local, for: key) } }
            return .success(record)
        case .failure(let error): return .failure(OperationError(error))
        }
    }
}

// MARK: - Modify

/// Saves and deletes records (CKModifyRecordsOperation).
///
/// Each zone has its own requests. More than 200 records are sent in batches. If the server refuses a batch as a whole,
/// because it is too large or because of one record, the batch is split in halves and sent again, unless it is atomic.
/// Any other error of a request, such as a network error, ends the operation, and the remaining zones and batches are
/// not sent. If an answer is lost, the operation looks up which records were saved, so that no change is made twice.
public struct ModifyRecords: DatabaseOperation {
    /// Determines which fields a save sends, and whether it fails if another client saved the record.
    public enum SavePolicy: String, Sendable, Hashable, CaseIterable {
        /// Sends the changed keys. The save fails if another client saved the record since it was fetched.
        case ifServerRecordUnchanged
        /// Sends the changed keys, even if another client saved the record.
        case changedKeys
        /// Sends all keys, even if another client saved the record. Keys that exist only on the server remain.
        case allKeys
    }

    /// A step of the operation.
    public enum Event: Sendable {
        /// The uploaded share of the record's files, from 0 to 1. Each record that is sent has at least one such event,
        /// with 1. The value falls if an upload has to begin again.
        case progress(RecordID, Double)
        /// The saved record with its new change tag, or the error.
        case saved(RecordID, Result<Record, OperationError>)
        /// The ID of a deleted record, or the error. Deleting a record that does not exist succeeds.
        case deleted(RecordID, Result<Void, OperationError>)
    }

    /// The records to create or change. Each record may occur only once in the operation.
    public var recordsToSave: [Record]
    /// The records to delete.
    public var recordIDsToDelete: [RecordID]
    /// The save policy.
    public var savePolicy: SavePolicy
    /// True to save and delete all records of a zone or none. Only custom zones support this: it is ignored in the
    /// public database and in default zones. The operation fails with `limitExceeded`, and sends nothing, if a zone has
    /// more than 200 changes.
    public var isAtomic: Bool
    /// Records that an earlier operation sent and whose answer is missing.
    var unanswered: Set<RecordID> = []

    /// Creates an operation that saves and deletes records in any zones.
    public init(
        saving recordsToSave: [Record] = [], deleting recordIDsToDelete: [RecordID] = [],
        savePolicy: SavePolicy = .ifServerRecordUnchanged,
        isAtomic: Bool = true
    ) {
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
        self.savePolicy = savePolicy
        self.isAtomic = isAtomic
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        let changes = recordsToSave.map(ChangeSender.Change.save) + recordIDsToDelete.map(ChangeSender.Change.delete)
        var seen: Set<RecordID> = []
        for recordID in changes.map(\.recordID) where !seen.insert(recordID).inserted {
            throw OperationError(.invalidArguments, "The record '\(recordID.recordName)' is in the operation twice")
        }
        let zones = changes.byZone(\.recordID.zoneID).map { zoneID, changes in
            let isAtomic = isAtomic && context.scope != .public && !zoneID.isDefault
            let sender = ChangeSender(
                zoneID: zoneID, savePolicy: savePolicy, isAtomic: isAtomic, unanswered: unanswered, context: context,
                deliver: deliver)
            return (sender: sender, changes: changes)
        }
        for zone in zones { try zone.sender.checkSize(of: zone.changes) }
        var errors: [OperationError.Item: OperationError] = [:]
        for zone in zones { errors.merge(try await zone.sender.send(zone.changes)) { first, _ in first } }
        if !errors.isEmpty { throw .partialFailure(errors) }
    }
}
