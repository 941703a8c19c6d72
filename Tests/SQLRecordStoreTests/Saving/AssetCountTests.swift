import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Wrong use counts, and the repairs that a verification recommends.
@Suite struct AssetCountTests {
    private struct Fixture {
        let folder: TemporaryFolder
        let clock = TestClock()
        let engine: SQLRecordEngine
        let database: any RecordDatabase
        let store: SQLStore

        init() async throws {
            let clock = clock
            folder = try TemporaryFolder()
            engine = try StoreUnderTest.engine(folder: folder.url, clock: { clock.now() })
            database = try await engine.withZone()
            store = try #require(database as? SQLDatabase).store
        }

        /// Saves a record with a file.
        @discardableResult
        func save(_ number: UInt8, in record: Name) async throws -> StoredRecord {
            try await database.save(
                record, in: notes, ["file": .asset(try await engine.upload(number, for: record, at: clock.now()))])
        }

        func run(_ sql: String) async throws {
            try await store.pool.write { try $0.execute(sql: sql) }
        }

        func isSound() async throws -> Bool {
            let page = try await engine.ledger().recordedAssets(after: nil)
            return try await StoreRecount.problems(of: database).isEmpty && page.assets.allSatisfy(\.isCounted)
        }
    }

    @Test func aUseThatIsNotCountedIsCountedByTheNextSave() async throws {
        let fixture = try await Fixture()
        let saved = try await fixture.save(1, in: "r")
        try await fixture.save(1, in: "s")
        try await fixture.run("DELETE FROM assetUses WHERE name = 'r'")
        #expect(try await !fixture.isSound())
        try await fixture.database.save(
            "r", as: .forceReplace, in: notes, ["file": .asset(try saved.fields.assets()[0].asset)])
        #expect(try await fixture.isSound())
        let file = try #require(checksum(1))
        #expect(try await fixture.engine.ledger().entry(of: file)?.useCount == 2)
        // A save that does not change the field repairs the counts too.
        try await fixture.run("DELETE FROM assetUses WHERE name = 'r'")
        try await fixture.database.save("r", in: notes, ["title": .string("x")])
        #expect(try await fixture.isSound())
        // So does a deletion.
        try await fixture.run("DELETE FROM assetUses WHERE name = 'r'")
        try await fixture.database.delete("r", in: notes)
        #expect(try await fixture.isSound())
        #expect(try await fixture.engine.ledger().entry(of: file)?.useCount == 1)
        await fixture.engine.close()
    }

    @Test func aFileThatIsNotEnteredIsEnteredByTheNextUpload() async throws {
        let fixture = try await Fixture()
        let saved = try await fixture.save(1, in: "r")
        try await fixture.run("DELETE FROM assets")
        let asset = FieldValue.asset(try saved.fields.assets()[0].asset)
        let refused = await refusal {
            try await fixture.database.save("r", as: .forceReplace, in: notes, ["file": asset])
        }
        #expect(refused?.reason.contains("is no longer on the server") == true)
        try await fixture.save(1, in: "r")
        #expect(try await fixture.isSound())
        #expect(try await fixture.engine.ledger().entries(after: nil, limit: 9).map(\.useCount) == [1])
        // Both rows are missing.
        try await fixture.run("DELETE FROM assets; DELETE FROM assetUses")
        try await fixture.save(1, in: "r")
        #expect(try await fixture.isSound())
        #expect(try await fixture.engine.ledger().entries(after: nil, limit: 9).map(\.useCount) == [1])
        await fixture.engine.close()
    }

    /// Otherwise a verification in between would find uses without records.
    @Test func theUsesOfAZoneThatEndedGoBeforeItsRecords() async throws {
        let fixture = try await Fixture()
        for number in 1...3 { try await fixture.save(UInt8(number), in: Name("r\(number)")) }
        let (uses, records) = try await fixture.store.write { db, state in
            try db.run("UPDATE zones SET state = 1 WHERE name = 'Notes'")
            _ = try ZoneSweep.step(db, &state)
            return (
                try Int.fetchOne(db, sql: "SELECT sum(uses) FROM assets"),
                try Int.fetchOne(db, sql: "SELECT count(*) FROM records WHERE state = 0")
            )
        }
        #expect(uses == 0 && records == 3)
        await fixture.engine.close()
    }
}
