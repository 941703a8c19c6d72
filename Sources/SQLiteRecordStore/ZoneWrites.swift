internal import GRDB
internal import JSON
internal import Records

/// Changes of `zones` and `shares`.
enum ZoneWrites {
    static func makeZone(_ name: Name, owner: Int64, position: Int64, now: Timestamp, _ db: Database) throws {
        try db.run(
            "INSERT INTO zones (owner, name, position, moment) VALUES (?, ?, ?, ?)", [owner, name.string, position, now.milliseconds])
    }

    /// Ends a zone. Its rows stay until the sweep; nobody sees them any more, because its number is never used again.
    static func end(_ zone: ZoneRow, as kind: ZoneChange.Kind, position: Int64, now: Timestamp, _ db: Database) throws {
        try db.run(
            "UPDATE zones SET state = ?, position = ?, moment = ? WHERE number = ?",
            [ZoneRow.state(of: kind), position, now.milliseconds, zone.number])
    }
}
