internal import Dispatch
internal import Foundation
internal import GRDB
internal import JSON
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// Where a container's environment is kept. It lasts as long as the engine; the file behind it is opened when somebody asks for something, and
/// closed when nobody does.
final class StorePlace: Sendable {
    let key: StoreKey
    let queries = QueryLog(since: Timestamp.now())
    /// Sent after each commit, whichever opening it was in.
    let signals = CommitSignals()
    var clock: @Sendable () -> Timestamp { settings.clock }
    /// Records that fall with those that a request deletes in its own transaction.
    var cascadeLimit: Int { settings.cascadeLimits.recordsInRequest }
    /// The data folder.
    var folder: URL { settings.folder }

    private let settings: StoreSettings
    private let open: OpenStores
    private let state = Mutex(State())
    private let used = Atomic<Int64>(0)

    private enum Phase {
        case closed
        /// It is being opened or closed.
        case changing(Task<Void, any Error>)
        case open(SQLiteStore)
        /// It can be read alone, for this reason.
        case readOnly(StoreReader, DatabaseQueue, RecordError)
        /// There is no file yet.
        case absent(StoreReader)
        case ended

        var reader: StoreReader? {
            switch self {
            case .open(let store): store.reader
            case .readOnly(let reader, _, _), .absent(let reader): reader
            case .closed, .changing, .ended: nil
            }
        }
    }

    private struct State {
        var phase = Phase.closed
        /// Where the file stood when it was closed.
        var last: StoreOpening?
        var users = UserNumbers()
        /// What was last read through: its keys are good while the store is closed.
        var reader: StoreReader?
        /// Why it could not be opened.
        var trouble: StoreTrouble?
        /// What its zones held when it was closed, where somebody ever asked.
        var amounts: [ZoneTypeAmount]?
    }

    init(_ key: StoreKey, _ settings: StoreSettings, _ open: OpenStores) {
        self.key = key
        self.settings = settings
        self.open = open
    }

    // MARK: What is known while it is closed

    /// Nanoseconds of a clock that only goes forward, for telling which store was used last.
    static var now: Int64 { Int64(DispatchTime.now().uptimeNanoseconds) }
    var lastUse: Int64 { used.load(ordering: .relaxed) }

    /// Opens the store, or finds out that there is nothing to open, so that what follows is known.
    func prepare() async throws {
        try await enter().gate.leave()
    }

    var office: TokenOffice { get throws { try lastReader.office } }
    var assetTickets: AssetTickets { get throws { try lastReader.assetTickets } }
    var journalLimits: JournalLimits { get throws { try lastReader.journalLimits } }

    /// The schema as far as it is known without a look: good for a guess.
    var latestSchema: Schema { state.withLock { $0.reader }?.catalog.schema ?? Schema() }

    private var lastReader: StoreReader {
        get throws {
            guard let reader = state.withLock({ $0.reader }) else { throw RecordError.storeClosed }
            return reader
        }
    }

    /// Remembers who came, without writing anything.
    func greet(_ name: Name) {
        state.withLock { state in
            if !state.users.knows(name) { state.users.greet(name) }
        }
    }

    /// Whether a user was ever entered, or came of late.
    func knows(_ name: Name) -> Bool { state.withLock { $0.users.knows(name) } }
    /// The number of a user who was entered.
    func knownNumber(of name: Name) -> Int64? { state.withLock { $0.users.knownNumber(of: name) } }
    /// The number that a user has, or will have after the first save.
    func userNumber(of name: Name) -> Int64 { state.withLock { $0.users.number(of: name) } }

    /// The name of a user, `nil` for a number never given out.
    func userName(of number: Int64, in db: Database) throws -> Name? {
        if let name = try String.fetchOne(db, cachedSQL: "SELECT name FROM users WHERE number = ?", [number]) { return Name(name) }
        return state.withLock { $0.users.visitors[number] }
    }

    /// A signal after each commit.
    func commits() -> AsyncStream<Void> { signals.listen() }

    /// How the store is, as far as that is known; `nil` for one that was not asked for anything.
    var health: StoreHealth? {
        state.withLock { state in
            var health = StoreHealth(container: key.container, environment: key.environment)
            switch state.phase {
            case .open(let store): health.readOnlyBecause = store.failure
            case .readOnly(_, _, let reason): health.readOnlyBecause = reason
            case .absent, .closed, .changing, .ended: if state.trouble == nil { return nil }
            }
            if let trouble = state.trouble ?? state.phase.reader?.damage { (health.unreadableBecause, health.since) = (trouble.reason, trouble.since) }
            return health
        }
    }

    /// What the zones hold, without opening the store for it; `nil` where that is not known.
    func amounts() async -> [ZoneTypeAmount]? {
        guard let store = openStore else { return state.withLock { $0.amounts } }
        do {
            let amounts = try await store.readAtLength(for: .scan) { db, catalog in try ZoneTypeAmount.all(db, catalog) }
            state.withLock { $0.amounts = amounts }
            return amounts
        } catch {
            // The reader has logged why. The other stores are told of.
            return nil
        }
    }

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

    /// Begins to open or close the store; whoever comes meanwhile waits for that.
    private func change(_ state: inout State, _ work: @escaping @Sendable (StorePlace) async throws -> Void) -> Task<Void, any Error> {
        let task = Task.detached { [self] in try await work(self) }
        state.phase = .changing(task)
        return task
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

    // MARK: Opening and closing

    private func openFile(makes: Bool) async throws {
        do {
            let last = state.withLock { $0.last }
            try await open.admit(self)
            let phase = try await DiskThreads.run { [self] in try openNow(makes: makes, continuing: last) }
            state.withLock { state in
                state.phase = phase
                state.reader = phase.reader
                state.trouble = nil
                if case .open(let store) = phase { state.users = UserNumbers(store.users, visitors: state.users.visitors) }
                if case .absent = phase { state.users = UserNumbers(visitors: state.users.visitors) }
            }
            if case .absent = phase { open.remove(self) }
        } catch {
            let problem = StoreProblem(error, reading: key)
            let refusal = error as? RecordError ?? problem?.refusal ?? RecordError(.internalError, "\(key) can't be opened: \(error)")
            // Being one too many says nothing of the file.
            let isTrouble = refusal.code == .internalError
            if isTrouble { settings.logger.error("\(refusal.reason)", metadata: problem.map { ["details": "\($0.details)"] }) }
            open.remove(self)
            state.withLock { state in
                state.phase = .closed
                if isTrouble { state.trouble = StoreTrouble(refusal, since: state.trouble?.since ?? settings.clock()) }
            }
            throw refusal
        }
    }

    /// Waits for the disk.
    private func openNow(makes: Bool, continuing last: StoreOpening?) throws -> Phase {
        let keys = settings.newKeys.keys(of: key)
        var last = last
        if case .nothing = try StoreInspection.look(at: key, in: settings.folder) {
            guard makes else { return .absent(try StoreReader(of: key, keys, settings)) }
            do {
                try StoreMaking.make(key, keys, settings)
            } catch where StoreProblem.isOfWriting(error) || (error as? POSIXError)?.code == .ENOSPC || (error as? CocoaError)?.code == .fileWriteOutOfSpace {
                throw StoreProblem.readOnly(key, because: error)
            }
            settings.newKeys.use(of: key)
            last = StoreOpening(making: keys)
        }
        do {
            return .open(try SQLiteStore(key, continuing: last, signals: signals, settings))
        } catch where StoreProblem.isOfWriting(error) {
            do {
                let (reader, queue) = try ReadOnlyOpening.open(key, continuing: last, settings)
                settings.logger.warning("\(key) is open for reading alone: \(StoreProblem.details(of: error))")
                return .readOnly(reader, queue, StoreProblem.readOnly(key, because: error))
            } catch let another {
                // It is the first error that says why.
                settings.logger.error("\(key) can't be opened for reading alone: \(StoreProblem.details(of: another))")
                throw error
            }
        }
    }

    /// Closes the store unless somebody uses it or it has work to do.
    /// - Returns: whether it is closed.
    func closeUnlessUsed() async -> Bool {
        let task = state.withLock { state -> Task<Void, any Error>? in
            guard let reader = state.phase.reader else { return nil }
            if case .open(let store) = state.phase, !store.isIdle { return nil }
            guard reader.gate.shutIfEmpty() else { return nil }
            let phase = state.phase
            return change(&state) { place in
                await place.closeFile(phase)
                place.state.withLock { $0.phase = .closed }
            }
        }
        guard let task else { return false }
        // Closing reports what goes wrong in the log.
        _ = await task.result
        return true
    }

    private func closeFile(_ phase: Phase) async {
        var last: StoreOpening?
        switch phase {
        case .open(let store):
            if state.withLock({ $0.amounts != nil }) {
                // Where they can't be read, those of before stay.
                let amounts = try? await store.reader.readAtLength(for: .scan) { db, catalog in try ZoneTypeAmount.all(db, catalog) }
                if let amounts { state.withLock { $0.amounts = amounts } }
            }
            last = await store.close()
        case .readOnly(let reader, let queue, _):
            await reader.gate.shut()
            // Nothing was written through it.
            try? await DiskThreads.run { try queue.close() }
        case .absent(let reader): await reader.gate.shut()
        case .closed, .changing, .ended: break
        }
        open.remove(self)
        if let last { state.withLock { $0.last = last } }
    }

    /// Closes the store for good, when those who use it are done.
    func end() async {
        while true {
            let (phase, task) = state.withLock { state -> (Phase?, Task<Void, any Error>?) in
                if case .changing(let task) = state.phase { return (nil, task) }
                defer { state.phase = .ended }
                return (state.phase, nil)
            }
            if let task { _ = await task.result }
            guard let phase else { continue }
            await closeFile(phase)
            signals.finish()
            return
        }
    }

    /// Whether it holds nothing that a new one would lack.
    var isForgettable: Bool {
        state.withLock { state in
            switch state.phase {
            case .absent, .ended: true
            case .closed: state.reader == nil && state.trouble == nil
            case .changing, .open, .readOnly: false
            }
        }
    }
}
