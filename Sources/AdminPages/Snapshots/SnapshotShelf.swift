internal import Accounts
internal import AssetStore
internal import Console
internal import DataTransfer
internal import JSON
internal import RecordStore
internal import Records

/// The snapshots of an environment, and the databases that they are of.
struct SnapshotShelf: Sendable {
    let container: ContainerID
    let environment: Records.Environment
    let engine: any RecordEngine
    let accounts: Accounts
    let assets: AssetStores

    var folder: SnapshotFolder { SnapshotFolder(in: assets.folder, container, environment) }

    /// The databases of the environment. Creates no user.
    /// - Throws: `RecordError` BAD_REQUEST for a container whose files are elsewhere.
    func source() async throws -> SnapshotSource {
        guard assets.keepsFiles(of: container) else { throw Self.isElsewhere(container) }
        var users: [ExportHeader.User] = []
        for user in accounts.users() where !user.isServerKey {
            if engine.can(.knowUsers), try await !engine.knows(user.userRecordName, in: container, environment) { continue }
            users.append(ExportHeader.User(userRecordName: user.userRecordName, handle: user.handle))
        }
        return SnapshotSource(
            container, environment, users: users, transport: StoredAssets(try await assets.store(container, environment)), production: try await production()
        ) { [self] scope, user in
            let address = DatabaseAddress(container: container, environment: environment, scope: scope)
            let name = user.map { $0.handle ?? $0.userRecordName.string } ?? User.developerHandle
            // The users of a shared snapshot may be new here.
            return try await engine.database(address, as: Caller(userRecordName: try await accounts.existingOrNewUser(named: name).userRecordName))
        }
    }

    /// The schema of production, without creating it.
    private func production() async throws -> Schema {
        guard environment == .development, try await engine.has(container, .production) else { return .initial }
        let address = DatabaseAddress(container: container, environment: .production, scope: .public)
        let developer = try accounts.caller(named: nil, deviceID: nil)
        return try await engine.database(address, as: Caller(userRecordName: developer.userRecordName)).schema()
    }

    static func isElsewhere(_ container: ContainerID) -> RecordError {
        RecordError(.badRequest, "\(container) is in iCloud, and snapshots are of containers on this machine. Copy it on the page Mirror, then save the mirror")
    }
}

extension Visit {
    var shelf: SnapshotShelf {
        SnapshotShelf(
            container: place.address.container, environment: place.address.environment, engine: engine, accounts: accounts, assets: assets)
    }
}

extension RecordError {
    /// The error of a snapshot in the words of the pages.
    init(_ error: SnapshotError) {
        let code: ServerErrorCode =
            switch error.kind {
            case .invalid, .damaged, .refused: .badRequest
            case .missing: .notFound
            case .exists: .exists
            case .unwritable: .internalError
            }
        self.init(code, error.description)
    }

    /// Gives the errors of snapshots the form that pages show.
    static func ofSnapshots<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as SnapshotError { throw RecordError(error) }
    }
}
