public import Records

/// An operation that not every store supports. The text completes the sentence "This store can't …".
public enum Capability: String, Sendable, Hashable, CaseIterable {
    // Databases
    case showSchema = "show its schema"
    case editSchema = "edit its schema"
    case deploySchema = "deploy a schema"
    case measureTypes = "measure its types"
    case explainQueries = "explain how it answers queries"
    case keepQueryStatistics = "report its query statistics"
    case tellCurrentToken = "tell its current token"
    case explainTokens = "explain its tokens"
    case expireTokens = "expire its tokens"
    case outlineFeed = "outline its feed"
    case positionRecords = "tell the positions of records"
    case signalCommits = "signal commits"
    case countRecords = "count records"
    case listRecords = "list records"
    case keepJournal = "show earlier versions of records"
    case traceReferences = "trace references"
    case summarizeZones = "summarize its zones"
    case keepSubscriptions = "keep subscriptions"
    case fireSubscriptions = "tell which subscriptions its changes fire"
    case keepKeyValues = "keep key-value stores"
    case shareRecords = "share records"
    case listShares = "list shares"
    case purgeZones = "purge zones"
    case uploadAssets = "store assets"
    case traceAssets = "find the uses of assets"
    case mirrorRecords = "mirror another container"
    // Databases and engines
    case measureStorage = "measure its storage"
    // Engines
    case listContainers = "list its containers"
    case editContainers = "delete and rename containers"
    case summarizeContainers = "summarize its containers"
    case listEnvironments = "list the environments of its containers"
    case knowUsers = "tell whether it knows a user"
    case reportHealth = "report the health of its stores"
    case keepAssets = "keep asset files"

    /// All capabilities of engines.
    public static let ofEngines: Set<Capability> = [
        .measureStorage, .listContainers, .editContainers, .summarizeContainers, .listEnvironments, .knowUsers,
        .reportHealth, .keepAssets,
    ]
    /// All capabilities of databases.
    public static let ofDatabases: Set<Capability> = Set(allCases).subtracting(ofEngines).union([.measureStorage])
    /// All capabilities of public databases, which have no feed and belong to no user.
    public static let ofPublicDatabases = ofDatabases.subtracting([.tellCurrentToken, .keepKeyValues])
}

/// A part of a store with capabilities: an engine, or one of its databases.
public protocol Capable: Sendable {
    /// The present capabilities. They can differ between databases.
    ///
    /// A call that needs a missing capability throws ``unable(_:)`` or a more specific error. So callers ask only in
    /// order to leave something out. If the store is another server, these are the capabilities of this kind of
    /// server; the server itself may lack some.
    var capabilities: Set<Capability> { get }

    /// The error for a missing capability: `RecordError` BAD_REQUEST. Stores can provide a more specific one.
    func unable(_ capability: Capability) -> RecordError
}

extension Capable {
    public func can(_ capability: Capability) -> Bool { capabilities.contains(capability) }

    /// - Throws: ``unable(_:)`` without the capability.
    public func require(_ capability: Capability) throws {
        if !can(capability) { throw unable(capability) }
    }

    public func unable(_ capability: Capability) -> RecordError {
        RecordError(.badRequest, "This store can't \(capability.rawValue)")
    }
}

// MARK: - Missing capabilities

// Default implementations of the methods that need a capability, for databases and engines without it. They throw the
// error of the missing capability.

extension RecordDatabase {
    public func schema() async throws -> Schema { throw unable(.showSchema) }
    public func indexBuilds() async throws -> [IndexBuildProgress] { throw unable(.showSchema) }
    public func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        throw unable(.showSchema)
    }
    public func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool)
        async throws -> Schema
    {
        throw unable(.editSchema)
    }
    public func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema {
        throw unable(.deploySchema)
    }
    public func reset(to production: Schema) async throws -> Schema { throw unable(.editSchema) }
    public func usage(of recordType: Name) async throws -> TypeUsage { throw unable(.measureTypes) }
    public func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        throw unable(.measureTypes)
    }

    public func explain(_ request: QueryRequest) async throws -> QueryExplanation { throw unable(.explainQueries) }
    public func queryStatistics() async throws -> QueryStatistics { throw unable(.keepQueryStatistics) }

    public func currentToken() async throws -> ChangeToken { throw unable(.tellCurrentToken) }
    public func explain(_ token: ChangeToken) async throws -> TokenExplanation { throw unable(.explainTokens) }
    public func expireTokens() async throws { throw unable(.expireTokens) }
    public func outline(_ request: FeedOutlineRequest) async throws -> FeedOutline { throw unable(.outlineFeed) }
    public func position(of recordID: RecordID) async throws -> RecordPosition? { throw unable(.positionRecords) }
    public func commits() throws -> AsyncStream<Void> { throw unable(.signalCommits) }

    public func counts(in zoneID: ZoneID) async throws -> ZoneCounts { throw unable(.countRecords) }
    public func list(_ request: RecordListRequest) async throws -> RecordListPage { throw unable(.listRecords) }
    public func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        throw unable(.traceReferences)
    }
    public func summaries(limit: Int, changes: Int) async throws -> ZoneSummaries { throw unable(.summarizeZones) }
    public func earliestCreation(in zoneID: ZoneID) async throws -> Timestamp? { throw unable(.summarizeZones) }
    public func storage(limit: Int) async throws -> DatabaseStorage { throw unable(.measureStorage) }

    public func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage {
        throw unable(.keepJournal)
    }
    public func revert(_ reversion: RecordReversion) async throws -> StoredRecord { throw unable(.keepJournal) }

    public func subscriptions() async throws -> [Subscription] { throw unable(.keepSubscriptions) }
    public func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<
        SubscriptionOperation, RecordError
    >] {
        throw unable(.keepSubscriptions)
    }
    public func firings(after position: Int64?) async throws -> FiringPage { throw unable(.fireSubscriptions) }
    public func standingSubscriptions() async throws -> [OwnedSubscription] { throw unable(.fireSubscriptions) }
    public func latestFirings(of subscription: Subscription, limit: Int) async throws -> [Firing] {
        throw unable(.fireSubscriptions)
    }
    public func noteFired(_ subscriptions: [OwnedSubscription], at position: Int64) async throws {
        throw unable(.fireSubscriptions)
    }

    public func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges { throw unable(.keepKeyValues) }
    public func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage {
        throw unable(.keepKeyValues)
    }

    public func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<
        ResolvedShare, RecordError
    >] {
        throw unable(.shareRecords)
    }
    public func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<
        ResolvedShare, RecordError
    >] {
        throw unable(.shareRecords)
    }
    public func shares(linkedBy shortGUIDs: [String]) async throws -> [Result<ResolvedShare, RecordError>] {
        throw unable(.listShares)
    }
    public func shares(in zoneID: ZoneID?, after: Int64?, limit: Int) async throws -> [ZoneShare] {
        throw unable(.listShares)
    }
    public func tree(of zoneID: ZoneID, limit: Int) async throws -> ZoneTree { throw unable(.listShares) }
    public func purge(_ zoneID: ZoneID) async throws { throw unable(.purgeZones) }

    public func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<
        UploadGrant, RecordError
    >] {
        throw unable(.uploadAssets)
    }
    public func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws
        -> [Result<Asset, RecordError>]
    {
        throw unable(.uploadAssets)
    }
    public func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses { throw unable(.traceAssets) }

    public func mirror(_ batch: MirrorBatch) async throws -> MirrorOutcome { throw unable(.mirrorRecords) }
    public func mirrorMarks() async throws -> [Name: String] { throw unable(.mirrorRecords) }
    public func unsighted(in zoneID: ZoneID, recordType: Name?, after: Name?, limit: Int) async throws -> [Name] {
        throw unable(.mirrorRecords)
    }
    public func unsentEdits(since: Int64?, limit: Int) async throws -> [UnsentEdit] { throw unable(.mirrorRecords) }
    public func settle(_ recordID: RecordID, keeping version: ConflictSettlement, of versions: ConflictVersions?)
        async throws
    {
        throw unable(.mirrorRecords)
    }
}

extension RecordEngine {
    public func containers() async throws -> [ContainerID] { throw unable(.listContainers) }
    public func environments(of container: ContainerID) async throws -> [Environment] {
        throw unable(.listEnvironments)
    }
    public func summaries(of containers: [ContainerID]) async throws -> [ContainerSummary] {
        throw unable(.summarizeContainers)
    }
    public func deleteContainer(_ container: ContainerID) async throws { throw unable(.editContainers) }
    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws {
        throw unable(.editContainers)
    }
    public func health() async throws -> [StoreHealth] { throw unable(.reportHealth) }
    public func storage(limit: Int) async throws -> [StoreStorage] { throw unable(.measureStorage) }
    public func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Environment) async throws
        -> Bool
    { throw unable(.knowUsers) }
    public func assetLedger(_ container: ContainerID, _ environment: Environment) async throws -> any AssetLedger {
        throw unable(.keepAssets)
    }
}

// MARK: - Forwarding

/// A database that wraps another one. It forwards all calls that it does not implement itself, and has the other's
/// capabilities.
public protocol ForwardingDatabase: RecordDatabase {
    var base: any RecordDatabase { get }
}

extension ForwardingDatabase {
    public var capabilities: Set<Capability> { base.capabilities }
    public func unable(_ capability: Capability) -> RecordError { base.unable(capability) }
    public var address: DatabaseAddress { base.address }
    public var caller: Caller { base.caller }

    public func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        try await base.modify(request)
    }
    public func query(_ request: QueryRequest) async throws -> QueryPage { try await base.query(request) }
    public func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        try await base.fetch(recordIDs, desiredKeys: desiredKeys, bytesLimit: bytesLimit)
    }
    public func zones() async throws -> [Zone] { try await base.zones() }
    public func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] {
        try await base.fetchZones(zoneIDs)
    }
    public func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        try await base.modifyZones(operations)
    }
    public func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        try await base.databaseChanges(request)
    }
    public func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        try await base.zoneChanges(request)
    }

    public func schema() async throws -> Schema { try await base.schema() }
    public func indexBuilds() async throws -> [IndexBuildProgress] { try await base.indexBuilds() }
    public func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        try await base.schemaHistory(before: before, limit: limit)
    }
    public func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool)
        async throws -> Schema
    {
        try await base.edit(edits, because: reason, waitingForIndexes: waitingForIndexes)
    }
    public func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema {
        try await base.deploy(development, waitingForIndexes: waitingForIndexes)
    }
    public func reset(to production: Schema) async throws -> Schema { try await base.reset(to: production) }
    public func usage(of recordType: Name) async throws -> TypeUsage { try await base.usage(of: recordType) }
    public func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        try await base.valueCounts(of: fields, in: recordType)
    }

    public func explain(_ request: QueryRequest) async throws -> QueryExplanation { try await base.explain(request) }
    public func queryStatistics() async throws -> QueryStatistics { try await base.queryStatistics() }

    public func currentToken() async throws -> ChangeToken { try await base.currentToken() }
    public func explain(_ token: ChangeToken) async throws -> TokenExplanation { try await base.explain(token) }
    public func expireTokens() async throws { try await base.expireTokens() }
    public func outline(_ request: FeedOutlineRequest) async throws -> FeedOutline { try await base.outline(request) }
    public func position(of recordID: RecordID) async throws -> RecordPosition? {
        try await base.position(of: recordID)
    }
    public func commits() throws -> AsyncStream<Void> { try base.commits() }

    public func counts(in zoneID: ZoneID) async throws -> ZoneCounts { try await base.counts(in: zoneID) }
    public func list(_ request: RecordListRequest) async throws -> RecordListPage { try await base.list(request) }
    public func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        try await base.referrers(to: recordID, limit: limit)
    }
    public func summaries(limit: Int, changes: Int) async throws -> ZoneSummaries {
        try await base.summaries(limit: limit, changes: changes)
    }
    public func earliestCreation(in zoneID: ZoneID) async throws -> Timestamp? {
        try await base.earliestCreation(in: zoneID)
    }
    public func storage(limit: Int) async throws -> DatabaseStorage { try await base.storage(limit: limit) }

    public func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage {
        try await base.journal(request)
    }
    public func revert(_ reversion: RecordReversion) async throws -> StoredRecord { try await base.revert(reversion) }

    public func subscriptions() async throws -> [Subscription] { try await base.subscriptions() }
    public func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<
        SubscriptionOperation, RecordError
    >] {
        try await base.modifySubscriptions(operations)
    }
    public func firings(after position: Int64?) async throws -> FiringPage { try await base.firings(after: position) }
    public func standingSubscriptions() async throws -> [OwnedSubscription] { try await base.standingSubscriptions() }
    public func latestFirings(of subscription: Subscription, limit: Int) async throws -> [Firing] {
        try await base.latestFirings(of: subscription, limit: limit)
    }
    public func noteFired(_ subscriptions: [OwnedSubscription], at position: Int64) async throws {
        try await base.noteFired(subscriptions, at: position)
    }

    public func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges {
        try await base.keyValues(since: token)
    }
    public func hasKeyValues(since token: ChangeToken) async throws -> Bool {
        try await base.hasKeyValues(since: token)
    }
    public func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage {
        try await base.modifyKeyValues(operations)
    }

    public func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<
        ResolvedShare, RecordError
    >] {
        try await base.resolve(shortGUIDs, by: addresses)
    }
    public func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<
        ResolvedShare, RecordError
    >] {
        try await base.accept(shortGUIDs, by: addresses)
    }
    public func shares(linkedBy shortGUIDs: [String]) async throws -> [Result<ResolvedShare, RecordError>] {
        try await base.shares(linkedBy: shortGUIDs)
    }
    public func shares(in zoneID: ZoneID?, after: Int64?, limit: Int) async throws -> [ZoneShare] {
        try await base.shares(in: zoneID, after: after, limit: limit)
    }
    public func tree(of zoneID: ZoneID, limit: Int) async throws -> ZoneTree {
        try await base.tree(of: zoneID, limit: limit)
    }
    public func purge(_ zoneID: ZoneID) async throws { try await base.purge(zoneID) }

    public func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<
        UploadGrant, RecordError
    >] {
        try await base.grantUploads(slots, in: zoneID)
    }
    public func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws
        -> [Result<Asset, RecordError>]
    {
        try await base.rereference(sources, from: zoneID, to: targetZoneID)
    }
    public func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses {
        try await base.uses(of: checksum, limit: limit)
    }

    public func mirror(_ batch: MirrorBatch) async throws -> MirrorOutcome { try await base.mirror(batch) }
    public func mirrorMarks() async throws -> [Name: String] { try await base.mirrorMarks() }
    public func unsighted(in zoneID: ZoneID, recordType: Name?, after: Name?, limit: Int) async throws -> [Name] {
        try await base.unsighted(in: zoneID, recordType: recordType, after: after, limit: limit)
    }
    public func unsentEdits(since: Int64?, limit: Int) async throws -> [UnsentEdit] {
        try await base.unsentEdits(since: since, limit: limit)
    }
    public func settle(_ recordID: RecordID, keeping version: ConflictSettlement, of versions: ConflictVersions?)
        async throws
    {
        try await base.settle(recordID, keeping: version, of: versions)
    }
}

/// An engine that wraps another one. It forwards all calls that it does not implement itself, and has the other's
/// capabilities.
public protocol ForwardingEngine: RecordEngine {
    var base: any RecordEngine { get }
}

extension ForwardingEngine {
    public var capabilities: Set<Capability> { base.capabilities }
    public func unable(_ capability: Capability) -> RecordError { base.unable(capability) }
    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        try await base.database(address, as: caller)
    }
    public func close() async { await base.close() }
    public func containers() async throws -> [ContainerID] { try await base.containers() }
    public func environments(of container: ContainerID) async throws -> [Environment] {
        try await base.environments(of: container)
    }
    public func summaries(of containers: [ContainerID]) async throws -> [ContainerSummary] {
        try await base.summaries(of: containers)
    }
    public func deleteContainer(_ container: ContainerID) async throws { try await base.deleteContainer(container) }
    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws {
        try await base.renameContainer(container, to: name)
    }
    public func health() async throws -> [StoreHealth] { try await base.health() }
    public func storage(limit: Int) async throws -> [StoreStorage] { try await base.storage(limit: limit) }
    public func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Environment) async throws
        -> Bool
    {
        try await base.knows(userRecordName, in: container, environment)
    }
    public func assetLedger(_ container: ContainerID, _ environment: Environment) async throws -> any AssetLedger {
        try await base.assetLedger(container, environment)
    }
    public func keepsAssets(of container: ContainerID) -> Bool { base.keepsAssets(of: container) }
}
