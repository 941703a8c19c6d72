import Accounts
import AssetStore
import DataTransfer
import Foundation
import NIOCore
import RecordStore
import Records
import RemoteRecordStore
import SQLRecordStore

/// The data of a command: a folder that this process has opened, or a running server.
protocol CommandData: Sendable {
    associatedtype Engine: RecordEngine
    associatedtype AccountStore: AccountKeeping

    var engine: Engine { get }
    var accounts: AccountStore { get }
    /// True if a server has the data open, which goes on when the command ends.
    var hasServer: Bool { get }

    /// True if the server of the data answers.
    @Sendable func isServerThere() async -> Bool
    /// The asset files of a container's environment.
    func assets(_ container: ContainerID, _ environment: Environment) -> any EnvironmentAssets
    /// Ends work in progress and closes the data.
    func close() async
}

extension DataFolder.Store: CommandData {
    var hasServer: Bool { false }

    func isServerThere() async -> Bool { false }

    func assets(_ container: ContainerID, _ environment: Environment) -> any EnvironmentAssets {
        LocalAssets(stores: assets, container: container, environment: environment)
    }
}

extension RemoteRecordEngine: CommandData {
    var engine: RemoteRecordEngine { self }
    var hasServer: Bool { true }

    func isServerThere() async -> Bool {
        // Any error means false.
        (try? await health()) != nil
    }

    func assets(_ container: ContainerID, _ environment: Environment) -> any EnvironmentAssets {
        RemoteAssets(engine: self, container: container, environment: environment)
    }
}

extension CommandData {
    /// Closes the data after some work, or its error.
    func closing<Value>(_ work: (Self) async throws -> Value) async throws -> Value {
        do {
            let value = try await work(self)
            await close()
            return value
        } catch {
            await close()
            throw error
        }
    }

    /// The user with a handle or a user record name; `nil` for the developer. Creates an unknown user.
    func caller(named handle: String?) async throws -> Caller {
        try await accounts.caller(named: handle, deviceID: "skylight")
    }

    /// The handles of all users, by record name.
    func handles() async throws -> [Name: String] {
        Dictionary(
            try await accounts.seenUsers().map { ($0.user.userRecordName, $0.user.handle) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The files of all existing environments, sorted by name. Does not create any.
    func allAssets() async throws -> [any EnvironmentAssets] {
        guard let listing = engine.part(.listEnvironments) else { return [] }
        var all: [any EnvironmentAssets] = []
        let connected = Set(try await accounts.connections().map(\.container))
        for container in try await engine.require(.listContainers).containers() where !connected.contains(container) {
            for environment in try await listing.environments(of: container) {
                all.append(assets(container, environment))
            }
        }
        return all
    }

    /// A folder for the bytes of assets, and their transport to or from a database.
    func exchange(
        _ folder: String, with address: DatabaseAddress, brokenDownload: AssetFileFolder.BrokenDownload = .removed
    ) async throws -> AssetExchange {
        AssetExchange(
            folder: AssetFileFolder(
                URL(filePath: folder, directoryHint: .isDirectory), brokenDownload: brokenDownload),
            transport: try await assets(address.container, address.environment).transport())
    }

    /// The user record name of a zone's owner; `nil` for the user's own zones.
    /// - Parameter handle: a handle or a user record name.
    func zoneOwner(_ handle: String?) async throws -> Name? {
        guard let handle else { return nil }
        return try await caller(named: handle).userRecordName
    }

    /// A database, accessed as a user.
    func database(_ address: DatabaseAddress, as user: String?) async throws -> any RecordDatabase {
        try await engine.database(address, as: try await caller(named: user))
    }

    /// A database of an existing container.
    func existingDatabase(_ address: DatabaseAddress, as user: String?) async throws -> any RecordDatabase {
        try await checkExists(address.container)
        return try await database(address, as: user)
    }

    /// - Throws: `CommandFailure` if the container does not exist.
    func checkExists(_ container: ContainerID) async throws {
        if try await engine.has(container) { return }
        let containers = try await engine.require(.listContainers).containers()
        let known =
            containers.isEmpty
            ? "there are no containers yet" : "choose one of \(containers.map(\.description).joined(separator: ", "))"
        throw CommandFailure(.failed, "There is no container \(container); \(known)", code: "NOT_FOUND")
    }
}

// MARK: - Schema

extension CommandData {
    /// The database to read and change the schema of a container's environment. Creates the environment if it is
    /// missing.
    func schemaDatabase(_ environment: Environment, in place: SchemaAccess) async throws -> any RecordDatabase {
        let address = DatabaseAddress(container: place.container, environment: environment, scope: .public)
        return try await database(address, as: place.user)
    }

    /// The schema of a container's environment, or the initial schema if it does not exist.
    func schema(of environment: Environment, in place: SchemaAccess) async throws -> Schema {
        guard try await engine.has(place.container, environment) else { return .initial }
        return try await schemaDatabase(environment, in: place).require(.showSchema).schema()
    }

    /// The schema of an existing container's environment.
    /// - Throws: `CommandFailure` if the container does not exist.
    func existingSchema(of environment: Environment, in place: SchemaAccess) async throws -> Schema {
        try await checkExists(place.container)
        return try await schema(of: environment, in: place)
    }

    /// The incomplete indexes after a change that did not wait for them.
    func indexesUnderWay(_ editing: any RecordDatabase) async throws -> IndexesUnderWay? {
        let builds = try await editing.require(.showSchema).indexBuilds().filter { $0.work == .building }
        return builds.isEmpty ? nil : IndexesUnderWay(builds, hasServer: hasServer)
    }

    /// Changes a schema, with a progress bar for the index builds.
    func change(
        _ editing: any RecordDatabase, showingProgress isShown: Bool,
        _ change: @escaping @Sendable (any RecordDatabase) async throws -> Schema
    ) async throws -> Schema {
        let bar = ProgressBar()
        defer { bar.finish() }
        return try await withThrowingTaskGroup(of: Schema?.self) { group in
            group.addTask { try await change(editing) }
            if isShown, Output.isWatched {
                group.addTask {
                    var total = 0
                    while !Task.isCancelled {
                        // Cancellation ends the sleep. Errors of the progress request are ignored.
                        try? await Task.sleep(for: .milliseconds(250))
                        guard let builds = try? await editing.require(.showSchema).indexBuilds() else { continue }
                        total = max(total, builds.map(\.total).saturatedSum)
                        bar.show(builds, of: total)
                    }
                    return nil
                }
            }
            defer { group.cancelAll() }
            while let schema = try await group.next() {
                if let schema { return schema }
            }
            throw CancellationError()
        }
    }
}

/// The container with the schemas, and the acting user.
struct SchemaAccess {
    var container: ContainerID
    var user = "developer"
}

/// Indexes that are declared but incomplete.
struct IndexesUnderWay {
    let count: Int
    /// True if a server continues to build them. Otherwise the build pauses when the command ends.
    private let hasServer: Bool

    init(_ builds: [IndexBuildProgress], hasServer: Bool) {
        count = builds.reduce(0) { count, build in
            if case .field(_, let indexes) = build.subject { count + indexes.names.count } else { count + 1 }
        }
        self.hasServer = hasServer
    }

    /// The note on standard error.
    var note: String {
        let indexes = count == 1 ? "1 index is" : "\(Output.grouped(count)) indexes are"
        return "\(indexes) not complete yet; queries that need \(count == 1 ? "it" : "one") get TRY_AGAIN_LATER. "
            + (hasServer
                ? "The server continues the work."
                : "The work continues when the data folder is opened again, by skylight serve or any command.")
    }
}

// MARK: - Assets

/// The asset files of one container's environment, in an open folder or on a running server.
protocol EnvironmentAssets: Sendable {
    var container: ContainerID { get }
    var environment: Environment { get }

    func verify(_ progress: @Sendable (AssetVerification) async -> Void) async throws -> AssetVerification
    /// - Parameter graceTime: the time that unused files are kept; `nil` for the default of the server, or a day.
    func sweep(graceTime: Duration?, dryRun: Bool) async throws -> AssetSweep
    /// True if the file is stored.
    func holds(_ checksum: FileChecksum) async throws -> Bool
    /// The transport for asset bytes.
    func transport() async throws -> any AssetTransport
}

extension EnvironmentAssets {
    /// The container and the environment in words.
    var place: String { "\(container) (\(environment.rawValue))" }
}

struct LocalAssets: EnvironmentAssets {
    let stores: AssetStores
    let container: ContainerID
    let environment: Environment

    func verify(_ progress: @Sendable (AssetVerification) async -> Void) async throws -> AssetVerification {
        try await stores.store(container, environment).verify(progress)
    }

    func sweep(graceTime: Duration?, dryRun: Bool) async throws -> AssetSweep {
        try await stores.store(container, environment).sweep(
            graceTime: graceTime ?? AssetStores.defaultGraceTime, dryRun: dryRun)
    }

    func holds(_ checksum: FileChecksum) async throws -> Bool {
        try await stores.existingStore(container, environment)?.ledger.entry(of: checksum) != nil
    }

    func transport() async throws -> any AssetTransport {
        StoredAssets(try await stores.store(container, environment))
    }
}

struct RemoteAssets: EnvironmentAssets, AssetTransport {
    let engine: RemoteRecordEngine
    let container: ContainerID
    let environment: Environment

    func verify(_ progress: @Sendable (AssetVerification) async -> Void) async throws -> AssetVerification {
        try await engine.verifyAssets(container, environment, progress)
    }

    func sweep(graceTime: Duration?, dryRun: Bool) async throws -> AssetSweep {
        try await engine.sweepAssets(container, environment, graceTime: graceTime, dryRun: dryRun)
    }

    func holds(_ checksum: FileChecksum) async throws -> Bool {
        try await engine.holds(checksum, in: container, environment)
    }

    func transport() -> any AssetTransport { self }

    func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset {
        try await engine.upload(file, size: file.size, with: grant, to: container, environment, fileName: fileName)
    }

    func download(
        _ checksum: FileChecksum, size: Int64, from offset: Int64, _ take: (ByteBuffer) async throws -> Void
    ) async throws {
        try await engine.download(checksum, in: container, environment, from: offset, take)
    }
}

// MARK: - Accounts

/// The accounts of the data: in a folder that this process has opened, or on a running server.
protocol AccountKeeping: Sendable {
    /// The user with a handle or a user record name; `nil` for the developer. Creates an unknown user.
    func caller(named handle: String?, deviceID: String?) async throws -> Caller

    func apiTokens() async throws -> [APIToken]
    func makeAPIToken(
        named name: String, container: ContainerID, environment: Records.Environment, allowedOrigins: [String],
        callback: String?
    ) async throws -> (token: APIToken, secret: String)
    func revokeAPIToken(_ id: String) async throws -> APIToken

    func serverKeys() async throws -> [ServerKey]
    func registerServerKey(pem: String, named name: String, container: ContainerID, environment: Records.Environment)
        async throws -> ServerKey
    func revokeServerKey(_ keyID: String) async throws -> ServerKey

    func webAuthSessions() async throws -> [WebAuthSession]
    /// Signs in a user. Creates the user if the name is unknown.
    func signIn(_ user: String, with request: SignInRequest, keepSignedIn: Bool) async throws -> (
        session: WebAuthSession, token: String
    )
    func revokeWebAuthSession(_ id: String) async throws -> WebAuthSession

    /// The connections to containers in iCloud; those of a running server without the secrets of their credentials.
    func connections() async throws -> [ContainerConnection]
    func connect(_ connection: ContainerConnection) async throws
    func disconnect(_ container: ContainerID, _ environment: Records.Environment) async throws -> ContainerConnection

    /// All users, the developer first, with the time of their latest request.
    func seenUsers() async throws -> [(user: User, lastSeen: Timestamp?)]
    /// - Parameter user: a handle or a user record name.
    /// - Returns: the user, and the number of ended sessions.
    func removeUser(named user: String) async throws -> (user: User, endedSessions: Int)

    func setAdministratorPassword(_ password: String) async throws
}

extension Accounts: AccountKeeping {
    func signIn(_ user: String, with request: SignInRequest, keepSignedIn: Bool) async throws -> (
        session: WebAuthSession, token: String
    ) {
        try await signIn(
            try caller(named: user, deviceID: nil).userRecordName, with: request, keepSignedIn: keepSignedIn,
            now: Date())
    }

    func seenUsers() -> [(user: User, lastSeen: Timestamp?)] {
        users().map { ($0, lastSeen($0.userRecordName)) }
    }

    func removeUser(named user: String) async throws -> (user: User, endedSessions: Int) {
        try await removeUser(self.user(handle: user)?.userRecordName ?? Name(user))
    }
}

extension RemoteAccounts: AccountKeeping {}
