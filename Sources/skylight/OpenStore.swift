import Accounts
import AssetStore
import DataTransfer
import Foundation
import JSON
import Records
import RecordStore
import RemoteRecordStore
import SQLRecordStore

/// The data of a command: a folder that this process has opened, or a running server.
protocol OpenStore: Sendable {
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

extension DataFolder.Store: OpenStore {
    var hasServer: Bool { false }

    func isServerThere() async -> Bool { false }

    func assets(_ container: ContainerID, _ environment: Environment) -> any EnvironmentAssets {
        LocalAssets(stores: assets, container: container, environment: environment)
    }
}

extension RemoteRecordEngine: OpenStore {
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

extension OpenStore {
    /// The user with a handle or a user record name; `nil` for the developer. Creates an unknown user.
    func caller(named handle: String?) async throws -> Caller {
        try await accounts.caller(named: handle, deviceID: "skylight")
    }

    /// The handles of all users, by record name.
    func handles() async throws -> [Name: String] {
        Dictionary(try await accounts.seenUsers().map { ($0.user.userRecordName, $0.user.handle) }, uniquingKeysWith: { first, _ in first })
    }

    /// The files of all existing environments, sorted by name. Does not create any.
    func allAssets() async throws -> [any EnvironmentAssets] {
        guard engine.can(.listEnvironments) else { return [] }
        var all: [any EnvironmentAssets] = []
        let connected = Set(try await accounts.connections().map(\.container))
        for container in try await engine.containers() where !connected.contains(container) {
            for environment in try await engine.environments(of: container) { all.append(assets(container, environment)) }
        }
        return all
    }

    /// A folder for the bytes of assets, and their transport to or from a database.
    func exchange(_ folder: String, with address: DatabaseAddress) async throws -> AssetExchange {
        AssetExchange(
            folder: AssetFileFolder(URL(filePath: folder, directoryHint: .isDirectory)),
            transport: try await assets(address.container, address.environment).transport())
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
        let containers = try await engine.containers()
        let known = containers.isEmpty ? "there are no containers yet" : "choose one of \(containers.map(\.description).joined(separator: ", "))"
        throw CommandFailure(.failed, "There is no container \(container); \(known)", code: "NOT_FOUND")
    }
}
