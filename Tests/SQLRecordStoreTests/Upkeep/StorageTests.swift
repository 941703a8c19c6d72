import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Storage totals with damaged data and with very much data.
@Suite struct StorageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aStoreThatCannotBeReadKeepsTheOthersFromNothing() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.withZone()
        let damaged = try await engine.full(.private, as: ada, .production)
        for database in [database, damaged] {
            for result in try await database.modifyZones([.create(notes)]) { _ = try result.get() }
        }
        try await database.save("a", in: notes)
        _ = try await damaged.require(.deploySchema).deploy(
            database.require(.showSchema).schema(), waitingForIndexes: true)
        try await damaged.save("a", in: notes)
        #expect(
            try await engine.require(.measureStores).storage(limit: 5).map(\.environment) == [
                .development, .production,
            ])
        try await #require(damaged as? SQLDatabase).store.pool.write { try $0.execute(sql: "DROP TABLE typeCounts") }
        #expect(try await engine.require(.measureStores).storage(limit: 5).map(\.environment) == [.development])
        await engine.close()
    }

    @Test func manyZonesAreReadTogether() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.withZone()
        let store = try #require(database as? SQLDatabase).store
        let meter = try await ReadMeter(store)
        try await database.save("a", in: notes)
        let few = try await [
            meter.cost { _ = try await database.require(.measureStorage).storage(limit: 5) },
            meter.cost { _ = try await database.require(.summarizeZones).summaries(limit: 5, changes: 10) },
        ]
        for start in stride(from: 0, to: 1000, by: 200) {
            let zones = (start..<(start + 200)).map { ZoneOperation.create(ZoneID(zoneName: Name("Z\($0)"))) }
            for result in try await database.modifyZones(zones) { _ = try result.get() }
        }
        let many = try await [
            meter.cost { _ = try await database.require(.measureStorage).storage(limit: 5) },
            meter.cost { _ = try await database.require(.summarizeZones).summaries(limit: 5, changes: 10) },
        ]
        // All zones are listed. For each only its totals are read, and for zones beyond the limit nothing more.
        #expect(many[0].steps < few[0].steps + 1000 * 80, "\(few) \(many)")
        #expect(many[1].steps < few[1].steps + 1000 * 12, "\(few) \(many)")
        #expect(try await database.require(.summarizeZones).summaries(limit: 5, changes: 10).left == 996)
        meter.end()
        await engine.close()
    }
}
