import CloudKitClient
import Foundation
import LoopbackServing
import Records
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// Ways to useful data before the whole history has played back, and the order of what comes.
@Suite struct BootstrapTests {
    private static func recordID(_ name: Name) -> RecordID { RecordID(recordName: name, zoneID: zone) }

    /// A server with eight ranked records, and a cache that has nothing yet.
    private static func live(_ body: @Sendable (LiveServer, Database, RecordCache) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                try await database.save(zone)
                let records = (0..<8).map { rank in
                    var record = Record(recordType: "Item", recordID: recordID(Name("r\(rank)")))
                    record["rank"] = rank
                    return record
                }
                for result in try await database.modifyRecords(saving: records).saveResults.values {
                    _ = try result.get()
                }
                try await body(server, database, RecordCache(folder.url.appending(path: "cache.sqlite"), of: database))
            }
        }
    }

    private static let newestFirst = Query(
        recordType: "Item", filters: [.init("rank", .greaterThan, FieldInput(.int64(-1)))],
        sorts: [.init("rank", ascending: false)])

    private static func names(_ cache: RecordCache) async throws -> [Name] {
        try await cache.records(ofType: "Item", in: zone).map(\.recordID.recordName)
    }

    @Test func theNewestRecordsAreThereBeforeTheHistory() async throws {
        try await Self.live { server, database, cache in
            let cursor = try #require(try await cache.prefetch(Self.newestFirst, in: zone, resultsLimit: 3))
            let first = try await Self.names(cache)
            #expect(first == ["r5", "r6", "r7"])
            try await cache.prefetch(continuing: cursor, in: zone, resultsLimit: 1)
            let second = try await Self.names(cache)
            #expect(second == ["r4", "r5", "r6", "r7"])
            // One is changed, one deleted, and one edited here before the history comes.
            var changed = try await database.record(for: Self.recordID("r6"))
            changed["text"] = "newer"
            try await database.save(changed)
            try await database.deleteRecord(withID: Self.recordID("r7"))
            var mine = try #require(try await cache.record(for: Self.recordID("r5")))
            mine["text"] = "mine"
            try await cache.save(mine)
            try await cache.sync()
            let all = try await Self.names(cache)
            #expect(all == (0..<7).map { Name("r\($0)") })
            let newer = try await cache.record(for: Self.recordID("r6"))
            let saved = try await database.record(for: Self.recordID("r5"))
            #expect(newer?["text"] == "newer" as String? && saved["text"] == "mine" as String?)
            // The zone is complete, and asks for nothing more.
            let none = try await cache.prefetch(Self.newestFirst, in: zone)
            let again = try await Self.names(cache)
            #expect(none == nil && again == all)
        }
    }

    @Test func aZoneIsFollowedFromNowOn() async throws {
        try await Self.live { server, database, cache in
            try await cache.engine.skipHistory(of: zone)
            try await cache.sync()
            let none = try await Self.names(cache)
            #expect(none.isEmpty)
            try await cache.prefetch(Self.newestFirst, in: zone, resultsLimit: 2)
            var fresh = Record(recordType: "Item", recordID: Self.recordID("r8"))
            fresh["rank"] = 8
            try await database.save(fresh)
            try await database.deleteRecord(withID: Self.recordID("r7"))
            try await cache.sync()
            let some = try await Self.names(cache)
            #expect(some == ["r6", "r8"])
            // A token that has expired brings everything.
            try await server.expireTokens()
            try await cache.sync()
            let all = try await Self.names(cache)
            #expect(all == ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r8"])
        }
    }

    /// The records that were got before do not come any more, and stay.
    @Test func prefetchedRecordsOutliveASkippedHistory() async throws {
        try await Self.live { server, database, cache in
            try await cache.prefetch(Self.newestFirst, in: zone, resultsLimit: 2)
            try await cache.engine.skipHistory(of: zone)
            try await database.deleteRecord(withID: Self.recordID("r7"))
            try await cache.sync()
            let some = try await Self.names(cache)
            #expect(some == ["r6"])
            // A token that has expired brings everything, and takes along what is gone.
            try await database.deleteRecord(withID: Self.recordID("r6"))
            try await server.expireTokens()
            try await cache.sync()
            let all = try await Self.names(cache)
            #expect(all == (0..<6).map { Name("r\($0)") })
        }
    }

    // MARK: Order

    private final class Order: SyncEngineDelegate {
        let callbacks = CallbackLog()
        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        { nil }
        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            guard case .fetchedRecordZoneChanges(let event) = event else { return }
            callbacks.note(event.modifications.map(\.record.recordID.recordName.string).joined(separator: " "))
        }
    }

    /// The feed has records in the order of their latest changes, so that a child comes before a parent that was
    /// changed since.
    @Test(arguments: [false, true]) func parentsComeFirstIfAsked(parentsFirst: Bool) async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                try await database.save(zone)
                try await database.save(Record(recordType: "List", recordID: Self.recordID("parent")))
                var child = Record(recordType: "Item", recordID: Self.recordID("child"))
                child.parent = "parent"
                try await database.save(child)
                var parent = try await database.record(for: Self.recordID("parent"))
                parent["text"] = "changed"
                try await database.save(parent)
                let app = Order()
                var configuration = SyncEngine.Configuration(database: database, stateSerialization: nil, delegate: app)
                configuration.parentsFirst = parentsFirst
                try await SyncEngine(configuration).fetchChanges()
                #expect(app.callbacks.all == [parentsFirst ? "parent child" : "child parent"])
            }
        }
    }
}
