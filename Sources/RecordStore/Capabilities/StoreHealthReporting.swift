public import Records

/// An engine that knows whether its stores take saves.
public protocol StoreHealthReporting: RecordEngine {
    /// The stores that are open, by container and environment.
    func health() async -> [StoreHealth]
}

/// How one container's environment is.
public struct StoreHealth: Sendable, Hashable {
    public var container: ContainerID
    public var environment: Environment
    /// Why no save is taken any more; `nil` while saves are.
    public var readOnlyBecause: RecordError?

    public init(container: ContainerID, environment: Environment, readOnlyBecause: RecordError?) {
        self.container = container
        self.environment = environment
        self.readOnlyBecause = readOnlyBecause
    }
}
