internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<UploadGrant, RecordError>] {
        let now = store.clock()
        // A ticket is not stored, so usually nothing is written. Only a default zone or a user record may have to be
        // created.
        let uploads = try await store.read { [view, store] db, catalog -> [Result<UploadGrant, RecordError>]? in
            // A user record may have to be created too.
            guard let zone = try view.zoneUnlessDefault(zoneID ?? .default, db) else { return nil }
            let namesUsers = slots.contains { slot in
                slot.recordName.map { UserRecords.isReserved($0, in: zone.zoneID, of: view.address.scope) } ?? false
            }
            if namesUsers { return nil }
            let open = try view.opened(zone, db)
            let rules = AssetRules(schema: catalog.schema, address: view.address, caller: view.caller, now: now) {
                try view.roleNumbers(db, catalog)
            }
            return try rules.uploads(for: slots, in: open, isAnyZone: zoneID == nil, tickets: store.assetTickets) { name in
                try db.row(named: name, in: zone.number, zone.zoneID, catalog).flatMap { $0.isDeleted ? nil : $0.record }
            }
        }
        if let uploads { return uploads }
        return try await changing { [address] transaction, rules in
            let zone = try transaction.zone(zoneID ?? .default)
            return try rules.uploads(for: slots, in: zone, isAnyZone: zoneID == nil, tickets: transaction.assetTickets) { name in
                try transaction.record(orUser: name, in: zone, of: address.scope, at: now)
            }
        }
    }

    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<Asset, RecordError>] {
        try await changing { transaction, rules in
            try rules.rereference(sources, from: transaction.zone(zoneID), to: transaction.zone(targetZoneID), transaction)
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
                        recordType: try catalog.typeName(of: values("type")), fieldName: Name(try values("field") as String))
                }
            }
            return AssetUses(visible: visible, total: total)
        }
    }

    private func changing<Value: Sendable>(_ body: @escaping @Sendable (SQLTransaction, AssetRules) throws -> Value) async throws -> Value {
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
