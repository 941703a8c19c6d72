import CloudKitClient
import Foundation
import Records
import TestSupport
import Testing

@testable import RemoteRecords

/// The callbacks of each operation, in the order of CloudKit's, against a real server. Tests of a single operation are
/// with its other tests.
@Suite struct CallbackTests {
    private struct Row {
        let operation: String
        let expected: [String]
        let callbacks: [String]
    }

    /// Runs an operation.
    /// - Returns: its callbacks, and `end` or the code of its error.
    private static func callbacks<Operation: DatabaseOperation>(
        _ database: Database, _ operation: Operation, _ words: @escaping @Sendable (Operation.Event) -> String
    ) async -> [String] {
        let callbacks = CallbackLog()
        do throws(OperationError) {
            _ = try await database.perform(operation) { callbacks.note(words($0)) }
            callbacks.note("end")
        } catch {
            callbacks.note("\(error.code)")
        }
        return callbacks.all
    }

    /// Such as `fetched a` or `fetched a: unknownItem`.
    private static func words<Value>(_ callback: String, _ item: String?, _ result: Result<Value, OperationError>)
        -> String
    {
        let line = "\(callback) \(item ?? "?")"
        if case .failure(let error) = result { return "\(line): \(error.code)" }
        return line
    }

    private static func recordID(_ name: Name) -> RecordID { RecordID(recordName: name, zoneID: zone) }

    private static func record(_ name: Name, _ rank: Int) -> Record {
        var record = Record(recordType: "Item", recordID: recordID(name))
        record["rank"] = rank
        return record
    }

    @Test func recordCallbacksAreInOrder() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                try await database.save(zone)
                try await database.save(Self.record("gone", 0))
                let folder = try TemporaryFolder()
                var photo = Self.record("photo", 9)
                photo["file"] = AssetFile(fileURL: try folder.write([1, 2, 3], to: "photo"))
                let saves = ModifyRecords(
                    saving: [Self.record("a", 1), Self.record("b", 2), Self.record("c", 3)],
                    deleting: [Self.recordID("gone")])
                let modify = await Self.callbacks(database, saves) { $0.words }
                let newPhoto = await Self.callbacks(database, ModifyRecords(saving: [photo])) { $0.words }
                // Both are new for this device, and one of them is not for the server.
                let refused = ModifyRecords(saving: [Self.record("a", 4), Self.record("d", 4)], isAtomic: false)
                let some = await Self.callbacks(database, refused) { $0.words }
                let atomic = await Self.callbacks(
                    database, ModifyRecords(saving: [Self.record("a", 4), Self.record("e", 4)])
                ) { $0.words }
                let fetchWords: @Sendable (FetchRecords.Event) -> String = { event in
                    switch event {
                    case .progress(let recordID, let part): "progress \(recordID.recordName) \(part)"
                    case .fetched(let recordID, let result): Self.words("fetched", recordID.recordName.string, result)
                    }
                }
                let fetch = await Self.callbacks(
                    database, FetchRecords([Self.recordID("b"), Self.recordID("none"), Self.recordID("a")]), fetchWords)
                let files = await Self.callbacks(
                    database, FetchRecords([photo.recordID], assetFolder: folder.url), fetchWords)
                let query = Query(
                    recordType: "Item", filters: [.init("rank", .lessThan, FieldInput(.int64(4)))],
                    sorts: [.init("rank", ascending: false)])
                let matched = await Self.callbacks(database, QueryRecords(query, in: zone)) { event in
                    switch event {
                    case .matched(let recordID, let result): Self.words("matched", recordID?.recordName.string, result)
                    }
                }
                let rows = [
                    Row(
                        operation: "ModifyRecords",
                        expected: [
                            "progress a 1.0", "progress b 1.0", "progress c 1.0", "saved a", "saved b", "saved c",
                            "deleted gone", "end",
                        ], callbacks: modify),
                    Row(
                        operation: "ModifyRecords, one refused",
                        expected: [
                            "progress a 1.0", "progress d 1.0", "saved a: serverRecordChanged", "saved d",
                            "partialFailure",
                        ], callbacks: some),
                    Row(
                        operation: "ModifyRecords, atomic",
                        expected: [
                            "progress a 1.0", "progress e 1.0", "saved a: serverRecordChanged",
                            "saved e: batchRequestFailed", "partialFailure",
                        ],
                        callbacks: atomic),
                    Row(
                        operation: "FetchRecords",
                        expected: ["fetched b", "fetched none: unknownItem", "fetched a", "partialFailure"],
                        callbacks: fetch
                    ),
                    Row(
                        operation: "QueryRecords", expected: ["matched c", "matched b", "matched a", "end"],
                        callbacks: matched),
                ]
                for row in rows { #expect(row.callbacks == row.expected, "\(row.operation)") }
                // A file may tell its progress more often, and ends with all of it.
                for (callbacks, end) in [
                    (newPhoto, ["progress photo 1.0", "saved photo", "end"]),
                    (files, ["progress photo 1.0", "fetched photo", "end"]),
                ] {
                    #expect(
                        callbacks.suffix(3) == end[...]
                            && callbacks.dropLast(2).allSatisfy { $0.hasPrefix("progress photo ") })
                }
            }
        }
    }

    @Test func changeAndZoneCallbacksAreInOrder() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                let (more, none) = (ZoneID(zoneName: "More"), ZoneID(zoneName: "None"))
                let zoneWords: @Sendable (ModifyRecordZones.Event) -> String = { event in
                    switch event {
                    case .saved(let zoneID, let result): Self.words("saved", zoneID.zoneName.string, result)
                    case .deleted(let zoneID, let result): Self.words("deleted", zoneID.zoneName.string, result)
                    }
                }
                let made = await Self.callbacks(
                    database, ModifyRecordZones(saving: [more, zone, more], deleting: []), zoneWords)
                let again = await Self.callbacks(
                    database, ModifyRecordZones(saving: [zone], deleting: [none]), zoneWords)
                let fetched = await Self.callbacks(database, FetchRecordZones([zone, none])) { event in
                    switch event {
                    case .fetched(let zoneID, let result): Self.words("fetched", zoneID.zoneName.string, result)
                    }
                }
                let start = try await database.databaseChanges().changeToken
                try await database.save(Self.record("a", 1))
                for name in ["Third", "Fourth"] { try await database.save(ZoneID(zoneName: name)) }
                let databaseWords: @Sendable (FetchDatabaseChanges.Event) -> String = { event in
                    switch event {
                    case .zoneChanged: "changed"
                    case .zoneDeleted: "deleted"
                    case .tokenUpdated: "token"
                    }
                }
                let zones = await Self.callbacks(
                    database, FetchDatabaseChanges(since: start, resultsLimit: 2), databaseWords)
                let page = await Self.callbacks(
                    database, FetchDatabaseChanges(since: start, resultsLimit: 2, fetchesAllChanges: false),
                    databaseWords)

                let token = try await database.recordZoneChanges(inZoneWith: zone).changeToken
                for name in ["b", "c"] as [Name] { try await database.save(Self.record(name, 2)) }
                try await database.deleteRecord(withID: Self.recordID("a"))
                let feedWords: @Sendable (FetchRecordZoneChanges.Event) -> String = { event in
                    switch event {
                    case .changed(let recordID, let result): Self.words("changed", recordID?.recordName.string, result)
                    case .deleted(let recordID, _): "deleted \(recordID.recordName)"
                    case .tokenUpdated: "token"
                    case .zoneFinished(_, let result):
                        Self.words("zone", (try? result.get()).map { "moreComing \($0.moreComing)" }, result)
                    }
                }
                let feed = await Self.callbacks(
                    database, FetchRecordZoneChanges([ZonePull(zone, since: token, limit: 2)]), feedWords)
                let onePage = FetchRecordZoneChanges([ZonePull(zone, since: token, limit: 2)], fetchesAllChanges: false)
                let one = await Self.callbacks(database, onePage, feedWords)
                try await server.expireTokens()
                let expired = await Self.callbacks(
                    database, FetchRecordZoneChanges([ZonePull(zone, since: token), ZonePull(more)]), feedWords)
                let rows = [
                    Row(
                        operation: "ModifyRecordZones", expected: ["saved More", "saved Items", "saved More", "end"],
                        callbacks: made),
                    Row(
                        operation: "ModifyRecordZones, one missing",
                        expected: ["saved Items", "deleted None: zoneNotFound", "partialFailure"], callbacks: again),
                    Row(
                        operation: "FetchRecordZones",
                        expected: ["fetched Items", "fetched None: zoneNotFound", "partialFailure"], callbacks: fetched),
                    Row(
                        operation: "FetchDatabaseChanges",
                        expected: ["changed", "changed", "token", "changed", "token", "end"], callbacks: zones),
                    Row(
                        operation: "FetchDatabaseChanges, one page", expected: ["changed", "changed", "end"],
                        callbacks: page
                    ),
                    Row(
                        operation: "FetchRecordZoneChanges",
                        expected: ["changed b", "changed c", "token", "deleted a", "zone moreComing false", "end"],
                        callbacks: feed),
                    Row(
                        operation: "FetchRecordZoneChanges, one page",
                        expected: ["changed b", "changed c", "zone moreComing true", "end"], callbacks: one),
                    Row(
                        operation: "FetchRecordZoneChanges, expired",
                        expected: ["zone ?: changeTokenExpired", "zone moreComing false", "partialFailure"],
                        callbacks: expired),
                ]
                for row in rows { #expect(row.callbacks == row.expected, "\(row.operation)") }
            }
        }
    }

    @Test func subscriptionShareAndUserCallbacksAreInOrder() async throws {
        try await LiveServer.run { server in
            try await server.device { first in
                try await server.device(of: 1) { second in
                    let (anna, ben) = (Container(first), Container(second))
                    let database = anna.privateCloudDatabase
                    try await database.save(zone)
                    var share = Record(sharing: zone)
                    share.sharing?.publicPermission = .readOnly
                    let link = ShareLink(shortGUID: try #require(try await database.save(share).shortGUID))
                    let (some, other) = (
                        Subscription("some", to: .zone(zone, recordType: nil)),
                        Subscription("other", to: .database(recordType: nil))
                    )
                    let subscribed = await Self.callbacks(
                        database, ModifySubscriptions(saving: [some, other], deleting: ["none"])
                    ) { event in
                        switch event {
                        case .saved(let name, let result): Self.words("saved", name.string, result)
                        case .deleted(let name, let result): Self.words("deleted", name.string, result)
                        }
                    }
                    let found = await Self.callbacks(database, FetchSubscriptions(["other", "none", "some"])) { event in
                        switch event {
                        case .fetched(let name, let result): Self.words("fetched", name.string, result)
                        }
                    }
                    let metadata = await Self.callbacks(ben.publicCloudDatabase, FetchShareMetadata(["none", link])) {
                        event in
                        switch event {
                        case .fetched(let found, let result):
                            Self.words("fetched", found == link ? "link" : "none", result)
                        }
                    }
                    let accepted = await Self.callbacks(ben.publicCloudDatabase, AcceptShares([link])) { event in
                        switch event {
                        case .accepted(_, let result): Self.words("accepted", "link", result)
                        }
                    }
                    let (known, unknown) = (
                        LookupInfo(emailAddress: "ben@example.com"),
                        LookupInfo(userRecordName: "_00000000000000000000000000000000")
                    )
                    let participants = await Self.callbacks(
                        anna.publicCloudDatabase, FetchShareParticipants([unknown, known])
                    ) { event in
                        switch event {
                        case .fetched(let info, let result): Self.words("fetched", info.emailAddress, result)
                        }
                    }
                    let users = await Self.callbacks(
                        anna.publicCloudDatabase, DiscoverUserIdentities([unknown, known])
                    ) {
                        event in
                        switch event {
                        case .discovered(let info, let result): Self.words("discovered", info?.emailAddress, result)
                        }
                    }
                    let rows = [
                        Row(
                            operation: "ModifySubscriptions",
                            expected: ["saved some", "saved other", "deleted none", "end"], callbacks: subscribed),
                        Row(
                            operation: "FetchSubscriptions",
                            expected: ["fetched other", "fetched none: unknownItem", "fetched some", "partialFailure"],
                            callbacks: found),
                        Row(
                            operation: "FetchShareMetadata",
                            expected: ["fetched none: unknownItem", "fetched link", "partialFailure"],
                            callbacks: metadata),
                        Row(operation: "AcceptShares", expected: ["accepted link", "end"], callbacks: accepted),
                        Row(
                            operation: "FetchShareParticipants",
                            expected: ["fetched ?: unknownItem", "fetched ben@example.com", "partialFailure"],
                            callbacks: participants),
                        // Users who can't be found are no error of the operation.
                        Row(
                            operation: "DiscoverUserIdentities",
                            expected: ["discovered ?: unknownItem", "discovered ben@example.com", "end"],
                            callbacks: users),
                    ]
                    for row in rows { #expect(row.callbacks == row.expected, "\(row.operation)") }
                }
            }
        }
    }
}
