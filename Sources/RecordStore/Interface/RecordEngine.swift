public import Records

/// Stores containers: in files of this process, in its memory or on another server.
///
/// What only some engines can do are parts, each a protocol of its own, which ``Capable/require(_:)`` hands out.
public protocol RecordEngine: Capable {
    /// Opens a database. The first save creates the container.
    ///
    /// An engine that accesses its containers with its own credentials acts as their owner, whoever the caller is.
    /// ``RecordDatabase/caller`` returns that user.
    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase

    /// Stops work in progress and closes files. The engine can't be used afterwards.
    func close() async
}

extension RecordEngine {
    /// True if a container exists, as far as the engine can tell. Does not create it.
    public func has(_ container: ContainerID) async throws -> Bool {
        try await part(.listContainers)?.containers().contains(container) ?? true
    }

    /// True if an environment of a container exists, as far as the engine can tell. Does not create it.
    public func has(_ container: ContainerID, _ environment: Environment) async throws -> Bool {
        try await part(.listEnvironments)?.environments(of: container).contains(environment) ?? true
    }
}

// MARK: - Parts

/// The containers.
public protocol ContainerListing: Sendable {
    /// Existing containers, ordered by identifier.
    func containers() async throws -> [ContainerID]

    /// The environments of a container that exist, without creating them; empty if there is no such container.
    func environments(of container: ContainerID) async throws -> [Environment]
}

extension Capability where Part == any ContainerListing {
    public static var listContainers: Self { Self("list its containers") }
    public static var listEnvironments: Self { Self("list the environments of its containers") }
}

/// Summaries of containers.
public protocol ContainerSummaries: Sendable {
    /// One summary for each container, in the given order, without opening it, since there may be thousands.
    func summaries(of containers: [ContainerID]) async throws -> [ContainerSummary]
}

extension Capability where Part == any ContainerSummaries {
    public static var summarizeContainers: Self { Self("summarize its containers") }
}

/// Changes of containers.
public protocol ContainerEditing: Sendable {
    /// Deletes a container irrevocably: records, zones, shares, users and the schemas of both environments. In CloudKit
    /// this is not possible.
    ///
    /// Operations in progress fail, and existing handles become invalid. Asset files are stored with the container and
    /// are deleted or moved with it, so open asset stores must be closed first.
    /// - Throws: `RecordError` NOT_FOUND if the container does not exist, TRY_AGAIN_LATER while it is being deleted
    ///   or renamed.
    func deleteContainer(_ container: ContainerID) async throws

    /// Renames a container. Change tokens stay valid, file URLs do not.
    /// - Throws: like ``deleteContainer(_:)``, and `RecordError` EXISTS if a container has the new name or one that
    ///   differs only in case.
    func renameContainer(_ container: ContainerID, to name: ContainerID) async throws
}

extension Capability where Part == any ContainerEditing {
    public static var editContainers: Self { Self("delete and rename containers") }
}

/// The health of stores.
public protocol HealthReporting: Sendable {
    /// All open stores and all stores that can't be opened or read, by container and environment.
    func health() async throws -> [StoreHealth]
}

extension Capability where Part == any HealthReporting {
    public static var reportHealth: Self { Self("report the health of its stores") }
}

/// The sizes of stores.
public protocol StoreMeasuring: Sendable {
    /// The stores in use, ordered by container, environment and database, with all users combined. Stores without
    /// records and unreadable stores are left out.
    ///
    /// If stores maintain the sizes of their zones, the cost depends on the number of zones, not of records.
    /// - Parameter limit: maximum number of types and of zone names per database, largest first.
    func storage(limit: Int) async throws -> [StoreStorage]
}

extension Capability where Part == any StoreMeasuring {
    public static var measureStores: Self { Self("measure its storage") }
}

/// The users.
public protocol KnownUsers: Sendable {
    /// True if anything was saved by or shared with the user, or if the user sent a request since the engine was
    /// created. Returns false for an unknown user. Does not register the user, as opening a database may do.
    func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Environment) async throws -> Bool
}

extension Capability where Part == any KnownUsers {
    public static var knowUsers: Self { Self("tell whether it knows a user") }
}

/// The files that records refer to.
public protocol AssetKeeping: Sendable {
    /// The ledger of the files that records of a container and environment refer to. Its tickets are valid even before
    /// anything is saved.
    func assetLedger(_ container: ContainerID, _ environment: Environment) async throws -> any AssetLedger

    /// False if the files of a container are elsewhere.
    func keepsAssets(of container: ContainerID) -> Bool
}

extension Capability where Part == any AssetKeeping {
    public static var keepAssets: Self { Self("keep asset files") }
}

extension AssetKeeping {
    public func keepsAssets(of container: ContainerID) -> Bool { true }
}

// MARK: - Containers

/// Summary of a container, taken without opening it.
public struct ContainerSummary: Sendable, Hashable {
    public var container: ContainerID
    /// Total size of the record stores of all environments on disk in bytes, without asset files.
    public var bytes: Int64
    /// Time of the last save; `nil` if nothing was saved.
    public var lastSave: Timestamp?
    /// The reason why an environment can't be opened or read; `nil` if no problem is known.
    public var unreadableBecause: RecordError?

    public init(
        container: ContainerID, bytes: Int64 = 0, lastSave: Timestamp? = nil, unreadableBecause: RecordError? = nil
    ) {
        self.container = container
        self.bytes = bytes
        self.lastSave = lastSave
        self.unreadableBecause = unreadableBecause
    }
}

extension RecordError {
    /// The error for a container that is being deleted or renamed.
    public static func containerBusy(_ container: ContainerID) -> RecordError {
        RecordError(.tryAgainLater, "The container '\(container)' is being deleted or renamed", retryAfter: 1)
    }

    /// The error for deleting or renaming a container that does not exist.
    public static func noContainer(_ container: ContainerID) -> RecordError {
        RecordError(.notFound, "There is no container '\(container)'")
    }

    /// The error for a container name that is in use.
    public static func containerExists(_ container: ContainerID) -> RecordError {
        RecordError(.exists, "The container '\(container)' already exists; choose another name")
    }
}

// MARK: - Health

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
    /// The database server and the settings that say how durable its commits are, such as `PostgreSQL 15.14,
    /// synchronous_commit on`; `nil` for a file.
    public var database: String?

    public init(
        container: ContainerID, environment: Environment, readOnlyBecause: RecordError? = nil,
        unreadableBecause: RecordError? = nil,
        since: Timestamp? = nil, database: String? = nil
    ) {
        self.container = container
        self.environment = environment
        self.readOnlyBecause = readOnlyBecause
        self.unreadableBecause = unreadableBecause
        self.since = since
        self.database = database
    }

    public enum Status: String, Sendable, CaseIterable {
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

// MARK: - Services

/// The services of the server, below `/skylight/1/` (docs/services.md).
package enum ServerServices {
    /// The environments are there if the engine knows them.
    package static let containers = SkylightService(
        "containers", .get,
        answers: JSONMember<[ContainerID]>("containers"), JSONMember<[Name: [Environment]]?>("environments"))
    /// Where credentials are required, only the administrator gets the list of stores.
    package static let health = SkylightService(
        "health", .get,
        answers: JSONMember<StoreHealth.Status>("status"), JSONMember<String>("version"),
        JSONMember<String?>("instance"),
        JSONMember<[StoreHealth]?>("stores"))
    /// The user that the request acts for.
    package static let caller = SkylightService(
        "users/caller", .get, answers: JSONMember<Name>("userRecordName"), JSONMember<String>("deviceID"))
}

extension StoreHealth.Status: JSONWord {}

extension StoreHealth: JSONObjectCoded {
    package static let form = JSONForm<StoreHealth>(
        { container, environment, status, since, database, error in
            var health = StoreHealth(container: container, environment: environment, since: since, database: database)
            switch status {
            case .ok: break
            case .readOnly: health.readOnlyBecause = error
            case .unreadable: health.unreadableBecause = error
            }
            return health
        },
        JSONPart("container", \.container), JSONPart("environment", \.environment), JSONPart("status", \.status),
        JSONPart("since", \.since), JSONPart("database", \.database), JSONPart(joined: .error, \.reason))
}
