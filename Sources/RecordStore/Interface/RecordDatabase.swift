public import Records

/// The storage interface: the upper layers (web services, console, command line) access records through this protocol,
/// and each engine implements it.
///
/// A handle is bound to a container, an environment, a scope and a caller. There are three ways to read:
/// ``query(_:)``, ``fetch(_:desiredKeys:)`` and the changes (``databaseChanges(_:)``, ``zoneChanges(_:)``). A request
/// that fails as a whole throws `RecordError`. If items can fail individually, the result contains a `Result` for each
/// item, in the order of the request.
///
/// This is what CloudKit has too. What only some databases can do are parts, each a protocol of its own
/// (DatabaseParts.swift), which ``Capable/require(_:)`` hands out:
///
///     let page = try await database.require(.keepJournal).journal(request)
public protocol RecordDatabase: Capable {
    var address: DatabaseAddress { get }
    /// The user as whom the store treats the caller.
    var caller: Caller { get }

    /// Saves and deletes records. The batch is atomic if the request is atomic and its zones support it.
    ///
    /// Records returned as saved are on disk.
    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>]

    /// One page of the records that match a query. The required indexes must exist.
    func query(_ request: QueryRequest) async throws -> QueryPage

    /// Fetches records by ID.
    /// - Parameters:
    /// - desiredKeys: the fields to return; `nil` for all.
    /// - bytesLimit: maximum total size of fields in bytes. Records beyond it fail with
    ///   ``Records/RecordError/tooManyBytes``, except for the first one found.
    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >]

    /// All zones of the database, the default zone first.
    func zones() async throws -> [Zone]

    /// Fetches zones by ID.
    func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>]

    /// Creates and deletes zones. Each operation is attempted, even if others fail.
    func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>]

    /// The zones that changed since a token.
    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage

    /// The changes of a zone since a token: each changed record once, at its latest change, in commit order.
    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage
}

extension RecordDatabase {
    /// True if it is worth asking for a part. The public database has no feed and belongs to no user: it has the parts
    /// for them, whose calls say so.
    public func can<Part>(_ capability: Capability<Part>) -> Bool {
        part(capability) != nil && !(capability.isForUsers && address.scope == .public)
    }

    /// Fetches records by ID without a size limit.
    /// - Parameter desiredKeys: the fields to return; `nil` for all.
    public func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        try await fetch(recordIDs, desiredKeys: desiredKeys, bytesLimit: .max)
    }
}
