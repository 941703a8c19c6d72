public import Records

/// An engine that knows whether its stores can be read and take saves.
public protocol StoreHealthReporting: RecordEngine {
    /// The stores that are open, and those that can't be opened or read, by container and environment.
    func health() async -> [StoreHealth]
}

/// How one container's environment is.
public struct StoreHealth: Sendable, Hashable {
    public var container: ContainerID
    public var environment: Environment
    /// Why no save is taken any more; `nil` while saves are.
    public var readOnlyBecause: RecordError?
    /// Why it can't be opened, or something in it can't be read; `nil` while it can.
    public var unreadableBecause: RecordError?
    /// Since when it can't be read, as far as that was noticed.
    public var since: Timestamp?

    public init(
        container: ContainerID, environment: Environment, readOnlyBecause: RecordError? = nil, unreadableBecause: RecordError? = nil,
        since: Timestamp? = nil
    ) {
        self.container = container
        self.environment = environment
        self.readOnlyBecause = readOnlyBecause
        self.unreadableBecause = unreadableBecause
        self.since = since
    }

    public enum Status: String, Sendable {
        case ok
        /// It can be read, and takes no saves.
        case readOnly = "read-only"
        /// It can't be opened, or something in it can't be read.
        case unreadable
    }

    public var status: Status { unreadableBecause != nil ? .unreadable : readOnlyBecause != nil ? .readOnly : .ok }
    /// Why it is not well.
    public var reason: RecordError? { unreadableBecause ?? readOnlyBecause }
}
