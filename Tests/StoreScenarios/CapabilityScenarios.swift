import RecordStore
import Records
import Testing

/// An engine and its databases can do what they claim, and refuse the rest with the error for it.
enum CapabilityScenarios {
    private typealias Call = (capability: Capability, call: () async throws -> Void)

    static let all: [Scenario] = [
        .init("a database can do what it claims, and nothing else") { engine, _ in
            for database in [try await engine.withZone(), try await engine.full(.public)] {
                let isPublic = database.address.scope == .public
                let calls = try calls(to: database)
                #expect(Set(calls.map(\.capability)) == Capability.ofDatabases)
                #expect(
                    database.capabilities.isSubset(of: isPublic ? Capability.ofPublicDatabases : Capability.ofDatabases)
                )
                await check(calls, database, explains: isPublic)
            }
        },
        .init("an engine can do what it claims, and nothing else") { engine, _ in
            let container = try await engine.withZone().address.container
            let calls = try calls(to: engine, container)
            #expect(Set(calls.map(\.capability)) == Capability.ofEngines)
            await check(calls, engine)
        },
    ]

    /// - Parameter explains: true if the store may refuse with an error that says more.
    private static func check(_ calls: [Call], _ store: any Capable, explains: Bool = false) async {
        for (capability, call) in calls {
            let error = await refusal(call)
            let isUnable = error == store.unable(capability) || explains && !store.can(capability) && error != nil
            #expect(isUnable != store.can(capability), "\(capability): \(error?.reason ?? "no error")")
        }
    }

    private static func calls(to database: any RecordDatabase) throws -> [Call] {
        let recordID = RecordID(recordName: "r", zoneID: notes)
        let file = try #require(checksum(7))
        return [
            (.showSchema, { _ = try await database.schema() }),
            (.showSchema, { _ = try await database.indexBuilds() }),
            (.showSchema, { _ = try await database.schemaHistory(before: nil, limit: 1) }),
            (.editSchema, { _ = try await database.edit([.addRole("Editors")]) }),
            (.deploySchema, { _ = try await database.deploy(.initial, waitingForIndexes: true) }),
            (.measureTypes, { _ = try await database.usage(of: Schema.usersType) }),
            (.measureTypes, { _ = try await database.valueCounts(of: [], in: Schema.usersType) }),
            (.explainQueries, { _ = try await database.explain(QueryRequest(Query(recordType: Schema.usersType))) }),
            (.keepQueryStatistics, { _ = try await database.queryStatistics() }),
            (.tellCurrentToken, { _ = try await database.currentToken() }),
            (.explainTokens, { _ = try await database.explain(ChangeToken(bytes: [1, 2, 3])) }),
            (.expireTokens, { try await database.expireTokens() }),
            (.outlineFeed, { _ = try await database.outline(FeedOutlineRequest(notes)) }),
            (.positionRecords, { _ = try await database.position(of: recordID) }),
            (.signalCommits, { _ = try database.commits() }),
            (.countRecords, { _ = try await database.counts(in: notes) }),
            (.listRecords, { _ = try await database.list(RecordListRequest(notes)) }),
            (.traceReferences, { _ = try await database.referrers(to: recordID, limit: 1) }),
            (.summarizeZones, { _ = try await database.summaries(limit: 1, changes: 1) }),
            (.summarizeZones, { _ = try await database.earliestCreation(in: notes) }),
            (.measureStorage, { _ = try await database.storage(limit: 1) }),
            (.keepJournal, { _ = try await database.journal(RecordJournalRequest(recordID)) }),
            (.keepJournal, { _ = try await database.revert(RecordReversion(recordID, to: 1, recordChangeTag: nil)) }),
            (.keepSubscriptions, { _ = try await database.subscriptions() }),
            (.keepSubscriptions, { _ = try await database.modifySubscriptions([]) }),
            (.fireSubscriptions, { _ = try await database.firings(after: nil) }),
            (.fireSubscriptions, { _ = try await database.standingSubscriptions() }),
            (
                .fireSubscriptions,
                {
                    _ = try await database.latestFirings(
                        of: Subscription("none", to: .database(recordType: nil)), limit: 1)
                }
            ),
            (
                .fireSubscriptions,
                {
                    let standing = OwnedSubscription(
                        user: ada.userRecordName, scope: .private, position: 0, isHeldToRoles: false,
                        subscription: Subscription("none", to: .database(recordType: nil)))
                    try await database.noteFired([standing], at: 1)
                }
            ),
            (.keepKeyValues, { _ = try await database.keyValues(since: nil) }),
            (.keepKeyValues, { _ = try await database.modifyKeyValues([]) }),
            (.shareRecords, { _ = try await database.resolve(["none"], by: LookupInfo()) }),
            (.listShares, { _ = try await database.shares(linkedBy: ["none"]) }),
            (.shareRecords, { _ = try await database.accept(["none"], by: LookupInfo()) }),
            (.listShares, { _ = try await database.shares(in: nil, after: nil, limit: 1) }),
            (.listShares, { _ = try await database.tree(of: notes, limit: 1) }),
            (
                .uploadAssets,
                { _ = try await database.grantUploads([AssetSlot(recordType: "Item", fieldName: "file")], in: notes) }
            ),
            (
                .uploadAssets,
                {
                    _ = try await database.rereference(
                        [AssetSource(recordName: "r", fieldName: "file")], from: notes, to: notes)
                }
            ),
            (.traceAssets, { _ = try await database.uses(of: file, limit: 1) }),
            (.mirrorRecords, { _ = try await database.mirror(MirrorBatch()) }),
            (.mirrorRecords, { _ = try await database.mirrorMarks() }),
            (.mirrorRecords, { _ = try await database.unsighted(in: notes, recordType: nil, after: nil, limit: 1) }),
            (.mirrorRecords, { _ = try await database.unsentEdits(since: nil, limit: 1) }),
            (.mirrorRecords, { try await database.settle(recordID, keeping: .mine) }),
            // The last ones, because the zone is gone then.
            (.purgeZones, { try await database.purge(notes) }),
            (.editSchema, { _ = try await database.reset(to: .initial) }),
        ]
    }

    private static func calls(to engine: any RecordEngine, _ container: ContainerID) throws -> [Call] {
        let other = try #require(ContainerID("iCloud.com.example.Other"))
        return [
            (.listContainers, { _ = try await engine.containers() }),
            (.listEnvironments, { _ = try await engine.environments(of: container) }),
            (.summarizeContainers, { _ = try await engine.summaries(of: [container]) }),
            (.knowUsers, { _ = try await engine.knows(ada.userRecordName, in: container, .development) }),
            (.reportHealth, { _ = try await engine.health() }),
            (.measureStorage, { _ = try await engine.storage(limit: 1) }),
            (.keepAssets, { _ = try await engine.assetLedger(container, .development) }),
            (.editContainers, { try await engine.renameContainer(container, to: other) }),
            (.editContainers, { try await engine.deleteContainer(other) }),
        ]
    }
}
