#if PostgreSQL
internal import Foundation
internal import Logging
internal import Synchronization

/// The connection that writes to a store in PostgreSQL.
///
/// Its advisory lock keeps other processes from writing to the store. Each commit writes a mark. If the answer to a commit is lost, the mark tells
/// through the next connection whether it happened.
///
/// The store's writer uses it, one thread at a time.
final class PostgreSQLWriter: @unchecked Sendable {
    private let number: Int64
    private let key: StoreKey
    private let address: String
    private let logger: Logger
    private var connection: PostgreSQLConnection
    /// Written by the last commit, as far as this process knows.
    private var mark: Int64
    private let staleness = Atomic<Bool>(false)

    /// How long the outcome of a commit is looked for while the server is away.
    private static let patience = Duration.seconds(60)
    /// How long the lock of a process that ended may take to be released.
    private static let patienceForLock = Duration.seconds(5)
    private static let pause = 0.1

    init(_ number: Int64, of key: StoreKey, _ address: String, _ logger: Logger) throws {
        self.number = number
        self.key = key
        self.address = address
        self.logger = logger
        (connection, mark) = try Self.connect(number, of: key, address)
    }

    /// True if another process has written, or may have: the state in memory is no longer that of the tables.
    var isStale: Bool { staleness.load(ordering: .relaxed) }

    /// Connects, and takes the store's lock.
    private static func connect(_ number: Int64, of key: StoreKey, _ address: String) throws -> (PostgreSQLConnection, mark: Int64) {
        let connection = try PostgreSQLConnection(address, schema: PostgreSQLServer.schema(number))
        let db = SQLConnection(PostgreSQLDriver(connection))
        let end = ContinuousClock.now + patienceForLock
        while try Bool.fetchOne(db, sql: "SELECT pg_try_advisory_lock(\(PostgreSQLServer.lockClass), \(number))") != true {
            guard ContinuousClock.now < end else { throw SQLError(.busy, "locked", "another Skylight has \(key) open for writing") }
            Thread.sleep(forTimeInterval: pause)
        }
        let tables = try SQLiteLayout.ofNewStore()
        try db.writing {
            try PostgreSQLTables.bringUpToDate(tables, db)
            return true
        }
        guard let mark = try Int64.fetchOne(db, sql: "SELECT mark FROM lastCommit") else {
            throw SQLError(.damaged, "no mark", "the table lastCommit of \(key) has no row")
        }
        return (connection, mark)
    }

    func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        if isStale { throw staleError }
        if !connection.isReady {
            let (new, found) = try Self.connect(number, of: key, address)
            connection = new
            if found != mark { throw becomeStale() }
        }
        connection.allow()
        return try body(SQLConnection(PostgreSQLDriver(connection) { [self] in try commit() }))
    }

    private func commit() throws {
        let next = Int64.random(in: .min ... .max)
        do {
            try connection.execute("UPDATE lastCommit SET mark = \(next); COMMIT")
        } catch let error as SQLError where error.cause == .connectionLost {
            guard try hasHappened(next, after: error) else { throw SQLError(.conflict, error.code, "the connection was lost before the commit; nothing was changed") }
        }
        mark = next
    }

    /// Connects again, and looks whether the commit with this mark happened.
    private func hasHappened(_ next: Int64, after error: SQLError) throws -> Bool {
        let end = ContinuousClock.now + Self.patience
        while true {
            do {
                let (new, found) = try Self.connect(number, of: key, address)
                connection = new
                logger.notice("The answer to a commit was lost (\(error.message)); it \(found == next ? "happened" : "did not happen")")
                if found != next, found != mark { throw becomeStale() }
                return found == next
            } catch where ContinuousClock.now < end && !isStale {
                Thread.sleep(forTimeInterval: Self.pause)
            } catch {
                throw becomeStale()
            }
        }
    }

    private func becomeStale() -> SQLError {
        staleness.store(true, ordering: .relaxed)
        return staleError
    }

    private var staleError: SQLError {
        SQLError(.unknown, "stale", "the server was away, and it is not known whether this was saved. Fetch the records before saving them again")
    }

    func close() { connection.close() }
}
#endif
