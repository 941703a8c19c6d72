import Foundation
import RecordStore
import Records
import RemoteRecords
import SkylightTesting
import TestSupport
import Testing

/// The parts of a server that tests of apps use.
@Suite struct SkylightServerTests {
    private static let zone = ZoneID(zoneName: "Items")

    private static func record(_ name: String, _ text: String) -> Record {
        var record = Record(recordType: "Item", recordID: RecordID(recordName: name, zoneID: zone))
        record["text"] = text
        return record
    }

    private static func code(_ body: () async throws(OperationError) -> Void) async -> OperationError.Code? {
        do throws(OperationError) { try await body() } catch { return error.code }
        return nil
    }

    @Test func aSchemaDecidesWhatCanBeQueried() async throws {
        let schema = """
            DEFINE SCHEMA
                RECORD TYPE Item (
                    text STRING QUERYABLE,
                    note STRING
                );
            """
        try await SkylightServer.run(container: "iCloud.com.example.Shop", schema: schema) { skylight in
            let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
            try await database.save(Self.zone)
            try await database.save(Self.record("a", "one"))
            try await database.save(Self.record("b", "two"))
            func query(_ field: Name) -> Query {
                Query(recordType: "Item", filters: [.init(field, .equals, FieldInput(.string("one")))])
            }
            let found = try await database.records(matching: query("text"), inZoneWith: Self.zone)
            #expect(found.matchResults.map(\.recordID?.recordName) == ["a"])
            let refused = await Self.code { () async throws(OperationError) in
                _ = try await database.records(matching: query("note"), inZoneWith: Self.zone)
            }
            #expect(refused == .invalidArguments)
        }
        await #expect(throws: SchemaTextError.self) { try await SkylightServer.run(schema: "DEFINE NOTHING") { _ in } }
        await #expect(throws: RecordError.self) { try await SkylightServer.run(container: "none") { _ in } }
    }

    /// A test of the main actor touches its own state.
    @MainActor @Test func aTestOfAnActorStaysOnIt() async throws {
        var lines: [String] = []
        let port = try await SkylightServer.run { skylight in
            MainActor.assertIsolated()
            lines.append("begun")
            let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
            try await database.save(Self.zone)
            lines.append("saved")
            return skylight.port
        }
        #expect(lines == ["begun", "saved"] && port > 0)
    }

    @Test func aServerRunsFromItsStartToItsStop() async throws {
        let skylight = try await SkylightServer.start(container: "iCloud.com.example.Shop")
        let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
        try await database.save(Self.zone)
        try await skylight.stop()
        let code = await Self.code { () async throws(OperationError) in try await database.save(Self.zone) }
        #expect(code != nil)
        // It has ended.
        try await skylight.stop()
        await #expect(throws: RecordError.self) { try await SkylightServer.start(container: "none") }
    }

    /// It works on the phone, and the tablet shows the old text.
    @Test func whatADeviceHasSeenIsKnown() async throws {
        try await SkylightServer.run { skylight in
            let folder = try TemporaryFolder()
            let anna = try await skylight.makeUser("Anna")
            var devices: [RecordCache] = []
            for name in ["phone", "tablet"] {
                let database = try await skylight.device(of: anna).privateCloudDatabase
                devices.append(try await RecordCache(folder.url.appending(path: name), of: database))
            }
            let (phone, tablet) = (devices[0], devices[1])
            func seen(by device: RecordCache) async throws -> [Name: FieldValue?] {
                try await skylight.seen(by: device.engine, in: Self.zone, of: anna).mapValues { $0["text"] }
            }
            #expect(try await seen(by: tablet).isEmpty)
            try await phone.change(.saveZone(Self.zone))
            try await phone.save(Self.record("a", "old"))
            try await phone.save(Self.record("b", "old"))
            try await skylight.settle(devices.map(\.engine))
            var record = try #require(try await phone.record(for: Self.record("a", "").recordID))
            record["text"] = "new"
            try await phone.save(record)
            try await phone.delete(Self.record("b", "").recordID)
            try await skylight.settle([phone.engine])
            #expect(try await seen(by: phone) == ["a": .string("new")])
            #expect(try await seen(by: tablet) == ["a": .string("old"), "b": .string("old")])
            try await skylight.settle(devices.map(\.engine))
            #expect(try await seen(by: tablet) == seen(by: phone))
        }
    }

    @Test func usersAndContainersAreApart() async throws {
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna", emailAddress: "anna@example.com")
            let ben = try await skylight.makeUser("Ben")
            let first = try await skylight.device(of: anna)
            try await first.privateCloudDatabase.save(Self.zone)
            try await first.privateCloudDatabase.save(Self.record("a", "one"))
            let other = try await skylight.makeContainer("iCloud.com.example.Other")
            let expected: [(Container, Int)] = try await [
                (skylight.device(of: anna), 1), (skylight.device(of: ben), 0),
                (skylight.device(of: anna, in: other), 0),
            ]
            for (container, count) in expected {
                let zones = try await container.privateCloudDatabase.allRecordZones()
                #expect(zones.filter { !$0.zoneID.isDefault }.count == count)
            }
            let found = try await skylight.device(of: ben).userIdentity(
                for: LookupInfo(emailAddress: "anna@example.com"))
            #expect(found.userRecordName == anna.userRecordName)
            await #expect(throws: RecordError.self) {
                try await skylight.makeUser("Another", emailAddress: "anna@example.com")
            }
        }
    }

    @Test func faultsAndEventsReachTheDevices() async throws {
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            let database = try await skylight.device(of: anna).privateCloudDatabase
            try await database.save(Self.zone)
            try await database.save(Self.record("a", "one"))
            try skylight.inject(.conflict, in: Self.zone)
            let failed = await Self.code { () async throws(OperationError) in
                try await database.save(Self.record("b", "two"))
            }
            #expect(failed == .serverRecordChanged)
            // It was one request.
            try await database.save(Self.record("b", "two"))
            try skylight.inject(.pagesOfOne)
            let page = try await database.recordZoneChanges(inZoneWith: Self.zone)
            #expect(page.modifications.count == 1 && page.moreComing)
            skylight.stopFaults()
            let all = try await database.recordZoneChanges(inZoneWith: Self.zone)
            #expect(all.modifications.count == 2)
            try await skylight.trigger(.expireTokens, for: anna)
            let expired = await Self.code { () async throws(OperationError) in
                _ = try await database.recordZoneChanges(inZoneWith: Self.zone, since: all.changeToken)
            }
            #expect(expired == .changeTokenExpired)
        }
    }

    @Test func devicesSettleInSpiteOfFaults() async throws {
        let folder = try TemporaryFolder()
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            var devices: [RecordCache] = []
            for number in 0..<3 {
                let database = try await skylight.device(of: anna).privateCloudDatabase
                devices.append(try await RecordCache(folder.url.appending(path: "\(number).sqlite"), of: database))
            }
            for (number, device) in devices.enumerated() {
                try await device.change(.saveZone(Self.zone))
                try await device.save(Self.record("r\(number)", "text \(number)"))
            }
            try skylight.inject(.droppedAfter, count: 3)
            try skylight.inject(.tryAgainLater, count: 3)
            try await skylight.settle(devices.map(\.engine))
            for device in devices {
                let names = try await device.records(ofType: "Item", in: Self.zone).map(\.recordID.recordName)
                #expect(names == ["r0", "r1", "r2"] && device.engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    /// The server refuses a child without its parent, and the app does not add it again.
    @Test func aChangeThatIsRefusedForGoodIsAnError() async throws {
        let folder = try TemporaryFolder()
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            var devices: [RecordCache] = []
            for name in ["phone", "tablet"] {
                let database = try await skylight.device(of: anna).privateCloudDatabase
                devices.append(try await RecordCache(folder.url.appending(path: name), of: database))
            }
            let (phone, tablet, engines) = (devices[0], devices[1], devices.map(\.engine))
            var child = Self.record("child", "one")
            child.parent = "parent"
            try await phone.change(.saveZone(Self.zone))
            try await phone.save([child, Self.record("other", "two")])
            let error = await #expect(throws: OperationError.self) { try await skylight.settle(engines) }
            #expect(error?.code == .partialFailure)
            #expect(error?.partialErrors.mapValues(\.code) == [.record(child.recordID): .referenceViolation])
            #expect(try await tablet.records(ofType: "Item", in: Self.zone).map(\.recordID.recordName) == ["other"])
            // The app makes the parent, and saves the child again.
            try await phone.save([child, Self.record("parent", "three")])
            try await skylight.settle(engines)
            #expect(try await tablet.records(ofType: "Item", in: Self.zone).count == 3)
        }
    }

    /// An app that never makes a batch of its pending change.
    private struct Silent: SyncEngineDelegate {
        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {}
        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        { nil }
    }

    @Test func devicesThatNeverSettleAreAnError() async throws {
        try await SkylightServer.run { skylight in
            let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
            let engine = try SyncEngine(.init(database: database, stateSerialization: nil, delegate: Silent()))
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(RecordID(recordName: "a", zoneID: Self.zone))])
            let error = await #expect(throws: NeverSettled.self) { try await skylight.settle([engine], within: 3) }
            #expect(error?.lastError == nil && error?.pending.count == 1)
            try skylight.inject(.tryAgainLater, count: 100)
            let busy = await #expect(throws: NeverSettled.self) { try await skylight.settle([engine], within: 1) }
            #expect(busy?.lastError?.isTemporary == true)
            #expect("\(try #require(busy))".contains("(rounds: 1; records to send: 1, 'a'); the last error is "))
        }
    }
}
