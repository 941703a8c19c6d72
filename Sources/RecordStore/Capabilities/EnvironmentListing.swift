public import Records

/// An engine that knows which environments of a container exist, without making those that don't.
public protocol EnvironmentListing: RecordEngine {
    /// The environments of a container that anything was ever asked of; none when there is no such container.
    func environments(of container: ContainerID) async throws -> [Environment]
}
