import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// What migrations do with the rows of earlier versions, where no other suite opens such a store.
@Suite struct MigrationTests {
    private static let longest = String(repeating: "x", count: EntryValue.prefixLength)

    /// A version, rows that its stores may have, and the same rows in a store of today.
    @Test(arguments: [
        // Targets that had to wait are taken up again.
        (
            "8",
            """
            INSERT INTO cascades (zone, name, position, pass, modifiedAt, modifiedBy, modifiedOn)
            VALUES (1, 'next', 1, 0, 0, '', ''), (1, 'waiting', 2, 1, 0, '', ''), (1, 'later', 3, 4, 0, '', '')
            """,
            "SELECT name || ' ' || pass FROM cascades ORDER BY position", ["next 0", "waiting 0", "later 0"]
        ),
        // Words were kept whole. Those that begin alike become one.
        (
            "15",
            "INSERT INTO tokens (field, zone, token, name) VALUES (1, 1, 'short', 'a'), (1, 1, '\(longest)y', 'a'), (1, 1, '\(longest)z', 'a')",
            "SELECT token FROM tokens ORDER BY token", ["short", longest]
        ),
    ])
    func rowsAreBroughtUpToDate(version: String, rows: String, query: String, expected: [String]) throws {
        let queue = try DatabaseQueue()
        try StoreMigrations.migrator.migrate(queue, upTo: version)
        try queue.write { db in try db.execute(sql: rows) }
        try StoreMigrations.migrator.migrate(queue)
        #expect(try queue.read { db in try String.fetchAll(db, sql: query) } == expected)
    }

    @Test("The file of a newer version is refused, and not changed")
    func newer() async throws {
        let folder = try TemporaryFolder()
        var engine = try SQLRecordEngine(folder: folder.url)
        try await engine.withZone().save("a", in: notes)
        await engine.close()
        let file = folder.url.appending(path: "iCloud.com.example.Test/development.sqlite")
        let queue = try DatabaseQueue(path: file.path(percentEncoded: false))
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
        try queue.close()
        let before = try Data(contentsOf: file)
        engine = try SQLRecordEngine(folder: folder.url)
        let refused = await refusal { _ = try await engine.full(.private).pull(notes) }
        await engine.close()
        #expect(refused?.reason.hasSuffix("was written by a newer version of Skylight; use that version") == true)
        #expect(try Data(contentsOf: file) == before)
    }
}
