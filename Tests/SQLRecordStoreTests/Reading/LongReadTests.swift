import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Long reads, and which requests they delay.
@Suite struct LongReadTests {
    @Test("Queries are answered while every turn of scans is held, and scans go on while queries hold theirs")
    func queriesDoNotWaitForScans() async throws {
        let folder = try TemporaryFolder()
        let engine = try SQLRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        try await database.save("a", ["number": .int64(1)])
        let store = try #require(database as? SQLDatabase).store
        let query = Query(recordType: "Item", filters: [Query.Filter("number", .equals, FieldInput(.int64(1)))])
        for purpose in [LongReadTurns.Purpose.scan, .query] {
            try await store.holdingTurns(of: purpose) { turns in
                if purpose == .scan {
                    #expect(try await database.query(QueryRequest(query)).records.count == 1)
                    #expect(
                        try await database.require(.explainQueries).explain(QueryRequest(query)).recordsReturned == 1)
                } else {
                    #expect(try await database.require(.measureTypes).usage(of: "Item").records == 1)
                }
                // A waiting read that is cancelled does not affect the others.
                let impatient = Task { try await store.readLong(for: purpose) { _, _ in } }
                try await eventually { turns.waitingCount == 1 }
                impatient.cancel()
                await #expect(throws: CancellationError.self) { try await impatient.value }
                #expect(turns.waitingCount == 0)
            }
        }
        await engine.close()
    }

    /// A page reads a limited number of rows, whatever their types.
    @Test("A pull of a rare type has empty pages that say there is more, and misses nothing", arguments: [false, true])
    func pagesOfARareType(reverse: Bool) async throws {
        let folder = try TemporaryFolder()
        let engine = try await LargeStore.make(records: 25_000, in: folder.url)
        let database = try await engine.full(.private)
        try await database.save("rare", type: "Rare", in: LargeStore.zone)
        var request = ZoneChangesRequest(
            LargeStore.zone, desiredKeys: [], desiredRecordTypes: ["Rare"], reverse: reverse)
        var pages: [[Name]] = []
        var isLast = false
        while !isLast {
            let page = try await database.zoneChanges(request)
            pages.append(page.changes.map(\.recordID.recordName))
            (request.since, isLast) = (page.syncToken, !page.moreComing)
        }
        #expect(pages == (reverse ? [["rare"], [], []] : [[], [], ["rare"]]))
        #expect(try await database.currentToken(of: LargeStore.zone) == request.since)
        await engine.close()
    }

    @Test("A query that reads little needs no turn; one that reads much waits for its own, and finds the same")
    func onlyLongQueriesNeedTurns() async throws {
        let folder = try TemporaryFolder()
        let engine = try SQLRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        for start in stride(from: 0, to: 3000, by: 200) {
            let operations = (start..<(start + 200)).map { number in
                RecordOperation(
                    .create, recordName: Name("r\(number)"), recordType: "Item",
                    fields: ["number": FieldInput(.int64(Int64(number))), "same": FieldInput(.int64(1))])
            }
            for outcome in try await database.modify(ModifyRequest(operations)) { _ = try outcome.get() }
        }
        let store = try #require(database as? SQLDatabase).store
        try await store.holdingTurns(of: .query) { turns in
            let short = Query(recordType: "Item", filters: [Query.Filter("number", .equals, FieldInput(.int64(7)))])
            #expect(try await database.query(QueryRequest(short)).records.map(\.recordID.recordName) == ["r7"])
            // It excludes all records, and no index can tell.
            let long = Query(recordType: "Item", filters: [Query.Filter("same", .notEquals, FieldInput(.int64(1)))])
            async let none = database.query(QueryRequest(long))
            try await eventually { turns.waitingCount == 1 }
            turns.release()
            #expect(try await none.records.isEmpty)
        }
        // A connection keeps no limit.
        let all = Query(
            recordType: "Item", filters: [Query.Filter("same", .equals, FieldInput(.int64(1)))],
            sorts: [Query.Sort("number")])
        #expect(try await database.all(all).count == 3000)
        await engine.close()
    }
}
