import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// NULL and values of the wrong type in a file's tables: the error names table and column, and the process continues.
@Suite struct DamagedRowTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Uses `PRAGMA writable_schema` to remove a column's constraints, and stores an invalid value.
    private func damage(_ table: String, _ column: String, _ value: String) async throws {
        let file = folder.url.appending(path: "data/iCloud.com.example.Test/development.sqlite")
        let queue = try DatabaseQueue(path: file.path(percentEncoded: false))
        try await queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA writable_schema = ON")
            try db.execute(
                sql: "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = ?", arguments: [table])
            try db.execute(sql: "PRAGMA writable_schema = RESET")
            try db.execute(sql: "UPDATE \(table) SET \(column) = \(value)")
        }
        try queue.close()
    }

    @Test(
        "A damaged row refuses, and says which table and column",
        arguments: [
            ("users", "name", "NULL"), ("zones", "name", "NULL"), ("zones", "position", "'text'"),
            ("types", "name", "NULL"), ("types", "grants", "NULL"), ("fields", "declaration", "NULL"),
            ("fields", "indexes", "'many'"),
            ("incarnations", "number", "NULL"), ("incarnations", "number", "'one'"), ("incarnations", "after", "NULL"),
            ("records", "name", "NULL"), ("records", "type", "'text'"), ("records", "born", "NULL"),
            ("records", "state", "NULL"),
            ("records", "createdAt", "NULL"), ("records", "createdBy", "NULL"), ("records", "createdOn", "NULL"),
            ("records", "modifiedAt", "0.5"),
            ("records", "modifiedBy", "x'00'"), ("records", "modifiedOn", "NULL"), ("records", "parent", "x'00'"),
            ("records", "fields", "NULL"),
            ("records", "fields", "'{}'"), ("zones", "position", "9223372036854775807"), ("zones", "position", "-1"),
        ])
    func refusal(table: String, column: String, value: String) async throws {
        let again = try await damaged(table, column, value)
        let error = await StoreScenarios.refusal {
            let database = try await again.full(.private)
            _ = try await database.zones()
            _ = try await database.pull(notes)
        }
        #expect(
            error?.code == .internalError && error?.reason.contains("'\(table)'") == true,
            "\(String(describing: error))")
        await again.close()
    }

    /// An engine on a file with the record `one`, in which every row of a table was damaged.
    private func damaged(_ table: String, _ column: String, _ value: String) async throws -> SQLRecordEngine {
        let data = folder.url.appending(path: "data")
        let engine = try SQLRecordEngine(folder: data)
        try await engine.withZone().save("one", in: notes, ["text": .string("kept")])
        await engine.close()
        try await damage(table, column, value)
        return try SQLRecordEngine(folder: data)
    }

    @Test("A record that lost its fields is neither answered nor saved without them")
    func lostFields() async throws {
        let engine = try await damaged("records", "fields", "NULL")
        let database = try await engine.full(.private)
        let fetched = await StoreScenarios.refusal {
            _ = try await database.fetch([RecordID(recordName: "one", zoneID: notes)], desiredKeys: nil)
        }
        #expect(fetched?.code == .internalError && fetched?.reason.contains("'records'") == true)
        let saved = await StoreScenarios.refusal { try await database.save("one", in: notes, ["number": .int64(1)]) }
        #expect(saved?.code == .internalError && saved?.reason.contains("'records'") == true)
        // Other records are read and saved as usual.
        try await database.save("two", in: notes)
        #expect(try await database.names(in: notes, of: ["two"]) == ["two"])
        await engine.close()
    }

    @Test(
        "After the last position there is, saves are refused and the process goes on",
        arguments: [
            ("zones", "9223372036854775807"), ("zones", "1099511627775"), ("shares", "9223372036854775807"),
            ("shares", "-9223372036854775808"),
        ])
    func lastPosition(table: String, position: String) async throws {
        let data = folder.url.appending(path: "data")
        let engine = try SQLRecordEngine(folder: data)
        let database = try await engine.withZone()
        try await database.save("one", in: notes)
        try await database.share(
            notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly), on: engine)
        await engine.close()
        try await damage(table, "position", position)
        let again = try SQLRecordEngine(folder: data)
        let opened = try await again.full(.private)
        // The store continues after the greatest position in the file, so a negative position of a share has no effect.
        let isBeyond = !position.hasPrefix("-")
        let save = await StoreScenarios.refusal { try await opened.save("two", in: notes) }
        #expect((save?.code == .internalError) == isBeyond, "\(String(describing: save))")
        let zone = await StoreScenarios.refusal {
            for result in try await opened.modifyZones([.create(ZoneID(zoneName: "Other"))]) { _ = try result.get() }
        }
        #expect((zone?.code == .internalError) == isBeyond, "\(String(describing: zone))")
        await again.close()
    }

    @Test(
        "Counts beyond all bounds end no query, no save and no sum",
        arguments: ["9223372036854775807", "-9223372036854775808"])
    func counts(count: String) async throws {
        let data = folder.url.appending(path: "data")
        let engine = try SQLRecordEngine(folder: data)
        let database = try await engine.withZone()
        for name in ["one", "two"] as [Name] {
            try await database.save(name, in: notes, ["number": .int64(1), "text": .string("a")])
        }
        await engine.close()
        try await damage("typeCounts", "count", count)
        try await damage("zones", "journalBytes", count)
        let again = try SQLRecordEngine(folder: data)
        let opened = try await again.full(.private)
        let filters = [
            Query.Filter("number", .equals, FieldInput(.int64(1))),
            Query.Filter("text", .equals, FieldInput(.string("a"))),
        ]
        let found = try await opened.all(
            Query(recordType: "Item", filters: filters, sorts: [Query.Sort("number")]), in: .zone(notes))
        #expect(found.count == 2)
        _ = try await opened.require(.countRecords).counts(in: notes).total
        // A save may be refused, but must not end the process.
        _ = await StoreScenarios.refusal { try await opened.save("one", in: notes, ["number": .int64(2)]) }
        #expect(try await opened.names(in: notes, of: ["two"]) == ["two"])
        await again.close()
    }

    @Test("The number of a field is whatever the file says")
    func fieldNumbers() async throws {
        let engine = try await damaged("fields", "number", "-number")
        let database = try await engine.full(.private)
        try await database.save("two", in: notes, ["text": .string("new")])
        #expect(try await database.pull(notes).changes.map(\.recordID.recordName) == ["one", "two"])
        let query = Query(recordType: "Item", filters: [Query.Filter("text", .equals, FieldInput(.string("new")))])
        #expect(try await database.all(query, in: .zone(notes)).map(\.recordID.recordName) == ["two"])
        await engine.close()
    }
}
