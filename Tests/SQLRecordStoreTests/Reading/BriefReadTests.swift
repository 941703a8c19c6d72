import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Reads on a thread that many clients share, which must not take long there.
@Suite(.enabled(if: StoreUnderTest.isSQLite, "others leave the thread before they read"), .timeLimit(.minutes(5)))
struct BriefReadTests {
    /// Runs work on a store, as brief work.
    /// - Returns: for each time that the work began, whether it was brief.
    private static func runs(_ work: (SQLStore) async throws -> Void) async throws -> [Bool] {
        let folder = try TemporaryFolder()
        let engine = try SQLRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        try await database.save("a", ["number": .int64(1)])
        let store = try #require(database as? SQLDatabase).store
        var runs: [Bool] = []
        try await BriefWork.run {
            runs.append(BriefWork.current != nil)
            try await work(store)
        }
        #expect(BriefWork.current == nil)
        await engine.close()
        return runs
    }

    @Test("A short read does not begin again")
    func short() async throws {
        let runs = try await Self.runs { store in
            let one = try await store.read { db, _ in try Int64.fetchOne(db, sql: "SELECT 1") }
            #expect(one == 1)
        }
        #expect(runs == [true])
    }

    @Test("A read that turns out to take long begins again, and then takes its time")
    func long() async throws {
        let sql = """
            WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers LIMIT 1000000)
            SELECT count(*) FROM numbers
            """
        let runs = try await Self.runs { store in
            let count = try await store.read { db, _ -> Int64? in
                // Whatever a read makes of the interruption, its result does not count.
                if BriefWork.current != nil { return try? Int64.fetchOne(db, sql: sql) }
                return try Int64.fetchOne(db, sql: sql)
            }
            #expect(count == 1_000_000)
            // The connection keeps no limit.
            let again = try await store.read { db, _ in try Int64.fetchOne(db, sql: sql) }
            #expect(again == 1_000_000)
        }
        #expect(runs == [true, false])
    }

    @Test("Many short reads together are long, too")
    func many() async throws {
        let runs = try await Self.runs { store in
            while BriefWork.current != nil {
                _ = try await store.read { db, _ in try Int64.fetchOne(db, sql: "SELECT 1") }
            }
        }
        #expect(runs == [true, false])
    }

    @Test("A read for a thread of its own begins again before it has read anything")
    func ofItsOwn() async throws {
        let reads = Shared(0)
        let runs = try await Self.runs { store in
            try await store.readLong(for: .scan) { [reads] _, _ in reads.withLock { $0 += 1 } }
        }
        #expect(runs == [true, false])
        #expect(reads.withLock { $0 } == 1)
    }
}
