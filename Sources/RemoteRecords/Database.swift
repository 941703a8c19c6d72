public import CloudKitClient
public import Foundation
public import Records
internal import Synchronization

/// A public, private or shared database of a container. A struct: copies with other configurations share the
/// connections.
public struct Database: Sendable {
    /// The container of the database.
    public let container: Container
    /// Public, private or shared.
    public let scope: DatabaseScope
    private var configuration = OperationConfiguration()
    private var group: OperationGroup?

    init(_ container: Container, _ scope: DatabaseScope) {
        self.container = container
        self.scope = scope
    }

    /// Returns the same database with a configuration for operations that are added to it. Properties that are `nil`
    /// come from the group.
    public func configured(
        _ configuration: OperationConfiguration = OperationConfiguration(), group: OperationGroup? = nil
    ) -> Database {
        var database = self
        database.configuration = configuration.or(self.configuration)
        database.group = group ?? self.group
        return database
    }

    /// Adds an operation. It begins at once, or when its dependencies have ended.
    /// - Parameters:
    ///   - operation: the operation to run.
    ///   - dependencies: the operations to wait for. The operation begins when all of them have finished, failed or
    ///     been cancelled.
    ///   - onEvent: receives each event. The operation waits until it returns.
    @discardableResult
    public func add<Operation: DatabaseOperation>(
        _ operation: Operation, after dependencies: [any OperationDependency] = [],
        _ onEvent: @escaping @Sendable (Operation.Event) async -> Void = { _ in }
    ) -> OperationHandle<Operation.Output> {
        start(UUID().uuidString, after: dependencies) { context async throws(OperationError) -> Operation.Output in
            if Task.isCancelled { throw .cancelled }
            return try await operation.run(in: context, onEvent)
        }
    }

    /// Returns the events of an operation. The operation begins when the first event is requested. The loop throws
    /// ``OperationError``.
    public func events<Operation: DatabaseOperation>(
        of operation: Operation, after dependencies: [any OperationDependency] = []
    ) -> OperationEvents<Operation> {
        OperationEvents { onEvent in add(operation, after: dependencies, onEvent) }
    }

    /// Runs an operation and waits for its output. Cancelling the task cancels the operation.
    public func perform<Operation: DatabaseOperation>(
        _ operation: Operation, _ onEvent: @escaping @Sendable (Operation.Event) async -> Void = { _ in }
    ) async throws(OperationError) -> Operation.Output {
        let handle = add(operation, onEvent)
        return try await withTaskCancellationHandler {
            await handle.result
        } onCancel: {
            handle.cancel()
        }.get()
    }

    /// The same database, configured for calls that a user waits for.
    var waitedFor: Database {
        configured(OperationConfiguration(qualityOfService: settings.chosenQuality ?? .userInitiated))
    }

    private var settings: OperationConfiguration { configuration.or(group?.defaultConfiguration) }

    /// Starts the work of an operation.
    func start<Output: Sendable>(
        _ operationID: String, after dependencies: [any OperationDependency], steps: OperationSteps? = nil,
        _ work: @escaping @Sendable (OperationContext) async throws(OperationError) -> Output
    ) -> OperationHandle<Output> {
        let settings = settings
        let qualityOfService = settings.chosenQuality ?? .utility
        let rank = container.scheduler.rank(qualityOfService, settings.queuePriority ?? .normal)
        return OperationHandle(operationID: operationID, priority: qualityOfService.taskPriority) {
            for dependency in dependencies { await dependency.finished() }
            do throws(OperationError) {
                let output = try await work(
                    OperationContext(operationID: operationID, scope, container, rank, settings, steps: steps))
                return .success(output)
            } catch {
                return .failure(error)
            }
        }
    }
}

// MARK: - Calls

// Calls on top of the operations. A call for a single item throws the error of that item. A call for several items
// returns a result for each, and throws only if the request as a whole fails. Cancelling the task cancels the call.

/// The calls of a ``Database`` for records, zones and changes. An app that takes `any DatabaseCalls` can be tested with
/// a type of its own instead of a database: the methods here get operations as values, and all other calls are built on
/// them.
public protocol DatabaseCalls: Sendable {
    /// Fetches records. Each ID of the operation has a result.
    func results(of operation: FetchRecords) async throws(OperationError) -> Database.FetchResults
    /// Saves and deletes records. Each has a result.
    func results(of operation: ModifyRecords) async throws(OperationError) -> Database.ModifyResults
    /// Fetches a page of a query.
    func page(of operation: QueryRecords) async throws(OperationError) -> Database.QueryResults
    /// Fetches zones, or all zones if the operation has no IDs. Each has a result.
    func results(of operation: FetchRecordZones) async throws(OperationError) -> Database.FetchZoneResults
    /// Creates and deletes zones. Each has a result.
    func results(of operation: ModifyRecordZones) async throws(OperationError) -> Database.ModifyZoneResults
    /// Fetches a page of the changes in the zone of a pull.
    func page(of pull: ZonePull) async throws(OperationError) -> Database.RecordZoneChanges
    /// Fetches a page of the zones that changed.
    func page(of operation: FetchDatabaseChanges) async throws(OperationError) -> Database.DatabaseChanges
}

extension Database: DatabaseCalls {
    /// The outcomes of `records(for:desiredKeys:)`.
    public typealias FetchResults = [RecordID: Result<Record, OperationError>]

    /// The outcomes of ``DatabaseCalls/modifyRecords(saving:deleting:savePolicy:atomically:)``.
    public typealias ModifyResults = (
        saveResults: [RecordID: Result<Record, OperationError>], deleteResults: [RecordID: Result<Void, OperationError>]
    )

    /// A page of `records(matching:inZoneWith:desiredKeys:resultsLimit:)`: records in the order of the
    /// query, and a cursor, which is `nil` after the last page. The ID is `nil` if the server could not read a record
    /// and does not name it.
    public typealias QueryResults = (
        matchResults: [(recordID: RecordID?, result: Result<Record, OperationError>)], queryCursor: QueryRecords.Cursor?
    )

    /// The outcomes of ``DatabaseCalls/recordZones(for:)``, in the order of the IDs.
    public typealias FetchZoneResults = [(zoneID: ZoneID, result: Result<ReceivedZone, OperationError>)]

    /// The outcomes of `modifyRecordZones(saving:deleting:)`.
    public typealias ModifyZoneResults = (
        saveResults: [ZoneID: Result<ReceivedZone, OperationError>],
        deleteResults: [ZoneID: Result<Void, OperationError>]
    )

    /// A page of `recordZoneChanges(inZoneWith:since:desiredKeys:resultsLimit:)`.
    public struct RecordZoneChanges: Sendable {
        /// The saved records, in the order of the feed. The ID is `nil` if the server could not read a record and does
        /// not name it.
        public var modifications: [(recordID: RecordID?, result: Result<Record, OperationError>)] = []
        /// The deleted records. The type is `nil` if the server does not report it.
        public var deletions: [(recordID: RecordID, recordType: Name?)] = []
        /// The change token for the next page or the next fetch.
        public var changeToken: SyncToken
        /// True if there is another page.
        public var moreComing: Bool

        /// Creates a page, by default one without changes.
        public init(
            modifications: [(recordID: RecordID?, result: Result<Record, OperationError>)] = [],
            deletions: [(recordID: RecordID, recordType: Name?)] = [], changeToken: SyncToken, moreComing: Bool = false
        ) {
            self.modifications = modifications
            self.deletions = deletions
            self.changeToken = changeToken
            self.moreComing = moreComing
        }
    }

    /// A page of ``DatabaseCalls/databaseChanges(since:resultsLimit:)``.
    public struct DatabaseChanges: Sendable, Hashable {
        /// The zones that were created or changed.
        public var modifications: [ZoneID] = []
        /// The zones that were deleted.
        public var deletions: [ZoneID] = []
        /// The change token for the next page or the next fetch.
        public var changeToken: SyncToken
        /// True if there is another page.
        public var moreComing: Bool

        /// Creates a page, by default one without changes.
        public init(
            modifications: [ZoneID] = [], deletions: [ZoneID] = [], changeToken: SyncToken, moreComing: Bool = false
        ) {
            self.modifications = modifications
            self.deletions = deletions
            self.changeToken = changeToken
            self.moreComing = moreComing
        }
    }

    public func results(of operation: FetchRecords) async throws(OperationError) -> FetchResults {
        try await collect(operation, into: [:]) { results, event in
            if case .fetched(let recordID, let result) = event { results[recordID] = result }
        }
    }

    public func results(of operation: ModifyRecords) async throws(OperationError) -> ModifyResults {
        try await collect(operation, into: ([:], [:]) as ModifyResults) { results, event in
            switch event {
            case .progress: break
            case .saved(let recordID, let result): results.saveResults[recordID] = result
            case .deleted(let recordID, let result): results.deleteResults[recordID] = result
            }
        }
    }

    public func page(of operation: QueryRecords) async throws(OperationError) -> QueryResults {
        let found = Mutex<QueryResults>(([], nil))
        let cursor = try await waitedFor.perform(operation) { event in
            if case .matched(let recordID, let result) = event {
                found.withLock { $0.matchResults.append((recordID, result)) }
            }
        }
        return found.withLock { results in
            results.queryCursor = cursor
            return results
        }
    }

    public func results(of operation: FetchRecordZones) async throws(OperationError) -> FetchZoneResults {
        try await collect(operation, into: [] as FetchZoneResults) { results, event in
            if case .fetched(let zoneID, let result) = event { results.append((zoneID, result)) }
        }
    }

    public func results(of operation: ModifyRecordZones) async throws(OperationError) -> ModifyZoneResults {
        try await collect(operation, into: ([:], [:]) as ModifyZoneResults) { results, event in
            switch event {
            case .saved(let zoneID, let result): results.saveResults[zoneID] = result
            case .deleted(let zoneID, let result): results.deleteResults[zoneID] = result
            }
        }
    }

    public func page(of pull: ZonePull) async throws(OperationError) -> RecordZoneChanges {
        struct Page: Sendable {
            var changes = RecordZoneChanges(changeToken: SyncToken(""))
            var end: Result<FetchDatabaseChanges.Output, OperationError>?
        }
        var page = try await collect(FetchRecordZoneChanges([pull], fetchesAllChanges: false), into: Page()) {
            page, event in
            switch event {
            case .changed(let recordID, let result): page.changes.modifications.append((recordID, result))
            case .deleted(let recordID, let recordType): page.changes.deletions.append((recordID, recordType))
            case .tokenUpdated: break
            case .zoneFinished(_, let end): page.end = end
            }
        }
        let end = try only(page.end)
        page.changes.changeToken = end.changeToken
        page.changes.moreComing = end.moreComing
        return page.changes
    }

    public func page(of operation: FetchDatabaseChanges) async throws(OperationError) -> DatabaseChanges {
        var operation = operation
        operation.fetchesAllChanges = false
        let zones = Mutex<(changed: [ZoneID], deleted: [ZoneID])>(([], []))
        let end = try await waitedFor.perform(operation) { event in
            switch event {
            case .zoneChanged(let zoneID): zones.withLock { $0.changed.append(zoneID) }
            case .zoneDeleted(let zoneID): zones.withLock { $0.deleted.append(zoneID) }
            case .tokenUpdated: break
            }
        }
        let (changed, deleted) = zones.withLock { $0 }
        return DatabaseChanges(
            modifications: changed, deletions: deleted, changeToken: end.changeToken, moreComing: end.moreComing)
    }

    /// Runs an operation and collects its events, including the errors of single items.
    func collect<Operation: DatabaseOperation, Results: Sendable>(
        _ operation: Operation, into results: Results,
        _ add: @escaping @Sendable (inout Results, Operation.Event) -> Void
    ) async throws(OperationError) -> Results {
        let collected = Mutex(results)
        do throws(OperationError) {
            _ = try await waitedFor.perform(operation) { event in collected.withLock { add(&$0, event) } }
        } catch {
            guard error.code == .partialFailure else { throw error }
        }
        return collected.withLock { $0 }
    }
}

extension DatabaseCalls {
    // MARK: Records

    /// Fetches a record by its ID.
    /// - Throws: ``OperationError``: `unknownItem` if the record does not exist.
    public func record(for recordID: RecordID, desiredKeys: Set<Name>? = nil) async throws(OperationError) -> Record {
        try await only(records(for: [recordID], desiredKeys: desiredKeys)[recordID])
    }

    /// Fetches records by their IDs. Each ID has its own result.
    public func records(
        for recordIDs: [RecordID], desiredKeys: Set<Name>? = nil
    ) async throws(OperationError) -> Database.FetchResults {
        try await results(of: FetchRecords(recordIDs, desiredKeys: desiredKeys))
    }

    /// Saves a record, unless another client saved it since it was fetched.
    /// - Returns: the record with its new change tag.
    /// - Throws: ``OperationError``: `serverRecordChanged` with the three versions of the record.
    @discardableResult
    public func save(_ record: Record) async throws(OperationError) -> Record {
        try await only(modifyRecords(saving: [record]).saveResults[record.recordID])
    }

    /// Deletes a record. Deleting a record that does not exist succeeds.
    /// - Returns: the ID of the record.
    @discardableResult
    public func deleteRecord(withID recordID: RecordID) async throws(OperationError) -> RecordID {
        try await only(modifyRecords(deleting: [recordID]).deleteResults[recordID])
        return recordID
    }

    /// Saves and deletes records. Each has its own result.
    /// - Throws: ``OperationError``: `limitExceeded` for more than 200 changes of a zone that are to be made atomically.
    ///   Divide them, or pass `false`.
    public func modifyRecords(
        saving records: [Record] = [], deleting recordIDs: [RecordID] = [],
        savePolicy: ModifyRecords.SavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true
    ) async throws(OperationError) -> Database.ModifyResults {
        try await results(
            of: ModifyRecords(
                saving: records, deleting: recordIDs, savePolicy: savePolicy, isAtomic: atomically))
    }

    /// Fetches the first page of a query.
    /// - Parameters:
    ///   - query: the record type, the filters and the sort order.
    ///   - zoneID: the zone to query; `nil` for all zones. The shared database requires a zone.
    ///   - desiredKeys: the keys to fetch; `nil` for all keys, empty for none.
    ///   - resultsLimit: the maximum number of records; `nil` for one page of the server's choice.
    public func records(
        matching query: Query, inZoneWith zoneID: ZoneID? = nil, desiredKeys: Set<Name>? = nil, resultsLimit: Int? = nil
    ) async throws(OperationError) -> Database.QueryResults {
        try await page(of: QueryRecords(query, in: zoneID, desiredKeys: desiredKeys, resultsLimit: resultsLimit))
    }

    /// Fetches the page that follows a cursor.
    public func records(
        continuingMatchFrom cursor: QueryRecords.Cursor, desiredKeys: Set<Name>? = nil, resultsLimit: Int? = nil
    ) async throws(OperationError) -> Database.QueryResults {
        try await page(of: QueryRecords(continuing: cursor, desiredKeys: desiredKeys, resultsLimit: resultsLimit))
    }

    // MARK: Zones

    /// Fetches all zones of the database.
    /// - Throws: ``OperationError``: `partialFailure` with the zones that could not be read. `results(of:)` has the
    ///   others too.
    public func allRecordZones() async throws(OperationError) -> [ReceivedZone] {
        var zones: [ReceivedZone] = []
        var errors: [OperationError.Item: OperationError] = [:]
        for (zoneID, result) in try await results(of: FetchRecordZones()) {
            switch result {
            case .success(let zone): zones.append(zone)
            case .failure(let error): errors[.zone(zoneID)] = error
            }
        }
        if !errors.isEmpty { throw .partialFailure(errors) }
        return zones
    }

    /// Fetches zones by their IDs. Each ID has its own result.
    public func recordZones(for zoneIDs: [ZoneID]) async throws(OperationError) -> [ZoneID: Result<
        ReceivedZone, OperationError
    >] {
        let results = try await results(of: FetchRecordZones(zoneIDs))
        return Dictionary(results.map { ($0.zoneID, $0.result) }) { _, last in last }
    }

    /// Fetches a zone by its ID.
    /// - Throws: ``OperationError``: `zoneNotFound` if the zone does not exist.
    public func recordZone(for zoneID: ZoneID) async throws(OperationError) -> ReceivedZone {
        try await only(recordZones(for: [zoneID])[zoneID])
    }

    /// Creates a zone. A zone that already exists does not change.
    @discardableResult
    public func save(_ zoneID: ZoneID) async throws(OperationError) -> ReceivedZone {
        try await only(modifyRecordZones(saving: [zoneID]).saveResults[zoneID])
    }

    /// Deletes a zone and all its records.
    /// - Returns: the ID of the zone.
    @discardableResult
    public func deleteRecordZone(withID zoneID: ZoneID) async throws(OperationError) -> ZoneID {
        try await only(modifyRecordZones(deleting: [zoneID]).deleteResults[zoneID])
        return zoneID
    }

    /// Creates and deletes zones. Each has its own result.
    public func modifyRecordZones(
        saving zoneIDsToSave: [ZoneID] = [], deleting zoneIDsToDelete: [ZoneID] = []
    ) async throws(OperationError) -> Database.ModifyZoneResults {
        try await results(of: ModifyRecordZones(saving: zoneIDsToSave, deleting: zoneIDsToDelete))
    }

    // MARK: Changes

    /// Fetches one page of the changes in a zone.
    /// - Parameters:
    ///   - zoneID: the zone to fetch.
    ///   - token: the token of the previous page or of an earlier fetch; `nil` for all records that exist now, without
    ///     deletions.
    ///   - desiredKeys: the keys to fetch; `nil` for all keys, empty for none.
    ///   - resultsLimit: the maximum number of changes; `nil` for the server's choice.
    /// - Throws: ``OperationError``: `changeTokenExpired` if the token has expired and the zone must be fetched again
    ///   without one; `zoneNotFound` if the zone does not exist.
    public func recordZoneChanges(
        inZoneWith zoneID: ZoneID, since token: SyncToken? = nil, desiredKeys: Set<Name>? = nil,
        resultsLimit: Int? = nil
    ) async throws(OperationError) -> Database.RecordZoneChanges {
        try await page(of: ZonePull(zoneID, since: token, limit: resultsLimit, desiredKeys: desiredKeys))
    }

    /// Fetches one page of the zones that changed.
    public func databaseChanges(since token: SyncToken? = nil, resultsLimit: Int? = nil) async throws(OperationError)
        -> Database.DatabaseChanges
    {
        try await page(of: FetchDatabaseChanges(since: token, resultsLimit: resultsLimit, fetchesAllChanges: false))
    }
}

extension Database {
    /// Downloads the file of an asset field of a fetched record.
    /// - Parameters:
    ///   - file: the file of a field.
    ///   - url: the destination. An existing file is replaced.
    ///   - progress: receives the number of bytes so far. It must return quickly.
    /// - Throws: ``OperationError``: `assetNotAvailable` if the download address has expired. Fetch the record again to
    ///   get a new one.
    public func download(
        _ file: AssetFile, to url: URL, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(OperationError) {
        try await waitedFor.perform(DownloadFile(file: file, url: url, progress: progress))
    }
}

/// The result of the only item of an operation.
func only<Value>(_ result: Result<Value, OperationError>?) throws(OperationError) -> Value {
    guard let result else { throw OperationError(.internalError, "The operation ended without a result") }
    return try result.get()
}

/// The download of one file as an operation, so that it waits for its turn in the request queue.
private struct DownloadFile: DatabaseOperation {
    typealias Event = Never

    let file: AssetFile
    let url: URL
    let progress: @Sendable (TransferProgress) -> Void

    func run(in context: OperationContext, _ deliver: @escaping @Sendable (Never) async -> Void)
        async throws(OperationError)
    {
        try await context.download(file, to: url, progress: progress)
    }
}
