import CloudKitClient
import Foundation
import LoopbackServing
import RecordStore
import Records
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// Operations against a real server that has nothing but CloudKit's protocol.
@Suite struct LiveTests {
    private static func live(_ body: @Sendable (LiveServer, Database) async throws -> Void) async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                try await database.save(zone)
                try await body(server, database)
            }
        }
    }

    private static func fill(_ database: Database, _ count: Int) async throws -> [Record] {
        let records = (0..<count).map { number in
            var record = Record(recordType: "Item", recordID: RecordID(recordName: Name("r\(number)"), zoneID: zone))
            record["rank"] = number
            return record
        }
        let results = try await database.modifyRecords(saving: records, atomically: false).saveResults
        return try records.map { try #require(results[$0.recordID]).get() }
    }

    @Test func recordsAreSavedFetchedAndDeleted() async throws {
        try await Self.live { _, database in
            let saved = try await Self.fill(database, 3)
            var record = try await database.record(for: saved[1].recordID)
            #expect(
                record["rank"] == 1 as Int? && record.recordChangeTag == saved[1].recordChangeTag
                    && record.modified != nil)
            record["rank"] = nil as Int?
            record["text"] = "one"
            let again = try await database.save(record)
            let fetched = try await database.record(for: record.recordID)
            #expect(fetched.fields.keys.sorted() == ["text"] && fetched.recordChangeTag == again.recordChangeTag)
            // The first version is old now.
            var stale = saved[1]
            stale["rank"] = 7
            let error = await operationError { try await database.save(stale) }
            #expect(error?.code == .serverRecordChanged && error?.conflict?.serverRecord["text"] == "one" as String?)
            #expect(error?.conflict?.ancestorRecord?["rank"] == 1 as Int?)
            try await database.deleteRecord(withID: record.recordID)
            #expect(await operationError { _ = try await database.record(for: record.recordID) }?.code == .unknownItem)
            #expect(
                await operationError { _ = try await database.recordZone(for: ZoneID(zoneName: "None")) }?.code
                    == .zoneNotFound)
        }
    }

    @Test func atomicBatchesFailAsAWhole() async throws {
        try await Self.live { _, database in
            var stale = try await Self.fill(database, 2)[0]
            stale["rank"] = 10
            try await database.save(stale)
            stale["rank"] = 11
            var other = Record(recordType: "Item", in: zone)
            other["rank"] = 12
            let results = try await database.modifyRecords(saving: [stale, other]).saveResults
            let codes = results.mapValues { result -> OperationError.Code? in
                if case .failure(let error) = result { error.code } else { nil }
            }
            #expect(codes == [stale.recordID: .serverRecordChanged, other.recordID: .batchRequestFailed])
            #expect(await operationError { _ = try await database.record(for: other.recordID) }?.code == .unknownItem)
        }
    }

    @Test func queriesGoOnFromCursors() async throws {
        try await Self.live { _, database in
            _ = try await Self.fill(database, 5)
            let query = Query(
                recordType: "Item", filters: [.init("rank", .greaterThan, FieldInput(.int64(0)))],
                sorts: [.init("rank", ascending: false)])
            var page = try await database.records(matching: query, inZoneWith: zone, resultsLimit: 3)
            var ranks = try page.matchResults.map { try $0.result.get()["rank"] as Int? }
            #expect(ranks == [4, 3, 2])
            page = try await database.records(continuingMatchFrom: try #require(page.queryCursor), resultsLimit: 3)
            ranks = try page.matchResults.map { try $0.result.get()["rank"] as Int? }
            #expect(ranks == [1] && page.queryCursor == nil)
            let shared = await operationError {
                _ = try await database.container.sharedCloudDatabase.records(matching: query)
            }
            #expect(shared?.code == .invalidArguments)
        }
    }

    @Test func aQueryWithoutAZoneFindsAllZones() async throws {
        try await Self.live { _, database in
            let records = try await Self.fill(database, 2)
            let more = ZoneID(zoneName: "More")
            try await database.save(more)
            var other = Record(recordType: "Item", recordID: RecordID(recordName: "other", zoneID: more))
            other["rank"] = 1
            try await database.save(other)
            let query = Query(recordType: "Item", filters: [.init("rank", .greaterThan, FieldInput(.int64(0)))])
            let found = try await database.records(matching: query, resultsLimit: QueryRecords.maximumResults)
            #expect(
                Set(found.matchResults.map(\.recordID)) == [records[1].recordID, other.recordID]
                    && found.queryCursor == nil)
        }
    }

    /// An operation that fails later takes nothing back.
    @Test func tokensThatWereReturnedStayValid() async throws {
        try await Self.live { server, database in
            _ = try await Self.fill(database, 5)
            let callbacks = CallbackLog()
            let tokens = Mutex<[SyncToken]>([])
            let waitedFor = database.configured(OperationConfiguration(qualityOfService: .userInitiated))
            let error = await operationError {
                try await waitedFor.perform(FetchRecordZoneChanges([ZonePull(zone, limit: 2)])) { event in
                    switch event {
                    case .changed(let recordID, _): callbacks.note(recordID?.recordName.string ?? "?")
                    case .tokenUpdated(_, let token):
                        tokens.withLock { $0.append(token) }
                        // More often than a request is repeated.
                        try? server.inject(.throttled, count: 1000)
                    case .deleted, .zoneFinished: callbacks.note("unexpected")
                    }
                }
            }
            #expect(error?.code == .requestRateLimited && callbacks.all == ["r0", "r1"])
            server.stopFaults()
            let token = try #require(tokens.withLock { $0.first })
            let rest = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            #expect(rest.modifications.map(\.recordID?.recordName) == ["r2", "r3", "r4"] && !rest.moreComing)
        }
    }

    @Test func feedsTellTokensBetweenPagesAndTheEndOnce() async throws {
        try await Self.live { server, database in
            _ = try await Self.fill(database, 5)
            let callbacks = CallbackLog()
            var last: SyncToken?
            for try await event in database.events(
                of: FetchRecordZoneChanges([ZonePull(zone, limit: 2, desiredKeys: [])]))
            {
                switch event {
                case .changed(let recordID, let result):
                    #expect(try result.get().fields.isEmpty)
                    callbacks.note(recordID?.recordName.string ?? "?")
                case .deleted(let recordID, _): callbacks.note("deleted \(recordID.recordName)")
                case .tokenUpdated: callbacks.note("token")
                case .zoneFinished(_, let end):
                    let end = try end.get()
                    last = end.changeToken
                    callbacks.note("end \(end.moreComing)")
                }
            }
            #expect(callbacks.all == ["r0", "r1", "token", "r2", "r3", "token", "r4", "end false"])
            try await database.deleteRecord(withID: RecordID(recordName: "r2", zoneID: zone))
            let changes = try await database.recordZoneChanges(inZoneWith: zone, since: last)
            // IDs are those of the app, without the owner that the server adds.
            #expect(
                changes.modifications.isEmpty
                    && changes.deletions.map(\.recordID) == [RecordID(recordName: "r2", zoneID: zone)]
                    && !changes.moreComing)
            let page = try await database.recordZoneChanges(inZoneWith: zone, resultsLimit: 1)
            #expect(page.modifications.count == 1 && page.moreComing)
            try await server.expireTokens()
            #expect(
                await operationError { _ = try await database.recordZoneChanges(inZoneWith: zone, since: last) }?.code
                    == .changeTokenExpired)
        }
    }

    @Test func databasesTellWhichZonesChanged() async throws {
        try await Self.live { _, database in
            let first = try await database.databaseChanges()
            #expect(first.modifications.map(\.zoneName) == ["Items"] && first.deletions.isEmpty && !first.moreComing)
            try await database.save(ZoneID(zoneName: "More"))
            try await database.deleteRecordZone(withID: zone)
            let callbacks = CallbackLog()
            let end = try await database.perform(FetchDatabaseChanges(since: first.changeToken)) { event in
                switch event {
                case .zoneChanged(let zoneID): callbacks.note("changed \(zoneID.zoneName)")
                case .zoneDeleted(let zoneID): callbacks.note("deleted \(zoneID.zoneName)")
                case .tokenUpdated: callbacks.note("token")
                }
            }
            #expect(
                Set(callbacks.all.dropLast()) == ["changed More", "deleted Items"] && callbacks.all.last == "token"
                    && !end.moreComing)
            #expect(await operationError { try await database.deleteRecordZone(withID: zone) }?.code == .zoneNotFound)
            let none = await operationError { _ = try await database.container.publicCloudDatabase.databaseChanges() }
            #expect(none?.code == .badDatabase)
        }
    }

    @Test func filesGoUpAndComeDown() async throws {
        let folder = try TemporaryFolder()
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let file = try folder.write(bytes, to: "photo")
        try await Self.live { _, database in
            var record = Record(recordType: "Photo", in: zone)
            record["file"] = AssetFile(fileURL: file)
            record["many"] = [AssetFile(fileURL: file)]
            try await database.save(record)
            let callbacks = CallbackLog()
            let operation = FetchRecords(
                [record.recordID], assetFolder: folder.url.appending(path: "down", directoryHint: .isDirectory))
            var fetched: Record?
            for try await event in database.events(of: operation) {
                switch event {
                case .progress(_, let part): callbacks.note("\(part)")
                case .fetched(_, let result): fetched = try result.get()
                }
            }
            let one: AssetFile? = fetched?["file"]
            let many: [AssetFile]? = fetched?["many"]
            #expect(callbacks.all.last == "1.0")
            for file in [one, many?.first] {
                let url = try #require(file?.fileURL)
                #expect(try Data(contentsOf: url) == Data(bytes))
            }
            // A record that only another field changes keeps its file.
            var again = try #require(fetched)
            again["text"] = "more"
            try await database.save(again)
            let last = try await database.record(for: record.recordID)
            #expect(last.fields["file"]?.value == fetched?.fields["file"]?.value && last["text"] == "more" as String?)
        }
    }
}
