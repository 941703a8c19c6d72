internal import GRDB
internal import Records

/// The counts that a batch changes, gathered and written once at its end.
struct ChangeTally {
    /// Positions in one bucket of `changeCounts`.
    static let bucketBits: Int64 = 10

    private struct Key: Hashable {
        let zone: Int64
        let number: Int64
    }

    private var types: [Key: Int] = [:]
    private var buckets: [Key: Int] = [:]
    private var positions: [Int64: Int64] = [:]
    private var journal: [Int64: Int64] = [:]

    /// By how much the journal grew.
    var journalBytes: Int64 { journal.values.reduce(0, +) }

    mutating func add(isDeleted: Bool, type: Int64, position: Int64, to zone: Int64) {
        types[Key(zone: zone, number: isDeleted ? 0 : type), default: 0] += 1
        buckets[Key(zone: zone, number: position >> Self.bucketBits), default: 0] += 1
        positions[zone] = position
    }

    mutating func remove(_ row: StoredRow, type: Int64, from zone: Int64) {
        remove(number: row.isDeleted ? 0 : type, position: row.position, from: zone)
    }

    mutating func removeDeletion(at position: Int64, from zone: Int64) {
        remove(number: 0, position: position, from: zone)
    }

    /// Counts bytes that the journal gained, or with a negative number lost.
    mutating func journal(_ bytes: Int64, in zone: Int64) {
        journal[zone, default: 0] += bytes
    }

    private mutating func remove(number: Int64, position: Int64, from zone: Int64) {
        types[Key(zone: zone, number: number), default: 0] -= 1
        buckets[Key(zone: zone, number: position >> Self.bucketBits), default: 0] -= 1
    }

    func write(_ db: Database, now: Timestamp) throws {
        for (zone, position) in positions {
            try db.run(
                "UPDATE zones SET position = ?, moment = ?, journalBytes = journalBytes + ? WHERE number = ?",
                [position, now.milliseconds, journal[zone] ?? 0, zone])
        }
        for (zone, bytes) in journal where positions[zone] == nil && bytes != 0 {
            try db.run("UPDATE zones SET journalBytes = journalBytes + ? WHERE number = ?", [bytes, zone])
        }
        for (key, change) in types where change != 0 {
            try db.run(
                "INSERT INTO typeCounts (zone, type, count) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [key.zone, key.number, change])
        }
        for (key, change) in buckets where change != 0 {
            try db.run(
                "INSERT INTO changeCounts (zone, bucket, count) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [key.zone, key.number, change])
            if change < 0 { try db.run("DELETE FROM changeCounts WHERE zone = ? AND bucket = ? AND count = 0", [key.zone, key.number]) }
        }
    }

    /// Latest changes of a zone after a position.
    static func changes(after position: Int64, in zone: Int64, _ db: Database) throws -> Int {
        let bucket = position >> bucketBits
        let later = try Int.fetchOne(
            db, cachedSQL: "SELECT coalesce(sum(count), 0) FROM changeCounts WHERE zone = ? AND bucket > ?", [zone, bucket]) ?? 0
        let same = try Int.fetchOne(
            db, cachedSQL: "SELECT count(*) FROM records WHERE id > ? AND id < ?",
            [StoredRow.id(zone: zone, position: position), StoredRow.id(zone: zone, position: (bucket + 1) << bucketBits)]) ?? 0
        return later + same
    }
}
