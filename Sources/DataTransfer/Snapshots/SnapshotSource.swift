public import RecordStore
public import Records

/// A container's environment, whose databases a snapshot saves and restores.
public struct SnapshotSource: Sendable {
    public let container: ContainerID
    public let environment: Environment
    /// The users who may have data. A user without any gets no file.
    public private(set) var users: [ExportHeader.User]
    let transport: any AssetTransport
    /// The schema of production, which development must not fall behind.
    let production: Schema
    private let open: @Sendable (DatabaseScope, ExportHeader.User?) async throws -> any RecordDatabase

    /// - Parameter open: opens the public database, or a user's private one. A user whom nobody knows is created.
    public init(
        _ container: ContainerID, _ environment: Environment, users: [ExportHeader.User], transport: any AssetTransport, production: Schema,
        open: @escaping @Sendable (DatabaseScope, ExportHeader.User?) async throws -> any RecordDatabase
    ) {
        (self.container, self.environment, self.users, self.transport, self.production) = (container, environment, users, transport, production)
        self.open = open
    }

    /// The same environment, with more users who may have data.
    func adding(_ others: [ExportHeader.User]) -> SnapshotSource {
        var source = self
        let known = Set(users.map(\.userRecordName))
        source.users += others.filter { !known.contains($0.userRecordName) }
        return source
    }

    /// - Parameter user: the owner of a private database; `nil` for the public one.
    func database(of user: ExportHeader.User?) async throws -> any RecordDatabase {
        try await open(user == nil ? .public : .private, user)
    }
}

/// The progress of a snapshot, or of its restoration.
public struct SnapshotProgress: Sendable, Hashable {
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        case saving = "saving the present"
        case comparing = "comparing"
        case restoring = "restoring records"
        case deleting = "deleting records"
        case checking = "checking the result"
    }

    public var phase: Phase
    /// The number of records so far.
    public var count: Int
    /// The bytes of assets so far.
    public var assetBytes: Int64 = 0
}
