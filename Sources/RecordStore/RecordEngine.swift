public import Records

/// Stores containers: in files of this process, in its memory or on another server.
public protocol RecordEngine: Sendable {
    /// Opens a database. The first save creates the container.
    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase

    /// Existing containers, ordered by identifier.
    func containers() async throws -> [ContainerID]

    /// Stops work in progress and closes files. The engine can't be used afterwards.
    func close() async
}
