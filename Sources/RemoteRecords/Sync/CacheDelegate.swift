internal import Foundation
internal import GRDB
internal import Records
internal import Synchronization

/// Stores the events of a sync engine in one transaction with the engine's state.
final class CacheDelegate: SyncEngineDelegate {
    private struct Inbox {
        /// The events since the last state update.
        var events: [SyncEngine.Event] = []
        /// The error of the first zone that the server refused, since the last time that the error was read.
        var zoneRefusal: OperationError?
        /// The first error of the file. From then on, the engine's state is ahead of the file.
        var failure: (any Error)?
    }

    let queue: DatabaseQueue
    let signals = Signals()
    private let resolver: RecordCache.Resolver
    private let inbox = Mutex(Inbox())
    private let listeners = Mutex<[UUID: AsyncStream<SyncEngine.Event>.Continuation]>([:])

    init(_ file: URL, _ resolver: @escaping RecordCache.Resolver) async throws {
        self.resolver = resolver
        queue = try await DatabaseQueue.opened(file) { try CachedRecords.make(in: $0) }
    }

    deinit {
        signals.finish()
        for listener in listeners.withLock({ Array($0.values) }) { listener.finish() }
    }

    /// Changes the user of the file, if it is another user's.
    func change(_ engine: SyncEngine, to user: RecordID) async throws {
        let previous = engine.kept.withLock { $0.userRecordName }
        if previous == user.recordName { return }
        let change: SyncEngine.Event.AccountChange.ChangeType =
            if let previous {
                .switchAccounts(previousUser: RecordID(recordName: previous), currentUser: user)
            } else {
                .signIn(currentUser: user)
            }
        inbox.withLock { $0.events.append(.accountChange(.init(changeType: change))) }
        try await write(engine)
    }

    func storedState() async throws -> SyncState {
        try await queue.read { try CachedRecords($0).state() }
    }

    /// - Throws: the first error of the file, if there was one.
    func checkFile() throws {
        if let failure = inbox.withLock({ $0.failure }) { throw failure }
    }

    /// Changes records in one transaction with the engine's state and the events before that state.
    /// - Throws: the error of the file. All later calls throw it too, because the engine's state may be ahead of the
    ///   file.
    func write(_ engine: SyncEngine, _ change: @escaping @Sendable (CachedRecords) throws -> Void = { _ in })
        async throws
    {
        try checkFile()
        let (queue, resolver) = (queue, resolver)
        do {
            // GRDB would roll back the write if this task were cancelled.
            try await Task {
                try await queue.write { [self] database in
                    try checkFile()
                    let records = CachedRecords(database)
                    let events = takeEvents()
                    for event in events { try Self.store(event, in: records, engine, resolver) }
                    try change(records)
                    let (position, changes) = engine.state.takeTouched()
                    try records.keep(position, changes)
                    // A listener that reads the file now waits for the end of the transaction.
                    tell(events)
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

    // MARK: Listeners

    func listen() -> AsyncStream<SyncEngine.Event> {
        let (events, continuation) = AsyncStream.makeStream(of: SyncEngine.Event.self)
        let id = UUID()
        listeners.withLock { $0[id] = continuation }
        continuation.onTermination = { [weak self] _ in _ = self?.listeners.withLock { $0.removeValue(forKey: id) } }
        return events
    }

    private func tell(_ events: [SyncEngine.Event]) {
        for listener in listeners.withLock({ Array($0.values) }) {
            for event in events { listener.yield(event) }
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
            // The cancellation of this task would look like an error of the file.
            let found = try await Task { [queue] in
                try await queue.read { database in
                    var found: [RecordID: Record] = [:]
                    let records = CachedRecords(database)
                    for change in changes { found[change.recordID] = try records.record(change.recordID) }
                    return found
                }
            }.value
            // A record without changes was saved before the program ended, but the program ended before it noted that.
            return await RecordZoneChangeBatch(pendingChanges: changes) { recordID in
                found[recordID].flatMap { $0.hasChanges ? $0 : nil }
            }
        } catch {
            fail(error)
            return nil
        }
    }

    func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
        var hasNews = false
        if case .stateUpdate = event {
            hasNews = true
        } else {
            let isForFile = inbox.withLock { inbox in
                inbox.events.append(event)
                if case .sentDatabaseChanges(let sent) = event { inbox.zoneRefusal = inbox.zoneRefusal ?? sent.refusal }
                return inbox.events.contains { $0.isForFile }
            }
            switch event {
            // What is changed after this moment belongs to the next user.
            case .accountChange: hasNews = true
            case .didFetchChanges, .didSendChanges: hasNews = isForFile
            default: if isForFile { return }
            }
        }
        if hasNews {
            // The error is stored, and thrown to the caller of the engine.
            try? await write(syncEngine)
        } else {
            // In the queue, listeners get all events in order.
            try? await Task { try await queue.read { [self] _ in tell(takeEvents()) } }.value
        }
    }

    // MARK: Events

    private static func store(
        _ event: SyncEngine.Event, in records: CachedRecords, _ engine: SyncEngine, _ resolver: RecordCache.Resolver
    ) throws {
        switch event {
        case .accountChange(let event):
            let (previous, current) = event.users
            if let previous {
                let state = engine.kept.withLock { state in
                    defer { state.reset(for: current?.recordName) }
                    return state
                }
                try records.setAside(state, of: previous.recordName)
            }
            if let current {
                let kept = try records.takeBack(of: current.recordName)
                engine.kept.withLock { state in
                    state.userRecordName = current.recordName
                    if let kept { state.takeBack(kept) }
                }
            }
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
            // The zone is about to be deleted with its records.
            if engine.state.pendingDatabaseChanges.contains(.deleteZone(event.zoneID)) { return }
            for modification in event.modifications { try take(modification.record, in: records, engine, resolver) }
            for deletion in event.deletions { try drop(deletion.recordID, in: records, engine, resolver) }
        case .didFetchRecordZoneChanges(let event):
            if let error = event.error {
                // All records of the zone come again. Those that do not come were deleted.
                if error.code == .changeTokenExpired { try records.markAll(in: event.zoneID) }
            } else if engine.kept.withLock({ $0.zonesWithoutHistory.contains(event.zoneID) }) {
                // Records that were prefetched before the history was skipped are not part of the feed.
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

    /// Applies a record from the server.
    private static func take(
        _ server: Record, in records: CachedRecords, _ engine: SyncEngine, _ resolver: RecordCache.Resolver
    ) throws {
        let pending = engine.state.pendingChange(of: server.recordID)
        if pending == .deleteRecord(server.recordID) { return try records.set(server, isDeleted: true) }
        guard let mine = try records.record(server.recordID), try pending != nil || records.isRefused(server.recordID)
        else {
            return try records.set(server)
        }
        // The local change was made on this version.
        if mine.recordChangeTag == server.recordChangeTag { return try records.unmark(server.recordID) }
        guard pending != nil else { return try records.set(server) }
        try reconcile(mine, server, in: records, engine, resolver)
    }

    /// Merges a locally changed record with another version from the server.
    private static func reconcile(
        _ mine: Record, _ server: Record, in records: CachedRecords, _ engine: SyncEngine,
        _ resolver: RecordCache.Resolver
    ) throws {
        // The change was made and its answer was lost, or another device made the same change.
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
        // The server never had this record. It deleted an earlier record of the same name, perhaps one that was deleted
        // locally.
        if mine.recordChangeTag == nil { return try records.unmark(recordID) }
        guard engine.state.pendingChange(of: recordID) == .saveRecord(recordID) else {
            return try records.remove(recordID)
        }
        try resolve(.deleted(mine), nil, in: records, engine, resolver)
    }

    /// Applies a record that was saved. It may have been changed locally since it was sent.
    private static func settle(_ saved: Record, in records: CachedRecords, _ engine: SyncEngine) throws {
        guard let mine = try records.record(saved.recordID) else { return }
        var record = saved
        // If the record was changed locally since, another file may have been written to the same place during the
        // upload.
        let isNewer = engine.state.pendingChange(of: saved.recordID) != nil
        for key in mine.changedKeys
        where !Record.isSent(mine.fields[key], as: saved.fields[key], filesMayDiffer: isNewer) {
            record[content: key] = mine.fields[key]
        }
        // Another device may have changed the record's parent.
        if mine.parentHasChanged, mine.parent != saved.parent { record.parent = mine.parent }
        if mine.replacedSharing != nil, !mine.isContained(in: record, keys: []) { record.sharing = mine.sharing }
        try records.set(record)
    }

    private static func fail(
        _ sent: Record, _ error: OperationError, in records: CachedRecords, _ engine: SyncEngine,
        _ resolver: RecordCache.Resolver
    ) throws {
        // A record that was deleted locally in the meantime has a pending deletion.
        guard let mine = try records.record(sent.recordID) else { return }
        switch (error.code, error.conflict?.serverRecord) {
        case (.serverRecordChanged, let server?): try reconcile(mine, server, in: records, engine, resolver)
        case (.unknownItem, _) where sent.recordChangeTag != nil:
            try resolve(.deleted(mine), nil, in: records, engine, resolver)
        default: try records.refuse(sent.recordID, error.description)
        }
    }

    /// - Parameter server: the version to store if the local change is dropped; `nil` if the record was deleted on the
    ///   server.
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
            // Without the current change tag, the server would refuse the record again and again for the same reason.
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

extension SyncEngine.Event {
    /// True if the file changes with the event.
    fileprivate var isForFile: Bool {
        switch self {
        case .stateUpdate, .accountChange, .fetchedDatabaseChanges, .fetchedRecordZoneChanges,
            .didFetchRecordZoneChanges, .sentDatabaseChanges, .sentRecordZoneChanges:
            true
        case .willFetchChanges, .willFetchRecordZoneChanges, .didFetchChanges, .willSendChanges, .didSendChanges: false
        }
    }
}

extension SyncEngine.Event.AccountChange {
    fileprivate var users: (previous: RecordID?, current: RecordID?) {
        switch changeType {
        case .signIn(let current): (nil, current)
        case .signOut(let previous): (previous, nil)
        case .switchAccounts(let previous, let current): (previous, current)
        }
    }
}

extension SyncEngine.Event.SentDatabaseChanges {
    /// The zones whose deletion failed and that still exist.
    fileprivate var refusedDeletions: [ZoneID] {
        failedZoneDeletes.filter { $0.value.code != .zoneNotFound && !$0.value.isTemporary }.map(\.key)
    }

    /// The first permanent error.
    fileprivate var refusal: OperationError? {
        failedZoneSaves.lazy.map(\.error).first { !$0.isTemporary }
            ?? refusedDeletions.first.flatMap { failedZoneDeletes[$0] }
    }
}
