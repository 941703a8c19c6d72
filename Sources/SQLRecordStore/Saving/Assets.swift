internal import Foundation
public import RecordStore
public import Records

extension SQLDatabase {
    func grantUploads(_ requests: [UploadRequest], in zoneID: ZoneID?) async throws -> [Result<
        UploadGrant, RecordError
    >] {
        let now = store.clock()
        // Tickets are not stored, so usually nothing is written. Only a default zone or a user record may have to be
        // created.
        let uploads = try await store.read { [view, store] db, catalog -> [Result<UploadGrant, RecordError>]? in
            // A user record may have to be created too.
            guard let zone = try view.zoneUnlessDefault(zoneID ?? .default, db) else { return nil }
            let namesUsers = requests.contains { request in
                request.recordName.map { UserRecords.isReserved($0, in: zone.zoneID, of: view.address.scope) } ?? false
            }
            if namesUsers { return nil }
            let open = try view.opened(zone, db)
            let rules = AssetRules(schema: catalog.schema, address: view.address, caller: view.caller, now: now) {
                try view.roleNumbers(db, catalog)
            }
            return try rules.uploads(for: requests, in: open, isAnyZone: zoneID == nil, tickets: store.assetTickets) {
                name in
                try db.row(named: name, in: zone.number, zone.zoneID, catalog).flatMap {
                    $0.isDeleted ? nil : $0.record
                }
            }
        }
        if let uploads { return uploads }
        return try await changing { [address] transaction, rules in
            let zone = try transaction.zone(zoneID ?? .default)
            return try rules.uploads(
                for: requests, in: zone, isAnyZone: zoneID == nil, tickets: transaction.assetTickets
            ) { name in
                try transaction.record(orUser: name, in: zone, of: address.scope, at: now)
            }
        }
    }

    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<
        Asset, RecordError
    >] {
        try await changing { transaction, rules in
            try rules.rereference(
                sources, from: transaction.zone(zoneID), to: transaction.zone(targetZoneID), transaction)
        }
    }

    func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses {
        try await store.read { [view] db, catalog in
            let total = try Int.fetchOne(db, sql: "SELECT uses FROM assets WHERE checksum = ?", [checksum.data]) ?? 0
            let zones = Dictionary(try view.zones(db).map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
            let numbers = "[\(zones.keys.map(String.init).joined(separator: ", "))]"
            let rows = try SQLRow.fetchAll(
                db,
                sql: """
                    SELECT a.zone, a.name, a.field, r.type FROM assetUses a JOIN records r ON r.zone = a.zone AND r.name = a.name
                    JOIN zones z ON z.number = a.zone LEFT JOIN users u ON u.number = z.owner
                    WHERE a.checksum = ? AND a.zone IN (SELECT value FROM json_each(?)) ORDER BY a.name, z.name, coalesce(u.name, ''), a.field LIMIT ?
                    """, [checksum.data, numbers, limit])
            let visible = try rows.compactMap { row in
                let values = row.values(of: "assetUses")
                return try zones[try values("zone")].map { zone in
                    AssetUse(
                        isPublic: zone.owner == 0, zoneID: zone.zoneID, recordName: Name(try values("name") as String),
                        recordType: try catalog.typeName(of: values("type")),
                        fieldName: Name(try values("field") as String))
                }
            }
            return AssetUses(visible: visible, total: total)
        }
    }

    private func changing<Value: Sendable>(_ body: @escaping @Sendable (SQLTransaction, AssetRules) throws -> Value)
        async throws -> Value
    {
        let now = store.clock()
        return try await write { [store] db, state, view in
            let transaction = SQLTransaction(db, state: state, view: view, tickets: try store.assetTickets, now: now)
            let rules = AssetRules(schema: transaction.schema, address: view.address, caller: view.caller, now: now) {
                try transaction.roleNumbers(of: view.caller.userRecordName)
            }
            let value = try body(transaction, rules)
            state = try transaction.finish()
            return value
        }
    }
}

// MARK: - Rows

/// Rows of the tables `assets`, `assetUses` and `spentReceipts`.
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
                guard let checksum = FileChecksum(asset.fileChecksum),
                    uses.insert(Use(field: field.name, checksum: checksum)).inserted
                else { continue }
                bytes = bytes.addingSaturated(asset.size)
            }
        }
        return (uses, bytes)
    }

    /// Changes the stored asset uses of a record to `after` and updates the use count of each file.
    /// - Parameter fields: the uses that the record's old fields imply. For any of them missing from `assetUses`, the
    ///   use count of the file is recomputed.
    static func write(
        _ after: Set<Use>, replacing fields: Set<Use>, of name: Name, in zone: Int64, now: Timestamp,
        _ db: SQLConnection
    ) throws {
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
                "INSERT INTO assetUses (zone, name, field, checksum) VALUES (?, ?, ?, ?)",
                [zone, name.string, use.field.string, use.checksum.data])
            try db.run("UPDATE assets SET uses = uses + 1 WHERE checksum = ?", [use.checksum.data])
        }
        for use in fields.subtracting(before) {
            try db.run(
                "UPDATE assets SET uses = (SELECT count(*) FROM assetUses WHERE checksum = ?1) WHERE checksum = ?1",
                [use.checksum.data])
        }
    }

    private static func counted(of name: Name, in zone: Int64, _ db: SQLConnection) throws -> Set<Use> {
        let rows = try SQLRow.fetchAll(
            db, sql: "SELECT field, checksum FROM assetUses WHERE zone = ? AND name = ?", [zone, name.string])
        return Set(
            try rows.map {
                Use(
                    field: Name(try $0.value("field", in: "assetUses") as String),
                    checksum: try checksum(of: $0, in: "assetUses"))
            })
    }

    /// Removes up to `limit` asset uses of a deleted zone.
    /// - Returns: `true` if any were found.
    static func removeUses(in zone: Int64, limit: Int, ended: Timestamp, _ db: SQLConnection) throws -> Bool {
        let rows = try SQLRow.fetchAll(
            db, sql: "SELECT name, field, checksum FROM assetUses WHERE zone = ? LIMIT ?", [zone, limit])
        for row in rows {
            let (name, field): (String, String) = (
                try row.value("name", in: "assetUses"), try row.value("field", in: "assetUses")
            )
            let checksum = try checksum(of: row, in: "assetUses").data
            try db.run(
                "DELETE FROM assetUses WHERE zone = ? AND name = ? AND field = ? AND checksum = ?",
                [zone, name, field, checksum])
            try endUse(of: checksum, at: ended, db)
        }
        return !rows.isEmpty
    }

    private static func checksum(of row: SQLRow, in table: StaticString) throws -> FileChecksum {
        let bytes: Data = try row.value("checksum", in: table)
        guard let checksum = FileChecksum(bytes: bytes) else {
            throw DamagedRow(in: "\(table)", "has a checksum of \(bytes.count) bytes")
        }
        return checksum
    }

    private static func endUse(of checksum: Data, at moment: Timestamp, _ db: SQLConnection) throws {
        try db.run(
            "UPDATE assets SET uses = uses - 1, inUseUntil = max(inUseUntil, ?) WHERE checksum = ?",
            [moment.milliseconds, checksum])
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
        try db.run(
            "UPDATE assets SET inUseUntil = max(inUseUntil, ?) WHERE checksum = ?", [until.milliseconds, checksum.data])
        return db.changesCount > 0
    }

    /// - Returns: `true` if the file was unused and its row was deleted.
    static func strike(_ checksum: FileChecksum, unusedSince moment: Timestamp, _ db: SQLConnection) throws -> Bool {
        try db.run(
            "DELETE FROM assets WHERE checksum = ? AND uses = 0 AND inUseUntil < ?",
            [checksum.data, moment.milliseconds])
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
            "INSERT INTO spentReceipts (number, expires) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [Data(receipt.number), receipt.rememberedUntil.milliseconds])
        return db.changesCount > 0
    }
}

extension FileChecksum {
    var data: Data { Data(bytes) }
}

// MARK: - Ledger

/// Asset entries of one store.
struct SQLAssetLedger: AssetLedger {
    /// Number of records examined for one page of a verification. Each may have a megabyte.
    private static let recordsInPage = 200

    let store: SQLStore
    /// The store's tickets when the ledger was created.
    let firstTickets: AssetTickets

    /// The current tickets. They change if another process deletes the container and creates it again.
    var tickets: AssetTickets { (try? store.assetTickets) ?? firstTickets }

    func presentTickets() async throws -> AssetTickets {
        try await store.prepare()
        return tickets
    }

    func enter(_ checksum: FileChecksum, size: Int64, inUseUntil until: Timestamp) async throws {
        try await store.write { db, _ in try AssetRows.enter(checksum, size: size, inUseUntil: until, db) }
    }

    func entry(of checksum: FileChecksum) async throws -> AssetEntry? {
        try await store.read { db, _ in
            try AssetRows.entries(
                try SQLRow.fetchAll(db, sql: "SELECT * FROM assets WHERE checksum = ?", [checksum.data])
            ).first
        }
    }

    func entries(after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry] {
        try await store.read { db, _ in
            try AssetRows.entries(
                try SQLRow.fetchAll(
                    db, sql: "SELECT * FROM assets WHERE checksum > ? ORDER BY checksum LIMIT ?",
                    [checksum?.data ?? Data(), limit]))
        }
    }

    func entries(unusedSince moment: Timestamp, after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry]
    {
        try await store.readLong(for: .scan) { db, _ in
            try AssetRows.entries(
                try SQLRow.fetchAll(
                    db,
                    sql: """
                        SELECT * FROM assets INDEXED BY unused_assets WHERE uses = 0 AND checksum > ? AND inUseUntil < ? ORDER BY checksum LIMIT ?
                        """, [checksum?.data ?? Data(), moment.milliseconds, limit]))
        }
    }

    func strike(_ checksums: [FileChecksum], unusedSince moment: Timestamp) async throws -> Set<FileChecksum> {
        try await store.write { db, _ in Set(try checksums.filter { try AssetRows.strike($0, unusedSince: moment, db) })
        }
    }

    func recordedAssets(after place: Int64?) async throws -> RecordedAssetsPage {
        try await store.readLong(for: .scan) { db, catalog in
            let rows = try SQLRow.fetchAll(
                db, sql: "SELECT id, zone, name, type, state, fields FROM records WHERE id > ? ORDER BY id LIMIT ?",
                [place ?? 0, Self.recordsInPage])
            var page = RecordedAssetsPage(
                assets: [], next: rows.count == Self.recordsInPage ? try rows.last?.value("id", in: "records") : nil)
            var zones: [Int64: ZoneRow] = [:]
            for row in rows {
                let values = row.values(of: "records")
                let stored: Data? = try values("fields")
                let fields = FieldsText(bytes: Array(stored ?? Data()))
                if RowReader.State(rawValue: try values("state")).isDeleted || !fields.mayHoldAssets { continue }
                let number: Int64 = try values("zone")
                if zones[number] == nil {
                    zones[number] = try ZoneRow.fetchOne(db, ZoneRow.sql("WHERE z.number = ?"), [number])
                }
                // Copies of records in guests' views use the files of the original records and are not counted.
                guard let zone = zones[number], zone.kind == .changed, zone.base == nil else { continue }
                let name = Name(try values("name") as String)
                let recordType = try catalog.typeName(of: values("type"))
                for (field, asset) in try fields.assets() {
                    let isCounted = try FileChecksum(asset.fileChecksum).map { checksum in
                        try Bool.fetchOne(
                            db,
                            sql: "SELECT 1 FROM assetUses WHERE zone = ? AND name = ? AND field = ? AND checksum = ?",
                            [number, name.string, field.string, checksum.data]) ?? false
                    }
                    page.assets.append(
                        RecordedAsset(
                            use: AssetUse(
                                isPublic: zone.owner == 0, zoneID: zone.zoneID, recordName: name,
                                recordType: recordType,
                                fieldName: field),
                            asset: asset, isCounted: isCounted ?? false))
                }
            }
            return page
        }
    }
}

extension SQLRecordEngine {
    public func assetLedger(_ container: ContainerID, _ environment: Records.Environment) async throws
        -> any AssetLedger
    {
        let store = try await store(of: container, environment)
        return SQLAssetLedger(store: store, firstTickets: try store.assetTickets)
    }
}
