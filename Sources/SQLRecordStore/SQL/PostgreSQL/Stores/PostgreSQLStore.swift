#if PostgreSQL
internal import Logging
internal import Synchronization

/// The reading side of a store in PostgreSQL.
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
    /// True if the database is another one, after a failover or a restored backup.
    var isStale: Bool { pool.incarnation != incarnation }

    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try pool.lend(schema) { try body(SQLConnection(PostgreSQLDriver($0))) }
    }

    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws -> Value {
        let lent = Mutex<PostgreSQLConnection?>(nil)
        return try await withTaskCancellationHandler {
            try await withTaskExecutorPreference(pool.threadsForLongReads) { [pool, schema] in
                try pool.lend(schema) { connection in
                    lent.withLock { $0 = connection }
                    // Another read may have the connection next.
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

/// A store in PostgreSQL that is open for writing, also by other processes.
final class PostgreSQLStore: WritableConnections {
    private let readers: PostgreSQLReaders
    private let writer: PostgreSQLWriter
    private let number: Int64
    private let key: StoreKey
    private let server: PostgreSQLServer
    private let watch: PostgreSQLNews.Watch

    /// Brings the tables up to date. Blocks on the network.
    init(_ number: Int64, of key: StoreKey, _ server: PostgreSQLServer, _ logger: Logger) throws {
        self.number = number
        self.key = key
        self.server = server
        let tables = try SQLiteLayout.ofNewStore()
        try server.pool.lend(PostgreSQLServer.schema(number)) { connection in
            let db = SQLConnection(PostgreSQLDriver(connection))
            if try PostgreSQLTables.areUpToDate(tables, db) { return }
            try db.writing {
                try db.run("SELECT pg_advisory_xact_lock(\(PostgreSQLLocks.writing), \(number))")
                // Reads of other processes begin with this table. The other way round, each could wait for the other.
                try db.run("LOCK TABLE facts IN ACCESS EXCLUSIVE MODE")
                try PostgreSQLTables.bringUpToDate(tables, db)
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
    /// True also if the store was renamed or deleted, or if its keys were changed by another process.
    var isStale: Bool { readers.isStale || watch.isStale }

    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        do { return try readers.read(body) } catch { throw reason(of: error) }
    }

    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws -> Value {
        do { return try await readers.readElsewhere(body) } catch { throw reason(of: error) }
    }

    func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        do { return try writer.write(body) } catch { throw reason(of: error) }
    }

    /// A missing table is damage, unless another process has deleted the container.
    private func reason(of error: any Error) -> any Error {
        guard let failure = error as? SQLError, failure.cause == .noTable, (try? server.holds(key)) == false else { return error }
        watch.giveUp()
        return SQLError(.busy, failure.code, "another Skylight has deleted the container")
    }

    func tidy() {
        guard writer.hasCommitted else { return }
        watch.note(mark: writer.known)
        server.news.tell(number)
        // The mark of this commit hides the one before it.
        if writer.followsOthers { watch.hear() }
    }
    func leaveInOrder() {}

    var notesOfOthers: WriterNotes? { writer.notesOfOthers }
    func leave(_ notes: WriterNotes) {
        watch.note(factsVersion: notes.factsVersion, after: writer.foundNotes?.factsVersion)
        writer.leave(notes)
    }
    func keepsUp(_ db: SQLConnection) throws -> Bool { try writer.keepsUp(db) }
    func listen(_ hear: @escaping @Sendable () -> Void) { watch.listen(hear) }

    func close() {
        server.news.forget(watch)
        writer.close()
    }
}
#endif
