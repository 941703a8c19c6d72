internal import Foundation
internal import Records

/// The home of an engine's stores: a folder of files, or a database server.
///
/// All calls but ``name`` may block on a disk or on the network.
protocol StoreLocation: Sendable {
    // MARK: Containers

    /// Containers with a store, in any order.
    func containers() throws -> [ContainerID]
    /// Renames a container. Its stores are closed.
    /// - Throws: `RecordError` NOT_FOUND if there is none, BAD_REQUEST if the new name is taken.
    func rename(_ container: ContainerID, to name: ContainerID) throws
    /// Deletes a container. Its stores are closed.
    func delete(_ container: ContainerID) throws

    // MARK: Stores

    /// - Returns: `false` if nothing was saved yet.
    /// - Throws: `RecordError` INTERNAL_ERROR if there is something else in its place.
    func holds(_ key: StoreKey) throws -> Bool
    /// Size in bytes, and the time of the last write; `nil` if there is no store.
    func extent(of key: StoreKey) -> (bytes: Int64, lastSave: Timestamp)?
    /// Makes an empty store, all of it or nothing.
    /// - Parameter fill: writes its first rows.
    /// - Returns: `false` if another process has made it.
    /// - Throws: ``SQLError``, or an error of the file system.
    func make(_ key: StoreKey, _ fill: (SQLConnection) throws -> Void) throws -> Bool
    /// Opens a store for writing and brings its tables up to date.
    func open(_ key: StoreKey) throws -> any WritableConnections
    /// Opens a store that can't be written to at present.
    func openForReading(_ key: StoreKey) throws -> any StoreConnections
    /// True if such a store can probably be written to again.
    func looksWritable(_ key: StoreKey) -> Bool

    /// Number of file handles that an open store may use.
    var handlesPerStore: Int { get }
    /// The database server and the settings that say how durable its commits are; `nil` for files.
    func condition() throws -> String?
    /// Lets other processes have the stores.
    func close()

    // MARK: Other processes

    /// Makes sure that other processes were kept out until now, where that was asked for.
    /// - Throws: ``SQLError`` if they may have saved meanwhile.
    func checkLock() throws
    /// A secret for the keys of new stores that all processes have; `nil` if this one has the stores to itself.
    func secret() throws -> [UInt8]?
    /// Calls `hear` after commits of other processes, also in stores that are not open here.
    func listen(_ hear: @escaping @Sendable (StoreKey) -> Void)
}

extension StoreLocation {
    // For stores that one process has to itself.
    func secret() throws -> [UInt8]? { nil }
    func checkLock() throws {}
    func condition() throws -> String? { nil }
    func listen(_ hear: @escaping @Sendable (StoreKey) -> Void) {}

    /// The reason why a store can't be opened, as far as can be seen from outside.
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
    /// True if there is only one, so that reads have to wait for each other.
    var isSingle: Bool { get }
    /// Lends a connection to `body`, on the caller's thread.
    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value
    /// The threads on which a short read runs; `nil` for the caller's, if it does not wait for a network.
    var threads: (any TaskExecutor)? { get }
    /// Lends a connection to `body`, on a thread that requests don't need. If the task is cancelled, the statement ends
    /// soon.
    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws
        -> Value
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
    func closeInOrder() throws

    // MARK: Other processes

    /// What the last commit left, if another process made it. Only within a transaction that writes.
    var notesOfOthers: WriterState? { get }
    /// Leaves notes with the commit of the transaction.
    func save(_ notes: WriterState)
    /// True if this process does the store's background work: it alone builds indexes, continues cascades and sweeps.
    /// Only within a transaction that writes.
    /// - Throws: ``SQLError``.
    func keepsUp(_ db: SQLConnection) throws -> Bool
    /// Calls `hear` after commits of other processes, until the store is closed.
    func listen(_ hear: @escaping @Sendable () -> Void)
}

// For a store that one process has to itself.
extension WritableConnections {
    var notesOfOthers: WriterState? { nil }
    func save(_ notes: WriterState) {}
    func keepsUp(_ db: SQLConnection) throws -> Bool { true }
    func listen(_ hear: @escaping @Sendable () -> Void) {}
}
