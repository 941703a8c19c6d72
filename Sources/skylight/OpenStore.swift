import Accounts
import AssetStore
import Foundation
import JSON
import Records
import RecordStore
import RemoteRecordStore
import SQLiteRecordStore

/// The data of a command: a folder that this process has opened, or a running server.
struct OpenStore: Sendable {
    private enum Way {
        case local(DataFolder.Store)
        case remote(RemoteRecordEngine)
    }

    let engine: any RecordEngine
    private let way: Way

    init(_ store: DataFolder.Store) {
        engine = store.engine
        way = .local(store)
    }

    init(_ engine: RemoteRecordEngine) {
        self.engine = engine
        way = .remote(engine)
    }

    var isRemote: Bool {
        if case .remote = way { true } else { false }
    }

    /// The accounts of the data.
    var accounts: AccountsPlace {
        switch way {
        case .local(let store): .local(store.accounts)
        case .remote(let engine): .remote(engine)
        }
    }

    /// True if the server of the data answers.
    @Sendable func isServerThere() async -> Bool {
        guard case .remote(let engine) = way else { return false }
        // Any error means false.
        return (try? await engine.checkHealth()) != nil
    }

    /// The user with a handle or a user record name; `nil` for the developer. Creates an unknown user.
    func caller(named handle: String?) async throws -> Caller {
        switch way {
        case .local(let store): try store.accounts.caller(named: handle, deviceID: "skylight")
        case .remote(let engine): try await engine.caller(named: handle, deviceID: "skylight")
        }
    }

    /// The handles of all users, by record name.
    func handles() async throws -> [Name: String] {
        let pairs: [(Name, String)] =
            switch way {
            case .local(let store): store.accounts.users().map { ($0.userRecordName, $0.handle) }
            case .remote(let engine): try await engine.users().map { ($0.userRecordName, $0.handle) }
            }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    /// The existing environments, which may have files, sorted by name. Does not create any.
    func assetPlaces() async throws -> [AssetPlace] {
        guard let listing = engine as? any EnvironmentListing else { return [] }
        var places: [AssetPlace] = []
        for container in try await engine.containers() {
            for environment in try await listing.environments(of: container) { places.append(assetPlace(container, environment)) }
        }
        return places
    }

    /// The asset files of a database.
    func assetPlace(of address: DatabaseAddress) -> AssetPlace {
        assetPlace(address.container, address.environment)
    }

    private func assetPlace(_ container: ContainerID, _ environment: Environment) -> AssetPlace {
        switch way {
        case .local(let store): AssetPlace(container, environment, of: store.assets)
        case .remote(let engine): AssetPlace(container, environment, of: engine)
        }
    }

    /// Ends work in progress and closes the data.
    func close() async {
        switch way {
        case .local(let store): await store.close()
        case .remote(let engine): await engine.close()
        }
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
        let containers = try await engine.containers()
        guard containers.contains(container) else {
            let known = containers.isEmpty ? "there are no containers yet" : "choose one of \(containers.map(\.description).joined(separator: ", "))"
            throw CommandFailure(.failed, "There is no container \(container); \(known)", code: "NOT_FOUND")
        }
    }
}
