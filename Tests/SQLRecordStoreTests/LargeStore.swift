import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios

@testable import SQLRecordStore

/// A store with a large zone, filled with SQL, because saves would take minutes.
enum LargeStore {
    static let zone = ZoneID(zoneName: "Large")
    /// The value of the field `text` in all records.
    static let text = FieldValue.bytes(Array(repeating: 7, count: 60))
    static let composite = CompositeIndex(filter: .custom("text"), sort: .custom("number"))

    /// Creates a filled store in a folder. Record `r00000017` has the number 17.
    static func make(records count: Int, in folder: URL) async throws -> SQLRecordEngine {
        let engine = try SQLRecordEngine(folder: folder)
        let database = try await engine.full(.private)
        _ = try await database.modifyZones([.create(zone)])
        try await database.save("template", in: zone, ["number": .int64(424_242), "text": text])
        try await database.edit(.addCompositeIndex(composite, in: "Item"))
        await engine.close()
        try fill(folder.appending(path: "iCloud.com.example.Test/development.sqlite"), count - 1)
        return try SQLRecordEngine(folder: folder)
    }

    private static func fill(_ file: URL, _ count: Int) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")
        }
        let queue = try DatabaseQueue(path: file.path(percentEncoded: false), configuration: configuration)
        let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))"
        let name = "printf('r%08d', n.i)"
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TEMP TABLE template AS SELECT *, id & 1099511627775 AS position FROM records WHERE name = 'template';
                    \(numbers) INSERT INTO records
                    (id, zone, name, type, born, state, createdAt, createdBy, createdOn, modifiedAt, modifiedBy, modifiedOn, parent, fields)
                    SELECT t.id + n.i, t.zone, \(name), t.type, t.position + n.i, 0, t.createdAt, t.createdBy, t.createdOn, t.modifiedAt,
                    t.modifiedBy, t.modifiedOn, t.parent, CAST(replace(CAST(t.fields AS TEXT), '424242', n.i) AS BLOB) FROM n, template t;
                    """)
            // Copies every index entry of the template for every record, with the record's number in place of the
            // template's.
            let entries = try Row.fetchAll(
                db, sql: "SELECT field, value FROM entries WHERE name = 'template' ORDER BY field")
            for entry in entries {
                let isNumber = (entry["value"] as DatabaseValue) == Int64(424_242).databaseValue
                try db.execute(
                    sql:
                        "\(numbers) INSERT INTO entries SELECT ?, t.zone, \(isNumber ? "n.i" : "?"), \(name) FROM n, template t",
                    arguments: isNumber
                        ? [entry["field"] as Int64] : [entry["field"] as Int64, entry["value"] as DatabaseValue])
            }
            try db.execute(
                sql: """
                    \(numbers) INSERT INTO compositeEntries
                    SELECT c.composite, c.zone, c.filter, n.i, \(name) FROM n, compositeEntries c WHERE c.name = 'template'
                    """)
            try db.execute(
                sql: """
                    UPDATE zones SET position = (SELECT max(id & 1099511627775) FROM records) WHERE number = (SELECT zone FROM template);
                    UPDATE typeCounts SET (count, bytes) = (SELECT count(*), sum(length(fields)) FROM records r WHERE (r.zone, r.type) = (typeCounts.zone, typeCounts.type))
                    WHERE (zone, type) IN (SELECT zone, type FROM template);
                    DELETE FROM changeCounts;
                    INSERT INTO changeCounts SELECT zone, (id & 1099511627775) >> 10, count(*) FROM records GROUP BY 1, 2;
                    """)
        }
        try queue.close()
    }
}
