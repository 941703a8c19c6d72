import Foundation
import GRDB
import GRDBSQLite
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// The cost of a new type does not depend on the number of existing types.
@Suite struct SchemaGrowthTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aNewTypeLooksAtNoOther() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.full(.private)
        // The first save creates the file.
        try await database.save("first")
        let store = try #require(database as? SQLDatabase).store
        let writer = StepCounter()
        try await store.pool.writeWithoutTransaction { writer.watch($0) }
        let readers = try await ReadMeter(store)
        /// The writer's steps for a save that adds a type, and a reader's steps for the first read after it.
        func cost(_ round: Int) async throws -> [Int] {
            try await database.save(
                "warm\(round)", type: Name("Warm\(round)"), ["number": .int64(1), "text": .string("a")])
            writer.reset()
            try await database.save(
                "r\(round)", type: Name("Grown\(round)"), ["number": .int64(1), "text": .string("a")])
            let written = writer.count
            let number = Mutex(0)
            let read = try await readers.cost {
                let next = number.withLock { number in
                    number += 1
                    return number
                }
                try await database.save("s\(round).\(next)", type: Name("Read\(round)_\(next)"), ["number": .int64(1)])
                _ = try await database.fetch([RecordID(recordName: "r\(round)")], desiredKeys: nil)
            }
            return [written, read.steps]
        }
        let few = try await cost(1)
        for start in stride(from: 0, to: 600, by: 200) {
            let operations = (start..<start + 200).map { number in
                RecordOperation(
                    .create, recordName: Name("many\(number)"), recordType: Name("Many\(number)"),
                    fields: ["number": FieldInput(.int64(1))])
            }
            #expect(try await database.outcomes(operations).allSatisfy { $0 == nil })
        }
        let many = try await cost(2)
        // The record counts by type grow with the number of types, so a search in them may take a few more steps.
        #expect(
            abs(many[0] - few[0]) < 50, "the writer's steps with few types and with 600 more: \(few[0]) and \(many[0])")
        #expect(
            abs(many[1] - few[1]) < 50, "a reader's steps with few types and with 600 more: \(few[1]) and \(many[1])")
        #expect(
            try await database.require(.showSchema).schemaHistory(before: nil, limit: 3).map(\.changes).allSatisfy {
                $0.count == 1
            })
        #expect(try await IndexRecount.problems(of: database) == [])
        readers.end()
        try await store.pool.writeWithoutTransaction { writer.end($0) }
        await engine.close()
    }
}

/// Counts the steps of SQLite's virtual machine on one connection.
private final class StepCounter: Sendable {
    private let steps = Mutex(0)

    var count: Int { steps.withLock { $0 } }

    func reset() { steps.withLock { $0 = 0 } }

    func watch(_ db: Database) {
        sqlite3_trace_v2(
            db.sqliteConnection, UInt32(SQLITE_TRACE_PROFILE),
            { _, context, statement, _ in
                if let context, let statement {
                    let counter = Unmanaged<StepCounter>.fromOpaque(context).takeUnretainedValue()
                    counter.steps.withLock {
                        $0 += Int(sqlite3_stmt_status(OpaquePointer(statement), SQLITE_STMTSTATUS_VM_STEP, 1))
                    }
                }
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func end(_ db: Database) { sqlite3_trace_v2(db.sqliteConnection, 0, nil, nil) }
}
