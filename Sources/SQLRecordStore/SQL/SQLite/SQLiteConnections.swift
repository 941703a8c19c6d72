internal import GRDB

/// One connection to a SQLite file, or to a database in memory, that reads.
struct SQLiteReadingConnection: StoreConnections {
    let queue: DatabaseQueue

    var isSingle: Bool { true }

    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try SQLError.catching { try queue.unsafeRead { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws -> Value {
        try await SQLError.catching { try await queue.unsafeRead { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    func close() throws { try SQLError.catching { try queue.close() } }
}
