import Dispatch
import JSON
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import SQLiteRecordStore

/// Long reads, and which requests they delay.
@Suite struct LongReadTests {
    /// Work that blocks until it is released.
    private final class Held: Sendable {
        let begun = Atomic<Int>(0)
        let end = DispatchSemaphore(value: 0)

        func hold() {
            begun.add(1, ordering: .relaxed)
            end.wait()
        }
    }

    @Test("Queries are answered while every turn of scans is held, and scans go on while queries hold theirs")
    func queriesDoNotWaitForScans() async throws {
        let folder = try TemporaryFolder()
        let engine = try SQLiteRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        try await database.save("a", ["number": .int64(1)])
        let store = try #require(database as? SQLiteDatabase).store
        let longReads = try #require(store.openStore).reader.longReads
        let query = Query(recordType: "Item", filters: [Query.Filter("number", .equals, FieldInput(.int64(1)))])
        for purpose in [LongReadTurns.Purpose.scan, .query] {
            let held = Held()
            try await withThrowingTaskGroup(of: Void.self) { group in
                // More reads than turns, so some must wait.
                for _ in 0..<(2 * LongReadTurns.limit) {
                    group.addTask { try await store.readAtLength(for: purpose) { _, _ in held.hold() } }
                }
                // All reads either have a turn or wait for one.
                try await eventually {
                    longReads[purpose].waitingCount > 0
                        && longReads[purpose].waitingCount + held.begun.load(ordering: .relaxed) == 2 * LongReadTurns.limit
                }
                if purpose == .scan {
                    #expect(try await database.query(QueryRequest(query)).records.count == 1)
                    #expect(try await database.explain(QueryRequest(query)).recordsReturned == 1)
                } else {
                    #expect(try await database.usage(of: "Item").records == 1)
                }
                // A waiting read that is cancelled does not affect the others.
                let others = 2 * LongReadTurns.limit - held.begun.load(ordering: .relaxed)
                try await eventually { longReads[purpose].waitingCount == others }
                let impatient = Task { try await store.readAtLength(for: purpose) { _, _ in } }
                try await eventually { longReads[purpose].waitingCount == others + 1 }
                impatient.cancel()
                await #expect(throws: CancellationError.self) { try await impatient.value }
                for _ in 0..<(2 * LongReadTurns.limit) { held.end.signal() }
                try await group.waitForAll()
            }
            #expect(longReads[purpose].waitingCount == 0)
        }
        await engine.close()
    }
}
