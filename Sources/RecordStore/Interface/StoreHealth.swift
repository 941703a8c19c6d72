public import Records

/// Health of the store of a container and environment.
public struct StoreHealth: Sendable, Hashable {
    public var container: ContainerID
    public var environment: Environment
    /// The reason why writes are refused; `nil` while they are accepted.
    public var readOnlyBecause: RecordError?
    /// The reason why the store can't be opened or fully read; `nil` while it can.
    public var unreadableBecause: RecordError?
    /// Time when the problem with reading was first noticed.
    public var since: Timestamp?
    /// The database server and the settings that say how durable its commits are, such as `PostgreSQL 15.14, synchronous_commit on`; `nil` for a file.
    public var database: String?

    public init(
        container: ContainerID, environment: Environment, readOnlyBecause: RecordError? = nil, unreadableBecause: RecordError? = nil,
        since: Timestamp? = nil, database: String? = nil
    ) {
        self.container = container
        self.environment = environment
        self.readOnlyBecause = readOnlyBecause
        self.unreadableBecause = unreadableBecause
        self.since = since
        self.database = database
    }

    public enum Status: String, Sendable {
        case ok
        /// The store can be read but not written.
        case readOnly = "read-only"
        /// The store can't be opened or fully read.
        case unreadable
    }

    public var status: Status { unreadableBecause != nil ? .unreadable : readOnlyBecause != nil ? .readOnly : .ok }
    /// The reason for a status other than `ok`.
    public var reason: RecordError? { unreadableBecause ?? readOnlyBecause }
}
