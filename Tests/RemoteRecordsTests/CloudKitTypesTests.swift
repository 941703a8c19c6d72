#if !canImport(CloudKit)
    import Foundation
    import RemoteRecords
    import SkylightTesting
    import Synchronization
    import Testing

    extension CKRecord.FieldKey {
        fileprivate static let note = "note"
    }

    extension CKRecord.RecordType {
        fileprivate static let thing = "Thing"
    }

    /// The types of CloudKit that code of an app names, and what it reads from them.
    @Suite struct CloudKitTypesTests {
        private enum Item {
            static let recordType = "Item"
            static let title = "title"
            static let amount: CKRecord.FieldKey = "amount"
        }

        // MARK: Names as strings

        @Test func namesAreUsedAsStrings() {
            let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: "anna")
            var record = CKRecord(recordType: Item.recordType, recordID: .init(recordName: "milk", zoneID: zoneID))
            record[Item.title] = "Milk"
            record[Item.amount] = 2
            record.encryptedValues[Item.title] = "Fat"
            let encrypted: String? = record.encryptedValues[Item.title]
            #expect(record[Item.title] as? String == "Fat" && encrypted == "Fat")
            let amount: Int? = record["amount"]
            #expect(amount == 2)
            record.encryptedValues[.note] = "Soon"
            #expect(record.encryptedValues[.note] as? String == "Soon" && record[.note] as? String == "Soon")
            record[.note] = nil
            let query = CKQuery(
                recordType: Item.recordType, filters: [.init(Item.amount, .greaterThan, 1)],
                sorts: [.init(CKRecord.SystemFieldKey.creationDate, ascending: false)])
            #expect(query.filters == [.init("amount", .greaterThan, 1)])
            #expect(query.sorts == [.init("___createTime", ascending: false)])

            var titles: [String: String] = ["milk": "Milk"]
            #expect(titles[record.recordID.recordName] == "Milk")
            titles[record.recordID.zoneID.zoneName] = record.recordType
            #expect(titles["Lists"] == "Item" && zoneID.ownerName == "anna")
            let name = record.recordID.recordName
            titles[name] = (titles[name] ?? "") + "!"
            #expect(titles[name] == "Milk!" && titles["milk"] == "Milk!")
            titles[name] = nil
            #expect(titles.count == 1)
            let recordName: String = record.recordID.recordName
            #expect(record.recordID.recordName == recordName && record.recordType == Item.recordType)
            #expect(record.recordType != recordName && CKRecordZone.default().zoneID.ownerName == "__defaultOwner__")
            var found = ""
            switch record.recordID.recordName {
            case "bread": found = "bread"
            case recordName: found = "milk"
            default: break
            }
            switch record.recordType {
            case Item.recordType: found += "+"
            default: break
            }
            #expect(found == "milk+")
            let keys: [String] = record.allKeys()
            #expect(keys == ["amount", "title"] && record.allKeys().contains(Item.amount))
            #expect(record.object(forKey: Item.title) as? String == "Fat")
            record.setObject(3 as CKRecordValue, forKey: "amount")
            record.setObject(nil, forKey: Item.title)
            #expect(record.object(forKey: "amount") as? Int == 3 && record[Item.title] as? String == nil)
            #expect(Set<CKRecord.FieldKey>(keys) == ["title", "amount"])
            record.setValue("Bread", forKey: Item.title)
            #expect(record.value(forKey: Item.title) as? String == "Bread")
            record["amount"] = nil
            let changed: [CKRecord.FieldKey] = record.changedKeys()
            #expect(changed == ["amount", "note", "title"] && record.changedKeys().contains(Item.amount))
            #expect(record.changedKeys == ["amount", "note", "title"] && record["amount"] == nil)
        }

        @Test func identifiersAreMade() {
            let zoneID = CKRecordZone.ID(zoneName: "Lists")
            #expect(UUID(uuidString: CKRecord.ID().recordName) != nil && CKRecord.ID().zoneID == .default)
            #expect(CKRecord.ID(zoneID: zoneID).zoneID == zoneID)
            let type: CKRecord.RecordType = "Item"
            #expect(CKRecord(recordType: Item.recordType, zoneID: zoneID).recordType == type)
            #expect(CKQuery(recordType: Item.recordType).recordType == type)
        }

        @Test func recordTypesAreStrings() {
            let thing = CKRecord(recordType: .thing)
            let counts: [CKRecord.RecordType: Int] = [.thing: 1, CKRecord.SystemType.share: 2]
            #expect(counts[thing.recordType] == 1 && CKQuery(recordType: .thing).recordType == .thing)
            // The type of a deleted record
            let (known, unknown): (Name?, Name?) = ("Thing", nil)
            let type: CKRecord.RecordType = .thing
            #expect(known == type && unknown != type)
            switch known {
            case type: break
            default: Issue.record("the type is another one")
            }
        }

        @Test func systemFieldsHaveTheNamesOfQueries() {
            typealias Key = CKRecord.SystemFieldKey
            let keys: [CKRecord.FieldKey] = [
                Key.recordID, Key.creationDate, Key.creatorUserRecordID, Key.modificationDate,
                Key.lastModifiedUserRecordID, Key.parent, Key.share, CKShare.SystemFieldKey.title,
                CKShare.SystemFieldKey.shareType, CKShare.SystemFieldKey.thumbnailImageData,
            ]
            #expect(
                keys == [
                    "___recordID", "___createTime", "___createdBy", "___modTime", "___modifiedBy", "___parent",
                    "___share", "cloudkit.title", "cloudkit.type", "cloudkit.thumbnailImageData",
                ])
        }

        // MARK: Errors

        @Test(arguments: CKError.Code.allCases) func errorsAreMadeFromTheirCodes(code: CKError.Code) {
            let error = CKError(code)
            let bridged = error as NSError
            #expect(error.code == code && bridged.domain == CKErrorDomain && bridged.code == code.rawValue)
        }

        @Test func errorsAreCaughtByTheirCodes() {
            func caught(_ thrown: any Error) -> String {
                do {
                    throw thrown
                } catch CKError.zoneNotFound, CKError.unknownItem {
                    return "missing"
                } catch CKError.partialFailure {
                    return "some"
                } catch {
                    return "other"
                }
            }
            let errors: [any Error] = [
                CKError(.zoneNotFound), CKError(.partialFailure), CKError(.zoneBusy), CancellationError(),
            ]
            #expect(errors.map(caught) == ["missing", "some", "other", "other"])
            if case CKError.zoneBusy = errors[2] {} else { Issue.record("the code was not found") }
        }

        @Test func errorsHaveTheValuesOfTheirUserInfo() throws {
            let zoneID = CKRecordZone.ID(zoneName: "Lists")
            var server = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "milk", zoneID: zoneID))
            server["amount"] = 1
            let client = CKRecord(recordType: "Item", recordID: server.recordID)
            let conflict = CKError(
                .serverRecordChanged,
                userInfo: [
                    CKRecordChangedErrorServerRecordKey: server, CKRecordChangedErrorClientRecordKey: client,
                    CKRecordChangedErrorAncestorRecordKey: client, CKErrorRetryAfterKey: 1.5,
                    NSLocalizedDescriptionKey: "changed",
                ])
            #expect(conflict.serverRecord == server && conflict.ancestorRecord == client)
            #expect(conflict.retryAfterSeconds == 1.5 && conflict.localizedDescription == "changed")
            let whole = CKError(
                .partialFailure,
                userInfo: [
                    CKPartialErrorsByItemIDKey: [
                        AnyHashable(server.recordID): conflict, AnyHashable(zoneID): CKError(.zoneNotFound),
                        AnyHashable("subscription"): CKError(.unknownItem), AnyHashable(1): CKError(.unknownItem),
                    ] as [AnyHashable: any Error]
                ])
            #expect(whole.partialErrors.count == 3 && whole.partialErrors[.zone(zoneID)]?.code == .zoneNotFound)
            #expect(whole.partialErrors[.subscription("subscription")]?.code == .unknownItem)
            let again = CKError(whole.code, userInfo: whole.userInfo)
            #expect(
                (again.partialErrorsByItemID?[server.recordID] as? CKError)?.clientRecord == client
                    && again.partialErrors.count == 3)
            #expect(CKError(.networkFailure).userInfo.keys.sorted() == [NSLocalizedDescriptionKey])
            for (value, seconds) in [(3, 3), (-1.5, -1.5), (Double.infinity, nil), (Double.nan, nil), ("1", nil)]
                as [(Any, Double?)]
            {
                #expect(CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: value]).retryAfterSeconds == seconds)
            }
        }

        // MARK: Shares, users and subscriptions

        @Test func sharesHaveParticipants() {
            let zoneID = CKRecordZone.ID(zoneName: "Lists")
            let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list", zoneID: zoneID))
            var share = CKShare(rootRecord: list, shareID: CKRecord.ID(recordName: "share", zoneID: zoneID))
            #expect(share.recordID.recordName == "share" && share.sharing?.rootName == "list" && share.isShare)
            #expect(CKShare(rootRecord: list).sharing?.rootName == "list" && share.owner == nil)
            // Another zone may have a record with the root's name.
            let other = CKShare(rootRecord: list, shareID: CKRecord.ID(recordName: "share"))
            #expect(other.recordID == share.recordID)
            #expect(CKShare(recordZoneID: zoneID).recordID.recordName == CKRecordNameZoneWideShare)
            var ben = CKShare.Participant(
                participantID: "1",
                lookupInfo: CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: "ben")))
            let action: CKRecord.ReferenceAction = .deleteSelf
            #expect(CKRecord.Reference(record: list, action: action).action == .deleteSelf)
            var item = CKRecord(recordType: "Item", zoneID: zoneID)
            item.parent = CKRecord.Reference(record: list, action: .none)
            let parent: CKRecord.Reference? = item.parent
            #expect(parent?.recordID == list.recordID && item.parent?.recordID == list.recordID)
            #expect(item.parent == "list")
            item.parent = nil
            #expect(item.hasChanges && item.parent == nil)
            let (permission, role): (CKShare.ParticipantPermission, CKShare.ParticipantRole) = (
                .readWrite, .privateUser
            )
            (ben.permission, ben.role) = (permission, role)
            share.publicPermission = .readOnly
            share.addParticipant(ben)
            #expect(share.participants == [ben] && ben.acceptanceStatus == .pending && ben.role == .user)
            #expect(share.publicPermission == .readOnly && ben.lookupInfo.userRecordName == "ben")
            share.removeParticipant(ben)
            #expect(share.participants.isEmpty && share.hasChanges)
            var plain = list
            plain.publicPermission = .readOnly
            plain.addParticipant(ben)
            #expect(plain == list && plain.publicPermission == .none)
        }

        @Test func subscriptionsAreMadeByTheirKinds() {
            let zoneID = CKRecordZone.ID(zoneName: "Lists")
            let database = CKDatabaseSubscription(subscriptionID: "all")
            #expect(database.subject == .database(recordType: nil) && database.subscriptionID == "all")
            var zone = CKRecordZoneSubscription(zoneID: zoneID)
            zone.notificationInfo = CKSubscription.NotificationInfo()
            #expect(zone.zoneID == zoneID && UUID(uuidString: zone.subscriptionID) != nil)
            let query = CKQuerySubscription(
                recordType: Item.recordType, filters: ["amount" > 3], subscriptionID: "many",
                options: [.firesOnRecordCreation, .firesOnRecordDeletion, .firesOnce])
            guard case .query(let subject) = query.subject else {
                Issue.record("\(query.subject)")
                return
            }
            #expect(subject.firesOn == [.create, .delete] && subject.firesOnce && subject.zoneID == nil)
            #expect(subject.query == CKQuery(recordType: "Item", filters: [.init("amount", .greaterThan, 3)]))
            let inZone = CKQuerySubscription(
                recordType: Item.recordType, options: .firesOnRecordUpdate, zoneID: zoneID)
            #expect(inZone.zoneID == zoneID && query.zoneID == nil)
            var info = CKSubscription.NotificationInfo()
            #expect(info.desiredKeys == nil)
            info.desiredKeys = [Item.amount]
            #expect(info.desiredKeys == ["amount"] && info.additionalFields == ["amount"])
            let id: CKSubscription.ID = "all"
            #expect(CKDatabaseSubscription(subscriptionID: id).subscriptionID == id)
        }

        @Test func operationsAreMadeWithTheFrameworksLabels() throws {
            let zoneID = CKRecordZone.ID(zoneName: "Lists")
            let recordID = CKRecord.ID(recordName: "milk", zoneID: zoneID)
            let record = CKRecord(recordType: "Item", recordID: recordID)
            let url = try #require(URL(string: "https://example.com/share/0abc"))
            #expect(CKFetchRecordsOperation(recordIDs: [recordID]).recordIDs == [recordID])
            let modify = CKModifyRecordsOperation(recordsToSave: [record], recordIDsToDelete: nil)
            #expect(modify.recordsToSave == [record] && modify.recordIDsToDelete.isEmpty && modify.isAtomic)
            #expect(CKQueryOperation(query: CKQuery(recordType: "Item")).query.recordType == "Item")
            let cursor = CKQueryOperation.Cursor(query: CKQuery(recordType: "Item"), marker: "1")
            #expect(CKQueryOperation(cursor: cursor).cursor == cursor)
            #expect(CKFetchRecordZonesOperation(recordZoneIDs: [zoneID]).zoneIDs == [zoneID])
            #expect(CKFetchRecordZonesOperation.fetchAllRecordZonesOperation().zoneIDs == nil)
            let zones = CKModifyRecordZonesOperation(
                recordZonesToSave: [CKRecordZone(zoneName: "Lists")], recordZoneIDsToDelete: [.default])
            #expect(zones.zoneIDsToSave == [zoneID] && zones.zoneIDsToDelete == [.default])
            let token = CKServerChangeToken("1")
            #expect(CKFetchDatabaseChangesOperation(previousServerChangeToken: token).previousToken == token)
            let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
                previousServerChangeToken: token, resultsLimit: 10, desiredKeys: [Item.amount])
            let changes = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [zoneID, .default], configurationsByRecordZoneID: [zoneID: configuration])
            #expect(
                changes.zones == [
                    ZonePull(zoneID, since: token, limit: 10, desiredKeys: ["amount"]), ZonePull(.default),
                ])
            #expect(CKFetchSubscriptionsOperation(subscriptionIDs: ["all"]).subscriptionIDs == ["all"])
            #expect(CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation().subscriptionIDs == nil)
            let subscription = CKDatabaseSubscription(subscriptionID: "all")
            let subscriptions = CKModifySubscriptionsOperation(
                subscriptionsToSave: [subscription], subscriptionIDsToDelete: ["none"])
            #expect(
                subscriptions.subscriptionsToSave == [subscription]
                    && subscriptions.subscriptionIDsToDelete == ["none"])
            #expect(CKFetchShareMetadataOperation(shareURLs: [url]).links == ["0abc"])
            let user = CKUserIdentity.LookupInfo(emailAddress: "ben@example.com")
            #expect(CKFetchShareParticipantsOperation(userIdentityLookupInfos: [user]).lookupInfos == [user])
            #expect(CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: [user]).lookupInfos == [user])
            #expect(CKDiscoverAllUserIdentitiesOperation().lookupInfos == nil)
        }

        @Test func aSharedRecordIsAccepted() async throws {
            try await SkylightServer.run { skylight in
                let ben = try await skylight.makeUser("Ben", emailAddress: "ben@example.com")
                let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
                let theirs: CKContainer = try await skylight.device(of: ben)
                let zone = CKRecordZone(zoneName: "Lists")
                try await database.save(zone)
                let list = CKRecord(
                    recordType: "List", recordID: CKRecord.ID(recordName: "list", zoneID: zone.zoneID))
                var share = CKShare(rootRecord: list)
                share.publicPermission = .readWrite
                share[CKShare.SystemFieldKey.title] = "Food"
                _ = try await database.modifyRecords(saving: [list, share], deleting: [])
                let saved = try await database.record(for: list.recordID)
                #expect(saved.share?.recordID == share.recordID)
                let url = try #require(URL(string: "https://example.com/share/\(saved.shortGUID ?? "")"))
                let metadata: CKShare.Metadata = try await theirs.shareMetadata(for: url)
                #expect(metadata.hierarchicalRootRecordID?.recordName == "list")
                #expect(CKAcceptSharesOperation(shareMetadatas: [metadata]).links.count == 1)
                let accepted = try await theirs.accept(metadata)
                #expect(accepted[CKShare.SystemFieldKey.title] as? String == "Food")
                let container = database.container
                let known = try await container.shareParticipant(forEmailAddress: "ben@example.com")
                let nobody = try await container.userIdentity(forEmailAddress: "nobody@example.com")
                let none = CKRecord.ID(recordName: "_00000000000000000000000000000000")
                let other = try await container.userIdentity(forUserRecordID: none)
                #expect(known.userRecordName == ben.userRecordName && nobody == nil && other == nil)
                let identity: CKUserIdentity? = metadata.ownerIdentity
                #expect(identity?.userRecordID == identity?.userRecordName.map { CKRecord.ID(recordName: $0) })
                let names = [identity?.nameComponents?.givenName, identity?.nameComponents?.familyName]
                #expect(names == [identity?.givenName, identity?.familyName])
            }
        }

        // MARK: Calls

        @Test func queriesTakeValuesAndKeysAsStrings() async throws {
            try await SkylightServer.run { skylight in
                let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
                let zone = CKRecordZone(zoneName: "Lists")
                try await database.save(zone)
                let date = Date(timeIntervalSince1970: 1_800_000_000)
                let items = (0..<5).map { number in
                    var item = CKRecord(
                        recordType: "Item", recordID: CKRecord.ID(recordName: "i\(number)", zoneID: zone.zoneID))
                    item["amount"] = number
                    item["title"] = "Item \(number)"
                    item["date"] = date.addingTimeInterval(Double(number))
                    return item
                }
                _ = try await database.modifyRecords(saving: items, deleting: [])
                let table: [(filters: [Query.Filter], found: [Int])] = [
                    ([.init("amount", .greaterThan, 2)], [3, 4]), (["amount" >= 4], [4]), (["amount" < 1], [0]),
                    (["amount" <= 1, "amount" != 0], [1]), (["title" == "Item 2"], [2]),
                    (["date" > date.addingTimeInterval(3)], [4]), ([.init("amount", .in, [1, 3])], [1, 3]),
                ]
                let desiredKeys = ["amount"]
                for (filters, found) in table {
                    let query = CKQuery(recordType: "Item", filters: filters, sorts: [.init("amount")])
                    let page = try await database.records(
                        matching: query, inZoneWith: zone.zoneID, desiredKeys: desiredKeys)
                    let records = try page.matchResults.map { try $0.result.get() }
                    #expect(records.map { $0["amount"] as? Int } == found, "\(filters)")
                    #expect(records.allSatisfy { $0.allKeys() == desiredKeys })
                }
                // Only what is another value is a change.
                struct Model: Codable {
                    var amount: Int
                    var title: String
                }
                var item = try await database.record(for: items[1].recordID)
                var model = try item.model(Model.self)
                model.amount += 10
                try item.set(model)
                #expect(item.changedKeys == ["amount"])

                let one = try await database.record(for: items[1].recordID, desiredKeys: desiredKeys)
                let some = try await database.records(for: [items[1].recordID], desiredKeys: desiredKeys)
                let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, desiredKeys: desiredKeys)
                let changed = try changes.modifications.map { try $0.result.get() }
                let fetched = try some.values.map { try $0.get() }
                #expect((changed + fetched + [one]).allSatisfy { $0.allKeys() == desiredKeys })

                var pages: [[Int?]] = []
                let all = CKQuery(
                    recordType: "Item", filters: ["amount" >= 0], sorts: [.init("amount", ascending: false)])
                for try await page in database.pages(matching: all, inZoneWith: zone.zoneID, resultsLimit: 2) {
                    pages.append(try page.matchResults.map { try $0.result.get()["amount"] })
                }
                #expect(pages.flatMap { $0 } == [4, 3, 2, 1, 0] && pages.first == [4, 3])
                let first = try await database.records(matching: all, inZoneWith: zone.zoneID, resultsLimit: 2)
                let next = try await database.records(
                    continuingMatchFrom: try #require(first.queryCursor), desiredKeys: desiredKeys, resultsLimit: 2)
                #expect(try next.matchResults.map { try $0.result.get()["amount"] } == [2, 1])
            }
        }

        @Test func valuesOfFiltersHaveTheirTypes() {
            let filter = Query.Filter("place", .near, Location(latitude: 1, longitude: 2), distance: 10)
            #expect(filter.value == FieldInput(.location(Location(latitude: 1, longitude: 2))) && filter.distance == 10)
            #expect(Query.Filter("title", .equals, "Milk").value == FieldInput(.string("Milk")))
            #expect(Query.Filter("isDone", .equals, false).value == FieldInput(.int64(0)))
            #expect(
                Query.Filter("tags", .in, ["a", "b"]).value
                    == FieldInput(.list([.string("a"), .string("b")], of: .string)))
            #expect(Query.Filter("file", .equals, CKAsset(fileURL: URL(filePath: "/none"))).value == .cleared)
        }

        // MARK: The account and the engine

        @Test func theAccountIsAStream() async throws {
            try await SkylightServer.run { skylight in
                let container: CKContainer = try await skylight.device(of: skylight.makeUser("Anna"))
                var statuses = container.accountStatuses(every: .milliseconds(10)).makeAsyncIterator()
                let status: CKAccountStatus? = await statuses.next()
                #expect(status == .available)
            }
        }

        @Test func anEngineDoesNotSyncByItself() async throws {
            try await SkylightServer.run { skylight in
                let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
                var configuration = CKSyncEngine.Configuration(
                    database: database, stateSerialization: nil, delegate: Watcher())
                configuration.automaticallySync = true
                do throws(CKError) {
                    _ = try CKSyncEngine(configuration)
                    Issue.record("an engine was made that nothing wakes")
                } catch {
                    #expect(error.code == .invalidArguments)
                }
                configuration.automaticallySync = false
                _ = try CKSyncEngine(configuration)
            }
        }

        @Test func anEngineFetchesSomeZones() async throws {
            try await SkylightServer.run { skylight in
                let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
                let zoneIDs = ["A", "B", "C"].map { CKRecordZone.ID(zoneName: $0) }
                for zoneID in zoneIDs {
                    try await database.save(zoneID)
                    try await database.save(CKRecord(recordType: "Item", zoneID: zoneID))
                }
                let watcher = Watcher()
                let engine = try CKSyncEngine(
                    CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: watcher))
                try await engine.fetchChanges(.init(scope: .zoneIDs([zoneIDs[1]])))
                #expect(watcher.takeZoneIDs() == [zoneIDs[1]])
                try await engine.fetchChanges(CKSyncEngine.FetchChangesOptions(scope: .allExcluding([zoneIDs[2]])))
                #expect(watcher.takeZoneIDs() == [zoneIDs[0]])
                try await engine.fetchChanges()
                #expect(watcher.takeZoneIDs() == [zoneIDs[2]])
            }
        }

        @Test func anEngineTellsWhatItDoes() async throws {
            try await SkylightServer.run { skylight in
                let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
                let watcher = Watcher()
                let engine = try CKSyncEngine(
                    CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: watcher))
                var activities = engine.activities().makeAsyncIterator()
                let idle = await activities.next()
                #expect(idle?.isFetching == false && idle?.isSending == false && idle?.lastError == nil)
                try await engine.fetchChanges()
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: "none"))])
                try await engine.sendChanges()
                #expect(watcher.activities == ["fetching", "sending"])
                while let activity = await activities.next(), activity.isFetching || activity.isSending {}
                #expect(!engine.activity.isFetching && !engine.activity.isSending)
                let missing = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Missing"))
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(missing)])
                do throws(CKError) {
                    try await engine.sendChanges()
                    Issue.record("a record was saved in a zone that does not exist")
                } catch {
                    #expect(engine.activity.sendError?.code == error.code && engine.activity.fetchError == nil)
                    #expect(engine.activity.lastError?.code == .partialFailure)
                }
                try await engine.sendChanges()
                #expect(engine.activity.lastError == nil)
            }
        }
    }

    /// A delegate that notes the zones that come, and what the engine does meanwhile.
    private final class Watcher: CKSyncEngineDelegate {
        private let noted = Mutex<(zoneIDs: [CKRecordZone.ID], activities: [String])>(([], []))

        var activities: [String] { noted.withLock { $0.activities } }

        func takeZoneIDs() -> [CKRecordZone.ID] {
            noted.withLock { noted in
                defer { noted.zoneIDs = [] }
                return noted.zoneIDs
            }
        }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            let activity = syncEngine.activity
            noted.withLock { noted in
                switch event {
                case .fetchedRecordZoneChanges(let fetched): noted.zoneIDs.append(fetched.zoneID)
                case .willFetchChanges where activity.isFetching && !activity.isSending:
                    if noted.activities.last != "fetching" { noted.activities.append("fetching") }
                case .willSendChanges where activity.isSending && !activity.isFetching:
                    if noted.activities.last != "sending" { noted.activities.append("sending") }
                default: break
                }
            }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) {
                $0.zoneID.isDefault ? nil : CKRecord(recordType: "Item", recordID: $0)
            }
        }
    }
#endif
