/// The connections of a store that is open for reading.
protocol StoreConnections: Sendable {
    /// True if there is only one, so that reads have to wait for each other.
    var isSingle: Bool { get }
    /// Lends a connection to `body`, on the caller's thread.
    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value
    /// The threads on which a short read runs; `nil` for the caller's, if it does not wait for a network.
    var threads: (any TaskExecutor)? { get }
    /// Lends a connection to `body`, on a thread that requests don't need.
    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws -> Value
    /// Closes the connections. Nobody reads any more.
    func close() throws
}

extension StoreConnections {
    var threads: (any TaskExecutor)? { nil }

    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws -> Value {
        try await withTaskExecutorPreference(threads) { try read(body) }
    }
}

/// The connections of a store that is open for writing. One of them writes.
protocol WritableConnections: StoreConnections {
    /// Lends the writing connection to `body`. The store's writer calls it, never twice at a time.
    func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value
    /// True if the state in memory may no longer be that of the tables, and the store must be opened again.
    var isStale: Bool { get }
    /// Looks after the database between two commits, which are durable without it.
    /// - Throws: ``SQLError``, after which the disk can't be trusted.
    func tidy() throws
    /// Leaves the database as it is best found at the next opening. It may fail.
    func leaveInOrder() throws
}
