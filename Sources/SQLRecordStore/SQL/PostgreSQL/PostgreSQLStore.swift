#if PostgreSQL
internal import Logging

/// The reading side of a store in PostgreSQL.
final class PostgreSQLReaders: StoreConnections {
    private let schema: String
    private let pool: PostgreSQLPool

    init(_ schema: String, _ pool: PostgreSQLPool) {
        self.schema = schema
        self.pool = pool
    }

    var isSingle: Bool { false }
    var threads: (any TaskExecutor)? { pool.threads }

    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try pool.lend(schema) { try body(SQLConnection(PostgreSQLDriver($0))) }
    }

    func close() {}
}

/// A store in PostgreSQL that is open for writing.
final class PostgreSQLStore: WritableConnections {
    private let readers: PostgreSQLReaders
    private let writer: PostgreSQLWriter

    init(_ number: Int64, of key: StoreKey, _ pool: PostgreSQLPool, _ logger: Logger) throws {
        readers = PostgreSQLReaders(PostgreSQLServer.schema(number), pool)
        writer = try PostgreSQLWriter(number, of: key, pool.address, logger)
    }

    var isSingle: Bool { false }
    var threads: (any TaskExecutor)? { readers.threads }
    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value { try readers.read(body) }

    func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value { try writer.write(body) }
    var isStale: Bool { writer.isStale }
    func tidy() {}
    func leaveInOrder() {}
    func close() { writer.close() }
}
#endif
