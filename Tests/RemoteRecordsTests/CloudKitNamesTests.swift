#if !canImport(CloudKit)
    import Foundation
    import RemoteRecords
    import SkylightTesting
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

                let recordName = "milk"
                let recordID = CKRecord.ID(recordName: recordName, zoneID: zone.zoneID)
                let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: UUID().uuidString, zoneID: zone.zoneID))
                var item = CKRecord(recordType: "Item", recordID: recordID)
                item["title"] = "Milk"
                item["amount"] = 2
                item["list"] = CKRecord.Reference(record: list, action: .deleteSelf)
                item.encryptedValues["note"] = "fat"
                item.setParent(list)
                let (saveResults, deleteResults) = try await database.modifyRecords(saving: [list, item], deleting: [])
                #expect(saveResults.count == 2 && deleteResults.isEmpty)

                var fetched = try await database.record(for: recordID)
                #expect(fetched["title"] as? String == "Milk" && fetched["amount"] as? Int == 2 && fetched["title"] as? Int == nil)
                #expect((fetched["list"] as? CKRecord.Reference)?.recordID == list.recordID && fetched.encryptedValues["note"] == "fat")
                #expect(fetched.creatorUserRecordID == fetched.lastModifiedUserRecordID && fetched.modificationDate != nil)
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

                let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
                #expect(changes.modifications.count == 2 && !changes.moreComing)
                try await database.deleteRecordZone(withID: zone.zoneID)
            }
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

    extension CKRecord.Reference {
        fileprivate var recordID: CKRecord.ID? { zoneID.map { CKRecord.ID(recordName: recordName, zoneID: $0) } }
    }
#endif
