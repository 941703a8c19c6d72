internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

// Reading and writing: whoever comes in opens the store, and keeps it open until they leave.

extension StorePlace {
    // MARK: Reading

    /// Runs a short read on a snapshot: no reader may wait for a client inside.
    func read<Value: Sendable>(_ body: (Database, SchemaCatalog) throws -> Value) async throws -> Value {
        let reader = try await enter()
        defer { leave(reader) }
        return try await reader.read(body)
    }

    /// The same for a read that may look at very much, on a thread that other requests don't need.
    func readAtLength<Value: Sendable>(
        for purpose: LongReadTurns.Purpose, _ body: @escaping @Sendable (Database, SchemaCatalog) throws -> Value
    ) async throws -> Value {
        let reader = try await enter()
        defer { leave(reader) }
        return try await reader.readAtLength(for: purpose, body)
    }

    /// How far the work on indexes is.
    func indexBuilds(_ catalog: SchemaCatalog, _ db: Database) throws -> [IndexBuildProgress] {
        if let store = openStore { return try store.indexBuilds(catalog, db) }
        return try IndexWork.progress(catalog, db, inHand: [:])
    }

    // MARK: Writing

    /// Waits until a change is on disk. The file is made where there is none.
    /// - Parameter isAlone: whether it is committed without others, as what touches very much must be.
    func write<Value: Sendable>(
        isAlone: Bool = false, _ body: @escaping @Sendable (Database, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        let store = try await enterForWriting()
        defer { leave(store.reader) }
        return try await store.write(isAlone: isAlone, body)
    }

    /// Notes the number of a user who was entered with a save.
    func note(_ number: Int64, of name: Name) { state.withLock { $0.users.note(number, of: name) } }

    func expireTokens() async throws {
        let store = try await enterForWriting()
        defer { leave(store.reader) }
        try await store.expireTokens()
    }

    func waitForIndexes(_ works: Set<Int64>) async throws {
        let store = try await enterForWriting()
        defer { leave(store.reader) }
        try await store.waitForIndexes(works)
    }

    /// Removes the records and values that a change of the schema takes away, as far as they are too many for one transaction.
    /// - Returns: by type, the position up to which saves have lost the values of the fields that go.
    func removeBefore(_ change: SchemaChange, by caller: Caller, at now: Timestamp) async throws -> [Name: Int64] {
        let store = try await enterForWriting()
        defer { leave(store.reader) }
        return try await SchemaRemoval(store: store, caller: caller, now: now, limits: settings.indexLimits).run(change)
    }

    func sweep() { openStore?.sweep() }

    /// The store while it is open for writing.
    var openStore: SQLiteStore? {
        state.withLock { if case .open(let store) = $0.phase { store } else { nil } }
    }

    // MARK: Coming in

    /// Opens the store, or finds out that there is nothing to open, so that keys and users are known.
    func prepare() async throws {
        try await enter().gate.leave()
    }

    private func enter() async throws -> StoreReader {
        while true {
            var isAbsent = false
            let (reader, task) = try state.withLock { state -> (StoreReader?, Task<Void, any Error>?) in
                switch state.phase {
                case .open(let store): return (store.reader.gate.tryEnter() ? store.reader : nil, nil)
                case .readOnly(let reader, _, _): return (reader.gate.tryEnter() ? reader : nil, nil)
                case .absent(let reader):
                    isAbsent = true
                    return (reader.gate.tryEnter() ? reader : nil, nil)
                case .changing(let task): return (nil, task)
                case .closed: return (nil, change(&state) { place in try await place.openFile(makes: false) })
                case .ended: throw RecordError.storeClosed
                }
            }
            if let task { try await task.value }
            guard let reader else {
                await Task.yield()
                continue
            }
            if isAbsent, hasAppeared {
                reader.gate.leave()
                forget(absent: reader)
                continue
            }
            used.store(Self.now, ordering: .relaxed)
            return reader
        }
    }

    private func leave(_ reader: StoreReader) {
        used.store(Self.now, ordering: .relaxed)
        reader.gate.leave()
    }

    private func enterForWriting() async throws -> SQLiteStore {
        var hasTried = false
        while true {
            let (store, task) = try state.withLock { state -> (SQLiteStore?, Task<Void, any Error>?) in
                switch state.phase {
                case .open(let store): return store.reader.gate.tryEnter() ? (store, nil) : (nil, nil)
                case .readOnly(let reader, let queue, let refusal):
                    // The disk may have room again.
                    if hasTried { throw refusal }
                    hasTried = true
                    return (
                        nil,
                        change(&state) { place in
                            await reader.gate.shut()
                            try await DiskThreads.run { try queue.close() }
                            try await place.openFile(makes: true)
                        }
                    )
                case .closed, .absent: return (nil, change(&state) { place in try await place.openFile(makes: true) })
                case .changing(let task): return (nil, task)
                case .ended: throw RecordError.storeClosed
                }
            }
            if let task { try await task.value }
            guard let store else {
                await Task.yield()
                continue
            }
            used.store(Self.now, ordering: .relaxed)
            return store
        }
    }

    /// Whether somebody put a file where there was none.
    private var hasAppeared: Bool {
        access(key.file(in: settings.folder).path(percentEncoded: false), F_OK) == 0
    }

    private func forget(absent reader: StoreReader) {
        state.withLock { state in
            if case .absent(let held) = state.phase, held === reader { state.phase = .closed }
        }
    }
}
