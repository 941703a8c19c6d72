internal import Foundation
internal import Records

/// The place where an engine's stores are kept: a folder of files, or a database server.
///
/// All calls but ``name`` may block on a disk or on the network.
protocol StoreLocation: Sendable {
    // MARK: Containers

    /// The containers that have a store, in any order.
    func containers() throws -> [ContainerID]
    /// Renames a container. Its stores must be closed.
    /// - Throws: `RecordError` NOT_FOUND if the container does not exist, BAD_REQUEST if the new name is taken.
    func rename(_ container: ContainerID, to name: ContainerID) throws
    /// Deletes a container. Its stores must be closed.
    func delete(_ container: ContainerID) throws

    // MARK: Stores

    /// True if a store exists.
    /// - Returns: `false` if nothing was saved yet.
    /// - Throws: `RecordError` INTERNAL_ERROR if something else is in its place.
    func holds(_ key: StoreKey) throws -> Bool
    /// The size in bytes and the time of the last write; `nil` if the store does not exist.
    func extent(of key: StoreKey) -> (bytes: Int64, lastSave: Timestamp)?
    /// Creates a store atomically.
    /// - Parameter fill: writes the store's first rows.
    /// - Returns: `false` if another process has created the store meanwhile.
    /// - Throws: ``SQLError``, or an error of the file system.
    func make(_ key: StoreKey, _ fill: (SQLConnection) throws -> Void) throws -> Bool
    /// Opens a store for writing and brings its tables up to date.
    func open(_ key: StoreKey) throws -> any WritableConnections
    /// Opens a store that can't be written at present.
    func openForReading(_ key: StoreKey) throws -> any StoreConnections
    /// True if a store that could not be written can probably be written again.
    func looksWritable(_ key: StoreKey) -> Bool

    /// Number of file handles that an open store may use.
    var handlesPerStore: Int { get }
    /// The database server and the settings that say how durable its commits are; `nil` for files.
    func condition() throws -> String?
    /// Closes the location. Other processes may then use the stores.
    func close()

    // MARK: Other processes

    /// Verifies that other processes were excluded until now, if that was requested.
    /// - Throws: ``SQLError`` if other processes may have saved meanwhile.
    func checkLock() throws
    /// A secret, shared by all processes, from which the keys of new stores are derived; `nil` if only this process
    /// uses the stores.
    func secret() throws -> [UInt8]?
    /// Registers a function that is called after commits of other processes, also for stores that are not open here.
    func listen(_ hear: @escaping @Sendable (StoreKey) -> Void)
}

extension StoreLocation {
    // The defaults for stores that only one process uses.
    func secret() throws -> [UInt8]? { nil }
    func checkLock() throws {}
    func condition() throws -> String? { nil }
    func listen(_ hear: @escaping @Sendable (StoreKey) -> Void) {}

    /// The reason why a store can't be opened, as far as it can be determined without opening it.
    func problem(of key: StoreKey) -> RecordError? {
        do {
            _ = try holds(key)
            return nil
        } catch {
            return error as? RecordError ?? StoreProblem(error, reading: key)?.refusal
                ?? RecordError(.internalError, "\(key) can't be inspected: \(StoreProblem.words(for: error))")
        }
    }
}

// MARK: - Connections

/// The connections of a store that is open for reading.
protocol StoreConnections: Sendable {
    /// True if there is only one connection, so that reads must wait for each other.
    var isSingle: Bool { get }
    /// Lends a connection to `body`, on the caller's thread.
    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value
    /// The threads for short reads; `nil` to use the caller's thread, if reads don't wait for a network.
    var threads: (any TaskExecutor)? { get }
    /// Lends a connection to `body`, on a thread that requests don't use. If the task is cancelled, the running
    /// statement ends soon.
    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws
        -> Value
    /// True if the store must be opened again, because the data read at its opening is no longer valid.
    var isStale: Bool { get }
    /// The epoch of positions, shared by all processes that have the store open; `nil` if each opening has its own.
    var epoch: UInt32? { get }
    /// Closes the connections. No reads may be running.
    func close() throws
}

extension StoreConnections {
    var threads: (any TaskExecutor)? { nil }
    var isStale: Bool { false }
    var epoch: UInt32? { nil }
}

/// The connections of a store that is open for writing. One of them writes.
protocol WritableConnections: StoreConnections {
    /// Lends the writing connection to `body`. Only the store's writer calls this, and never concurrently.
    func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value
    /// Maintains the database between two commits, for example with a checkpoint. Commits are durable without it.
    /// - Throws: ``SQLError``, after which the data on the disk can't be trusted.
    func tidy() throws
    /// Prepares the database for its next opening, before the store is closed. May fail without loss of data.
    func closeInOrder() throws

    // MARK: Other processes

    /// The notes of the last commit, if another process made it. Call it only within a write transaction.
    var notesOfOthers: WriterState? { get }
    /// Stores notes for the next writer with the commit of the transaction.
    func save(_ notes: WriterState)
    /// True if this process does the store's background work: only one process builds indexes, continues cascades and
    /// sweeps. Call it only within a write transaction.
    /// - Throws: ``SQLError``.
    func keepsUp(_ db: SQLConnection) throws -> Bool
    /// Registers a function that is called after commits of other processes, until the store is closed.
    func listen(_ hear: @escaping @Sendable () -> Void)
}

// The defaults for a store that only one process uses.
extension WritableConnections {
    var notesOfOthers: WriterState? { nil }
    func save(_ notes: WriterState) {}
    func keepsUp(_ db: SQLConnection) throws -> Bool { true }
    func listen(_ hear: @escaping @Sendable () -> Void) {}
}
