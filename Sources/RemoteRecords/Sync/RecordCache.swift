public import Foundation
internal import GRDB
public import Records
internal import Synchronization

/// A local copy of a private or shared database in one SQLite file, which programs read and change at any time, and
/// which a ``SyncEngine`` keeps the same.
///
/// A change is in the file, with the note that it has to be sent, before `save` returns. A page of changes is stored in
/// one transaction with the position after it. So the program may be killed at any moment.
public final class RecordCache: Sendable {
    /// A local change that meets another one.
    public enum Meeting: Sendable {
        /// Both sides changed the record.
        case changed(OperationError.Conflict)
        /// The record that was changed here was deleted there.
        case deleted(Record)
    }

    /// Decides what becomes of a local change.
    /// - Returns: the record to save, whose changed keys are put on the server's version if it is another version;
    ///   `nil` for what the server has. It runs in a transaction, so it must be quick.
    public typealias Resolver = @Sendable (Meeting) -> Record?

    /// The engine that keeps the cache and the database the same. Its state and its calls are for the app, too.
    public let engine: SyncEngine
    private let app: CacheDelegate

    /// Opens the file, and creates it if necessary, for the user who runs the program. One cache at a time has it open,
    /// among all processes.
    /// - Parameters:
    ///   - file: the SQLite file. It belongs to one database.
    ///   - database: a private or shared database.
    ///   - resolver: by default the keys that were changed here win, the others come from the server, and a deletion
    ///     wins.
    /// - Throws: an error of SQLite; ``OperationError`` for the public database, which has no feed, and if the file
    ///   stays open elsewhere for 2 seconds.
    public convenience init(_ file: URL, of database: Database, resolver: @escaping Resolver = RecordCache.mergingKeys)
        async throws
    {
        try await self.init(file, of: database, resolver: resolver) { $0 }
    }

    /// - Parameter delegate: takes what the engine tells, and hands it on to the cache.
    init(
        _ file: URL, of database: Database, resolver: @escaping Resolver,
        _ delegate: (CacheDelegate) -> any SyncEngineDelegate
    ) async throws {
        app = try await CacheDelegate(file, resolver)
        engine = try SyncEngine(database, try await app.storedState(), parentsFirst: false, delegate: delegate(app))
    }

    /// Puts the changed keys on the server's version, and lets deletions win.
    public static func mergingKeys(_ meeting: Meeting) -> Record? {
        guard case .changed(let conflict) = meeting else { return nil }
        return conflict.clientRecord.moved(onto: conflict.serverRecord)
    }

    // MARK: Reading

    /// The record as it is here, with the changes that are not sent yet; `nil` for none, and for one that was deleted
    /// here.
    public func record(for recordID: RecordID) async throws -> Record? {
        try await app.queue.read { try CachedRecords($0).record(recordID) }
    }

    /// All records of a type, in the order of their names.
    public func records(ofType recordType: Name, in zoneID: ZoneID) async throws -> [Record] {
        try await app.queue.read { try CachedRecords($0).records(ofType: recordType, in: zoneID) }
    }

    /// The changes that the server refused, with its reason, until the record changes there. Saving the record again
    /// sends it again.
    public func refusals() async throws -> [RecordID: String] {
        try await app.queue.read { try CachedRecords($0).refusals() }
    }

    /// A signal after each transaction that changed records, from now on.
    public func updates() -> AsyncStream<Void> { app.signals.listen() }

    /// Gets records by a query before the history of their zone plays back: the newest ones, or those that the app
    /// shows first. Call it before the first ``sync()``. It does nothing for a zone that is complete.
    ///
    /// The sync brings the same records in their latest version, and drops those that were deleted meanwhile. After
    /// ``SyncEngine/skipHistory(of:)`` the records stay, and any number of queries brings what is wanted.
    /// - Returns: the way to the next page; `nil` after the last one.
    /// - Throws: ``OperationError``; an error of SQLite.
    @discardableResult
    public func prefetch(_ query: Query, in zoneID: ZoneID, resultsLimit: Int? = nil) async throws -> QueryRecords
        .Cursor?
    {
        try await prefetch(in: zoneID) { database throws(OperationError) in
            try await database.records(matching: query, inZoneWith: zoneID, resultsLimit: resultsLimit)
        }
    }

    /// The page after another one.
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
        // Not during a fetch: a record could come after the zone is complete, and stay although it was deleted.
        return try await engine.alone { engine in
            try await engine.checkAccount()
            let (isComplete, isLasting) = engine.kept.withLock {
                ($0.isComplete(zoneID), $0.zonesWithoutHistory.contains(zoneID))
            }
            if isComplete { return nil }
            let results = try await page(engine.database)
            let records = results.matchResults.compactMap { try? $0.result.get() }
            try await app.write(engine) { cached in
                for record in records { try cached.add(record, isMarked: !isLasting) }
            }
            return results.queryCursor
        }
    }

    // MARK: Changing

    /// Stores a record. It is sent with the next ``sync()``. Keys that were changed in the cache since this copy was
    /// read, and not in it, stay so.
    ///
    /// Read the record anew after a sync: a copy of an older version is a conflict, which costs more requests. Until
    /// that is settled, its other keys are those of the older version here.
    /// - Throws: ``OperationError`` `invalidArguments` for a number that is infinite or none at all; an error of
    ///   SQLite, or the one that broke the file earlier.
    public func save(_ record: Record) async throws {
        try await save([record])
    }

    /// Stores records, all or none.
    /// - Throws: as `save` of one record.
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

    /// Deletes a record here, and on the server with the next ``sync()``.
    /// - Throws: as `save` of one record.
    public func delete(_ recordID: RecordID) async throws {
        try await delete([recordID])
    }

    /// Deletes records, all or none.
    /// - Throws: as `save` of one record.
    public func delete(_ recordIDs: [RecordID]) async throws {
        let engine = engine
        try await app.write(engine) { records in
            for recordID in recordIDs { try records.hide(recordID) }
            engine.state.add(pendingRecordZoneChanges: recordIDs.map { .deleteRecord($0) })
        }
    }

    /// Creates or deletes a zone with the next ``sync()``. The records of a zone that is deleted go at once. They come
    /// again if the server refuses, or if the zone is saved before it was deleted there.
    /// - Throws: as `save` of one record.
    public func change(_ change: PendingDatabaseChange) async throws {
        let engine = engine
        try await app.write(engine) { records in
            switch change {
            case .deleteZone(let zoneID): try records.removeAll(in: zoneID)
            case .saveZone(let zoneID):
                // The server keeps the zone with its records, unless the deletion is on its way.
                engine.kept.withLock {
                    if $0.pendingDatabaseChanges.contains(.deleteZone(zoneID)) { $0.fetchAnew(zoneID) }
                }
            }
            engine.state.add(pendingDatabaseChanges: [change])
        }
    }

    /// Fetches and sends. A zone that can't be fetched keeps nothing from being sent.
    /// - Throws: ``OperationError``, also of a zone that the server refused to create or delete, once all else was
    ///   sent; an error of SQLite, after which the cache must be opened anew.
    public func sync() async throws {
        try await engine.sync { try app.checkFile() }
        if let refusal = app.takeZoneRefusal() { throw refusal }
    }

    /// Syncs again and again until the task is cancelled, as ``SyncEngine/run(every:listening:)``.
    /// - Throws: as it, and the error of the file.
    public func run(every interval: Duration, listening: Bool = false) async throws {
        try await engine.run(every: interval, listening: listening) { try await sync() }
    }
}

extension Record {
    /// The changes of this record on another version of it.
    func moved(onto server: Record) -> Record {
        var record = server
        for key in changedKeys { record[content: key] = fields[key] }
        if parentHasChanged { record.parent = parent }
        if replacedSharing != nil { record.sharing = sharing }
        return record
    }

    /// All of the record, as one that was never saved.
    var madeAnew: Record {
        var record = Record(recordType: recordType, recordID: recordID)
        for (key, content) in fields { record[content: key] = content }
        record.parent = parent
        record.sharing = sharing
        return record
    }

    /// This copy with the changes that wait to be sent, to keys that were not changed in it. If it is of an older
    /// version, the server finds a conflict, and all changes are put on its version.
    fileprivate func adding(changesOf waiting: Record) -> Record {
        // Nobody would send an older version.
        if !hasChanges { return waiting }
        // The copy is of an earlier record of this name. The server does not have that, and would refuse it with its
        // changes.
        if waiting.recordChangeTag == nil, recordChangeTag != nil { return moved(onto: waiting) }
        var record = self
        for key in waiting.changedKeys where !changedKeys.contains(key) { record[content: key] = waiting.fields[key] }
        if waiting.parentHasChanged, !parentHasChanged { record.parent = waiting.parent }
        if waiting.replacedSharing != nil, replacedSharing == nil { record.sharing = waiting.sharing }
        return record
    }

    /// True if a content was sent as another one: a file has its receipt then.
    /// - Parameter filesMayDiffer: true if the same place may have another file now.
    static func isSent(_ content: FieldContent?, as sent: FieldContent?, filesMayDiffer: Bool) -> Bool {
        guard let content, let sent else { return content == nil && sent == nil }
        if content == sent { return true }
        guard !filesMayDiffer, content.files.count == sent.files.count, !content.files.isEmpty else { return false }
        return zip(content.files, sent.files).allSatisfy { $0.asset == nil && $0.fileURL == $1.fileURL }
    }
}
