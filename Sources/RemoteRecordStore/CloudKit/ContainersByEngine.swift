public import Accounts
internal import CloudKitClient
public import Logging
public import RecordStore
public import Records
internal import Synchronization

/// The containers of this machine and the connected containers in iCloud, each with its engine.
///
/// Each call asks the accounts which containers are connected. A connected container is never opened on this machine,
/// in any environment, so that nothing is saved here by mistake.
public final class ContainersByEngine: ForwardingEngine, ContainerListing, ContainerSummaries, ContainerEditing,
    KnownUsers,
    AssetKeeping
{
    public let base: any RecordEngine
    private let accounts: Accounts
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    /// The engines by the IDs of their connections.
    private let engines = Mutex<[String: CloudKitRecordEngine]>([:])

    /// - Parameters:
    ///   - local: the engine of the containers of this machine.
    ///   - accounts: stores the connections, and receives their new web auth tokens.
    public init(
        local: any RecordEngine, accounts: Accounts, logger: Logger,
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
        base = local
        self.accounts = accounts
        self.logger = logger
        self.clock = clock
    }

    // MARK: Connections

    /// Returns the engine for an environment of a connected container.
    /// - Returns: `nil` for a container of this machine.
    /// - Throws: `RecordError` NOT_FOUND if only the other environment of the container is connected; BAD_REQUEST for
    ///   an invalid credential.
    public func connected(_ container: ContainerID, _ environment: Environment) throws -> CloudKitRecordEngine? {
        let connections = accounts.connections(of: container)
        if connections.isEmpty { return nil }
        guard let connection = connections.first(where: { $0.environment == environment }) else {
            throw RecordError.notConnected(container, environment)
        }
        return try engine(of: connection)
    }

    /// True if requests for a container go to iCloud.
    public func isConnected(_ container: ContainerID) -> Bool { !accounts.connections(of: container).isEmpty }

    private func engine(of connection: ContainerConnection) throws -> CloudKitRecordEngine {
        closeEnded()
        return try engines.withLock { engines in
            if let engine = engines[connection.id] { return engine }
            var configuration = ClientConfiguration()
            configuration.patience = CloudKitMeter.pageTime
            let engine = try CloudKitRecordEngine(
                connection, configuration: configuration, logger: logger, clock: clock
            ) { [accounts, logger] token in
                do {
                    try await accounts.keepWebAuthToken(token.text, of: connection.id)
                } catch {
                    logger.warning(
                        "The newest web auth token of \(connection.place) could not be saved; a sign-in may be needed after a restart: \(error)"
                    )
                }
            }
            engines[connection.id] = engine
            return engine
        }
    }

    /// Closes connections that were removed or replaced. Their requests fail, including pulls and pushes in progress.
    public func closeEnded() {
        let current = Set(accounts.connections().map(\.id))
        let ended = engines.withLock { engines in
            let ended = engines.filter { !current.contains($0.key) }
            for id in ended.keys { engines[id] = nil }
            return ended
        }
        if !ended.isEmpty { Task { for engine in ended.values { await engine.close() } } }
    }

    // MARK: Databases

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        if let engine = try connected(address.container, address.environment) { return try engine.database(address) }
        return try await base.database(address, as: caller)
    }

    public func close() async {
        let engines = engines.withLock { engines in
            defer { engines = [:] }
            return engines.values.map { $0 }
        }
        for engine in engines { await engine.close() }
        await base.close()
    }

    // MARK: Containers

    /// The capabilities of the local engine. For a connected container, the calls throw, except for those that list
    /// containers.

    public func containers() async throws -> [ContainerID] {
        Set(try await base.require(.listContainers).containers()).union(accounts.connections().map(\.container))
            .sorted()
    }

    public func environments(of container: ContainerID) async throws -> [Environment] {
        let connected = accounts.connections(of: container).map(\.environment)
        if connected.isEmpty { return try await base.require(.listEnvironments).environments(of: container) }
        return Environment.allCases.filter { connected.contains($0) }
    }

    /// A connected container uses no space on this disk, and CloudKit does not report its size.
    public func summaries(of containers: [ContainerID]) async throws -> [ContainerSummary] {
        var summaries = try await base.require(.summarizeContainers).summaries(
            of: containers.filter { !isConnected($0) })[...]
        return containers.map { container in
            if !isConnected(container), summaries.first?.container == container {
                summaries.removeFirst()
            } else {
                ContainerSummary(container: container)
            }
        }
    }

    public func deleteContainer(_ container: ContainerID) async throws {
        if isConnected(container) { throw RecordError.cannotEdit(container) }
        try await base.require(.editContainers).deleteContainer(container)
    }

    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws {
        if isConnected(container) { throw RecordError.cannotEdit(container) }
        if isConnected(name) { throw RecordError.containerExists(name) }
        try await base.require(.editContainers).renameContainer(container, to: name)
    }

    public func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Environment) async throws
        -> Bool
    {
        try checkLocal(container, .knowUsers)
        return try await base.require(.knowUsers).knows(userRecordName, in: container, environment)
    }

    public func assetLedger(_ container: ContainerID, _ environment: Environment) async throws -> any AssetLedger {
        try checkLocal(container, .keepAssets)
        return try await base.require(.keepAssets).assetLedger(container, environment)
    }

    public func keepsAssets(of container: ContainerID) -> Bool {
        !isConnected(container) && base.part(.keepAssets)?.keepsAssets(of: container) == true
    }

    /// - Throws: `RecordError` BAD_REQUEST for a connected container.
    private func checkLocal<Part>(_ container: ContainerID, _ capability: Capability<Part>) throws {
        if isConnected(container) { throw RecordError.notInCloudKit(capability.task) }
    }
}

/// The containers as programs see them: connected containers are read-only, and available only to the owner of the
/// credentials.
///
/// A program may use a wrong address by mistake, and its changes in iCloud would go unnoticed.
public struct ReadOnlyConnections: ForwardingEngine {
    private let containers: ContainersByEngine
    private let isOwners: Bool

    /// - Parameter isOwners: true if only the owner sends requests. If other users send requests too, they cannot read
    ///   connected containers, because they have no passwords.
    public init(_ containers: ContainersByEngine, isOwners: Bool = true) {
        self.containers = containers
        self.isOwners = isOwners
    }

    public var base: any RecordEngine { containers }

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        guard let engine = try containers.connected(address.container, address.environment) else {
            return try await containers.database(address, as: caller)
        }
        if !isOwners {
            throw RecordError(
                .accessDenied,
                "\(engine.connection.place) is in iCloud. A server that requires credentials shows it in its console only, to its administrator"
            )
        }
        var database = try engine.database(address)
        database.writePermission = .denied
        return database
    }
}

/// The containers as people see them: connected containers are only changed after a confirmation.
public struct ConfirmingConnections: ForwardingEngine {
    private let containers: ContainersByEngine
    private let confirmed: String?

    /// - Parameter confirmed: the ID of the connection whose container the user agreed to change. Only the confirmation
    ///   form contains it, so that a page of another site cannot confirm changes.
    public init(_ containers: ContainersByEngine, confirmed: String?) {
        self.containers = containers
        self.confirmed = confirmed
    }

    public var base: any RecordEngine { containers }

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        if let database = try connected(address) { return database }
        return try await containers.database(address, as: caller)
    }

    /// Returns a database in iCloud, with the methods that other databases do not have.
    /// - Returns: `nil` for a container of this machine.
    /// - Throws: the errors of ``ContainersByEngine/connected(_:_:)``; `RecordError` ACCESS_DENIED for a database to
    ///   which the credential gives no access.
    public func connected(_ address: DatabaseAddress) throws -> CloudKitDatabase? {
        guard let engine = try containers.connected(address.container, address.environment) else { return nil }
        var database = try engine.database(address)
        database.writePermission = confirmed == engine.connection.id ? .granted : .unconfirmed
        return database
    }

    /// Returns the engine for an environment of a connected container, to use its client and its learned indexes.
    public func engine(of connection: ContainerConnection) throws -> CloudKitRecordEngine? {
        try containers.connected(connection.container, connection.environment)
    }

    /// Checks that a connection permits changes, for changes that do not go through a database.
    /// - Throws: the errors of ``CloudKitDatabase/checkWritable()``.
    public func checkWritable(_ connection: ContainerConnection) throws {
        let address = DatabaseAddress(
            container: connection.container, environment: connection.environment, scope: .public)
        try connected(address)?.checkWritable()
    }
}
