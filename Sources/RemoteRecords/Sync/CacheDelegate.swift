internal import Foundation
internal import GRDB
internal import Records
internal import Synchronization

/// Stores what an engine tells, in the transaction that stores its state.
final class CacheDelegate: SyncEngineDelegate {
    private struct Inbox {
        /// Events since the last state.
        var events: [SyncEngine.Event] = []
        /// The first error of a zone that was refused since somebody asked.
        var zoneRefusal: OperationError?
        /// The error that broke the file. The engine is ahead of the file from then on.
        var failure: (any Error)?
    }

    let queue: DatabaseQueue
    let signals = Signals()
    private let resolver: RecordCache.Resolver
    private let inbox = Mutex(Inbox())

    init(_ file: URL, _ resolver: @escaping RecordCache.Resolver) async throws {
        self.resolver = resolver
        queue = try await DatabaseQueue.opened(file) { try CachedRecords.make(in: $0) }
    }

    func storedState() async throws -> SyncState {
        try await queue.read { try CachedRecords($0).state() }
    }

    /// - Throws: the error that broke the file.
    func checkFile() throws {
        if let failure = inbox.withLock({ $0.failure }) { throw failure }
    }

    /// Changes records together with the engine's state, and with what the engine has told before that state.
    /// - Throws: the error of the file, here and from now on: the engine may be ahead of it.
    func write(_ engine: SyncEngine, _ change: @escaping @Sendable (CachedRecords) throws -> Void = { _ in })
        async throws
    {
        try checkFile()
        let (queue, resolver) = (queue, resolver)
        do {
            // The cancellation of this task would roll the write back.
            try await Task {
                try await queue.write { [self] database in
                    try checkFile()
                    let records = CachedRecords(database)
                    for event in takeEvents() { try Self.store(event, in: records, engine, resolver) }
                    try change(records)
                    let (position, changes) = engine.state.takeTouched()
                    try records.keep(position, changes)
                }
            }.value
        } catch {
            fail(error)
            throw error
        }
        signals.send()
    }

    private func takeEvents() -> [SyncEngine.Event] {
        inbox.withLock { inbox in
            defer { inbox.events = [] }
            return inbox.events
        }
    }

    func takeZoneRefusal() -> OperationError? {
        inbox.withLock { inbox in
            defer { inbox.zoneRefusal = nil }
            return inbox.zoneRefusal
        }
    }

    private func fail(_ error: any Error) {
        inbox.withLock { $0.failure = $0.failure ?? error }
    }

    func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
        -> RecordZoneChangeBatch?
    {
        let changes = syncEngine.state.nextRecordZoneChanges(in: context.options.scope)
        guard !changes.isEmpty, (try? checkFile()) != nil else { return nil }
        do {
            // The cancellation of this task would be taken for an error of the file.
            let found = try await Task { [queue] in
                try await queue.read { database in
                    var found: [RecordID: Record] = [:]
                    let records = CachedRecords(database)
                    for change in changes { found[change.recordID] = try records.record(change.recordID) }
                    return found
                }
            }.value
            // One without changes was saved before the program ended, and the note of it was lost.
            return await RecordZoneChangeBatch(pendingChanges: changes) { recordID in
                found[recordID].flatMap { $0.hasChanges ? $0 : nil }
            }
        } catch {
            fail(error)
            return nil
        }
    }

    func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
        guard case .stateUpdate = event else {
            return inbox.withLock { inbox in
                inbox.events.append(event)
                if case .sentDatabaseChanges(let sent) = event { inbox.zoneRefusal = inbox.zoneRefusal ?? sent.refusal }
            }
        }
        // The error is kept for the caller of the engine.
        try? await write(syncEngine)
    }

    // MARK: Events

    private static func store(
        _ event: SyncEngine.Event, in records: CachedRecords, _ engine: SyncEngine, _ resolver: RecordCache.Resolver
    ) throws {
        switch event {
        case .accountChange(let event):
            if case .signIn = event.changeType { return }
            try records.removeAll()
        case .fetchedDatabaseChanges(let event):
            let madeAnew = engine.state.pendingDatabaseChanges
            for zoneID in event.deletions.map(\.zoneID) {
                if madeAnew.contains(.saveZone(zoneID)) {
                    try records.removeSaved(in: zoneID)
                } else {
                    try records.removeAll(in: zoneID)
                }
            }
        case .fetchedRecordZoneChanges(let event):
            // They go with their zone.
            if engine.state.pendingDatabaseChanges.contains(.deleteZone(event.zoneID)) { return }
            for modification in event.modifications { try take(modification.record, in: records, engine, resolver) }
            for deletion in event.deletions { try drop(deletion.recordID, in: records, engine, resolver) }
        case .didFetchRecordZoneChanges(let event):
            if let error = event.error {
                // Everything comes again; what does not come is gone.
                if error.code == .changeTokenExpired { try records.markAll(in: event.zoneID) }
            } else if engine.kept.withLock({ $0.zonesWithoutHistory.contains(event.zoneID) }) {
                // Records that were prefetched before the history was skipped do not come.
                return
            } else {
                for recordID in try records.marked(in: event.zoneID) {
                    try drop(recordID, in: records, engine, resolver)
                }
            }
        case .sentDatabaseChanges(let event):
            for zoneID in event.refusedDeletions { engine.kept.withLock { $0.fetchAnew(zoneID) } }
        case .sentRecordZoneChanges(let event):
            for record in event.savedRecords { try settle(record, in: records, engine) }
            for recordID in event.deletedRecordIDs { try records.removeHidden(recordID) }
            for failed in event.failedRecordSaves {
                try fail(failed.record, failed.error, in: records, engine, resolver)
            }
            for (recordID, error) in event.failedRecordDeletes { try records.refuse(recordID, error.description) }
        default: break
        }
    }

    /// Takes a version of the server.
    private static func take(
        _ server: Record, in records: CachedRecords, _ engine: SyncEngine, _ resolver: RecordCache.Resolver
    ) throws {
        let pending = engine.state.pendingChange(of: server.recordID)
        if pending == .deleteRecord(server.recordID) { return try records.set(server, isDeleted: true) }
        guard let mine = try records.record(server.recordID), try pending != nil || records.isRefused(server.recordID)
        else {
            return try records.set(server)
        }
        // It is the version that the change was made on.
        if mine.recordChangeTag == server.recordChangeTag { return try records.unmark(server.recordID) }
        guard pending != nil else { return try records.set(server) }
        try reconcile(mine, server, in: records, engine, resolver)
    }

    /// Puts a record that was changed here together with another version of the server.
    private static func reconcile(
        _ mine: Record, _ server: Record, in records: CachedRecords, _ engine: SyncEngine,
        _ resolver: RecordCache.Resolver
    ) throws {
        // The change was made, and the answer to it was lost. Or another device made the same one.
        if mine.isContained(in: server, keys: mine.changedKeys) {
            engine.state.remove(pendingRecordZoneChanges: [.saveRecord(server.recordID)])
            return try records.set(server)
        }
        let conflict = OperationError.Conflict(
            serverRecord: server, clientRecord: mine,
            ancestorRecord: mine.recordChangeTag == nil ? nil : mine.withoutChanges)
        try resolve(.changed(conflict), server, in: records, engine, resolver)
    }

    private static func drop(
        _ recordID: RecordID, in records: CachedRecords, _ engine: SyncEngine, _ resolver: RecordCache.Resolver
    ) throws {
        guard let mine = try records.record(recordID) else { return try records.remove(recordID) }
        // The server never had it: the deletion is of an earlier record of this name, perhaps of one that was deleted
        // here.
        if mine.recordChangeTag == nil { return try records.unmark(recordID) }
        guard engine.state.pendingChange(of: recordID) == .saveRecord(recordID) else {
            return try records.remove(recordID)
        }
        try resolve(.deleted(mine), nil, in: records, engine, resolver)
    }

    /// Takes a record that was saved. It may have been changed here since it was sent.
    private static func settle(_ saved: Record, in records: CachedRecords, _ engine: SyncEngine) throws {
        guard let mine = try records.record(saved.recordID) else { return }
        var record = saved
        // A file may have been written anew at the same place while it was uploaded, if the record was saved here
        // since.
        let isNewer = engine.state.pendingChange(of: saved.recordID) != nil
        for key in mine.changedKeys
        where !Record.isSent(mine.fields[key], as: saved.fields[key], filesMayDiffer: isNewer) {
            record[content: key] = mine.fields[key]
        }
        // Another device may have moved the record.
        if mine.parentHasChanged, mine.parent != saved.parent { record.parent = mine.parent }
        if mine.replacedSharing != nil, !mine.isContained(in: record, keys: []) { record.sharing = mine.sharing }
        try records.set(record)
    }

    private static func fail(
        _ sent: Record, _ error: OperationError, in records: CachedRecords, _ engine: SyncEngine,
        _ resolver: RecordCache.Resolver
    ) throws {
        // A record that was deleted here meanwhile has a change of its own that is pending.
        guard let mine = try records.record(sent.recordID) else { return }
        switch (error.code, error.conflict?.serverRecord) {
        case (.serverRecordChanged, let server?): try reconcile(mine, server, in: records, engine, resolver)
        case (.unknownItem, _) where sent.recordChangeTag != nil:
            try resolve(.deleted(mine), nil, in: records, engine, resolver)
        default: try records.refuse(sent.recordID, error.description)
        }
    }

    /// - Parameter server: the version to take if the local change is given up; `nil` if the record was deleted.
    private static func resolve(
        _ meeting: RecordCache.Meeting, _ server: Record?, in records: CachedRecords, _ engine: SyncEngine,
        _ resolver: RecordCache.Resolver
    ) throws {
        let recordID: RecordID =
            switch meeting {
            case .changed(let conflict): conflict.clientRecord.recordID
            case .deleted(let record): record.recordID
            }
        if let record = resolver(meeting), record.recordID == recordID {
            // Otherwise the server would refuse it for the same reason, again and again.
            try records.set(
                record.recordChangeTag == server?.recordChangeTag
                    ? record : server.map { record.moved(onto: $0) } ?? record.madeAnew)
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
        } else {
            engine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
            if let server { try records.set(server) } else { try records.remove(recordID) }
        }
    }
}

extension SyncEngine.Event.SentDatabaseChanges {
    /// The zones that are still there. A zone that is gone needs no deletion.
    fileprivate var refusedDeletions: [ZoneID] {
        failedZoneDeletes.filter { $0.value.code != .zoneNotFound && !$0.value.isMendedByTime }.map(\.key)
    }

    /// The first error that time does not mend.
    fileprivate var refusal: OperationError? {
        failedZoneSaves.lazy.map(\.error).first { !$0.isMendedByTime }
            ?? refusedDeletions.first.flatMap { failedZoneDeletes[$0] }
    }
}
