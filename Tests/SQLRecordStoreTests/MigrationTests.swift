import GRDB
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
}
