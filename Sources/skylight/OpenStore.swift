import Accounts
import Foundation
import JSON
import Records
import RecordStore
import RemoteRecordStore
import SQLiteRecordStore

/// The data that a command works on: a folder that this process has opened, or what a running server shows of its own.
struct OpenStore: Sendable {
    private enum People {
        case local(Accounts)
        case remote(RemoteRecordEngine)
    }

    let engine: any RecordEngine
    private let people: People

    init(_ engine: SQLiteRecordEngine, _ accounts: Accounts) {
        self.engine = engine
        people = .local(accounts)
    }

    init(_ engine: RemoteRecordEngine) {
        self.engine = engine
        people = .remote(engine)
    }

    var isRemote: Bool {
        if case .remote = people { true } else { false }
    }

    /// Whether the server that the data is on answers.
    @Sendable func isServerThere() async -> Bool {
        guard case .remote(let engine) = people else { return false }
        return (try? await engine.checkHealth()) != nil
    }

    /// The user of a handle or a user record name; `nil` for the developer. One who is not known yet is made.
    func caller(named handle: String?) async throws -> Caller {
        switch people {
        case .local(let accounts): try accounts.caller(named: handle, deviceID: "skylight")
        case .remote(let engine): try await engine.caller(named: handle, deviceID: "skylight")
        }
    }

    /// The handles of the users, by their record names.
    func handles() async throws -> [Name: String] {
        let pairs: [(Name, String)] =
            switch people {
            case .local(let accounts): try accounts.users().map { ($0.userRecordName, $0.handle) }
            case .remote(let engine): try await engine.users().map { ($0.userRecordName, $0.handle) }
            }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    /// A database as a user sees it.
    func database(_ address: DatabaseAddress, as user: String?) async throws -> any RecordDatabase {
        try await engine.database(address, as: try await caller(named: user))
    }

    /// A database of a container that is there.
    func existingDatabase(_ address: DatabaseAddress, as user: String?) async throws -> any RecordDatabase {
        let containers = try await engine.containers()
        guard containers.contains(address.container) else {
            let known = containers.isEmpty ? "there is none yet" : "there are \(containers.map(\.description).joined(separator: ", "))"
            throw CommandFailure(.failed, "There is no container \(address.container): \(known)", code: "NOT_FOUND")
        }
        return try await database(address, as: user)
    }
}
