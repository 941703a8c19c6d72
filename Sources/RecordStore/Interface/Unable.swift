public import JSON
public import Records

// The methods of databases and engines that lack the capability for them.

extension RecordDatabase {
    public func schema() async throws -> Schema { throw unable(.showSchema) }
    public func indexBuilds() async throws -> [IndexBuildProgress] { throw unable(.showSchema) }
    public func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] { throw unable(.showSchema) }
    public func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws -> Schema {
        throw unable(.editSchema)
    }
    public func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema { throw unable(.deploySchema) }
    public func reset(to production: Schema) async throws -> Schema { throw unable(.editSchema) }
    public func usage(of recordType: Name) async throws -> TypeUsage { throw unable(.measureTypes) }
    public func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts { throw unable(.measureTypes) }

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
    public func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] { throw unable(.traceReferences) }
    public func summaries(limit: Int, changes: Int) async throws -> ZoneSummaries { throw unable(.summarizeZones) }
    public func earliestCreation(in zoneID: ZoneID) async throws -> Timestamp? { throw unable(.summarizeZones) }
    public func storage(limit: Int) async throws -> DatabaseStorage { throw unable(.measureStorage) }

    public func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage { throw unable(.keepJournal) }
    public func revert(_ reversion: RecordReversion) async throws -> StoredRecord { throw unable(.keepJournal) }

    public func subscriptions() async throws -> [Subscription] { throw unable(.keepSubscriptions) }
    public func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<SubscriptionOperation, RecordError>] {
        throw unable(.keepSubscriptions)
    }
    public func firings(after position: Int64?) async throws -> FiringPage { throw unable(.fireSubscriptions) }
    public func standingSubscriptions() async throws -> [StandingSubscription] { throw unable(.fireSubscriptions) }
    public func latestFirings(of subscription: Subscription, limit: Int) async throws -> [Firing] { throw unable(.fireSubscriptions) }
    public func noteFired(_ subscriptions: [StandingSubscription], at position: Int64) async throws { throw unable(.fireSubscriptions) }

    public func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges { throw unable(.keepKeyValues) }
    public func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage { throw unable(.keepKeyValues) }

    public func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        throw unable(.shareRecords)
    }
    public func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        throw unable(.shareRecords)
    }
    public func shares(linkedBy shortGUIDs: [String]) async throws -> [Result<ResolvedShare, RecordError>] { throw unable(.listShares) }
    public func shares(in zoneID: ZoneID?, after: Int64?, limit: Int) async throws -> [ZoneShare] { throw unable(.listShares) }
    public func tree(of zoneID: ZoneID, limit: Int) async throws -> ZoneTree { throw unable(.listShares) }
    public func purge(_ zoneID: ZoneID) async throws { throw unable(.purgeZones) }

    public func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<UploadGrant, RecordError>] {
        throw unable(.uploadAssets)
    }
    public func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<Asset, RecordError>] {
        throw unable(.uploadAssets)
    }
    public func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses { throw unable(.traceAssets) }

    public func mirror(_ batch: MirrorBatch) async throws -> MirrorOutcome { throw unable(.mirrorRecords) }
    public func mirrorMarks() async throws -> [Name: String] { throw unable(.mirrorRecords) }
    public func unsighted(in zoneID: ZoneID, recordType: Name?, after: Name?, limit: Int) async throws -> [Name] { throw unable(.mirrorRecords) }
    public func unsentEdits(since: Int64?, limit: Int) async throws -> [UnsentEdit] { throw unable(.mirrorRecords) }
    public func settle(_ recordID: RecordID, keeping version: ConflictSettlement, of versions: ConflictVersions?) async throws {
        throw unable(.mirrorRecords)
    }
}

extension RecordEngine {
    public func containers() async throws -> [ContainerID] { throw unable(.listContainers) }
    public func environments(of container: ContainerID) async throws -> [Environment] { throw unable(.listEnvironments) }
    public func summaries(of containers: [ContainerID]) async throws -> [ContainerSummary] { throw unable(.summarizeContainers) }
    public func deleteContainer(_ container: ContainerID) async throws { throw unable(.editContainers) }
    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws { throw unable(.editContainers) }
    public func health() async throws -> [StoreHealth] { throw unable(.reportHealth) }
    public func storage(limit: Int) async throws -> [StoreStorage] { throw unable(.measureStorage) }
    public func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Environment) async throws -> Bool { throw unable(.knowUsers) }
    public func assetLedger(_ container: ContainerID, _ environment: Environment) async throws -> any AssetLedger { throw unable(.keepAssets) }
}
