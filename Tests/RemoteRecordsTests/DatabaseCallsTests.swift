#if !canImport(CloudKit)
    import Foundation
    import RemoteRecords
    import Synchronization
    import Testing

    /// Code of an app that takes any database, with a database of its test.
    @Suite struct DatabaseCallsTests {
        /// Records in memory, of which a query finds one in each page.
        private final class Records: DatabaseCalls {
            private let records: Mutex<[RecordID: Record]>
            private let zones: Database.FetchZoneResults

            init(_ records: [Record], zones: Database.FetchZoneResults = [(.default, .success(.default()))]) {
                self.records = Mutex(Dictionary(uniqueKeysWithValues: records.map { ($0.recordID, $0) }))
                self.zones = zones
            }

            func results(of operation: FetchRecords) async throws(OperationError) -> Database.FetchResults {
                records.withLock { records in
                    Dictionary(
                        uniqueKeysWithValues: operation.recordIDs.map { recordID in
                            (recordID, records[recordID].map { .success($0) } ?? .failure(CKError(.unknownItem)))
                        })
                }
            }

            func results(of operation: ModifyRecords) async throws(OperationError) -> Database.ModifyResults {
                records.withLock { records in
                    for record in operation.recordsToSave { records[record.recordID] = record }
                    for recordID in operation.recordIDsToDelete { records[recordID] = nil }
                }
                return (
                    Dictionary(uniqueKeysWithValues: operation.recordsToSave.map { ($0.recordID, .success($0)) }),
                    Dictionary(uniqueKeysWithValues: operation.recordIDsToDelete.map { ($0, .success(())) })
                )
            }

            func page(of operation: QueryRecords) async throws(OperationError) -> Database.QueryResults {
                let found = records.withLock { records in
                    records.values.filter { $0.recordType == operation.query.recordType }
                        .sorted { $0.recordID.recordName < $1.recordID.recordName }
                }
                let number = operation.cursor == nil ? 0 : 1
                let cursor = QueryRecords.Cursor(query: operation.query, marker: "1")
                return (
                    found.dropFirst(number).prefix(1).map { ($0.recordID, .success($0)) }, number == 0 ? cursor : nil
                )
            }

            func results(of operation: FetchRecordZones) async throws(OperationError) -> Database.FetchZoneResults {
                zones
            }

            func results(of operation: ModifyRecordZones) async throws(OperationError) -> Database.ModifyZoneResults {
                (
                    Dictionary(
                        uniqueKeysWithValues: operation.zoneIDsToSave.map { ($0, .success(CKRecordZone(zoneID: $0))) }),
                    Dictionary(uniqueKeysWithValues: operation.zoneIDsToDelete.map { ($0, .success(())) })
                )
            }

            func page(of pull: ZonePull) async throws(OperationError) -> Database.RecordZoneChanges {
                var page = Database.RecordZoneChanges(changeToken: SyncToken("1"))
                page.deletions = [(RecordID(recordName: "gone", zoneID: pull.zoneID), nil)]
                return page
            }

            func page(of operation: FetchDatabaseChanges) async throws(OperationError) -> Database.DatabaseChanges {
                Database.DatabaseChanges(modifications: [.default], changeToken: SyncToken("1"))
            }
        }

        @Test func anAppIsTestedWithoutADatabase() async throws {
            let items = ["a", "b"].map { Record(recordType: "Item", recordID: RecordID(recordName: $0)) }
            let database: any DatabaseCalls = Records(items)
            let names = try await titles(in: database)
            #expect(names == ["a", "b"])
            try await database.deleteRecord(withID: items[0].recordID)
            do throws(OperationError) {
                _ = try await database.record(for: items[0].recordID)
                Issue.record("a deleted record was fetched")
            } catch {
                #expect(error.code == .unknownItem)
            }
            let again = try await database.save(items[0])
            let zones = try await database.allRecordZones()
            let saved = try await database.save(ZoneID(zoneName: "Lists"))
            try await database.deleteRecordZone(withID: saved.zoneID)
            #expect(again == items[0] && zones.map(\.zoneID) == [.default] && saved.zoneID.zoneName == "Lists")
            let changes = try await database.recordZoneChanges(inZoneWith: .default)
            let feed = try await database.databaseChanges()
            #expect(changes.deletions.count == 1 && feed.modifications == [.default] && !feed.moreComing)
        }

        /// A list without the zone would look like a zone that was deleted.
        @Test func aZoneThatCannotBeReadIsNotLeftOut() async throws {
            let zoneID = CKRecordZone.ID(zoneName: "Lists")
            let database = Records(
                [], zones: [(.default, .success(.default())), (zoneID, .failure(CKError(.internalError)))])
            do throws(CKError) {
                _ = try await database.allRecordZones()
                Issue.record("the zone was left out")
            } catch {
                #expect(error.code == .partialFailure && error.partialErrors[.zone(zoneID)]?.code == .internalError)
            }
        }

        private func titles(in database: any DatabaseCalls) async throws -> [String] {
            var names: [String] = []
            for try await page in database.pages(matching: Query(recordType: "Item")) {
                names += page.matchResults.compactMap { $0.recordID?.recordName }
            }
            return names
        }
    }
#endif
