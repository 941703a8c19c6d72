import CloudKitClient
import Foundation
import Records
import TestSupport
import Testing

@testable import RemoteRecords

/// Code that apps have for CloudKit's operations, for models of their own and for a sync by tokens, as the same steps
/// here.
@Suite struct AppCodeTests {
    private static func live(_ body: (LiveServer, Database) async throws -> Void) async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                try await database.save(zone)
                try await body(server, database)
            }
        }
    }

    // MARK: Operations

    /// CKModifyRecordsOperation, CKQueryOperation and CKFetchRecordsOperation with dependencies, a group, priorities
    /// and qualities of service.
    @Test func operationsAreComposed() async throws {
        try await Self.live { _, database in
            let group = OperationGroup(
                name: "First launch", defaultConfiguration: OperationConfiguration(qualityOfService: .userInitiated))
            let grouped = database.configured(group: group)
            let callbacks = CallbackLog()
            let items = (0..<3).map { number in
                var item = Record(recordType: "Item", recordID: RecordID(recordName: "item\(number)", zoneID: zone))
                item["rank"] = number
                return item
            }
            let saving = grouped.add(ModifyRecords(saving: items, savePolicy: .changedKeys)) { event in
                if case .saved(let recordID, .success) = event { callbacks.note("saved \(recordID.recordName)") }
            }
            let query = Query(
                recordType: "Item", filters: [.init("rank", .greaterThan, FieldInput(.int64(0)))],
                sorts: [.init("rank", ascending: true)])
            let urgent = database.configured(
                OperationConfiguration(qualityOfService: .userInteractive, queuePriority: .veryHigh), group: group)
            let querying = urgent.add(
                QueryRecords(query, in: zone, desiredKeys: ["rank"], resultsLimit: 1), after: [saving]
            ) { event in
                if case .matched(let recordID?, .success) = event { callbacks.note("matched \(recordID.recordName)") }
            }
            let patient = database.configured(
                OperationConfiguration(qualityOfService: .background, timeoutIntervalForResource: .seconds(3600)))
            let fetching = patient.add(FetchRecords([items[0].recordID], desiredKeys: []), after: [saving, querying]) {
                event in
                if case .fetched(let recordID, .success(let item)) = event {
                    callbacks.note("fetched \(recordID.recordName) \(item.fields.count)")
                }
            }
            try await fetching.value
            #expect(callbacks.all == ["saved item0", "saved item1", "saved item2", "matched item1", "fetched item0 0"])
            // The cursor remembers the query.
            let rest = QueryRecords(continuing: try #require(try await querying.value))
            var last: [Name] = []
            for try await event in database.events(of: rest) {
                if case .matched(let recordID?, .success) = event { last.append(recordID.recordName) }
            }
            #expect(last == ["item2"])
        }
    }

    /// fetchAllLongLivedOperationIDs, fetchLongLivedOperation(withID:) and add(_:) at the next launch.
    @Test func aLongLivedOperationIsFoundAtTheNextLaunch() async throws {
        let folder = try TemporaryFolder()
        let (file, next) = (folder.url.appending(path: "operations.sqlite"), folder.url.appending(path: "next.sqlite"))
        try await Self.live { _, database in
            let client = database.container.client
            let item = Record(recordType: "Item", recordID: RecordID(recordName: "item", zoneID: zone))
            let container = try await Container(client, longLivedOperationsIn: file)
            let handle = try await container.privateCloudDatabase.addLongLived(ModifyRecords(saving: [item])) { _ in
            } onCompletion: { _ in
                // The program ends before it has taken the result.
                try? FileManager.default.copyItem(at: file, to: next)
            }
            try await handle.value

            let relaunched = try await Container(client, longLivedOperationsIn: next)
            let callbacks = CallbackLog()
            for operation in try await relaunched.longLivedOperations() where operation.kind == ModifyRecords.kind {
                let resumed = try await relaunched.resume(ModifyRecords.self, withID: operation.operationID) { event in
                    callbacks.note(event.words)
                } onCompletion: { result in
                    callbacks.note(((try? result.get()) != nil) ? "succeeded" : "failed")
                }
                try await resumed.value
            }
            let left = try await relaunched.longLivedOperations()
            #expect(callbacks.all == ["saved item", "succeeded"] && left.isEmpty)
        }
    }

    // MARK: Models

    /// A model of an app, which keeps the system fields of its record and no record.
    private struct Note: Codable, Equatable {
        var name: String
        var text: String
        var systemFields: Data?

        /// The record to save. It has all values, as the model does not know which ones changed.
        func record() throws -> Record {
            var record =
                try systemFields.map { try Record(encodedSystemFields: $0) }
                ?? Record(recordType: "Note", recordID: RecordID(recordName: Name(name), zoneID: zone))
            record["text"] = text
            return record
        }

        mutating func take(_ record: Record) {
            text = record["text"] ?? ""
            systemFields = record.encodedSystemFields
        }
    }

    /// The model is stored as the app stores its models, and saved again without a fetch. A newer version there is a
    /// conflict.
    @Test func aModelKeepsTheMetadataOfItsRecord() async throws {
        try await Self.live { server, database in
            var note = Note(name: "note", text: "one")
            note.take(try await database.save(try note.record()))
            let stored = try JSONEncoder().encode(note)

            var again = try JSONDecoder().decode(Note.self, from: stored)
            #expect(again == note)
            again.text = "two"
            again.take(try await database.save(try again.record()))
            #expect(again.systemFields != note.systemFields)
            let versions = try await server.versions(of: RecordID(recordName: "note", zoneID: zone))
            #expect(versions == 2)

            // Another device has the model as it was stored first.
            var other = try JSONDecoder().decode(Note.self, from: stored)
            other.text = "three"
            let stale = try other.record()
            let error = await operationError { try await database.save(stale) }
            var server = try #require(error?.conflict?.serverRecord)
            #expect(error?.code == .serverRecordChanged && server["text"] == "two" as String?)
            server["text"] = other.text
            other.take(try await database.save(server))
            let saved = try await database.record(for: server.recordID)
            #expect(saved["text"] == "three" as String?)
            // The system fields have all but the values.
            let metadata = try Record(encodedSystemFields: try #require(other.systemFields))
            #expect(metadata.recordChangeTag == saved.recordChangeTag && metadata.creationDate == saved.creationDate)
            #expect(
                metadata.lastModifiedUserRecordID == saved.lastModifiedUserRecordID && metadata.fields.isEmpty
                    && !metadata.hasChanges)
        }
    }

    // MARK: Sync by tokens

    /// The tokens and records that an app keeps.
    private struct Copy {
        var databaseToken: SyncToken?
        var zoneTokens: [ZoneID: SyncToken] = [:]
        var records: [RecordID: Record] = [:]

        /// CKFetchDatabaseChangesOperation, and CKFetchRecordZoneChangesOperation for the zones that it tells of.
        mutating func follow(_ database: Database) async throws {
            var changed: [ZoneID] = []
            for try await event in database.events(of: FetchDatabaseChanges(since: databaseToken)) {
                switch event {
                case .zoneChanged(let zoneID): changed.append(zoneID)
                case .zoneDeleted(let zoneID):
                    zoneTokens[zoneID] = nil
                    records = records.filter { $0.key.zoneID != zoneID }
                case .tokenUpdated(let token): databaseToken = token
                }
            }
            let operation = FetchRecordZoneChanges(changed.map { ZonePull($0, since: zoneTokens[$0]) })
            for try await event in database.events(of: operation) {
                switch event {
                case .changed(_, let result):
                    let record = try result.get()
                    records[record.recordID] = record
                case .deleted(let recordID, _): records[recordID] = nil
                case .tokenUpdated(let zoneID, let token): zoneTokens[zoneID] = token
                case .zoneFinished(let zoneID, let result): zoneTokens[zoneID] = try result.get().changeToken
                }
            }
        }
    }

    @Test func aCopyFollowsADatabaseByTokens() async throws {
        try await Self.live { _, database in
            var copy = Copy()
            try await database.save(Record(recordType: "Item", recordID: RecordID(recordName: "a", zoneID: zone)))
            try await copy.follow(database)
            #expect(copy.records.keys.map(\.recordName) == ["a"] && copy.zoneTokens.count == 1)
            try await database.save(Record(recordType: "Item", recordID: RecordID(recordName: "b", zoneID: zone)))
            try await database.deleteRecord(withID: RecordID(recordName: "a", zoneID: zone))
            try await copy.follow(database)
            #expect(copy.records.keys.map(\.recordName) == ["b"])
            try await database.deleteRecordZone(withID: zone)
            try await copy.follow(database)
            #expect(copy.records.isEmpty && copy.zoneTokens.isEmpty)
        }
    }

    /// The library keeps the tokens: what is stored was kept by the app before, also if the program ends in between.
    @Test func aTokenStoreKeepsTheTokens() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "tokens")
        try await Self.live { server, database in
            for name in ["a", "b"] as [Name] {
                try await database.save(Record(recordType: "Item", recordID: RecordID(recordName: name, zoneID: zone)))
            }
            let user = try await database.container.userRecordID()
            var fetched: [String] = []
            func fetch(_ tokens: TokenStore, _ fails: Bool = false) async throws {
                fetched = []
                try await tokens.fetchChanges(of: zone, in: database) { page, isFromTheBeginning in
                    if fails { throw CancellationError() }
                    fetched += isFromTheBeginning ? ["all"] : []
                    fetched += page.modifications.compactMap { $0.recordID?.recordName.string }
                    fetched += page.deletions.map { "-\($0.recordID.recordName)" }
                }
            }
            await #expect(throws: CancellationError.self) { try await fetch(TokenStore(file), true) }
            try await fetch(TokenStore(file, user: user))
            #expect(fetched == ["all", "a", "b"])
            try await database.deleteRecord(withID: RecordID(recordName: "a", zoneID: zone))
            await #expect(throws: CancellationError.self) { try await fetch(TokenStore(file, user: user), true) }
            try await fetch(TokenStore(file, user: user))
            #expect(fetched == ["-a"])
            try await server.expireTokens()
            try await fetch(TokenStore(file, user: user))
            #expect(fetched == ["all", "b"])
            // Another user's tokens are of no use.
            let tokens = try TokenStore(file, user: RecordID(recordName: "someone"))
            #expect(tokens.token(of: zone) == nil)

            var zones: [String] = []
            func list() async throws {
                zones = []
                try await tokens.fetchDatabaseChanges(in: database) { page, isFromTheBeginning in
                    zones += isFromTheBeginning ? ["all"] : []
                    zones += page.modifications.map(\.zoneName.string) + page.deletions.map { "-\($0.zoneName)" }
                }
            }
            try await list()
            #expect(zones == ["all", "Items"])
            try await fetch(tokens)
            try await database.deleteRecordZone(withID: zone)
            try await list()
            #expect(zones == ["-Items"] && tokens.token(of: zone) == nil && tokens.databaseToken != nil)
            try tokens.removeAll()
            #expect(try TokenStore(file).databaseToken == nil)
            try Data("{}".utf8).write(to: file)
            #expect(throws: UnreadableRecord.self) { try TokenStore(file) }
        }
    }
}
