public import JSON
public import Records

/// The one door to records: everything above it (web services, console, command line) reads and writes through this protocol,
/// and every engine stands behind it.
///
/// A handle is bound to a container, an environment, a scope and a caller. There are three ways to read: ``query(_:)``,
/// ``fetch(_:desiredKeys:)`` and the changes (``databaseChanges(_:)``, ``zoneChanges(_:)``). Whole requests fail by throwing
/// `RecordError`; where a request has items that can fail one by one, each has a `Result`, in the order of the request.
///
/// What only some engines can do stands in protocols of its own: ``SchemaEditing``, ``SchemaMeasuring``, ``QueryExplaining``,
/// ``QueryStatisticsKeeping``, ``TokenExplaining``, ``ZoneSharing``, ``ZonePurging``, ``ReferenceTracing``, ``RecordCounting``,
/// ``StorageMeasuring``, ``RecordListing``, ``RecordPositioning``, ``RecordJournalling``, ``ZoneSummarizing``, ``FeedOutlining``, ``CommitSignalling``. Ask with `as?`.
public protocol RecordDatabase: Sendable {
    var address: DatabaseAddress { get }
    var caller: Caller { get }

    /// Saves and deletes records, all or nothing when the request is atomic and its zones can be.
    ///
    /// What is returned as saved is on disk.
    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>]

    /// One page of the records that match a query. The index rules hold.
    func query(_ request: QueryRequest) async throws -> QueryPage

    /// Records by their names.
    /// - Parameters:
    ///   - desiredKeys: the fields to return; `nil` for all.
    ///   - bytesLimit: bytes of fields that all of them may have together. Records for which there is no room fail with
    ///     ``Records/RecordError/tooManyBytes``, the first that is there excepted.
    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<StoredRecord, RecordError>]

    /// All zones of the database, the default zone first.
    func zones() async throws -> [Zone]

    /// Zones by their identities.
    func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>]

    /// Creates and deletes zones; every operation is attempted.
    func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>]

    /// The zones in which something happened since a token.
    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage

    /// What happened to the records of a zone since a token: each record once, at its latest change, in the order of commits.
    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage
}

extension RecordDatabase {
    /// Records by their names, however large they are together.
    /// - Parameter desiredKeys: the fields to return; `nil` for all.
    public func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?) async throws -> [Result<StoredRecord, RecordError>] {
        try await fetch(recordIDs, desiredKeys: desiredKeys, bytesLimit: .max)
    }
}
