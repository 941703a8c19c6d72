internal import Foundation
internal import JSON
public import RecordStore
public import Records

/// Asset entries of one store.
struct SQLAssetLedger: AssetLedger {
    /// Records examined for one page of a verification. Each may have a megabyte.
    private static let recordsInPage = 200

    let store: StorePlace
    /// The tickets of the store when the ledger was made.
    let firstTickets: AssetTickets

    /// Another process may delete the container and make it anew, which changes them.
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
            try AssetRows.entries(try SQLRow.fetchAll(db, sql: "SELECT * FROM assets WHERE checksum = ?", [checksum.data])).first
        }
    }

    func entries(after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry] {
        try await store.read { db, _ in
            try AssetRows.entries(
                try SQLRow.fetchAll(
                    db, sql: "SELECT * FROM assets WHERE checksum > ? ORDER BY checksum LIMIT ?", [checksum?.data ?? Data(), limit]))
        }
    }

    func entries(unusedSince moment: Timestamp, after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry] {
        try await store.readAtLength(for: .scan) { db, _ in
            try AssetRows.entries(
                try SQLRow.fetchAll(
                    db,
                    sql: """
                        SELECT * FROM assets INDEXED BY unused_assets WHERE uses = 0 AND checksum > ? AND inUseUntil < ? ORDER BY checksum LIMIT ?
                        """, [checksum?.data ?? Data(), moment.milliseconds, limit]))
        }
    }

    func strike(_ checksums: [FileChecksum], unusedSince moment: Timestamp) async throws -> Set<FileChecksum> {
        try await store.write { db, _ in Set(try checksums.filter { try AssetRows.strike($0, unusedSince: moment, db) }) }
    }

    func recordedAssets(after place: Int64?) async throws -> RecordedAssetsPage {
        try await store.readAtLength(for: .scan) { db, catalog in
            let rows = try SQLRow.fetchAll(
                db, sql: "SELECT id, zone, name, type, state, fields FROM records WHERE id > ? ORDER BY id LIMIT ?",
                [place ?? 0, Self.recordsInPage])
            var page = RecordedAssetsPage(assets: [], next: rows.count == Self.recordsInPage ? try rows.last?.value("id", in: "records") : nil)
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
                // Copies in the views of guests use the files of the records that they show.
                guard let zone = zones[number], zone.kind == .changed, zone.base == nil else { continue }
                let name = Name(try values("name") as String)
                let recordType = try catalog.typeName(of: values("type"))
                for (field, asset) in try fields.assets() {
                    let isCounted = try FileChecksum(asset.fileChecksum).map { checksum in
                        try Bool.fetchOne(
                            db, sql: "SELECT 1 FROM assetUses WHERE zone = ? AND name = ? AND field = ? AND checksum = ?",
                            [number, name.string, field.string, checksum.data]) ?? false
                    }
                    page.assets.append(
                        RecordedAsset(
                            use: AssetUse(
                                isPublic: zone.owner == 0, zoneID: zone.zoneID, recordName: name, recordType: recordType,
                                fieldName: field),
                            asset: asset, isCounted: isCounted ?? false))
                }
            }
            return page
        }
    }
}

extension SQLRecordEngine {
    public func assetLedger(_ container: ContainerID, _ environment: Records.Environment) async throws -> any AssetLedger {
        let store = try await store(of: container, environment)
        return SQLAssetLedger(store: store, firstTickets: try store.assetTickets)
    }
}
