internal import Foundation
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

// Each caller opens the store if necessary and keeps it open while it uses it.

extension StorePlace {
    // MARK: Reading

    /// Runs a short read on a snapshot. It must not wait for a client.
    func read<Value: Sendable>(_ body: (SQLConnection, SchemaCatalog) throws -> Value) async throws -> Value {
        let reader = try await enter()
        defer { leave(reader) }
        return try await reader.read(body)
    }

    /// Like ``read(_:)`` for a potentially long read. Runs on a thread that other requests don't need.
    func readAtLength<Value: Sendable>(
        for purpose: LongReadTurns.Purpose, _ body: @escaping @Sendable (SQLConnection, SchemaCatalog) throws -> Value
    ) async throws -> Value {
        let reader = try await enter()
        defer { leave(reader) }
        return try await reader.readAtLength(for: purpose, body)
    }

    /// The progress of index work.
    func indexBuilds(_ catalog: SchemaCatalog, _ db: SQLConnection) throws -> [IndexBuildProgress] {
        if let store = openStore { return try store.indexBuilds(catalog, db) }
        return try IndexWork.progress(catalog, db, inHand: [:])
    }

    // MARK: Writing

    /// Runs a write and returns once it is on disk. Creates a missing file.
    /// - Parameters:
    ///   - isAlone: `true` to commit it without other writes, as large writes require.
    ///   - isBatch: `true` for a batch of records, which reads neither counts nor positions of zones.
    func write<Value: Sendable>(
        isAlone: Bool = false, isBatch: Bool = false, _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        let store = try await enterForWriting()
        defer { leave(store.reader) }
        return try await store.write(isAlone: isAlone, isBatch: isBatch, body)
    }

    /// Stores the number of a user that a save added.
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

    /// Removes records and values dropped by a schema change, if they are too many for one transaction.
    /// - Returns: by type, the position up to which records have lost the values of the dropped fields.
    func removeBefore(_ change: SchemaChange, by caller: Caller) async throws -> [Name: Int64] {
        let store = try await enterForWriting()
        defer { leave(store.reader) }
        return try await SchemaRemoval(store: store, caller: caller, limits: settings.indexLimits, clock: clock).run(change)
    }

    func sweep() { openStore?.sweep() }

    /// The store, if it is open for writing.
    var openStore: SQLStore? {
        state.withLock { if case .open(let store) = $0.phase { store } else { nil } }
    }

    // MARK: Coming in

    /// Opens the store, or finds that there is no file. Afterwards keys and users are known.
    func prepare() async throws {
        try await enter().gate.leave()
    }

    /// Keeps the store open until the caller calls ``leave(_:)``, opening it if necessary.
    func enter() async throws -> StoreReader {
        while true {
            var isAbsent = false
            let (reader, task) = try state.withLock { state -> (StoreReader?, Task<Void, any Error>?) in
                switch state.phase {
                case .open(let store) where store.connections.isStale: return (nil, reopen(&state, makes: false))
                case .open(let store): return (store.reader.gate.tryEnter() ? store.reader : nil, nil)
                case .readOnly(let store): return (store.reader.gate.tryEnter() ? store.reader : nil, nil)
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
            if isAbsent, await hasAppeared() {
                reader.gate.leave()
                forget(absent: reader)
                continue
            }
            used.store(Self.now, ordering: .relaxed)
            return reader
        }
    }

    func leave(_ reader: StoreReader) {
        used.store(Self.now, ordering: .relaxed)
        reader.gate.leave()
    }

    /// How a write can proceed.
    private enum WayIn {
        case inside(SQLStore)
        /// The store is about to be closed.
        case shut
        case after(Task<Void, any Error>)
        case readOnly(ReadOnlyStore)
    }

    private func enterForWriting() async throws -> SQLStore {
        while true {
            let way = try state.withLock { state -> WayIn in
                switch state.phase {
                case .open(let store) where store.connections.isStale: return .after(reopen(&state, makes: true))
                case .open(let store): return store.reader.gate.tryEnter() ? .inside(store) : .shut
                case .readOnly(let store):
                    if let last = state.lastRetry, Self.now - last < Self.retryPause { throw store.refusal }
                    return .readOnly(store)
                case .closed, .absent: return .after(change(&state) { place in try await place.openFile(makes: true) })
                case .changing(let task): return .after(task)
                case .ended: throw RecordError.storeClosed
                }
            }
            switch way {
            case .inside(let store):
                used.store(Self.now, ordering: .relaxed)
                return store
            case .shut: await Task.yield()
            case .after(let task): try await task.value
            case .readOnly(let store):
                // Reopening blocks all readers, so check first whether the disk has room again.
                guard await store.looksWritable() else { throw store.refusal }
                try await reopen(store)?.value
            }
        }
    }

    /// Opens a store again that is no longer what was opened.
    private func reopen(_ state: inout State, makes: Bool) -> Task<Void, any Error> {
        let phase = state.phase
        return change(&state) { place in
            await place.closeFile(phase)
            try await place.openFile(makes: makes)
        }
    }

    /// Minimum time in nanoseconds between two attempts to reopen a read-only store.
    private static let retryPause: Int64 = 1_000_000_000

    /// Reopens a read-only store, unless another write already does so.
    private func reopen(_ store: ReadOnlyStore) -> Task<Void, any Error>? {
        state.withLock { state in
            guard case .readOnly(let held) = state.phase, held === store else { return nil }
            return change(&state) { place in
                await store.close()
                try await place.openFile(makes: true, isRetry: true)
            }
        }
    }

    /// True if a store was created externally where there was none.
    private func hasAppeared() async -> Bool {
        await (try? DiskThreads.run { [home = settings.home, key] in try home.holds(key) }) ?? true
    }

    private func forget(absent reader: StoreReader) {
        state.withLock { state in
            if case .absent(let held) = state.phase, held === reader { state.phase = .closed }
        }
    }
}
