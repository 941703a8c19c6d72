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
    let office: TokenOffice
    let pool: DatabasePool
    private let writer: CommitWriter
    private let writing: Task<Void, Never>
    private let logLength = WriteAheadLogLength()
    private let catalog: Mutex<SchemaCatalog>
    private let users: Mutex<[Name: Int64]>

    /// Opens a file, which is made when it is missing, and brings its tables up to date.
    init(file: URL, environment: Environment, clock: @escaping @Sendable () -> Timestamp) throws {
        self.environment = environment
        self.clock = clock
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
        let opening = try pool.write { try Self.open($0) }
        office = TokenOffice(seal: TokenSeal(key: opening.key), incarnations: opening.incarnations)
        catalog = Mutex(opening.catalog)
        users = Mutex(opening.users)
        writer = CommitWriter(
            pool, logLength: logLength, state: CommitWriter.State(position: opening.position, catalog: opening.catalog))
        let writer = writer
        writing = Task.detached(priority: .high) { await writer.run() }
        sweepEndedZones()
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA mmap_size = 0; PRAGMA cache_size = -16384; PRAGMA foreign_keys = OFF")
        }
        return configuration
    }

    private struct Opening {
        var key: [UInt8]
        var incarnations: [Incarnation]
        var position: Int64
        var catalog: SchemaCatalog
        var users: [Name: Int64]
    }

    /// What the file says of itself. Begins a new incarnation at the position found.
    private static func open(_ db: Database) throws -> Opening {
        let key: [UInt8]
        if let stored = try Data.fetchOne(db, sql: "SELECT value FROM facts WHERE name = 'tokenKey'") {
            key = Array(stored)
        } else {
            key = TokenSeal.makeKey()
            try db.execute(sql: "INSERT INTO facts (name, value) VALUES ('tokenKey', ?)", arguments: [Data(key)])
        }
        let position =
            try Int64.fetchOne(
                db,
                sql: "SELECT max(coalesce((SELECT max(position) FROM zones), 0), coalesce((SELECT max(position) FROM shares), 0))") ?? 0
        try db.execute(sql: "UPDATE incarnations SET through = ? WHERE through IS NULL", arguments: [position])
        try db.execute(
            sql: "INSERT INTO incarnations (number, after) VALUES (?, ?)", arguments: [Int64(UInt32.random(in: 1...UInt32.max)), position])
        let incarnations = try Row.fetchAll(db, sql: "SELECT number, after, through FROM incarnations ORDER BY id").map { row in
            Incarnation(number: UInt32(truncatingIfNeeded: row["number"] as Int64), after: row["after"], through: row["through"])
        }
        var catalog = try SchemaCatalog(db)
        if catalog.version == 0 { try catalog.store(.initial, in: db) }
        let users = try Row.fetchAll(db, sql: "SELECT name, number FROM users").map { (Name($0["name"] as String), $0["number"] as Int64) }
        return Opening(
            key: key, incarnations: incarnations, position: position, catalog: catalog,
            users: Dictionary(users, uniquingKeysWith: { first, _ in first }))
    }

    /// Ends the writing and closes the file.
    func close() async {
        writer.close()
        await writing.value
        writer.signals.finish()
        // So that the database file alone is the whole store: the last connection to close may be one that can't do this.
        if writer.failure == nil { _ = try? await pool.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
        try? pool.close()
    }

    // MARK: Reading

    /// Runs a read on a snapshot. It must be short: no reader may wait for a client inside.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Database, SchemaCatalog) throws -> Value) async throws -> Value {
        do {
            return try await pool.read { [self] db in
                try body(db, try currentCatalog(db))
            }
        } catch let error as DatabaseError {
            throw RecordError(.internalError, "The store can't be read (\(error.extendedResultCode))")
        }
    }

    /// The schema of the snapshot, read anew only when it has changed.
    private func currentCatalog(_ db: Database) throws -> SchemaCatalog {
        let version = try SchemaCatalog.version(in: db)
        let held = catalog.withLock { $0 }
        if held.version == version { return held }
        let read = try SchemaCatalog(db)
        catalog.withLock { if $0.version < read.version { $0 = read } }
        return read
    }

    // MARK: Writing

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        try await writer.write(body)
    }

    /// A signal after each commit.
    func commits() -> AsyncStream<Void> { writer.signals.listen() }

    /// The number of a user, who is entered when new.
    func userNumber(of name: Name) async throws -> Int64 {
        if let number = users.withLock({ $0[name] }) { return number }
        let number = try await write { db, _ in
            try db.run("INSERT OR IGNORE INTO users (name) VALUES (?)", [name.string])
            return try Int64.fetchOne(db, cachedSQL: "SELECT number FROM users WHERE name = ?", [name.string]) ?? 0
        }
        users.withLock { $0[name] = number }
        return number
    }

    /// The name of a user, `nil` for a number never given out.
    func userName(of number: Int64, in db: Database) throws -> Name? {
        try String.fetchOne(db, cachedSQL: "SELECT name FROM users WHERE number = ?", [number]).map { Name($0) }
    }

    /// Removes the rows of zones that ended, a few thousand at a time, so that saves don't wait behind a large zone.
    func sweepEndedZones() {
        Task.detached(priority: .low) { [weak self] in
            while let self, (try? await write({ db, _ in try ZoneSweep.step(db) })) == true {}
        }
    }
}
