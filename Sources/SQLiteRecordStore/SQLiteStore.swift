internal import Dispatch
internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

/// One container and environment in one SQLite file.
final class SQLiteStore: Sendable {
    let environment: Environment
    let clock: @Sendable () -> Timestamp
    var office: TokenOffice { tokens.withLock { $0 } }
    let assetTickets: AssetTickets
    let pool: DatabasePool
    /// Changes of the tokens' key: one after the other.
    private let keyChanges = OneAtATime()
    private let indexing: IndexWorker
    let queries: QueryLog
    let journalLimits: JournalLimits
    private let writer: CommitWriter
    /// Long reads at a time.
    private static let longReadLimit = 4
    private let longReads = Turnstile(limit: longReadLimit)
    private let reads = Atomic<Int>(0)
    private let gate = ReadGate()
    /// Short reads after which a task makes way for others.
    private static let readsInTurn = 8
    private let purging = Mutex<Task<Void, Never>?>(nil)
    private let logLength = WriteAheadLogLength()
    private let tokens: Mutex<TokenOffice>
    private let catalog: Mutex<SchemaCatalog>
    private let users: Mutex<[Name: Int64]>

    /// How long to wait between two removals of what is not kept any longer.
    private static let purgeInterval = Duration.seconds(3600)

    /// Opens a file, which is made when it is missing, and brings its tables up to date.
    /// - Parameters:
    ///   - tokenLifetime: how long deletions are remembered; `nil` for ever.
    ///   - journal: what is kept of earlier versions of records; `nil` for what the file was opened with before.
    init(
        file: URL, environment: Environment, tokenLifetime: Duration? = nil, journal: JournalLimits? = nil,
        logLimits: WriteAheadLogLimits = WriteAheadLogLimits(), indexLimits: IndexLimits = IndexLimits(), clock: @escaping @Sendable () -> Timestamp
    ) throws {
        self.environment = environment
        self.clock = clock
        queries = QueryLog(since: Timestamp.now())
        indexing = IndexWorker(beforeStep: indexLimits.beforeStep)
        pool = try DatabasePool(path: file.path(percentEncoded: false), configuration: Self.configuration)
        if try pool.read({ try StoreMigrations.migrator.hasBeenSuperseded($0) }) {
            throw RecordError(.internalError, "\(file.lastPathComponent) was written by a newer version of Skylight; use that version")
        }
        try StoreMigrations.migrator.migrate(pool)
        let logLength = logLength
        // The pool sets synchronous to NORMAL while it opens, so this must come after.
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA wal_autocheckpoint = 0")
            logLength.watch(db)
        }
        var opening = try pool.write { try Self.open($0, journal: journal) }
        journalLimits = opening.journal
        opening.catalog.indexLimits = indexLimits
        tokens = Mutex(
            TokenOffice(seal: TokenSeal(key: opening.key), retired: opening.retiredKeys.map(TokenSeal.init), incarnations: opening.incarnations))
        assetTickets = AssetTickets(key: opening.assetKey)
        catalog = Mutex(opening.catalog)
        users = Mutex(opening.users)
        writer = CommitWriter(
            pool, logLength: logLength, logLimits: logLimits, schemaSignals: indexing.signals,
            state: CommitWriter.State(
                position: opening.position, catalog: opening.catalog, journalLimits: opening.journal, journalBytes: opening.journalBytes))
        writer.start()
        indexing.start(on: self)
        sweepEndedZones()
        purgeOld(deletionsKept: tokenLifetime)
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        // One for each thread that runs tasks, beside those of long reads: no short read has to wait for a reader.
        configuration.maximumReaderCount = ProcessInfo.processInfo.activeProcessorCount + longReadLimit
        configuration.busyMode = .timeout(WriteAheadLogLimits.readerPatience)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA mmap_size = 0; PRAGMA foreign_keys = OFF")
            // Readers sort in memory. The writer's savepoints are too long for that (SavepointFiles).
            try db.execute(sql: db.configuration.readonly ? "PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY" : "PRAGMA cache_size = -32768; PRAGMA temp_store = FILE")
        }
        return configuration
    }

    private struct Opening {
        var key: [UInt8]
        var assetKey: [UInt8]
        var retiredKeys: [[UInt8]]
        var incarnations: [Incarnation]
        var position: Int64
        var catalog: SchemaCatalog
        var users: [Name: Int64]
        var journal: JournalLimits
        var journalBytes: Int64
    }

    /// What the file says of itself. Begins a new incarnation at the position found.
    private static func open(_ db: Database, journal: JournalLimits?) throws -> Opening {
        let position =
            try Int64.fetchOne(
                db,
                sql: "SELECT max(coalesce((SELECT max(position) FROM zones), 0), coalesce((SELECT max(position) FROM shares), 0))") ?? 0
        try db.execute(sql: "UPDATE incarnations SET through = ? WHERE through IS NULL", arguments: [position])
        try db.execute(
            sql: "INSERT INTO incarnations (number, after) VALUES (?, ?)", arguments: [Int64(UInt32.random(in: 1...UInt32.max)), position])
        let incarnations = try Row.fetchAll(db, sql: "SELECT number, after, through FROM incarnations ORDER BY id").map { row in
            let values = row.values(of: "incarnations")
            return Incarnation(number: try values("number"), after: try values("after"), through: try values("through"))
        }
        var catalog = try SchemaCatalog(db)
        if catalog.version == 0 { _ = try catalog.store(.initial, in: db) }
        // What was done after the last place that was written is done again.
        try db.execute(sql: "UPDATE indexWork SET done = doneThere WHERE phase = \(IndexWork.Phase.building.rawValue)")
        let users: [(Name, Int64)] = try Row.fetchAll(db, sql: "SELECT name, number FROM users").map { row in
            (Name(try row.value("name", in: "users") as String), try row.value("number", in: "users"))
        }
        let retired = try Data.fetchAll(db, sql: "SELECT key FROM retiredTokenKeys ORDER BY id DESC")
        return Opening(
            key: try key(named: "tokenKey", db), assetKey: try key(named: "assetKey", db), retiredKeys: retired.map { Array($0) },
            incarnations: incarnations, position: position, catalog: catalog,
            users: Dictionary(users, uniquingKeysWith: { first, _ in first }),
            journal: try journalLimits(journal, db),
            journalBytes: try Int64.fetchOne(db, sql: "SELECT sum(journalBytes) FROM zones") ?? 0)
    }

    /// What is kept of earlier versions, which the file remembers as far as it is days.
    private static func journalLimits(_ wanted: JournalLimits?, _ db: Database) throws -> JournalLimits {
        guard let wanted else {
            let days = try Int.fetchOne(db, sql: "SELECT value FROM facts WHERE name = 'journalDays'")
            return days.map { JournalLimits(days: $0) } ?? .standard
        }
        try db.execute(sql: "INSERT OR REPLACE INTO facts (name, value) VALUES ('journalDays', ?)", arguments: [wanted.days])
        return wanted
    }

    /// A secret key of the store, made when it is first asked for.
    private static func key(named name: String, _ db: Database) throws -> [UInt8] {
        if let stored = try Data.fetchOne(db, sql: "SELECT value FROM facts WHERE name = ?", arguments: [name]) { return Array(stored) }
        let key = TokenSeal.makeKey()
        try db.execute(sql: "INSERT INTO facts (name, value) VALUES (?, ?)", arguments: [name, Data(key)])
        return key
    }

    /// Ends the writing and closes the file, when those who read it are done. Who asks later is sent away.
    func close() async {
        purging.withLock { $0?.cancel() }
        await indexing.close()
        await writer.close()
        writer.signals.finish()
        await gate.shut()
        // So that the database file alone is the whole store: the last connection to close may be one that can't do this.
        if writer.failure == nil { _ = try? await pool.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
        // On a thread that may wait: those that run tasks must not.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [pool] in
                try? pool.close()
                continuation.resume()
            }
        }
    }

    /// Seals tokens anew from now on; those of before are told apart by the keys that are kept.
    func expireTokens() async throws {
        try await keyChanges.run { [self] in
            let key = TokenSeal.makeKey()
            try await write { db, _ in
                try db.execute(
                    sql: """
                        INSERT INTO retiredTokenKeys (key) SELECT value FROM facts WHERE name = 'tokenKey';
                        UPDATE facts SET value = ? WHERE name = 'tokenKey'
                        """, arguments: [Data(key)])
            }
            tokens.withLock { $0.retire(for: TokenSeal(key: key)) }
        }
    }

    // MARK: Reading

    /// Runs a short read on a snapshot: no reader may wait for a client inside.
    ///
    /// It runs on the caller's own thread. Handing it to another and back costs more than a lookup itself.
    func read<Value: Sendable>(_ body: (Database, SchemaCatalog) throws -> Value) async throws -> Value {
        // A task that does nothing but read would otherwise never make way for others.
        if reads.add(1, ordering: .relaxed).newValue % Self.readsInTurn == 0 { await Task.yield() }
        return try readNow(body)
    }

    private func readNow<Value>(_ body: (Database, SchemaCatalog) throws -> Value) throws -> Value {
        try gate.enter()
        defer { gate.leave() }
        do {
            return try pool.read { db in try body(db, try currentCatalog(db)) }
        } catch where !(error is RecordError || error is CancellationError) {
            throw Self.unreadable(error)
        }
    }

    /// The same for a read that may look at very much, on a thread that other requests don't need.
    func readAtLength<Value: Sendable>(_ body: @escaping @Sendable (Database, SchemaCatalog) throws -> Value) async throws -> Value {
        do {
            return try await longReads.run { [self] in
                try gate.enter()
                defer { gate.leave() }
                return try await pool.read { [self] db in try body(db, try currentCatalog(db)) }
            }
        } catch where !(error is RecordError || error is CancellationError) {
            throw Self.unreadable(error)
        }
    }

    private static func unreadable(_ error: any Error) -> RecordError {
        RecordError(.internalError, "The store can't be read: \(StoreProblem.words(for: error))")
    }

    /// The schema of the snapshot, read anew only when it has changed.
    private func currentCatalog(_ db: Database) throws -> SchemaCatalog {
        let version = try SchemaCatalog.version(in: db)
        let held = catalog.withLock { $0 }
        if held.version == version { return held }
        var read = try SchemaCatalog(db)
        read.indexLimits = held.indexLimits
        catalog.withLock { if $0.version < read.version { $0 = read } }
        return read
    }

    // MARK: Writing

    /// - Parameter isAlone: whether it is committed without others, as what touches very much must be.
    func write<Value: Sendable>(
        isAlone: Bool = false, _ body: @escaping @Sendable (Database, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        try await writer.write(isAlone: isAlone, body)
    }

    /// Changes that were written so far.
    var writeCount: Int { writer.count.load(ordering: .relaxed) }

    /// How far the work on indexes is.
    func indexBuilds(_ catalog: SchemaCatalog, _ db: Database) throws -> [IndexBuildProgress] {
        try IndexWork.progress(catalog, db, inHand: indexing.reached)
    }

    /// Returns when some work on indexes is done, or was given up because its index was dropped. Going away earlier does not stop the work.
    /// - Throws: `RecordError`: why the work does not go on at the moment.
    func waitForIndexes(_ works: Set<Int64>) async throws {
        var signals = indexing.signals.listen().makeAsyncIterator()
        let before = indexing.failures(of: works)
        while true {
            let isLeft = try await read { _, catalog in catalog.works.contains { works.contains($0.id) && $0.phase != .removing } }
            if !isLeft { return }
            if let failure = writer.failure { throw failure }
            if let failure = indexing.failure(of: works, after: before) {
                throw RecordError(
                    failure.code, "The index is declared, and will be built as soon as that is possible: \(failure.reason)",
                    retryAfter: failure.retryAfter)
            }
            if await signals.next() == nil {
                try Task.checkCancellation()
                throw RecordError(.tryAgainLater, "The store is closing; the index will be built when it is opened again", retryAfter: 1)
            }
        }
    }

    /// A signal after each commit.
    func commits() -> AsyncStream<Void> { writer.signals.listen() }

    /// The number of a user, who is entered when new.
    func userNumber(of name: Name) async throws -> Int64 {
        if let number = users.withLock({ $0[name] }) { return number }
        let number = try await write { db, _ in
            try db.run("INSERT OR IGNORE INTO users (name) VALUES (?)", [name.string])
            guard let number = try Int64.fetchOne(db, cachedSQL: "SELECT number FROM users WHERE name = ?", [name.string]), number > 0 else {
                throw DamagedRow(in: "users", "takes no user")
            }
            return number
        }
        users.withLock { $0[name] = number }
        return number
    }

    /// Whether a user was ever entered.
    func knows(_ name: Name) -> Bool { users.withLock { $0[name] != nil } }

    /// The name of a user, `nil` for a number never given out.
    func userName(of number: Int64, in db: Database) throws -> Name? {
        try String.fetchOne(db, cachedSQL: "SELECT name FROM users WHERE number = ?", [number]).map { Name($0) }
    }

    /// Why no save is taken any more; `nil` while saves are.
    var failure: RecordError? { writer.failure }

    /// Forgets old deletions and earlier versions of records now and then, as long as the store is open.
    private func purgeOld(deletionsKept lifetime: Duration?) {
        let task = Task.detached(priority: .low) { [weak self] in
            repeat {
                guard let self else { return }
                let now = clock()
                if let lifetime {
                    let threshold = Timestamp(milliseconds: now.milliseconds - lifetime.components.seconds * 1000)
                    for zone in (try? await read { db, _ in try DeletionPurge.zones(db) }) ?? [] {
                        while (try? await write({ db, state in try DeletionPurge.step(in: zone, before: threshold, &state, db) })) == true {}
                    }
                }
                // Where nothing is kept any more, what was kept goes.
                let oldest = journalLimits.isOff ? Timestamp(milliseconds: .max) : journalLimits.oldest(at: now)
                guard (try? await read({ [journalLimits] db, _ in try JournalRows.isLong(journalLimits, before: oldest, db) })) == true else { continue }
                while (try? await write({ db, state in try JournalRows.sweep(before: oldest, &state, db) })) == true {}
            } while (try? await Task.sleep(for: Self.purgeInterval)) != nil
        }
        purging.withLock { $0 = task }
    }

    /// Removes the rows of zones that ended, a few thousand at a time, so that saves don't wait behind a large zone.
    func sweepEndedZones() {
        Task.detached(priority: .low) { [weak self] in
            while let self, (try? await write({ db, state in try ZoneSweep.step(db, &state) })) == true {}
        }
    }
}
