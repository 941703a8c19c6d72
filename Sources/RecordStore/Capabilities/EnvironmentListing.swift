public import Records

/// An engine that can list the environments of a container without creating them.
public protocol EnvironmentListing: RecordEngine {
    /// The environments of a container that exist; empty if there is no such container.
    func environments(of container: ContainerID) async throws -> [Environment]
}
