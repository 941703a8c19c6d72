public import CloudKitClient
public import Foundation
public import Records
internal import Synchronization

/// A database of a container. A value: copies with other configurations share the connections.
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

    /// The same database with a configuration for the operations that are added here. Properties that it leaves out
    /// come from the group.
    public func configured(
        _ configuration: OperationConfiguration = OperationConfiguration(), group: OperationGroup? = nil
    ) -> Database {
        var database = self
        database.configuration = configuration.or(self.configuration)
        database.group = group ?? self.group
        return database
    }

    /// Adds an operation, which begins at once or after others.
    /// - Parameters:
    ///   - operation: the operation to run.
    ///   - dependencies: the operation begins when they have ended, in whatever way.
    ///   - onEvent: takes each event. The operation waits for it.
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

    /// The events of an operation. It begins with the first one that is asked for.
    public func events<Operation: DatabaseOperation>(
        of operation: Operation, after dependencies: [any OperationDependency] = []
    ) -> OperationEvents<Operation> {
        OperationEvents { onEvent in add(operation, after: dependencies, onEvent) }
    }

    /// Runs an operation. It is cancelled with the task.
    /// - Throws: ``OperationError``.
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

    /// The same database for calls that somebody waits for.
    var waitedFor: Database {
        configured(OperationConfiguration(qualityOfService: settings.qualityOfService ?? .userInitiated))
    }

    private var settings: OperationConfiguration { configuration.or(group?.defaultConfiguration) }

    /// Starts the work of an operation.
    func start<Output: Sendable>(
        _ operationID: String, after dependencies: [any OperationDependency], steps: OperationSteps? = nil,
        _ work: @escaping @Sendable (OperationContext) async throws(OperationError) -> Output
    ) -> OperationHandle<Output> {
        let settings = settings
        let qualityOfService = settings.qualityOfService ?? .utility
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

// Calls for one thing at a time, on top of the operations. Calls for single items throw the item's error; calls for
// several have a result for each, and throw only errors of the whole. Each is cancelled with its task.

extension Database {
    /// The outcomes of ``modifyRecords(saving:deleting:savePolicy:atomically:)``.
    public typealias ModifyResults = (
        saveResults: [RecordID: Result<Record, OperationError>], deleteResults: [RecordID: Result<Void, OperationError>]
    )

    /// A page of ``records(matching:inZoneWith:desiredKeys:resultsLimit:)``: records in the order of the query, and a
    /// cursor, which is `nil` after the last page. The ID is `nil` if the server does not tell which record it could
    /// not read.
    public typealias QueryResults = (
        matchResults: [(recordID: RecordID?, result: Result<Record, OperationError>)], queryCursor: QueryRecords.Cursor?
    )

    /// A page of ``recordZoneChanges(inZoneWith:since:desiredKeys:resultsLimit:)``.
    public struct RecordZoneChanges: Sendable {
        /// In the order of the feed.
        public var modifications: [(recordID: RecordID?, result: Result<Record, OperationError>)] = []
        /// The type is `nil` if the server does not tell it.
        public var deletions: [(recordID: RecordID, recordType: Name?)] = []
        /// The token for the next page, or the next fetch.
        public var changeToken: SyncToken
        /// True if there is another page.
        public var moreComing: Bool
    }

    /// A page of ``databaseChanges(since:resultsLimit:)``.
    public struct DatabaseChanges: Sendable, Hashable {
        /// The zones that were made or changed.
        public var modifications: [ZoneID] = []
        /// The zones that were deleted.
        public var deletions: [ZoneID] = []
        /// The token for the next page, or the next fetch.
        public var changeToken: SyncToken
        /// True if there is another page.
        public var moreComing: Bool
    }

    // MARK: Records

    /// Fetches a record.
    /// - Throws: ``OperationError``: `unknownItem` if it does not exist.
    public func record(for recordID: RecordID, desiredKeys: Set<Name>? = nil) async throws(OperationError) -> Record {
        try await only(records(for: [recordID], desiredKeys: desiredKeys)[recordID])
    }

    /// Fetches records.
    public func records(
        for recordIDs: [RecordID], desiredKeys: Set<Name>? = nil
    ) async throws(OperationError) -> [RecordID: Result<Record, OperationError>] {
        try await collect(FetchRecords(recordIDs, desiredKeys: desiredKeys), into: [:]) { results, event in
            if case .fetched(let recordID, let result) = event { results[recordID] = result }
        }
    }

    /// Saves a record if nobody else saved it since it was fetched.
    /// - Returns: the record with its new change tag.
    /// - Throws: ``OperationError``: `serverRecordChanged` with the three versions.
    @discardableResult
    public func save(_ record: Record) async throws(OperationError) -> Record {
        try await only(modifyRecords(saving: [record]).saveResults[record.recordID])
    }

    /// Deletes a record. Deleting one that does not exist succeeds.
    public func deleteRecord(withID recordID: RecordID) async throws(OperationError) {
        try await only(modifyRecords(deleting: [recordID]).deleteResults[recordID])
    }

    /// Saves and deletes records.
    public func modifyRecords(
        saving records: [Record] = [], deleting recordIDs: [RecordID] = [],
        savePolicy: ModifyRecords.SavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true
    ) async throws(OperationError) -> ModifyResults {
        let operation = ModifyRecords(
            saving: records, deleting: recordIDs, savePolicy: savePolicy, isAtomic: atomically)
        return try await collect(operation, into: ([:], [:]) as ModifyResults) { results, event in
            switch event {
            case .progress: break
            case .saved(let recordID, let result): results.saveResults[recordID] = result
            case .deleted(let recordID, let result): results.deleteResults[recordID] = result
            }
        }
    }

    /// Gets the first page of a query.
    /// - Parameters:
    ///   - query: the condition and the order.
    ///   - zoneID: `nil` for all zones; the shared database requires one.
    ///   - desiredKeys: `nil` for all keys, empty for none.
    ///   - resultsLimit: the number of records; `nil` for what the server gives at once.
    public func records(
        matching query: Query, inZoneWith zoneID: ZoneID? = nil, desiredKeys: Set<Name>? = nil, resultsLimit: Int? = nil
    ) async throws(OperationError) -> QueryResults {
        try await page(QueryRecords(query, in: zoneID, desiredKeys: desiredKeys, resultsLimit: resultsLimit))
    }

    /// Gets the page after another one.
    public func records(
        continuingMatchFrom cursor: QueryRecords.Cursor, desiredKeys: Set<Name>? = nil, resultsLimit: Int? = nil
    ) async throws(OperationError) -> QueryResults {
        try await page(QueryRecords(continuing: cursor, desiredKeys: desiredKeys, resultsLimit: resultsLimit))
    }

    private func page(_ operation: QueryRecords) async throws(OperationError) -> QueryResults {
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

    // MARK: Zones

    /// All zones.
    public func allRecordZones() async throws(OperationError) -> [ReceivedZone] {
        try await collect(FetchRecordZones(), into: []) { zones, event in
            if case .fetched(_, .success(let zone)) = event { zones.append(zone) }
        }
    }

    /// Fetches zones.
    public func recordZones(for zoneIDs: [ZoneID]) async throws(OperationError) -> [ZoneID: Result<
        ReceivedZone, OperationError
    >] {
        try await collect(FetchRecordZones(zoneIDs), into: [:]) { zones, event in
            if case .fetched(let zoneID, let result) = event { zones[zoneID] = result }
        }
    }

    /// Fetches a zone.
    /// - Throws: ``OperationError``: `zoneNotFound` if it does not exist.
    public func recordZone(for zoneID: ZoneID) async throws(OperationError) -> ReceivedZone {
        try await only(recordZones(for: [zoneID])[zoneID])
    }

    /// Creates a zone. One that exists stays as it is.
    @discardableResult
    public func save(_ zoneID: ZoneID) async throws(OperationError) -> ReceivedZone {
        try await only(modifyRecordZones(saving: [zoneID]).saveResults[zoneID])
    }

    /// Deletes a zone with all its records.
    public func deleteRecordZone(withID zoneID: ZoneID) async throws(OperationError) {
        try await only(modifyRecordZones(deleting: [zoneID]).deleteResults[zoneID])
    }

    /// The outcomes of ``modifyRecordZones(saving:deleting:)``.
    public typealias ModifyZoneResults = (
        saveResults: [ZoneID: Result<ReceivedZone, OperationError>],
        deleteResults: [ZoneID: Result<Void, OperationError>]
    )

    /// Creates and deletes zones.
    public func modifyRecordZones(
        saving zoneIDsToSave: [ZoneID] = [], deleting zoneIDsToDelete: [ZoneID] = []
    ) async throws(OperationError) -> ModifyZoneResults {
        try await collect(
            ModifyRecordZones(saving: zoneIDsToSave, deleting: zoneIDsToDelete), into: ([:], [:]) as ModifyZoneResults
        ) { results, event in
            switch event {
            case .saved(let zoneID, let result): results.saveResults[zoneID] = result
            case .deleted(let zoneID, let result): results.deleteResults[zoneID] = result
            }
        }
    }

    // MARK: Changes

    /// Gets one page of the changes in a zone.
    /// - Parameters:
    ///   - zoneID: the zone to fetch.
    ///   - token: of the page before, or the last one of an earlier fetch; `nil` for what exists now, without
    ///     deletions.
    ///   - desiredKeys: `nil` for all keys, empty for none.
    ///   - resultsLimit: the number of changes; `nil` for the server's choice.
    /// - Throws: ``OperationError``: `changeTokenExpired` if the zone must be fetched anew without a token;
    ///   `zoneNotFound`.
    public func recordZoneChanges(
        inZoneWith zoneID: ZoneID, since token: SyncToken? = nil, desiredKeys: Set<Name>? = nil,
        resultsLimit: Int? = nil
    ) async throws(OperationError) -> RecordZoneChanges {
        struct Page: Sendable {
            var changes = RecordZoneChanges(changeToken: SyncToken(""), moreComing: false)
            var end: Result<FetchDatabaseChanges.Output, OperationError>?
        }
        let pull = ZonePull(zoneID, since: token, limit: resultsLimit, desiredKeys: desiredKeys)
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

    /// Gets one page of the zones that changed.
    public func databaseChanges(since token: SyncToken? = nil, resultsLimit: Int? = nil) async throws(OperationError)
        -> DatabaseChanges
    {
        let zones = Mutex<(changed: [ZoneID], deleted: [ZoneID])>(([], []))
        let end = try await waitedFor.perform(
            FetchDatabaseChanges(since: token, resultsLimit: resultsLimit, fetchesAllChanges: false)
        ) { event in
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

    /// Downloads a file of a record that was fetched.
    /// - Parameters:
    ///   - file: the file of a field.
    ///   - url: the place for its bytes. A file that is there is replaced.
    ///   - progress: takes the number of bytes so far. It must be quick.
    /// - Throws: ``OperationError``: `assetNotAvailable` if its address has expired; fetch the record again.
    public func download(
        _ file: AssetFile, to url: URL, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(OperationError) {
        try await waitedFor.perform(DownloadFile(file: file, url: url, progress: progress))
    }

    // MARK: Results

    /// Runs an operation, and collects its events. Errors of single items are among them.
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

    func only<Value>(_ result: Result<Value, OperationError>?) throws(OperationError) -> Value {
        guard let result else { throw OperationError(.internalError, "The operation ended without a result") }
        return try result.get()
    }
}

/// The download of one file as an operation, so that it waits for its turn.
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
