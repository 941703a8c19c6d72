internal import JSON
internal import Records

/// Changes of `zones`.
enum ZoneWrites {
    static func makeZone(_ name: Name, owner: Int64, position: Int64, now: Timestamp, _ db: SQLConnection) throws {
        try db.run(
            "INSERT INTO zones (owner, name, position, moment) VALUES (?, ?, ?, ?)", [owner, name.string, position, now.milliseconds])
    }

    /// Marks a zone as deleted, and ends its subscriptions. Its rows stay until the sweep, but can't be found any more, because its number is
    /// never reused.
    static func end(_ zone: ZoneRow, as kind: ZoneChange.Kind, position: Int64, now: Timestamp, _ db: SQLConnection) throws {
        try db.run(
            "UPDATE zones SET state = ?, position = ?, moment = ? WHERE number = ?",
            [ZoneRow.state(of: kind), position, now.milliseconds, zone.number])
        try SubscriptionRows.end(with: zone.number, db)
        if zone.base != nil { return }
        try db.run(
            "UPDATE zones SET state = ?, position = ?, moment = ? WHERE base = ? AND state = 0",
            [ZoneRow.state(of: kind), position, now.milliseconds, zone.number])
        try db.run("UPDATE hierarchies SET live = 0 WHERE zone = ? AND live = 1", [zone.number])
    }
}
