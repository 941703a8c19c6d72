public import RecordStore
public import Records
import Testing

/// An engine and its databases can do what they claim, and refuse the rest with the error for it.
public enum CapabilityScenarios {
    /// A call of a part.
    private struct Call {
        let task: String
        let isClaimed: Bool
        /// The error for a store without the part.
        let unable: RecordError
        let call: () async throws -> Void

        init<Part>(
            _ store: any Capable, _ capability: Capability<Part>, _ call: @escaping (Part) async throws -> Void
        ) {
            task = capability.task
            isClaimed = store.can(capability)
            unable = store.unable(capability)
            self.call = { try await call(store.require(capability)) }
        }
    }

    static let all: [Scenario] = [
        .init("a database can do what it claims, and nothing else") { engine, _ in
            for database in [try await engine.withZone(), try await engine.full(.public)] {
                await check(try calls(to: database), explains: database.address.scope == .public)
            }
        },
        .init("an engine can do what it claims, and nothing else") { engine, _ in
            let container = try await engine.withZone().address.container
            await check(try calls(to: engine, container))
        },
    ]

    /// What a database can't do.
    public static func missing(in database: any RecordDatabase) throws -> Set<String> {
        Set(try calls(to: database).filter { !$0.isClaimed }.map(\.task))
    }

    /// What an engine can't do.
    public static func missing(in engine: any RecordEngine, _ container: ContainerID) throws -> Set<String> {
        Set(try calls(to: engine, container).filter { !$0.isClaimed }.map(\.task))
    }

    /// - Parameter explains: true if the store may refuse with an error that says more.
    private static func check(_ calls: [Call], explains: Bool = false) async {
        for call in calls {
            let error = await refusal(call.call)
            let isUnable = error == call.unable || explains && !call.isClaimed && error != nil
            #expect(isUnable != call.isClaimed, "\(call.task): \(error?.reason ?? "no error")")
        }
    }

    private static func calls(to database: any RecordDatabase) throws -> [Call] {
        let recordID = RecordID(recordName: "r", zoneID: notes)
        let file = try #require(checksum(7))
        return [
            Call(database, .showSchema) { _ = try await $0.schema() },
            Call(database, .showSchema) { _ = try await $0.indexBuilds() },
            Call(database, .showSchema) { _ = try await $0.schemaHistory(before: nil, limit: 1) },
            Call(database, .editSchema) { _ = try await $0.edit([.addRole("Editors")]) },
            Call(database, .deploySchema) { _ = try await $0.deploy(.initial, waitingForIndexes: true) },
            Call(database, .measureTypes) { _ = try await $0.usage(of: Schema.usersType) },
            Call(database, .measureTypes) { _ = try await $0.valueCounts(of: [], in: Schema.usersType) },
            Call(database, .explainQueries) {
                _ = try await $0.explain(QueryRequest(Query(recordType: Schema.usersType)))
            },
            Call(database, .keepQueryStatistics) { _ = try await $0.queryStatistics() },
            Call(database, .tellCurrentToken) { _ = try await $0.currentToken() },
            Call(database, .explainTokens) { _ = try await $0.explain(ChangeToken(bytes: [1, 2, 3])) },
            Call(database, .expireTokens) { try await $0.expireTokens() },
            Call(database, .outlineFeed) { _ = try await $0.outline(FeedOutlineRequest(notes)) },
            Call(database, .positionRecords) { _ = try await $0.position(of: recordID) },
            Call(database, .signalCommits) { _ = try $0.commits() },
            Call(database, .countRecords) { _ = try await $0.counts(in: notes) },
            Call(database, .listRecords) { _ = try await $0.list(RecordListRequest(notes)) },
            Call(database, .traceReferences) { _ = try await $0.referrers(to: recordID, limit: 1) },
            Call(database, .summarizeZones) { _ = try await $0.summaries(limit: 1, changes: 1) },
            Call(database, .summarizeZones) { _ = try await $0.earliestCreation(in: notes) },
            Call(database, .measureStorage) { _ = try await $0.storage(limit: 1) },
            Call(database, .keepJournal) { _ = try await $0.journal(RecordJournalRequest(recordID)) },
            Call(database, .keepJournal) {
                _ = try await $0.revert(RecordReversion(recordID, to: 1, recordChangeTag: nil))
            },
            Call(database, .keepSubscriptions) { _ = try await $0.subscriptions() },
            Call(database, .keepSubscriptions) { _ = try await $0.modifySubscriptions([]) },
            Call(database, .fireSubscriptions) { _ = try await $0.firings(after: nil) },
            Call(database, .fireSubscriptions) { _ = try await $0.ownedSubscriptions() },
            Call(database, .fireSubscriptions) {
                _ = try await $0.latestFirings(
                    of: Subscription("none", to: .database(recordType: nil)), limit: 1)
            },
            Call(database, .fireSubscriptions) {
                let owned = OwnedSubscription(
                    user: ada.userRecordName, scope: .private, position: 0, isHeldToRoles: false,
                    subscription: Subscription("none", to: .database(recordType: nil)))
                try await $0.noteFired([owned], at: 1)
            },
            Call(database, .keepKeyValues) { _ = try await $0.keyValues(since: nil) },
            Call(database, .keepKeyValues) { _ = try await $0.modifyKeyValues([]) },
            Call(database, .shareRecords) { _ = try await $0.resolve(["none"], by: LookupInfo()) },
            Call(database, .listShares) { _ = try await $0.shares(linkedBy: ["none"]) },
            Call(database, .shareRecords) { _ = try await $0.accept(["none"], by: LookupInfo()) },
            Call(database, .listShares) { _ = try await $0.shares(in: nil, after: nil, limit: 1) },
            Call(database, .listShares) { _ = try await $0.tree(of: notes, limit: 1) },
            Call(database, .uploadAssets) {
                _ = try await $0.grantUploads([UploadRequest(recordType: "Item", fieldName: "file")], in: notes)
            },
            Call(database, .uploadAssets) {
                _ = try await $0.rereference(
                    [AssetSource(recordName: "r", fieldName: "file")], from: notes, to: notes)
            },
            Call(database, .traceAssets) { _ = try await $0.uses(of: file, limit: 1) },
            Call(database, .mirrorRecords) { _ = try await $0.mirror(MirrorBatch()) },
            Call(database, .mirrorRecords) { _ = try await $0.mirrorMarks() },
            Call(database, .mirrorRecords) {
                _ = try await $0.namesMissingInOrigin(in: notes, recordType: nil, after: nil, limit: 1)
            },
            Call(database, .mirrorRecords) { _ = try await $0.unsentEdits(since: nil, limit: 1) },
            Call(database, .mirrorRecords) { try await $0.settle(recordID, keeping: .mine) },
            // The last ones, because the zone is gone then.
            Call(database, .purgeZones) { try await $0.purge(notes) },
            Call(database, .editSchema) { _ = try await $0.reset(to: .initial) },
        ]
    }

    private static func calls(to engine: any RecordEngine, _ container: ContainerID) throws -> [Call] {
        let other = try #require(ContainerID("iCloud.com.example.Other"))
        return [
            Call(engine, .listContainers) { _ = try await $0.containers() },
            Call(engine, .listEnvironments) { _ = try await $0.environments(of: container) },
            Call(engine, .summarizeContainers) { _ = try await $0.summaries(of: [container]) },
            Call(engine, .knowUsers) { _ = try await $0.knows(ada.userRecordName, in: container, .development) },
            Call(engine, .reportHealth) { _ = try await $0.health() },
            Call(engine, .measureStores) { _ = try await $0.storage(limit: 1) },
            Call(engine, .keepAssets) { _ = try await $0.assetLedger(container, .development) },
            Call(engine, .editContainers) { try await $0.renameContainer(container, to: other) },
            Call(engine, .editContainers) { try await $0.deleteContainer(other) },
        ]
    }
}
