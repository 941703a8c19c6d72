/// The connections of a store that is open for reading.
protocol StoreConnections: Sendable {
    /// True if there is only one, so that reads have to wait for each other.
    var isSingle: Bool { get }
    /// Lends a connection to `body`, on the caller's thread.
    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value
    /// The threads on which a short read runs; `nil` for the caller's, if it does not wait for a network.
    var threads: (any TaskExecutor)? { get }
    /// Lends a connection to `body`, on a thread that requests don't need. If the task is cancelled, the statement ends soon.
    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws -> Value
    /// True if the store must be opened again: what was read at its opening no longer holds.
    var isStale: Bool { get }
    /// The epoch of positions, for all processes that have the store open; `nil` if each opening has its own.
    var epoch: UInt32? { get }
    /// Closes the connections. Nobody reads any more.
    func close() throws
}

extension StoreConnections {
    var threads: (any TaskExecutor)? { nil }
    var isStale: Bool { false }
    var epoch: UInt32? { nil }
}

/// The connections of a store that is open for writing. One of them writes.
protocol WritableConnections: StoreConnections {
    /// Lends the writing connection to `body`. The store's writer calls it, never twice at a time.
    func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value
    /// Looks after the database between two commits, which are durable without it.
    /// - Throws: ``SQLError``, after which the disk can't be trusted.
    func tidy() throws
    /// Leaves the database as it is best found at the next opening. It may fail.
    func leaveInOrder() throws

    // MARK: Other processes

    /// What the last commit left, if another process made it. Only within a transaction that writes.
    var notesOfOthers: WriterNotes? { get }
    /// Leaves notes with the commit of the transaction.
    func leave(_ notes: WriterNotes)
    /// True if this process does the store's background work: it alone builds indexes, continues cascades and sweeps. Only within a transaction that
    /// writes.
    /// - Throws: ``SQLError``.
    func keepsUp(_ db: SQLConnection) throws -> Bool
    /// Calls `hear` after commits of other processes, until the store is closed.
    func listen(_ hear: @escaping @Sendable () -> Void)
}

// For a store that one process has to itself.
extension WritableConnections {
    var notesOfOthers: WriterNotes? { nil }
    func leave(_ notes: WriterNotes) {}
    func keepsUp(_ db: SQLConnection) throws -> Bool { true }
    func listen(_ hear: @escaping @Sendable () -> Void) {}
}
