import Foundation
import GRDB
import RecordStore
import Records
import SQLRecordStore
import StoreScenarios
import TestSupport
import Testing

@testable import TestStores

/// The pages of changes that fire subscriptions.
@Suite struct FiringTests {
    private static let zones: [ZoneID] = ["A", "B", "C"].map { ZoneID(zoneName: $0) }
    private static let batch = 200

    private static func fill(_ database: any RecordDatabase, _ zoneID: ZoneID, _ range: Range<Int>) async throws {
        let operations = range.map {
            RecordOperation(.forceUpdate, recordName: Name("\(zoneID.zoneName)\($0)"), recordType: "Item")
        }
        try await database.apply(operations, in: zoneID)
    }

    private static func subscribe(_ database: any RecordDatabase) async throws {
        let query = Subscription.RecordSubject(Query(recordType: "Item"), firesOn: [.create, .update])
        for result in try await database.require(.keepSubscriptions).modifySubscriptions([
            .save(Subscription("q", to: .query(query)))
        ]) {
            _ = try result.get()
        }
    }

    /// More changes than two pages hold, over several zones: each is told once, in commit order.
    @Test(arguments: [1, 3]) func pagesLoseNothing(zoneCount: Int) async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.full(.private)
        let zones = Self.zones.prefix(zoneCount)
        _ = try await database.modifyZones(zones.map { .create($0) })
        try await database.save("first", in: zones[0])
        try await Self.subscribe(database)
        let begin = try await database.require(.fireSubscriptions).firings(after: nil).position
        let perZone = (2 * FiringPage.recordLimit / zoneCount / Self.batch + 1) * Self.batch
        for start in stride(from: 0, to: perZone, by: Self.batch) {
            for zoneID in zones { try await Self.fill(database, zoneID, start..<start + Self.batch) }
        }
        let (told, pages) = try await Self.told(after: begin, in: database)
        #expect(pages >= 3 && told.count == perZone * zoneCount && Set(told).count == told.count)
        await engine.close()
    }

    /// The names of the records in all pages, and the number of pages.
    private static func told(after begin: Int64, in database: any RecordDatabase) async throws -> (
        names: [Name], pages: Int
    ) {
        var (told, positions): ([Name], [Int64]) = ([], [])
        var page = FiringPage(position: begin, moreComing: true)
        var pages = 0
        while page.moreComing {
            page = try await database.require(.fireSubscriptions).firings(after: page.position)
            told += page.firings.compactMap { $0.change.record?.record.recordID.recordName }
            positions += page.firings.map(\.change.position)
            pages += 1
        }
        #expect(positions == positions.sorted())
        return (told, pages)
    }

    /// Large records need more pages, so that a page never needs much memory.
    @Test func pagesOfLargeRecordsAreShorter() async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.withZone()
        try await database.save("first", in: notes)
        try await Self.subscribe(database)
        let begin = try await database.require(.fireSubscriptions).firings(after: nil).position
        let text = String(repeating: "x", count: 700_000)
        let names = (0..<3 * FiringPage.sizeLimit / text.utf8.count).map { Name("large\($0)") }
        for name in names { try await database.save(name, in: notes, ["text": .string(text)]) }
        let (told, pages) = try await Self.told(after: begin, in: database)
        #expect(told == names && pages >= 3)
        await engine.close()
    }

    /// A zone that is deleted, and the views of its guests, have one position, which no page takes apart.
    @Test func aZoneAndItsViewsEndTogether() async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let stage = try await SharingStage(on: engine)
        let bulk = ZoneID(zoneName: "Bulk")
        _ = try await stage.owner.modifyZones([.create(bulk)])
        let share = try await stage.share(with: [SharingStage.invitation(grace), SharingStage.invitation(mary)])
        for guest in [grace, mary] {
            try await stage.accept(share, as: guest)
            let subscription = SubscriptionOperation.save(Subscription("all", to: .database(recordType: nil)))
            for result in try await stage.shared(guest).require(.keepSubscriptions).modifySubscriptions([subscription])
            { _ = try result.get() }
        }
        try await Self.subscribe(stage.owner)
        let begin = try await stage.owner.require(.fireSubscriptions).firings(after: nil).position
        let count = FiringPage.recordLimit - 1
        for start in stride(from: 0, to: count, by: Self.batch) {
            try await Self.fill(stage.owner, bulk, start..<min(start + Self.batch, count))
        }
        for result in try await stage.owner.modifyZones([.delete(notes)]) { _ = try result.get() }
        var (told, records): ([Name], Int) = ([], 0)
        var page = FiringPage(position: begin, moreComing: true)
        while page.moreComing {
            page = try await stage.owner.require(.fireSubscriptions).firings(after: page.position)
            for firing in page.firings {
                if firing.change.record == nil { told += firing.subscriptions.map(\.user) } else { records += 1 }
            }
        }
        #expect(told.sorted() == [grace, mary].map(\.userRecordName).sorted() && records == count)
        await engine.close()
    }

    /// Runs a statement on the file of a closed store.
    private static func change(_ folder: TemporaryFolder, _ sql: String) async throws {
        let queue = try DatabaseQueue(
            path: folder.url.appending(path: "iCloud.com.example.Test/development.sqlite").path(percentEncoded: false))
        try await queue.write { db in try db.execute(sql: sql) }
        try queue.close()
    }

    /// A subscription that can't be read keeps no other from being told. An old file has none.
    @Test func aDamagedOneKeepsNobodyFromBeingNotified() async throws {
        let folder = try TemporaryFolder()
        var engine = try StoreUnderTest.engine(folder: folder.url)
        let owner = try await engine.full(.public)
        try await owner.save("first")
        var reader = grace
        reader.access = .signedIn
        for caller in [reader, ada] { try await Self.subscribe(engine.full(.public, as: caller)) }
        let other = SubscriptionOperation.save(
            Subscription("broken", to: .query(.init(Query(recordType: "Item"), firesOn: [.delete]))))
        for result in try await owner.require(.keepSubscriptions).modifySubscriptions([other]) { _ = try result.get() }
        await engine.close()
        try await Self.change(folder, "UPDATE subscriptions SET content = x'00' WHERE id = 'broken'")
        engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.full(.public)
        let begin = try await database.require(.fireSubscriptions).firings(after: nil).position
        try await database.save("told")
        let users = try await database.require(.fireSubscriptions).firings(after: begin).firings.flatMap(
            \.subscriptions
        ).map(\.user)
        #expect(users == [grace, ada].map(\.userRecordName).sorted())
        await engine.close()
        try await Self.change(folder, "DROP TABLE subscriptions")
        engine = try StoreUnderTest.engine(folder: folder.url)
        let old = try await engine.full(.public)
        #expect(try await old.require(.keepSubscriptions).subscriptions() == [])
        #expect(try await old.require(.fireSubscriptions).firings(after: begin).firings == [])
        await engine.close()
    }

    /// A position stays good when the store is opened again, so that a restarted server tells what was committed
    /// before.
    @Test func positionsOutliveTheStore() async throws {
        let folder = try TemporaryFolder()
        var engine = try StoreUnderTest.engine(folder: folder.url)
        var database = try await engine.withZone()
        try await database.save("first", in: notes)
        try await Self.subscribe(database)
        let position = try await database.require(.fireSubscriptions).firings(after: nil).position
        try await database.save("untold", in: notes)
        await engine.close()
        engine = try StoreUnderTest.engine(folder: folder.url)
        database = try await engine.full(.private)
        let page = try await database.require(.fireSubscriptions).firings(after: position)
        #expect(page.firings.map(\.subscriptions.first?.subscription.subscriptionID) == ["q"])
        #expect(page.firings.first?.change.record?.record.recordID.recordName == "untold")
        await engine.close()
    }
}
