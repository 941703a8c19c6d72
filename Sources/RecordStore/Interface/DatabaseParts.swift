public import Records

// The optional parts of databases. A database has a part if its type conforms to it.

/// The schema. It belongs to the container and environment and is shared by all their databases.
public protocol SchemaReading: Sendable {
    /// The current schema.
    func schema() async throws -> Schema

    /// Indexes being built, and dropped indexes whose entries are being removed.
    func indexBuilds() async throws -> [IndexBuildProgress]

    /// The schema history, latest first.
    /// - Parameter before: number of the last entry of the previous page; `nil` starts with the latest entry.
    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry]
}

extension Capability where Part == any SchemaReading {
    public static var showSchema: Self { Self("show its schema") }
}

/// Changes of the schema.
public protocol SchemaEditing: Sendable {
    /// Applies edits atomically.
    ///
    /// An index on existing records is declared at once and built in the background. Saves continue; queries that
    /// need the index fail with an error that says so. A build continues if the caller is cancelled, and after a
    /// restart. Removing a type or field also removes its records or values.
    /// - Parameters:
    /// - reason: the reason for the history.
    /// - waitingForIndexes: `true` to return only after the added indexes are built.
    /// - Throws: `RecordError` BAD_REQUEST if an edit contradicts the schema, ACCESS_DENIED in production for all
    ///   edits except composite indexes.
    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws
        -> Schema

    /// Adds to this production schema what the development schema has in addition. Atomic.
    /// - Parameter waitingForIndexes: as in `edit`.
    /// - Throws: `RecordError` BAD_REQUEST in development, or if a type or field would be removed or changed.
    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema

    /// Deletes all records, zones and shares of all users in the environment, and replaces the schema with that of
    /// production.
    /// - Throws: `RecordError` ACCESS_DENIED in production.
    func reset(to production: Schema) async throws -> Schema
}

extension Capability where Part == any SchemaEditing {
    public static var editSchema: Self { Self("edit its schema") }
    public static var deploySchema: Self { Self("deploy a schema") }
}

/// Measures the records of a type: their number, sizes and values.
public protocol TypeMeasuring: Sendable {
    /// Reads every record of a type, in all databases of the environment and for all users. Can take long, but does
    /// not block saves.
    /// - Throws: `RecordError` NOT_FOUND for an unknown type.
    func usage(of recordType: Name) async throws -> TypeUsage

    /// Counts the records of a type, for all databases of the environment and all users, and how many have a value in
    /// each of the given fields. Without fields the time does not depend on the number of records; otherwise every
    /// record is read, which is faster than ``usage(of:)``.
    /// - Parameter fields: names of the type's own fields. Unknown fields count 0.
    /// - Throws: `RecordError` NOT_FOUND for an unknown type.
    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts
}

extension Capability where Part == any TypeMeasuring {
    public static var measureTypes: Self { Self("measure its types") }
}

/// Explains how queries are answered, and which indexes they used or lacked.
public protocol QueryDiagnostics: Sendable {
    /// Runs one page of the query and records how it is answered.
    ///
    /// If indexes are missing, nothing is read and ``QueryExplanation/problems`` lists them.
    /// - Throws: `RecordError` ZONE_NOT_FOUND, BAD_REQUEST for a marker of another query.
    func explain(_ request: QueryRequest) async throws -> QueryExplanation

    /// Indexes that queries used or lacked, for all databases and users of the container and environment.
    func queryStatistics() async throws -> QueryStatistics
}

extension Capability where Part == any QueryDiagnostics {
    public static var explainQueries: Self { Self("explain how it answers queries") }
    public static var keepQueryStatistics: Self { Self("report its query statistics") }
}

/// Change tokens.
public protocol TokenDiagnostics: Sendable {
    /// The current database token, as at the end of a complete pull. For zone tokens see `fetchZones`.
    /// - Throws: `RecordError` BAD_REQUEST for the public database, which has no feed.
    func currentToken() async throws -> ChangeToken

    /// Explains a token.
    /// - Throws: `RecordError` BAD_REQUEST if the token is damaged or was not issued by this store.
    func explain(_ token: ChangeToken) async throws -> TokenExplanation

    /// Expires all tokens issued so far by the container and environment, for all databases and users, as happens in
    /// CloudKit when the server has dropped the history. Stored data is unchanged; clients must start without a token.
    func expireTokens() async throws
}

extension Capability where Part == any TokenDiagnostics {
    public static var tellCurrentToken: Self { Self("tell its current token", isForUsers: true) }
    public static var explainTokens: Self { Self("explain its tokens") }
    public static var expireTokens: Self { Self("expire its tokens") }
}

/// Counts the changes in the feeds of zones, and finds the position of a record.
public protocol FeedOutlining: Sendable {
    /// Counts a zone's changes in stretches of equal width.
    ///
    /// No record fields are read. The cost grows with the number of stretches and slowly with the number of
    /// positions: an engine may read one stored count per thousand positions.
    /// - Throws: `RecordError` ZONE_NOT_FOUND; BAD_REQUEST if the zone has no feed.
    func outline(_ request: FeedOutlineRequest) async throws -> FeedOutline

    /// The position of a record.
    /// - Returns: `nil` if the record does not exist.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func position(of recordID: RecordID) async throws -> RecordPosition?
}

extension Capability where Part == any FeedOutlining {
    public static var outlineFeed: Self { Self("outline its feed") }
    public static var positionRecords: Self { Self("tell the positions of records") }
}

/// Signals commits.
public protocol CommitSignals: Sendable {
    /// Yields after each commit to the container and environment by any caller, so that followers need not poll.
    /// Signals that are not consumed are merged, so a slow follower uses no memory.
    func commits() throws -> AsyncStream<Void>
}

extension Capability where Part == any CommitSignals {
    public static var signalCommits: Self { Self("signal commits") }
}

/// Counts and lists all records of a zone.
public protocol RecordListing: Sendable {
    /// The number of records of each type in a zone, and of its deletions.
    func counts(in zoneID: ZoneID) async throws -> ZoneCounts

    /// One page of a zone's records of all types, ordered by name, without an index or a feed, as needed for a full
    /// copy.
    ///
    /// A record that is neither saved nor deleted while the pages are read appears exactly once.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func list(_ request: RecordListRequest) async throws -> RecordListPage
}

extension Capability where Part == any RecordListing {
    public static var countRecords: Self { Self("count records") }
    public static var listRecords: Self { Self("list records") }
}

/// Finds the records that refer to a record or use a file.
public protocol ReferenceTracing: Sendable {
    /// References to a record from its own zone, ordered by the name of the referring record.
    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer]

    /// Fields with the same asset bytes that the caller can see through this database, ordered by the names of
    /// record, zone and field, and the total number of uses.
    /// - Parameter limit: maximum number of returned fields.
    func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses
}

extension Capability where Part == any ReferenceTracing {
    public static var traceReferences: Self { Self("trace references") }
    public static var traceAssets: Self { Self("find the uses of assets") }
}

/// Summarizes and measures the contents of zones.
public protocol ZoneMeasuring: Sendable {
    /// Summaries of the existing zones, the default zone first, then by name. A default zone without records or
    /// deletions is left out.
    ///
    /// The work is limited regardless of the number of zones and records.
    /// - Parameters:
    /// - limit: maximum number of zones.
    /// - changes: number of changes to read at each end of the feeds, divided among the zones
    ///   (``ZoneSummaries/depth(of:among:)``).
    func summaries(limit: Int, changes: Int) async throws -> ZoneSummaries

    /// Creation date of the oldest existing record of a zone; `nil` if there is none.
    ///
    /// Reads every record of the zone without blocking saves.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func earliestCreation(in zoneID: ZoneID) async throws -> Timestamp?

    /// The contents of the existing zones by type, largest zone first. Zones without records are left out.
    ///
    /// - Parameter limit: maximum number of zones. The others are only summed up.
    func storage(limit: Int) async throws -> DatabaseStorage
}

extension Capability where Part == any ZoneMeasuring {
    public static var summarizeZones: Self { Self("summarize its zones") }
    public static var measureStorage: Self { Self("measure its storage") }
}

/// Keeps earlier versions of records (docs/journal.md).
public protocol RecordJournal: Sendable {
    /// One page of the saves and deletions of a record, latest first. The first entry of the first page is the
    /// record's present state or its deletion.
    ///
    /// An unknown record has no entries.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage

    /// Saves a record in the state after an earlier change. It is a normal save by the caller, with the same rules.
    ///
    /// - Throws: `RecordError` ZONE_NOT_FOUND; NOT_FOUND if the change is no longer kept; CONFLICT if the record's
    ///   change tag differs from ``RecordReversion/recordChangeTag``; and all errors of a save.
    func revert(_ reversion: RecordReversion) async throws -> StoredRecord
}

extension Capability where Part == any RecordJournal {
    public static var keepJournal: Self { Self("show earlier versions of records") }
}

/// Subscriptions (docs/subscriptions.md).
public protocol SubscriptionKeeping: Sendable {
    /// The caller's subscriptions in the database, ordered by id.
    func subscriptions() async throws -> [Subscription]

    /// Saves and deletes subscriptions of the caller. Each operation is attempted. A subscription fires for changes
    /// that are saved after it, and ends with its zone.
    /// - Returns: the results of the operations. A saved subscription is returned with the owner of its zone.
    func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<
        SubscriptionOperation, RecordError
    >]
}

extension Capability where Part == any SubscriptionKeeping {
    public static var keepSubscriptions: Self { Self("keep subscriptions") }
}

/// Which subscriptions the changes fire (docs/subscriptions.md).
public protocol SubscriptionFiring: Sendable {
    /// The committed changes after a position that fire subscriptions, for all databases and users of the container
    /// and environment.
    ///
    /// Earlier states of records are read from the journal. Without a journal, several changes of a record between two
    /// calls count as its latest one, and a deletion fires every query subscription to its type.
    ///
    /// If the caller has limited access, roles limit all subscribers to the public database, even those who subscribed
    /// with unrestricted access.
    /// - Parameter position: the position of an earlier page; `nil` to begin at the present.
    func firings(after position: Int64?) async throws -> FiringPage

    /// The subscriptions of all users in all databases of the container and environment, ordered by user, database and
    /// id.
    func ownedSubscriptions() async throws -> [OwnedSubscription]

    /// The latest changes of the database, latest first. Each is returned with the subscription if it would have fired
    /// it.
    ///
    /// - Parameter subscription: a subscription of the caller, saved or not. It is treated as if it had existed before
    ///   the changes.
    func latestFirings(of subscription: Subscription, limit: Int) async throws -> [Firing]

    /// Ends subscriptions that fire once, unless their users have saved them again since. They are then missing from
    /// ``subscriptions()``, but ``firings(after:)`` still returns them for the change that fired them, as long as a
    /// device's token is valid.
    /// - Parameter position: the position of the change.
    func noteFired(_ subscriptions: [OwnedSubscription], at position: Int64) async throws
}

extension Capability where Part == any SubscriptionFiring {
    public static var fireSubscriptions: Self { Self("tell which subscriptions its changes fire") }
}

/// Key-value stores (docs/key-values.md). Each user has one in the container and environment, at the private database.
public protocol KeyValueKeeping: Sendable {
    /// The caller's key-value store; with a token, the keys that changed after it, including removed ones.
    ///
    /// - Throws: `RecordError` BAD_REQUEST if the token has expired, as for zones; errors of
    ///   ``KeyValueRules/check(_:in:)``.
    func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges

    /// True if keys of the caller changed after a token. This is called after each commit, so an engine on a disk
    /// should not read the keys for it.
    /// - Throws: the errors of ``keyValues(since:)``.
    func hasKeyValues(since token: ChangeToken) async throws -> Bool

    /// Sets and removes keys of the caller, in order: all of them or none. The last write wins.
    ///
    /// - Returns: the size of the key-value store after the operations.
    /// - Throws: `RecordError` QUOTA_EXCEEDED, BAD_REQUEST (``Records/KeyValueLimits``); errors of
    ///   ``KeyValueRules/check(_:in:)``.
    func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage
}

extension Capability where Part == any KeyValueKeeping {
    public static var keepKeyValues: Self { Self("keep key-value stores", isForUsers: true) }
}

/// Shares by their links. Records of the type `cloudkit.share` are shares. They are saved and deleted like other
/// records.
public protocol ShareLinks: Sendable {
    /// The shares with the given links, each identified by the short GUID in its link. For a caller who is not
    /// invited, the owner is the only participant returned.
    /// - Parameter addresses: the addresses by which the caller may have been invited.
    func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>]

    /// Adds the caller to the participants of the shares with the given links. Accepting again changes nothing.
    func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>]
}

extension Capability where Part == any ShareLinks {
    public static var shareRecords: Self { Self("share records") }
}

/// Shares, for pages of an administrator.
public protocol ShareListing: Sendable {
    /// The shares with the given links, without regard to the caller's rights. For pages of an administrator, who sees
    /// everything.
    func shares(linkedBy shortGUIDs: [String]) async throws -> [Result<ResolvedShare, RecordError>]

    /// The shares that have not ended, in the order in which they were created. In `private`: shares of the caller's
    /// zones. In `shared`: shares in which the caller participates. In `public`: none.
    /// - Parameters:
    /// - zoneID: the zone; `nil` for all zones.
    /// - after: ``ZoneShare/hierarchy`` of the last share on the previous page.
    /// - limit: maximum number of shares.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func shares(in zoneID: ZoneID?, after: Int64?, limit: Int) async throws -> [ZoneShare]

    /// The records of a zone with their parents, without their fields.
    /// - Parameter limit: maximum number of records.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func tree(of zoneID: ZoneID, limit: Int) async throws -> ZoneTree
}

extension Capability where Part == any ShareListing {
    public static var listShares: Self { Self("list shares") }
}

/// The deletion of a user's data.
public protocol ZonePurging: Sendable {
    /// Purges a zone and its records, as when a user deletes an app's data in the system settings. The change feed
    /// reports a purge, which tells clients not to upload the zone again.
    func purge(_ zoneID: ZoneID) async throws
}

extension Capability where Part == any ZonePurging {
    public static var purgeZones: Self { Self("purge zones") }
}

/// Grants uploads of the files of records.
public protocol AssetUploading: Sendable {
    /// Grants an upload for each request. The ticket is valid for 15 minutes, for this record field and this caller.
    ///
    /// Each request has its own result: ACCESS_DENIED if the caller may not write, BAD_REQUEST if the field has another
    /// type or can't be created.
    /// - Parameter zoneID: the zone of the records. `nil` allows any zone of the database, for clients that request
    ///   uploads without a zone (CloudKit JS 1.2).
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func grantUploads(_ requests: [UploadRequest], in zoneID: ZoneID?) async throws -> [Result<
        UploadGrant, RecordError
    >]

    /// Returns assets of existing records, each with a receipt that lets one other record in the target zone use it
    /// without another upload.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<
        Asset, RecordError
    >]
}

extension Capability where Part == any AssetUploading {
    public static var uploadAssets: Self { Self("store assets") }
}

/// A copy of another container.
public protocol RecordMirroring: Sendable {
    /// Stores changes from the origin as they are there, with names, change tags, users and times. Rules that the
    /// origin has already applied are not applied again: grants, sizes, references. Types and fields of the records
    /// are added to the schema, in production too, with all indexes.
    ///
    /// A record that was edited here keeps the edit. If the record's version in the origin is not the one on which the
    /// edit is based, this is a conflict.
    /// - Throws: `RecordError` ZONE_NOT_FOUND; CONFLICT if the zone had records before its first batch; BAD_REQUEST if
    /// a field has another type here.
    func mirror(_ batch: MirrorBatch) async throws -> MirrorOutcome

    /// The marks of all batches.
    func mirrorMarks() async throws -> [Name: String]

    /// Names of records that were neither among ``MirrorBatch/originNames`` nor edited here, in order.
    /// - Parameters:
    /// - recordType: `nil` for all types.
    /// - after: the last name of the previous page.
    /// - limit: maximum number of names.
    func namesMissingInOrigin(in zoneID: ZoneID, recordType: Name?, after: Name?, limit: Int) async throws -> [Name]

    /// Edits that the origin does not have yet, ordered by ``UnsentEdit/since``.
    /// - Parameter since: ``UnsentEdit/since`` of the last edit on the previous page.
    func unsentEdits(since: Int64?, limit: Int) async throws -> [UnsentEdit]

    /// Ends a conflict.
    /// - Parameter versions: the versions between which the user chose; `nil` for the present ones.
    /// - Throws: `RecordError` NOT_FOUND if the record has no edit in conflict; CONFLICT if the conflict is between
    /// other versions.
    func settle(_ recordID: RecordID, keeping version: ConflictSettlement, of versions: ConflictVersions?) async throws
}

extension Capability where Part == any RecordMirroring {
    public static var mirrorRecords: Self { Self("mirror another container") }
}

extension KeyValueKeeping {
    public func hasKeyValues(since token: ChangeToken) async throws -> Bool {
        try await !keyValues(since: token).changes.isEmpty
    }
}

extension RecordMirroring {
    /// Ends a conflict, whatever its present versions are.
    public func settle(_ recordID: RecordID, keeping version: ConflictSettlement) async throws {
        try await settle(recordID, keeping: version, of: nil)
    }
}

extension SchemaEditing {
    /// Applies edits and waits until their indexes are built.
    public func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason = .edit) async throws -> Schema {
        try await edit(edits, because: reason, waitingForIndexes: true)
    }
}
