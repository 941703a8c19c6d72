internal import Accounts
internal import AssetStore
internal import CloudKitClient
internal import CloudKitRecordStore
internal import Console
internal import JSON
internal import Mirroring
internal import RecordStore
internal import Records

extension Visit {
    /// The mirror of a connected container, under its usual name.
    /// - Throws: `RecordError` BAD_REQUEST if it can't have one; the errors of its asset store.
    func mirror(of connection: ContainerConnection, _ change: (inout MirrorOptions) -> Void = { _ in }) async throws -> ContainerMirror {
        guard let copy = connection.container.mirror else {
            throw RecordError(.badRequest, "The name of \(connection.container) is too long for a mirror with a name made from it; use skylight mirror --into")
        }
        guard accounts.connections(of: copy).isEmpty else { throw RecordError(.badRequest, "\(copy) is connected, so it can't be a mirror") }
        guard let origin = try connections?.engine(of: connection) else { throw RecordError(.badRequest, "\(connection.place) is not connected") }
        var options = MirrorOptions(scopes: connection.reach)
        change(&options)
        return ContainerMirror(
            of: origin.client, in: copy, of: engine, as: mirrorUser(of: connection), assets: try await assets.store(copy, connection.environment),
            options: options)
    }

    /// The owner of a mirror's databases. A key has no user; its mirror belongs to the developer.
    func mirrorUser(of connection: ContainerConnection) -> Name {
        connection.userRecordName ?? accounts.user(handle: User.developerHandle)?.userRecordName ?? people.actor.userRecordName
    }

    /// The connection that the place's container is the mirror of.
    /// - Throws: `RecordError` NOT_FOUND if it mirrors none.
    func mirroredConnection() throws -> ContainerConnection {
        guard let origin else {
            throw RecordError(.notFound, "\(place.address.container) is no mirror of a connected container, so nothing in it waits to be sent")
        }
        return origin
    }
}

extension RecordDatabase {
    /// Passes the edits that the origin lacks to a body, in order, until it returns `false`.
    func eachUnsentEdit(_ body: (UnsentEdit) -> Bool) async throws {
        let pageSize = 200
        var since: Int64?
        while true {
            let edits = try await unsentEdits(since: since, limit: pageSize)
            for edit in edits where !body(edit) { return }
            guard edits.count == pageSize, let last = edits.last else { return }
            since = last.since
        }
    }
}
