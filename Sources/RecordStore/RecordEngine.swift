public import Records

/// A place where containers live: this process's files, its memory, or a server elsewhere.
public protocol RecordEngine: Sendable {
    /// A handle to one database. The container is made by the first save.
    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase

    /// The containers that exist, by identifier.
    func containers() async throws -> [ContainerID]

    /// Ends work that is under way and lets go of files. The engine can't be used afterwards.
    func close() async
}
