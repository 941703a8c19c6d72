internal import Foundation
internal import GRDB
internal import JSON
internal import Records

/// The tables of a cache, within a transaction.
struct CachedRecords {
    private let database: GRDB.Database

    init(_ database: GRDB.Database) {
        self.database = database
    }

    static func make(in database: GRDB.Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS state (id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL) STRICT;
                CREATE TABLE IF NOT EXISTS record (
                    zone TEXT NOT NULL,
                    owner TEXT NOT NULL,
                    name TEXT NOT NULL,
                    type TEXT NOT NULL,
                    json TEXT NOT NULL,
                    refusal TEXT,
                    isMarked INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (zone, owner, name)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX IF NOT EXISTS recordByType ON record (zone, owner, type, name);
                """)
    }

    func state() throws -> [UInt8]? {
        try Data.fetchOne(database, sql: "SELECT bytes FROM state").map { Array($0) }
    }

    func setState(_ bytes: [UInt8]) throws {
        try database.execute(sql: "INSERT INTO state VALUES (1, ?1) ON CONFLICT DO UPDATE SET bytes = ?1", arguments: [Data(bytes)])
    }

    // MARK: Records

    func record(_ recordID: RecordID) throws -> Record? {
        try String.fetchOne(database, sql: "SELECT json FROM record WHERE zone = ? AND owner = ? AND name = ?", arguments: Self.key(recordID))
            .map { try Self.record($0) }
    }

    func records(ofType recordType: Name, in zoneID: ZoneID) throws -> [Record] {
        try String.fetchAll(
            database, sql: "SELECT json FROM record WHERE zone = ? AND owner = ? AND type = ? ORDER BY name",
            arguments: Self.key(zoneID) + [recordType.string]
        ).map { try Self.record($0) }
    }

    /// Stores a record. It is then neither refused nor marked.
    func set(_ record: Record) throws {
        let json = String(decoding: JSONWriter.bytes(of: .object(record.json)), as: UTF8.self)
        try database.execute(
            sql: "INSERT OR REPLACE INTO record (zone, owner, name, type, json) VALUES (?, ?, ?, ?, ?)",
            arguments: Self.key(record.recordID) + [record.recordType.string, json])
    }

    func remove(_ recordID: RecordID) throws {
        try database.execute(sql: "DELETE FROM record WHERE zone = ? AND owner = ? AND name = ?", arguments: Self.key(recordID))
    }

    func removeAll(in zoneID: ZoneID) throws {
        try database.execute(sql: "DELETE FROM record WHERE zone = ? AND owner = ?", arguments: Self.key(zoneID))
    }

    func removeAll() throws {
        try database.execute(sql: "DELETE FROM record")
    }

    // MARK: Refusals and marks

    func refuse(_ recordID: RecordID, _ reason: String) throws {
        try database.execute(
            sql: "UPDATE record SET refusal = ? WHERE zone = ? AND owner = ? AND name = ?", arguments: [reason] + Self.key(recordID))
    }

    func refusals() throws -> [RecordID: String] {
        var refusals: [RecordID: String] = [:]
        for row in try Row.fetchAll(database, sql: "SELECT zone, owner, name, refusal FROM record WHERE refusal IS NOT NULL") {
            refusals[Self.recordID(row)] = row["refusal"]
        }
        return refusals
    }

    /// Marks the records of a zone until they come again.
    func markAll(in zoneID: ZoneID) throws {
        try database.execute(sql: "UPDATE record SET isMarked = 1 WHERE zone = ? AND owner = ?", arguments: Self.key(zoneID))
    }

    func marked(in zoneID: ZoneID) throws -> [RecordID] {
        try Row.fetchAll(database, sql: "SELECT zone, owner, name FROM record WHERE zone = ? AND owner = ? AND isMarked", arguments: Self.key(zoneID))
            .map { Self.recordID($0) }
    }

    private static func key(_ zoneID: ZoneID) -> StatementArguments { [zoneID.zoneName.string, zoneID.ownerRecordName?.string ?? ""] }
    private static func key(_ recordID: RecordID) -> StatementArguments { key(recordID.zoneID) + [recordID.recordName.string] }

    private static func recordID(_ row: Row) -> RecordID {
        let owner: String = row["owner"]
        let zoneID = ZoneID(zoneName: Name(row["zone"] as String), ownerRecordName: owner.isEmpty ? nil : Name(owner))
        return RecordID(recordName: Name(row["name"] as String), zoneID: zoneID)
    }

    private static func record(_ json: String) throws -> Record {
        try Record(json: JSONReader.value(of: json).object)
    }
}

extension DatabaseQueue {
    /// Opens a file on a thread that may wait for the disk.
    static func opened(_ file: URL) async throws -> DatabaseQueue {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try DatabaseQueue(path: file.path(percentEncoded: false)) }) }
        }
    }
}
