internal import Foundation
internal import JSON
internal import RecordStore
internal import Records

/// Rows of `assets`, `assetUses` and `spentReceipts`.
enum AssetRows {
    // MARK: Uses

    /// One field of a record referring to one file. Several references from the same field to the same file count
    /// once.
    struct Use: Hashable {
        let field: Name
        let checksum: FileChecksum
    }

    /// The asset uses of a record and the total size of the files in bytes. A file used by two fields is counted
    /// twice.
    static func measured(_ fields: some Sequence<Field>) -> (uses: Set<Use>, bytes: Int64) {
        var uses: Set<Use> = []
        var bytes: Int64 = 0
        for field in fields {
            for asset in field.value.assets {
                guard let checksum = FileChecksum(asset.fileChecksum), uses.insert(Use(field: field.name, checksum: checksum)).inserted else { continue }
                bytes = bytes.addingSaturated(asset.size)
            }
        }
        return (uses, bytes)
    }

    /// Changes the stored asset uses of a record to `after` and updates the use count of each file.
    /// - Parameter fields: the uses that the record's old fields imply. For any of them missing from `assetUses`, the
    ///   use count of the file is recomputed.
    static func write(_ after: Set<Use>, replacing fields: Set<Use>, of name: Name, in zone: Int64, now: Timestamp, _ db: SQLConnection) throws {
        if after.isEmpty, fields.isEmpty { return }
        let before = try counted(of: name, in: zone, db)
        for use in before.subtracting(after) {
            try db.run(
                "DELETE FROM assetUses WHERE zone = ? AND name = ? AND field = ? AND checksum = ?",
                [zone, name.string, use.field.string, use.checksum.data])
            if db.changesCount > 0 { try endUse(of: use.checksum.data, at: now, db) }
        }
        for use in after.subtracting(before) {
            try db.run(
                "INSERT INTO assetUses (zone, name, field, checksum) VALUES (?, ?, ?, ?)", [zone, name.string, use.field.string, use.checksum.data])
            try db.run("UPDATE assets SET uses = uses + 1 WHERE checksum = ?", [use.checksum.data])
        }
        for use in fields.subtracting(before) {
            try db.run("UPDATE assets SET uses = (SELECT count(*) FROM assetUses WHERE checksum = ?1) WHERE checksum = ?1", [use.checksum.data])
        }
    }

    private static func counted(of name: Name, in zone: Int64, _ db: SQLConnection) throws -> Set<Use> {
        let rows = try SQLRow.fetchAll(db, sql: "SELECT field, checksum FROM assetUses WHERE zone = ? AND name = ?", [zone, name.string])
        return Set(try rows.map { Use(field: Name(try $0.value("field", in: "assetUses") as String), checksum: try checksum(of: $0, in: "assetUses")) })
    }

    /// Removes up to `limit` asset uses of a deleted zone.
    /// - Returns: `true` if any were found.
    static func removeUses(in zone: Int64, limit: Int, ended: Timestamp, _ db: SQLConnection) throws -> Bool {
        let rows = try SQLRow.fetchAll(db, sql: "SELECT name, field, checksum FROM assetUses WHERE zone = ? LIMIT ?", [zone, limit])
        for row in rows {
            let (name, field): (String, String) = (try row.value("name", in: "assetUses"), try row.value("field", in: "assetUses"))
            let checksum = try checksum(of: row, in: "assetUses").data
            try db.run("DELETE FROM assetUses WHERE zone = ? AND name = ? AND field = ? AND checksum = ?", [zone, name, field, checksum])
            try endUse(of: checksum, at: ended, db)
        }
        return !rows.isEmpty
    }

    private static func checksum(of row: SQLRow, in table: StaticString) throws -> FileChecksum {
        let bytes: Data = try row.value("checksum", in: table)
        guard let checksum = FileChecksum(bytes: bytes) else { throw DamagedRow(in: "\(table)", "has a checksum of \(bytes.count) bytes") }
        return checksum
    }

    private static func endUse(of checksum: Data, at moment: Timestamp, _ db: SQLConnection) throws {
        try db.run("UPDATE assets SET uses = uses - 1, inUseUntil = max(inUseUntil, ?) WHERE checksum = ?", [moment.milliseconds, checksum])
    }

    // MARK: Files

    static func enter(_ checksum: FileChecksum, size: Int64, inUseUntil until: Timestamp, _ db: SQLConnection) throws {
        try db.run(
            """
            INSERT INTO assets (checksum, size, uses, inUseUntil)
            VALUES (?1, ?2, (SELECT count(*) FROM assetUses WHERE checksum = ?1), ?3)
            ON CONFLICT (checksum) DO UPDATE SET size = excluded.size, inUseUntil = max(assets.inUseUntil, excluded.inUseUntil)
            """, [checksum.data, size, until.milliseconds])
    }

    static func isEntered(_ checksum: FileChecksum, _ db: SQLConnection) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT 1 FROM assets WHERE checksum = ?", [checksum.data]) ?? false
    }

    /// - Returns: `false` if the file has no row.
    static func keep(_ checksum: FileChecksum, inUseUntil until: Timestamp, _ db: SQLConnection) throws -> Bool {
        try db.run("UPDATE assets SET inUseUntil = max(inUseUntil, ?) WHERE checksum = ?", [until.milliseconds, checksum.data])
        return db.changesCount > 0
    }

    /// - Returns: `true` if the file was unused and its row was deleted.
    static func strike(_ checksum: FileChecksum, unusedSince moment: Timestamp, _ db: SQLConnection) throws -> Bool {
        try db.run("DELETE FROM assets WHERE checksum = ? AND uses = 0 AND inUseUntil < ?", [checksum.data, moment.milliseconds])
        return db.changesCount > 0
    }

    static func entries(_ rows: [SQLRow]) throws -> [AssetEntry] {
        try rows.map { row in
            let values = row.values(of: "assets")
            return AssetEntry(
                checksum: try checksum(of: row, in: "assets"), size: try values("size"), useCount: try values("uses"),
                inUseUntil: Timestamp(milliseconds: try values("inUseUntil")))
        }
    }

    // MARK: Receipts

    /// - Returns: `false` if the receipt was used before.
    static func spend(_ receipt: AssetReceipt, now: Timestamp, _ db: SQLConnection) throws -> Bool {
        // Expired receipts are rejected before this lookup, so their rows are no longer needed.
        try db.run("DELETE FROM spentReceipts WHERE expires < ?", [now.milliseconds])
        try db.run(
            "INSERT INTO spentReceipts (number, expires) VALUES (?, ?) ON CONFLICT DO NOTHING", [Data(receipt.number), receipt.rememberedUntil.milliseconds])
        return db.changesCount > 0
    }
}

extension FileChecksum {
    var data: Data { Data(bytes) }
}
