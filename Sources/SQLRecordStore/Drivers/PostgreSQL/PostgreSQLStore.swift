#if PostgreSQL
    internal import Foundation
    internal import Logging
    internal import Synchronization

    /// The read connections of a store in PostgreSQL.
    final class PostgreSQLReaders: StoreConnections {
        private let schema: String
        private let pool: PostgreSQLPool
        let incarnation: String
        let epoch: UInt32?

        /// Blocks on the network.
        init(_ number: Int64, _ pool: PostgreSQLPool) throws {
            schema = PostgreSQLServer.schema(number)
            self.pool = pool
            (incarnation, epoch) = try pool.lend(schema) { ($0.incarnation, try PostgreSQLTables.epoch(of: $0)) }
        }

        var isSingle: Bool { false }
        var threads: (any TaskExecutor)? { pool.threads }
        /// True if the server has another history since the opening, after a failover or a restored backup.
        var isStale: Bool { pool.incarnation != incarnation }

        func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
            try pool.lend(schema) { try body(SQLConnection(PostgreSQLDriver($0))) }
        }

        func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws
            -> Value
        {
            let lent = Mutex<PostgreSQLConnection?>(nil)
            return try await withTaskCancellationHandler {
                try await withTaskExecutorPreference(pool.threadsForLongReads) { [pool, schema] in
                    try pool.lend(schema) { connection in
                        lent.withLock { $0 = connection }
                        // The next read may use the connection at once.
                        defer { lent.withLock { $0 = nil } }
                        try Task.checkCancellation()
                        return try body(SQLConnection(PostgreSQLDriver(connection)))
                    }
                }
            } onCancel: {
                lent.withLock { $0?.cancel() }
            }
        }

        func close() {}
    }

    /// A store in PostgreSQL that is open for writing. Other processes may have it open too.
    final class PostgreSQLStore: WritableConnections {
        private let readers: PostgreSQLReaders
        private let writer: PostgreSQLWriter
        private let number: Int64
        private let key: StoreKey
        private let server: PostgreSQLServer
        private let watch: PostgreSQLNews.Watch

        /// Opens the store and brings its tables up to date. Blocks on the network.
        init(_ number: Int64, of key: StoreKey, _ server: PostgreSQLServer, _ logger: Logger) throws {
            self.number = number
            self.key = key
            self.server = server
            let tables = try SQLiteLayout.ofNewStore()
            try server.pool.lend(PostgreSQLServer.schema(number)) { connection in
                let db = SQLConnection(PostgreSQLDriver(connection))
                if try PostgreSQLTables.areUpToDate(tables, of: key, db) { return }
                try db.writing {
                    try db.run("SELECT pg_advisory_xact_lock(\(PostgreSQLLocks.writing), \(number))")
                    // Reads of other processes access this table first. With another order, a read and this
                    // transaction could deadlock.
                    try db.run("LOCK TABLE facts IN ACCESS EXCLUSIVE MODE")
                    try PostgreSQLTables.bringUpToDate(tables, of: key, db)
                    return true
                }
            }
            readers = try PostgreSQLReaders(number, server.pool)
            writer = PostgreSQLWriter(number, of: key, server, incarnation: readers.incarnation, logger)
            watch = try server.news.watch(number, key)
        }

        deinit { server.news.forget(watch) }

        var isSingle: Bool { false }
        var threads: (any TaskExecutor)? { readers.threads }
        var epoch: UInt32? { readers.epoch }
        /// True also if the store was renamed or deleted, or if another process changed its keys.
        var isStale: Bool { readers.isStale || watch.isStale }

        func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
            do { return try readers.read(body) } catch { throw reason(of: error) }
        }

        func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws
            -> Value
        {
            do { return try await readers.readElsewhere(body) } catch { throw reason(of: error) }
        }

        func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
            do { return try writer.write(body) } catch { throw reason(of: error) }
        }

        /// The error to report: a missing table means damage, unless another process has deleted the container.
        private func reason(of error: any Error) -> any Error {
            guard let failure = error as? SQLError, failure.cause == .noTable, (try? server.holds(key)) == false else {
                return error
            }
            watch.giveUp()
            return SQLError(.busy, failure.code, "another Skylight has deleted the container")
        }

        func tidy() {
            guard writer.hasCommitted else { return }
            watch.note(mark: writer.known)
            server.news.tell(number)
            // The mark of this commit replaces that of the other process's commit, which the watch would then miss.
            if writer.followsOthers { watch.hear() }
        }
        func closeInOrder() {}

        var notesOfOthers: WriterState? { writer.notesOfOthers }
        func save(_ notes: WriterState) {
            watch.note(factsVersion: notes.factsVersion, after: writer.foundNotes?.factsVersion)
            writer.save(notes)
        }
        func keepsUp(_ db: SQLConnection) throws -> Bool { try writer.keepsUp(db) }
        func listen(_ hear: @escaping @Sendable () -> Void) { watch.listen(hear) }

        func close() {
            server.news.forget(watch)
            writer.close()
        }
    }

    // MARK: - Writer

    /// The connection that writes to a store in PostgreSQL.
    ///
    /// Several processes write to a store in turns: each transaction takes an advisory lock, which is released at its
    /// end. Each commit stores a *mark* and the notes for the next writer. By the mark, the next writer recognizes
    /// whether another process has written since, and then reads the notes. Each process also has a mark of its own.
    /// If the answer to a commit is lost, a second connection reads this mark to find out whether the commit happened.
    ///
    /// Only the store's writer uses it, on one thread at a time.
    final class PostgreSQLWriter: @unchecked Sendable {
        private let number: Int64
        private let key: StoreKey
        private let server: PostgreSQLServer
        /// The server's history when the store was opened.
        private let incarnation: String
        private let logger: Logger
        private var connection: PostgreSQLConnection?
        /// The mark of the last commit whose state is in memory; `nil` if unknown.
        private(set) var known: Int64?
        /// The mark and the notes at the start of the transaction.
        private var found: (mark: Int64, notes: WriterState?)?
        /// The notes that the transaction stores.
        private var left: WriterState?
        /// True if this connection holds the lock for background work.
        private var isKeeper = false
        /// True if the last transaction was committed.
        private(set) var hasCommitted = false
        /// True if another process committed before the last transaction of this one.
        private(set) var followsOthers = false

        /// Maximum time for finding out whether a commit happened, while the server can't be reached. It comes after
        /// that of ``PostgreSQLConnection/Patience/ofRequest``.
        static let commitPatience = Duration.seconds(60)
        private static let pause = 0.1
        /// Maximum time that a process waits for its turn to write.
        private static let turnPatience = Duration.seconds(30)
        /// Limits, so that a process that hangs within a transaction does not block the others.
        private static let settings =
            "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '5s'; \(keepalives)"
        /// Limits, so that the server detects a failed machine within half a minute instead of hours, and releases its
        /// locks.
        private static let keepalives =
            "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"

        init(_ number: Int64, of key: StoreKey, _ server: PostgreSQLServer, incarnation: String, _ logger: Logger) {
            self.incarnation = incarnation
            self.number = number
            self.key = key
            self.server = server
            self.logger = logger
        }

        private func connect() throws -> PostgreSQLConnection {
            isKeeper = false
            let connection = try server.pool.connect(PostgreSQLServer.schema(number))
            try connection.execute(Self.settings)
            connection.pipelines = true
            self.connection = connection
            return connection
        }

        func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
            let connection = if let connection, connection.isReady { connection } else { try connect() }
            // The store must be opened again first. Its positions then have a new epoch, because the latest ones may
            // be lost.
            if connection.incarnation != incarnation {
                throw SQLError(.busy, "taken over", "another server has taken over")
            }
            connection.allow()
            return try body(SQLConnection(driver(of: connection)))
        }

        private func driver(of connection: PostgreSQLConnection) -> PostgreSQLDriver {
            PostgreSQLDriver(
                connection, begin: { [self] in try begin(connection) }, commit: { [self] in try commit(connection) })
        }

        // MARK: Transactions

        /// Takes the lock for writing. Also waits for a process that moves containers, in case this process lost its
        /// own lock with a connection.
        private var lock: String {
            let serving = server.isAlone ? "" : "pg_advisory_xact_lock_shared(\(PostgreSQLLocks.serving), 0), "
            return
                "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT \(serving)pg_advisory_xact_lock(\(PostgreSQLLocks.writing), \(number))"
        }

        private func begin(_ connection: PostgreSQLConnection) throws {
            left = nil
            hasCommitted = false
            let columns = WriterState.columns.joined(separator: ", ")
            let row = try inTurn(connection) { try connection.row("\(lock); SELECT mark, \(columns) FROM lastCommit") }
                .map { Int64($0) ?? 0 }
            guard let mark = row.first else {
                throw SQLError(.damaged, "no mark", "the table lastCommit of \(key) has no columns")
            }
            found = (mark, WriterState(Array(row.dropFirst())))
            followsOthers = mark != known
        }

        /// Begins a transaction when it is this process's turn.
        private func inTurn<Value>(_ connection: PostgreSQLConnection, _ begin: () throws -> Value) throws -> Value {
            let end = ContinuousClock.now + Self.turnPatience
            while true {
                do {
                    return try begin()
                } catch let error as SQLError where error.code == "55P03" && ContinuousClock.now < end {
                    try connection.execute("ROLLBACK")
                    // If the role may not end connections of another role, that connection's own limits end it.
                    do { try connection.execute(Self.endingSilentWriter(of: number)) } catch let error as SQLError
                        where error.code == "42501"
                    {}
                }
            }
        }

        /// Ends the connection of a process that holds the lock for writing but neither sends nor receives anything.
        /// The limit for idle transactions does not apply between statements that are sent together.
        static func endingSilentWriter(of number: Int64, after seconds: Int = 5) -> String {
            """
            SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND classid = \(PostgreSQLLocks.writing) AND objid = \(number) AND objsubid = 2 AND granted
            AND wait_event_type = 'Client' AND state_change < clock_timestamp() - INTERVAL '\(seconds) seconds'
            """
        }

        /// The notes of the last commit, if its state is not in memory.
        var notesOfOthers: WriterState? { found?.mark == known ? nil : foundNotes }
        var foundNotes: WriterState? { found?.notes }

        func save(_ notes: WriterState) { left = notes }

        private func commit(_ connection: PostgreSQLConnection) throws {
            let next = Int64.random(in: .min ... .max)
            let notes = left.map { zip(WriterState.columns, $0.values).map { ", \($0) = \($1)" }.joined() } ?? ""
            do {
                try connection.commit([
                    "UPDATE lastCommit SET mark = \(next)\(notes)",
                    """
                    INSERT INTO writers (process, mark, moment) VALUES (\(server.process), \(next), now())
                    ON CONFLICT (process) DO UPDATE SET mark = excluded.mark, moment = excluded.moment
                    """,
                ])
            } catch let error as SQLError where error.cause == .connectionLost {
                guard try hasHappened(next, after: error) else {
                    throw SQLError(
                        .conflict, error.code, "the connection was lost before the commit; nothing was changed")
                }
            }
            hasCommitted = true
            // Without notes, the state in memory does not come from this transaction.
            if left != nil || found?.mark == known { known = next }
        }

        /// Connects again and reads whether the commit with this mark happened.
        private func hasHappened(_ next: Int64, after error: SQLError) throws -> Bool {
            let end = ContinuousClock.now + Self.commitPatience
            while true {
                do {
                    let connection = try connect()
                    // Taking the lock waits for the end of the transaction, which the server may not have noticed yet.
                    let own = try connection.rows(
                        "\(lock); UPDATE writers SET moment = now() WHERE process = \(server.process) RETURNING mark")
                    // If commits wait for a standby, this commit waits until the standby has the earlier one, too.
                    try connection.execute("COMMIT")
                    let hasHappened = own.first?.first == String(next)
                    logger.notice(
                        "The answer to a commit was lost (\(error.message)); it \(hasHappened ? "happened" : "did not happen")"
                    )
                    return hasHappened
                } catch let error as SQLError where error.cause == .noTable {
                    throw error
                } catch  where ContinuousClock.now < end {
                    Thread.sleep(forTimeInterval: Self.pause)
                } catch {
                    throw SQLError(
                        .unknown, "no answer",
                        "the server was away, and it is not known whether this was saved. Fetch the records before saving them again"
                    )
                }
            }
        }

        // MARK: Background work

        /// Takes the lock for background work, which lasts as long as the connection.
        /// - Returns: `false` if another process holds it.
        func keepsUp(_ db: SQLConnection) throws -> Bool {
            if isKeeper { return true }
            isKeeper =
                try Bool.fetchOne(db, sql: "SELECT pg_try_advisory_lock(\(PostgreSQLLocks.upkeep), \(number))") ?? false
            guard isKeeper else { return false }
            // Index work of the previous process after the last stored place is lost, and is repeated.
            try db.run("UPDATE indexWork SET done = doneThere WHERE phase = \(IndexWork.Phase.building.rawValue)")
            // The process of such a mark has ended, so nobody asks for the outcome of its commit any more.
            try db.run("DELETE FROM writers WHERE moment < now() - INTERVAL '30 days'")
            return true
        }

        func close() {
            connection?.close()
            connection = nil
        }
    }

    /// The first keys of the advisory locks. The second key is the number of a store, or 0.
    enum PostgreSQLLocks {
        /// Protects the table of stores during the start of a server.
        static let stores: Int32 = 0x534b_594c
        /// Held during one transaction that writes to a store.
        static let writing = stores + 1
        /// Held by the process that does a store's background work.
        static let upkeep = stores + 2
        /// Shared by the processes that serve the database; exclusive for a process that moves its stores.
        static let serving = stores + 3
    }
#endif
