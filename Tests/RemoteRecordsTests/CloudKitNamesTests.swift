#if !canImport(CloudKit)
    import Foundation
    import RemoteRecords
    import SkylightTesting
    import Synchronization
    import Testing

    /// Code of an app as it is written for Apple's framework, which must compile and mean the same.
    @Suite struct CloudKitNamesTests {
        @Test func anAppsCodeForRecordsRuns() async throws {
            try await SkylightServer.run { skylight in
                let container: CKContainer = try await skylight.device(of: skylight.makeUser("Anna"))
                #expect(try await container.accountStatus() == .available)
                let database = container.privateCloudDatabase
                let zone = CKRecordZone(zoneName: "Lists")
                try await database.save(zone)
                #expect(zone.zoneID == CKRecordZone.ID(zoneName: "Lists", ownerName: CKCurrentUserDefaultName))
                #expect(CKRecordZone.default().zoneID == CKRecord(recordType: "Item").recordID.zoneID)
                let patient = database.configured(CKOperation.Configuration(timeoutIntervalForRequest: .seconds(30)))

                let recordName = "milk"
                let recordID = CKRecord.ID(recordName: recordName, zoneID: zone.zoneID)
                let list = CKRecord(
                    recordType: "List", recordID: CKRecord.ID(recordName: UUID().uuidString, zoneID: zone.zoneID))
                var item = CKRecord(recordType: "Item", recordID: recordID)
                item["title"] = "Milk"
                item["amount"] = 2
                item["list"] = CKRecord.Reference(record: list, action: .deleteSelf)
                item.encryptedValues["note"] = "fat"
                item.setParent(list)
                let (saveResults, deleteResults) = try await database.modifyRecords(saving: [list, item], deleting: [])
                #expect(saveResults.count == 2 && deleteResults.isEmpty)

                var fetched = try await patient.record(for: recordID)
                #expect(
                    fetched["title"] as? String == "Milk" && fetched["amount"] as? Int == 2
                        && fetched["amount"] as? Int64 == 2 && fetched["title"] as? Int == nil)
                #expect(
                    (fetched["list"] as? CKRecord.Reference)?.recordID == list.recordID
                        && fetched.encryptedValues["note"] == "fat")
                #expect(
                    fetched.creatorUserRecordID == fetched.lastModifiedUserRecordID && fetched.modificationDate != nil)
                #expect(fetched.allKeys() == ["amount", "list", "note", "title"])

                fetched["amount"] = 3
                try await database.save(fetched)
                fetched["amount"] = 4
                do {
                    try await database.save(fetched)
                    Issue.record("an old version was saved")
                } catch let error as CKError where error.code == .serverRecordChanged {
                    #expect(error.serverRecord?["amount"] as? Int == 3 && error.clientRecord?["amount"] as? Int == 4)
                    #expect(error.ancestorRecord?["amount"] as? Int == 2 && error.retryAfterSeconds == nil)
                }

                let savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .changedKeys
                fetched["rank"] = 1
                _ = try await database.modifyRecords(
                    saving: [fetched], deleting: [], savePolicy: savePolicy, atomically: true)
                let query = CKQuery(recordType: "Item", filters: [.init("rank", .equals, FieldInput(.int64(1)))])
                var matched: [CKRecord.ID?] = []
                var cursor: CKQueryOperation.Cursor?
                repeat {
                    let page =
                        if let next = cursor {
                            try await database.records(
                                continuingMatchFrom: next, resultsLimit: CKQueryOperation.maximumResults)
                        } else {
                            try await database.records(
                                matching: query, inZoneWith: zone.zoneID, resultsLimit: CKQueryOperation.maximumResults)
                        }
                    matched += page.matchResults.map(\.0)
                    cursor = page.queryCursor
                } while cursor != nil
                #expect(matched == [recordID] && database.scope == CKDatabase.Scope.private)

                let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
                #expect(changes.modifications.count == 2 && !changes.moreComing)
                let count = try await database.configuredWith(configuration: CKOperation.Configuration()) { database in
                    try await database.records(for: [recordID]).count
                }
                #expect(count == 1 && database.databaseScope == .private)
                #expect(container.containerIdentifier == container.containerID.description)
                let deleted = try await database.deleteRecord(withID: recordID)
                let others = try await database.modifyRecordZones(
                    saving: [CKRecordZone(zoneName: "Others")], deleting: [zone.zoneID])
                #expect(deleted == recordID && others.saveResults.count == 1 && others.deleteResults.count == 1)
                let subscriptionID = "everything"
                try await database.save(CKDatabaseSubscription(subscriptionID: subscriptionID))
                let subscription = try await database.subscription(for: subscriptionID)
                let ended = try await database.deleteSubscription(withID: subscriptionID)
                #expect(subscription.subscriptionID == subscriptionID && ended == subscriptionID)
            }
        }

        @Test func anAppsEngineRuns() async throws {
            try await SkylightServer.run { skylight in
                let anna = try await skylight.makeUser("Anna")
                let (phone, tablet) = (App(), App())
                let first = try phone.makeEngine(try await skylight.device(of: anna).privateCloudDatabase)
                let second = try tablet.makeEngine(try await skylight.device(of: anna).privateCloudDatabase)
                let zone = CKRecordZone(zoneName: "Notes")
                let recordID = CKRecord.ID(recordName: "note", zoneID: zone.zoneID)
                first.state.add(pendingDatabaseChanges: [.saveZone(zone)])
                phone.write("one", recordID, first)
                try await first.sendChanges()
                try await second.fetchChanges()
                #expect(tablet.text(recordID) == "one")
                // Both write, and the second one wins by the record of the server.
                phone.write("two", recordID, first)
                try await first.sendChanges()
                tablet.write("three", recordID, second)
                do throws(CKError) {
                    try await second.sendChanges()
                    Issue.record("an old version was sent")
                } catch {
                    #expect(error.partialErrorsByItemID?.keys.first == AnyHashable(recordID))
                }
                try await second.sendChanges()
                // The app is started anew.
                let again = try phone.makeEngine(first.database)
                try await again.fetchChanges()
                #expect(phone.text(recordID) == "three" && again.state.pendingRecordZoneChanges.isEmpty)
            }
        }

        /// As they were read in Apple's framework.
        @Test func constantsAreThoseOfTheFramework() {
            #expect(CKCurrentUserDefaultName == "__defaultOwner__" && CKRecordNameZoneWideShare == "cloudkit.zoneshare")
            #expect(CKRecord.SystemType.userRecord == "Users" && CKRecord.SystemType.share == "cloudkit.share")
            #expect(CKRecordZone.ID.defaultZoneName == "_defaultZone" && CKQueryOperation.maximumResults == 0)
            #expect(
                CKRecord(sharing: CKRecordZone.ID(zoneName: "Lists")).recordID.recordName.string
                    == CKRecordNameZoneWideShare)
            #expect(
                CKOperationGroup.TransferSize.allCases.map(\.rawValue) == Array(0...7)
                    && CKOperationGroup().expectedSendSize == .unknown)
            #expect(UUID(uuidString: CKRecord(recordType: "Item").recordID.recordName.string) != nil)
            #expect(UUID(uuidString: CKSubscription(to: .database(recordType: nil)).subscriptionID.string) != nil)
        }

        @Test func operationsHaveTheDefaultsOfTheFramework() {
            let modify = ModifyRecords()
            #expect(modify.savePolicy == .ifServerRecordUnchanged && modify.isAtomic)
            let query = QueryRecords(CKQuery(recordType: "Item"))
            #expect(query.desiredKeys == nil && query.resultsLimit == nil && FetchRecords([]).desiredKeys == nil)
            let (changes, feed) = (FetchRecordZoneChanges([ZonePull(.default)]), FetchDatabaseChanges())
            #expect(
                changes.fetchesAllChanges && changes.zones[0].since == nil && changes.zones[0].limit == nil
                    && changes.zones[0].desiredKeys == nil)
            #expect(feed.fetchesAllChanges && feed.previousToken == nil && feed.resultsLimit == nil)
            #expect(
                FetchRecordZones().zoneIDs == nil && FetchSubscriptions().subscriptionIDs == nil
                    && DiscoverUserIdentities().lookupInfos == nil)
            #expect(!FetchShareMetadata([]).fetchesRootRecords)
        }

        @Test func partialErrorsAreFoundByTheirIDs() async throws {
            try await SkylightServer.run { skylight in
                let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
                let missing = CKRecord.ID(recordName: "none")
                do {
                    try await database.perform(FetchRecords([missing]))
                    Issue.record("a record that does not exist was fetched")
                } catch let error as CKError {
                    #expect((error.partialErrorsByItemID?[missing] as? CKError)?.code == .unknownItem)
                }
            }
        }
    }

    /// The delegate of an app, with its data in memory.
    private final class App: CKSyncEngineDelegate {
        private struct Stored {
            var records: [CKRecord.ID: CKRecord] = [:]
            var state: Data?
        }

        private let stored = Mutex(Stored())

        func makeEngine(_ database: CKDatabase) throws -> CKSyncEngine {
            let state = try stored.withLock { $0.state }.map {
                try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0)
            }
            return try CKSyncEngine(
                CKSyncEngine.Configuration(database: database, stateSerialization: state, delegate: self))
        }

        func text(_ recordID: CKRecord.ID) -> String? { stored.withLock { $0.records[recordID] }?["text"] as? String }

        func write(_ text: String, _ recordID: CKRecord.ID, _ syncEngine: CKSyncEngine) {
            stored.withLock { stored in
                var record = stored.records[recordID] ?? CKRecord(recordType: "Note", recordID: recordID)
                record["text"] = text
                stored.records[recordID] = record
            }
            syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
        }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            switch event {
            case .stateUpdate(let event):
                stored.withLock { $0.state = try? JSONEncoder().encode(event.stateSerialization) }
            case .accountChange(let event):
                switch event.changeType {
                case .signIn: break
                case .signOut, .switchAccounts: stored.withLock { $0 = Stored() }
                }
            case .fetchedDatabaseChanges(let event):
                for deletion in event.deletions {
                    stored.withLock { stored in
                        stored.records = stored.records.filter { $0.key.zoneID != deletion.zoneID }
                    }
                }
            case .fetchedRecordZoneChanges(let event):
                for modification in event.modifications {
                    stored.withLock { $0.records[modification.record.recordID] = modification.record }
                }
                for deletion in event.deletions { stored.withLock { $0.records[deletion.recordID] = nil } }
            case .sentRecordZoneChanges(let event):
                for savedRecord in event.savedRecords {
                    stored.withLock { $0.records[savedRecord.recordID] = savedRecord }
                }
                for failedRecordSave in event.failedRecordSaves {
                    let failedRecord = failedRecordSave.record
                    guard failedRecordSave.error.code == .serverRecordChanged,
                        var serverRecord = failedRecordSave.error.serverRecord
                    else { continue }
                    serverRecord["text"] = failedRecord["text"] as? String
                    stored.withLock { [serverRecord] in $0.records[failedRecord.recordID] = serverRecord }
                    syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(failedRecord.recordID)])
                }
            case .sentDatabaseChanges, .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges,
                .didFetchChanges, .willSendChanges,
                .didSendChanges:
                break
            }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            let scope = context.options.scope
            let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
            return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
                stored.withLock { $0.records[recordID] }
            }
        }
    }
#endif
