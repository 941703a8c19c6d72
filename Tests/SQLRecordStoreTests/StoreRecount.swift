import RecordStore
import TestSupport

@testable import SQLRecordStore
@testable import TestStores

/// Recomputes the stored totals, and checks the consistency of the tables.
enum StoreRecount {
    /// Empty if everything is consistent.
    static func problems(of database: any RecordDatabase) async throws -> [String] {
        guard let database = database as? SQLDatabase else { return ["not a SQLite store"] }
        try await database.store.prepare()
        // Nothing was saved yet, so there is no file.
        if database.store.isAbsent { return [] }
        return try await database.store.look { try problems($0) }
    }

    /// True if no rows of deleted zones are left.
    static func hasSwept(_ database: any RecordDatabase) async throws -> Bool {
        guard let database = database as? SQLDatabase else { return true }
        return try await database.store.look { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM zones WHERE state <> 0 AND swept = 0") == 0
        }
    }

    /// The number of deleted records whose referrers are still to be deleted.
    static func cascades(_ database: any RecordDatabase) async throws -> Int {
        guard let database = database as? SQLDatabase else { return 0 }
        return try await database.store.look { try CascadeRows.count($0) }
    }

    /// Returns when all cascades are complete.
    static func settleCascades(_ database: any RecordDatabase) async throws {
        try await eventually { try await cascades(database) == 0 }
    }

    private static func problems(_ db: SQLConnection) throws -> [String] {
        var problems: [String] = []
        let integrity = StoreUnderTest.isSQLite ? try String.fetchAll(db, sql: "PRAGMA integrity_check") : ["ok"]
        if integrity != ["ok"] { problems.append("integrity_check: \(integrity.prefix(3))") }
        // The rows of a deleted zone are removed gradually, its counts last.
        let living = "zone IN (SELECT number FROM zones WHERE state = 0)"
        for (what, kept, counted) in [
            (
                "typeCounts", "SELECT zone, type, count FROM typeCounts WHERE count <> 0 AND \(living)",
                "SELECT zone, CASE WHEN state & 1 = 1 THEN 0 ELSE type END, count(*) FROM records WHERE \(living) GROUP BY 1, 2"
            ),
            (
                "bytes of records", "SELECT zone, type, bytes FROM typeCounts WHERE bytes <> 0 AND \(living)",
                "SELECT zone, type, sum(length(fields)) FROM records WHERE state & 1 = 0 AND \(living) GROUP BY 1, 2 HAVING sum(length(fields)) > 0"
            ),
            (
                "bytes of assets", "SELECT zone, type, assetBytes FROM typeCounts WHERE assetBytes <> 0 AND \(living)",
                """
                SELECT r.zone, r.type, sum(a.size) FROM assetUses u JOIN assets a ON a.checksum = u.checksum
                JOIN records r ON r.zone = u.zone AND r.name = u.name WHERE r.\(living) GROUP BY 1, 2 HAVING sum(a.size) > 0
                """
            ),
            (
                "changeCounts", "SELECT zone, bucket, count FROM changeCounts WHERE count <> 0 AND \(living)",
                "SELECT zone, (id & 1099511627775) >> 10, count(*) FROM records WHERE \(living) GROUP BY 1, 2"
            ),
            (
                "the members of types",
                """
                SELECT e.zone, f.type, count(*) FROM entries e JOIN fields f ON f.number = e.field
                WHERE f.name = '___recordID' AND e.\(living) GROUP BY 1, 2
                """,
                "SELECT zone, type, count(*) FROM records WHERE state & 1 = 0 AND \(living) GROUP BY 1, 2"
            ),
            (
                "positions of zones", "SELECT number, 0, 1 FROM zones",
                "SELECT number, 0, 1 FROM zones z WHERE position >= coalesce((SELECT max(id & 1099511627775) FROM records WHERE zone = z.number), 0)"
            ),
            (
                "uses of assets", "SELECT checksum, 0, uses FROM assets WHERE uses <> 0",
                "SELECT u.checksum, 0, count(*) FROM assetUses u JOIN assets a ON a.checksum = u.checksum GROUP BY 1"
            ),
            (
                "assets that are used", "SELECT DISTINCT checksum, 0, 0 FROM assetUses",
                "SELECT checksum, 0, 0 FROM assets WHERE uses > 0"
            ),
            (
                "bytes of the journal",
                "SELECT number, 0, journalBytes FROM zones WHERE state = 0 AND journalBytes <> 0",
                "SELECT zone, 0, sum(coalesce(length(fields), 0) + 100) FROM journal WHERE \(living) GROUP BY 1"
            ),
            (
                "states in the journal", "SELECT id, zone, position FROM journal WHERE \(living)",
                """
                SELECT * FROM (
                    WITH RECURSIVE chain(id, zone, position) AS (
                        SELECT j.id, r.zone, j.position FROM records r JOIN journal j ON j.id = r.id & 1099511627775 AND j.zone = r.zone
                        UNION ALL SELECT j.id, c.zone, j.position FROM chain c JOIN journal j ON j.id = c.position AND j.zone = c.zone
                    )
                    SELECT id, zone, position FROM chain WHERE \(living)
                ) AS states
                """
            ),
            (
                "zones of records", "SELECT DISTINCT zone, 0, 0 FROM records",
                "SELECT DISTINCT id >> 40, 0, 0 FROM records"
            ),
        ] {
            let differing = try Int.fetchOne(
                db,
                sql:
                    "SELECT count(*) FROM (SELECT * FROM (\(kept) EXCEPT \(counted)) AS missing UNION ALL SELECT * FROM (\(counted) EXCEPT \(kept)) AS more) AS differing"
            )
            if differing != 0 { problems.append("\(what) differ from a recount in \(differing ?? -1) rows") }
        }
        return problems
    }
}
