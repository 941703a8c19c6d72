import Foundation
import GRDB
import GRDBSQLite
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Queries during changes of the data, and the statements they leave.
@Suite struct QueryTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(
        arguments: [
            (-.infinity, 0), (-1e308, 0), (-90, 0), (.nan, 0), (0, 1 << 30), (89.999_999_999_999, 1 << 31 - 1),
            (90, 1 << 31 - 1), (1e308, 1 << 31 - 1),
        ] as [(Double, Int64)])
    func anyLatitudeIsOnTheCurve(latitude: Double, step: Int64) {
        #expect(MortonCell.step(latitude, from: -90, span: 180) == step)
    }

    /// During saves, every record that is not changed appears exactly once, in either sort direction.
    @Test(arguments: [true, false]) func pagesStayWholeWhileOthersSave(ascending: Bool) async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await QueryItem.fill(engine)
        let saved = Shared(0)
        let saver = Task {
            while !Task.isCancelled {
                let count = saved.withLock { $0 }
                try await database.save(
                    "other-\(count % 50)" as Name,
                    ["text": .string("red \(count)"), "number": .int64(Int64(count % 17))])
                saved.withLock { $0 += 1 }
            }
        }
        try await eventually { saved.withLock { $0 } > 0 }
        for sort in ["text", "number"] as [Name] {
            let query = Query(recordType: "Item", sorts: [Query.Sort(sort, ascending: ascending)])
            let found = try await database.all(query, pageSize: 20).map(\.recordID.recordName).filter {
                !$0.hasPrefix("other")
            }
            #expect(found.count == QueryItem.all.count)
            #expect(Set(found) == Set(QueryItem.all.map { Name($0.name) }))
        }
        saver.cancel()
        try await saver.value
        await engine.close()
    }

    @Test("Reads keep few compiled statements, for lists of any length")
    func statementsAreKept() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.withZone()
        for number in 0..<20 {
            try await database.save(
                Name("r\(number)"), in: notes, ["number": .int64(Int64(number)), "text": .string("t")])
        }
        let pool = try #require(database as? SQLDatabase).store.pool
        // Reads that come one after the other mostly have the same connection. On a busy machine a query may start
        // again on another.
        func statements() async throws -> Int {
            try await pool.read { db in
                var (count, statement) = (0, sqlite3_next_stmt(db.sqliteConnection, nil))
                while let found = statement {
                    count += 1
                    statement = sqlite3_next_stmt(db.sqliteConnection, found)
                }
                return count
            }
        }
        func ask(_ count: Int) async throws {
            let values = FieldInput(.list((0..<count).map { .int64(Int64($0)) }, of: .int64))
            let query = Query(
                recordType: "Item", filters: [Query.Filter("number", .in, values)], sorts: [Query.Sort("text")])
            let page = try await database.query(
                QueryRequest(query, in: .zone(notes), limit: PageLimit(records: 5 + count % 3)))
            #expect(page.records.count == min(count, 5 + count % 3))
            let names = ["r1", "r\(count)"].map { RecordID(recordName: Name($0), zoneID: notes) }
            #expect(try await database.fetch(names, desiredKeys: nil).count == 2)
            #expect(try await database.pull(notes).changes.count == 20)
        }
        for count in 1...250 { try await ask(count) }
        let kept = try await statements()
        #expect(kept > 0 && kept < 100)
        await engine.close()
    }
}
