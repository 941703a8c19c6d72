public import Foundation
internal import GRDB
public import Records
internal import Synchronization

/// A local copy of a private or shared database in one SQLite file. Programs read and change it at any time. A
/// ``SyncEngine`` synchronizes it with the database.
///
/// `save` returns after the file contains the change and the note to send it. A page of fetched changes is stored in
/// one transaction with the change token after it. So the program may be killed at any moment.
public final class RecordCache: Sendable {
    /// A conflict of a local change with a change on the server.
    public enum Meeting: Sendable {
        /// The record was changed both locally and on the server.
        case changed(OperationError.Conflict)
        /// The record was changed locally and deleted on the server.
        case deleted(Record)
    }

    /// Resolves the conflict of a local change. It runs in a transaction, so it must return quickly.
    /// - Returns: the record to save; `nil` to accept the server's version. If the record is based on another version
    ///   than the server's, its changed keys are applied to the server's version.
    public typealias Resolver = @Sendable (Meeting) -> Record?

    /// The engine that synchronizes the cache. The app may use its state and call its methods.
    public let engine: SyncEngine
    private let app: CacheDelegate

    /// Opens the file, and creates it if necessary. Only the user who runs the program can read a new file. Only one
    /// cache of one process at a time can have the file open.
    /// - Parameters:
    ///   - file: the SQLite file. Use one file for each database.
    ///   - database: a private or shared database.
    ///   - user: the ID of the signed-in user's record, if the app knows it. If the file is another user's, their
    ///     records give way at once. Without it, the engine asks the server at the next sync, and changes that are made
    ///     before belong to the previous user.
    ///   - resolver: resolves conflicts. By default, locally changed keys replace those of the server, other keys come
    ///     from the server, and a deletion on the server is accepted.
    /// - Throws: ``OperationError`` if the file can't be opened, or if another cache still has it open after 2 seconds;
    ///   for the public database, which has no feed. ``UnreadableRecord`` for a file of a later version.
    public convenience init(
        _ file: URL, of database: Database, user: RecordID? = nil,
        resolver: @escaping Resolver = RecordCache.mergingKeys
    ) async throws {
        try await self.init(file, of: database, user: user, resolver: resolver) { $0 }
    }

    /// - Parameter delegate: receives the engine's events, and passes them on to the cache.
    init(
        _ file: URL, of database: Database, user: RecordID? = nil, resolver: @escaping Resolver,
        _ delegate: (CacheDelegate) -> any SyncEngineDelegate
    ) async throws {
        app = try await CacheDelegate(file, resolver)
        engine = try SyncEngine(database, try await app.storedState(), parentsFirst: false, .kept(delegate(app)))
        if let user { try await app.change(engine, to: user) }
    }

    /// Resolves a conflict: applies the locally changed keys to the server's version, and accepts deletions.
    public static func mergingKeys(_ meeting: Meeting) -> Record? {
        guard case .changed(let conflict) = meeting else { return nil }
        return conflict.merged
    }

    // MARK: Reading

    /// The record with its unsent local changes; `nil` if the cache does not have it or if it was deleted locally.
    public func record(for recordID: RecordID) async throws -> Record? {
        try await app.queue.read { try CachedRecords($0).record(recordID) }
    }

    /// All records of a type in a zone, sorted by name.
    public func records(ofType recordType: Name, in zoneID: ZoneID) async throws -> [Record] {
        try await app.queue.read { try CachedRecords($0).records(ofType: recordType, in: zoneID) }
    }

    /// The number of records of a type in a zone. No record is read for it.
    public func count(ofType recordType: Name, in zoneID: ZoneID) async throws -> Int {
        try await app.queue.read { try CachedRecords($0).count(ofType: recordType, in: zoneID) }
    }

    /// A stream of all records of a type in a zone, sorted by name: as they are now, and after each transaction that
    /// changed any of them. A listener that is slow misses versions in between. The stream ends with the cache.
    ///
    /// Each element is read as a whole. Filter and sort it as any array.
    /// - Throws: in the loop, an error of SQLite.
    public func updates(ofType recordType: Name, in zoneID: ZoneID) -> AsyncThrowingStream<[Record], any Error> {
        let (queue, changes) = (app.queue, app.signals.listen())
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: [Record].self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            do {
                var last: [Record]?
                var changes = changes.makeAsyncIterator()
                repeat {
                    let records = try await queue.read { try CachedRecords($0).records(ofType: recordType, in: zoneID) }
                    if records != last { continuation.yield(records) }
                    last = records
                } while await changes.next() != nil
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// The IDs of records whose change the server refused, with the reasons. An entry remains until the record changes
    /// on the server. Saving the record locally sends it again.
    public func refusals() async throws -> [RecordID: String] {
        try await app.queue.read { try CachedRecords($0).refusals() }
    }

    /// A stream with one element after each transaction that changed records, from now on. It ends with the cache.
    public func updates() -> AsyncStream<Void> { app.signals.listen() }

    /// A stream of the engine's events, except updates of its state, from now on. The file has the changes of an event
    /// when it arrives. All events are kept until they are taken. The stream ends with the cache.
    public func events() -> AsyncStream<SyncEngine.Event> { app.listen() }

    /// The unsent changes of users who signed out, or were followed by another user, by the ID of the user's record.
    ///
    /// When an account changes, the cache drops the records of the previous user. It keeps those that have unsent or
    /// refused changes. They are back, and are sent, when the cache is opened or synchronized for their user again.
    public func changesSetAside() async throws -> [RecordID: [PendingRecordZoneChange]] {
        try await app.queue.read { try CachedRecords($0).changesSetAside() }.reduce(into: [:]) { changes, pair in
            changes[RecordID(recordName: pair.key)] = pair.value.pending.all
        }
    }

    /// Discards the unsent changes of a user that are set aside.
    /// - Throws: like `save` of one record.
    public func discardChangesSetAside(of user: RecordID) async throws {
        try await app.write(engine) { try $0.discardChangesSetAside(of: user.recordName) }
    }

    /// Fetches records by a query before the changes of their zone are fetched: the newest ones, or those that the app
    /// shows first. Call it before the first ``sync()``. It has no effect on a zone that is already complete.
    ///
    /// The sync fetches the same records again in their latest version, and removes those that were deleted meanwhile.
    /// After ``SyncEngine/skipHistory(of:)``, prefetched records stay, and further queries can add records.
    /// - Returns: the cursor for the next page; `nil` after the last page.
    /// - Throws: ``OperationError``, also that of a record that the server could not read, after the others of the page
    ///   were stored; an error of SQLite.
    @discardableResult
    public func prefetch(_ query: Query, in zoneID: ZoneID, resultsLimit: Int? = nil) async throws -> QueryRecords
        .Cursor?
    {
        try await prefetch(in: zoneID) { database throws(OperationError) in
            try await database.records(matching: query, inZoneWith: zoneID, resultsLimit: resultsLimit)
        }
    }

    /// Fetches the page that follows a cursor.
    @discardableResult
    public func prefetch(continuing cursor: QueryRecords.Cursor, in zoneID: ZoneID, resultsLimit: Int? = nil)
        async throws -> QueryRecords.Cursor?
    {
        try await prefetch(in: zoneID) { database throws(OperationError) in
            try await database.records(continuingMatchFrom: cursor, resultsLimit: resultsLimit)
        }
    }

    private func prefetch(
        in zoneID: ZoneID, _ page: @escaping @Sendable (Database) async throws(OperationError) -> Database.QueryResults
    ) async throws -> QueryRecords.Cursor? {
        let app = app
        // This must not run during a fetch: a record could be added after the zone is complete, and would stay although
        // it was deleted.
        return try await engine.alone { engine in
            try await engine.checkAccount()
            let (isComplete, isLasting) = engine.kept.withLock {
                ($0.isComplete(zoneID), $0.zonesWithoutHistory.contains(zoneID))
            }
            if isComplete { return nil }
            let results = try await page(engine.database)
            var records: [Record] = []
            var failure: OperationError?
            for (_, result) in results.matchResults {
                switch result {
                case .success(let record): records.append(record)
                case .failure(let error): failure = failure ?? error
                }
            }
            try await app.write(engine) { [records] cached in
                for record in records { try cached.add(record, isMarked: !isLasting) }
            }
            if let failure { throw failure }
            return results.queryCursor
        }
    }

    // MARK: Changing

    /// Stores a record. The next ``sync()`` sends it. Changes that were made in the cache since this copy was read are
    /// kept, except for keys that this copy changed.
    ///
    /// Read the record again after a sync: a copy of an older version causes a conflict, which costs more requests.
    /// Until the conflict is resolved, the unchanged keys have the values of the older version.
    /// - Throws: ``OperationError``: `invalidArguments` for a number that is infinite or not a number, for an empty name
    ///   of the record, its type or its zone, or for a parent in another zone; `assetFileNotFound` for a file that is
    ///   not on this machine. An error of SQLite, or an earlier error of the file.
    public func save(_ record: Record) async throws {
        try await save([record])
    }

    /// Stores all records or none.
    /// - Throws: like `save` of one record.
    public func save(_ changed: [Record]) async throws {
        if let error = changed.lazy.compactMap(\.unwritable).first { throw error }
        let engine = engine
        try await app.write(engine) { records in
            for record in changed {
                try records.set(records.record(record.recordID).map { record.adding(changesOf: $0) } ?? record)
            }
            engine.state.add(pendingRecordZoneChanges: changed.map { .saveRecord($0.recordID) })
        }
    }

    /// Deletes a record locally. The next ``sync()`` deletes it on the server.
    /// - Throws: like `save` of one record.
    public func delete(_ recordID: RecordID) async throws {
        try await delete([recordID])
    }

    /// Deletes all records or none.
    /// - Throws: like `save` of one record.
    public func delete(_ recordIDs: [RecordID]) async throws {
        let engine = engine
        try await app.write(engine) { records in
            for recordID in recordIDs { try records.hide(recordID) }
            engine.state.add(pendingRecordZoneChanges: recordIDs.map { .deleteRecord($0) })
        }
    }

    /// Creates or deletes a zone at the next ``sync()``. The records of a deleted zone disappear from the cache at
    /// once. They return if the server refuses the deletion, or if the zone is saved again before it was deleted on the
    /// server.
    /// - Throws: like `save` of one record.
    public func change(_ change: PendingDatabaseChange) async throws {
        let engine = engine
        try await app.write(engine) { records in
            switch change {
            case .deleteZone(let zoneID): try records.removeAll(in: zoneID)
            case .saveZone(let zoneID):
                // The server still has the zone with its records, unless the deletion is being sent.
                engine.kept.withLock {
                    if $0.pendingDatabaseChanges.contains(.deleteZone(zoneID)) { $0.fetchAnew(zoneID) }
                }
            }
            engine.state.add(pendingDatabaseChanges: [change])
        }
    }

    /// Fetches changes and sends local changes. An error of one zone does not prevent sending.
    /// - Throws: ``OperationError``; this includes the error of a zone that the server refused to create or delete,
    ///   thrown after everything else was sent. An error of SQLite, after which the cache must be opened again.
    public func sync() async throws {
        try await engine.sync { try app.checkFile() }
        if let refusal = app.takeZoneRefusal() { throw refusal }
    }

    /// Synchronizes repeatedly until the task is cancelled, like ``SyncEngine/run(every:listening:)``.
    /// - Throws: the errors of that method, and the error of the file.
    public func run(every interval: Duration, listening: Bool = false) async throws {
        try await engine.run(every: interval, listening: listening) { try await sync() }
    }
}

extension Record {
    /// Applies the changes of this record to another version of it.
    func moved(onto server: Record) -> Record {
        var record = server
        for key in changedKeys { record[content: key] = fields[key] }
        record.takeRelations(from: self)
        return record
    }

    /// Takes the parent and the participants of another version of the record, if they were changed there.
    mutating func takeRelations(from other: Record) {
        if other.parentHasChanged { setParent(other.parentID) }
        if other.replacedSharing != nil { sharing = other.sharing }
    }

    /// A copy of the record with all its values as changes, as if it had never been saved.
    var madeAnew: Record {
        var record = Record(recordType: recordType, recordID: recordID)
        for (key, content) in fields { record[content: key] = content }
        record.setParent(parentID)
        record.sharing = sharing
        return record
    }

    /// This copy with the unsent changes of the cache, except for keys that this copy changed. If the copy has an older
    /// version, the server reports a conflict, and all changes are applied to the server's version.
    func adding(changesOf waiting: Record) -> Record {
        // A copy without changes must not replace the cached record with an older version.
        if !hasChanges { return waiting }
        // The copy is of an earlier record with the same name. That record no longer exists on the server, which would
        // refuse the copy.
        if waiting.recordChangeTag == nil, recordChangeTag != nil { return moved(onto: waiting) }
        var record = self
        for key in waiting.changedKeys where !changedKeys.contains(key) { record[content: key] = waiting.fields[key] }
        if waiting.parentHasChanged, !parentHasChanged { record.setParent(waiting.parentID) }
        if waiting.replacedSharing != nil, replacedSharing == nil { record.sharing = waiting.sharing }
        return record
    }

    /// Returns whether the server's content is the one that was sent. A sent file has a receipt afterwards.
    /// - Parameter filesMayDiffer: true if the file at the same place may have been replaced.
    static func isSent(_ content: FieldContent?, as sent: FieldContent?, filesMayDiffer: Bool) -> Bool {
        guard let content, let sent else { return content == nil && sent == nil }
        if content == sent { return true }
        guard !filesMayDiffer, content.files.count == sent.files.count, !content.files.isEmpty else { return false }
        return zip(content.files, sent.files).allSatisfy { $0.asset == nil && $0.fileURL == $1.fileURL }
    }
}
