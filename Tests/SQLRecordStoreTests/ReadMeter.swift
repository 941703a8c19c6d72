import Foundation
import GRDB
import GRDBSQLite
import Synchronization
import TestSupport

@testable import SQLRecordStore

/// The cost of reads: steps of SQLite's virtual machine, and pages read into an empty cache, each once. It does not
/// depend on the speed of the machine, nor on which rows share a page: a seek within the page where a cursor is
/// requests no page, the next one all of the tree's levels.
///
/// The connections refer to the meter until ``end()``.
final class ReadMeter: Sendable {
    struct Cost: Equatable {
        var steps: Int
        var pages: Int
    }

    private let steps = Mutex(0)
    /// The addresses of the readers' connections.
    private let connections = Mutex<[UInt]>([])
    private let pool: DatabasePool

    /// Uses all readers of a store at once, so that every one is measured.
    init(_ store: SQLStore) async throws {
        pool = try store.pool
        let readers = pool.configuration.maximumReaderCount
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<readers {
                group.addTask { [self] in
                    try await pool.read { [self] db in
                        watch(db)
                        try eventuallyBlocking { connections.withLock { $0.count } >= readers }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func watch(_ db: Database) {
        guard let connection = db.sqliteConnection else { return }
        let address = UInt(bitPattern: connection)
        connections.withLock { $0.append(address) }
        sqlite3_trace_v2(
            connection, UInt32(SQLITE_TRACE_PROFILE),
            { _, context, statement, _ in
                if let context, let statement {
                    let meter = Unmanaged<ReadMeter>.fromOpaque(context).takeUnretainedValue()
                    meter.steps.withLock {
                        $0 += Int(sqlite3_stmt_status(OpaquePointer(statement), SQLITE_STMTSTATUS_VM_STEP, 1))
                    }
                }
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The cost of a repeated read. No other reads may run meanwhile.
    ///
    /// On a busy machine the read's thread may wait for so long that the read starts again among the long reads
    /// (``ReadBudget``), and costs twice. So the least of three counts.
    func cost(of read: () async throws -> Void) async throws -> Cost {
        try await read()
        var least = Cost(steps: .max, pages: .max)
        for _ in 0..<3 {
            steps.withLock { $0 = 0 }
            let before = try pages(emptying: true)
            try await read()
            // The connection returns to the pool when the read ends, possibly a moment after the answer.
            try await pool.barrierWriteWithoutTransaction { _ in }
            let cost = Cost(steps: steps.withLock { $0 }, pages: try pages() - before)
            if cost.steps < least.steps { least = cost }
        }
        return least
    }

    /// The number of pages read so far.
    private func pages(emptying isEmptied: Bool = false) throws -> Int {
        try connections.withLock { connections in
            try connections.reduce(0) { sum, address in
                let connection = OpaquePointer(bitPattern: address)
                if isEmptied, sqlite3_db_release_memory(connection) != SQLITE_OK {
                    throw DatabaseError(message: "The cache of a connection is in use")
                }
                var count: Int32 = 0
                var highest: Int32 = 0
                sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_MISS, &count, &highest, 0)
                return sum + Int(count)
            }
        }
    }

    func end() {
        connections.withLock { connections in
            for connection in connections { sqlite3_trace_v2(OpaquePointer(bitPattern: connection), 0, nil, nil) }
            connections = []
        }
    }
}
