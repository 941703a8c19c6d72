import Foundation
import GRDB
import JSON
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLiteRecordStore

/// NULL and values of another kind in the tables of a file: a refusal that names table and column, and a process that goes on.
@Suite struct DamagedRowTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// What `PRAGMA writable_schema` lets be written: each column loses its constraint and holds what it should not.
    private func damage(_ table: String, _ column: String, _ value: String) async throws {
        let file = folder.url.appending(path: "data/iCloud.com.example.Test/development.sqlite")
        let queue = try DatabaseQueue(path: file.path(percentEncoded: false))
        try await queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA writable_schema = ON")
            try db.execute(sql: "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = ?", arguments: [table])
            try db.execute(sql: "PRAGMA writable_schema = RESET")
            try db.execute(sql: "UPDATE \(table) SET \(column) = \(value)")
        }
        try queue.close()
    }

    @Test(
        "A damaged row refuses, and says which table and column",
        arguments: [
            ("users", "name", "NULL"), ("zones", "name", "NULL"), ("zones", "position", "'text'"),
            ("types", "name", "NULL"), ("types", "grants", "NULL"), ("fields", "declaration", "NULL"), ("fields", "indexes", "'many'"),
            ("fields", "number", "-number"), ("incarnations", "number", "NULL"), ("incarnations", "number", "'one'"), ("incarnations", "after", "NULL"),
        ])
    func refusal(table: String, column: String, value: String) async throws {
        let data = folder.url.appending(path: "data")
        let engine = try SQLiteRecordEngine(folder: data)
        try await engine.withZone().save("one", in: notes)
        await engine.close()
        try await damage(table, column, value)
        let again = try SQLiteRecordEngine(folder: data)
        do {
            let database = try await again.full(.private)
            _ = try await database.zones()
            _ = try await database.pull(notes)
            if column != "number" { Issue.record("read in spite of \(table).\(column) = \(value)") }
        } catch let error as Records.RecordError {
            #expect(error.code == .internalError && error.reason.contains("'\(table)'"), "\(error)")
        }
        await again.close()
    }
}
