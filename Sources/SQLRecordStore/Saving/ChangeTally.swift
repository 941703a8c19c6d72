internal import RecordStore
internal import Records

/// Changes of counts and sizes. A commit collects the changes of its batches and writes them once.
struct ChangeTally: Sendable {
    /// Base-2 logarithm of the number of positions in one bucket of `changeCounts`.
    static let bucketBits: Int64 = 10

    private struct Key: Hashable {
        let zone: Int64
        let number: Int64
    }

    private var types: [Key: RecordTotals] = [:]
    private var buckets: [Key: Int] = [:]
    private var positions: [Int64: Int64] = [:]
    /// Times of the positions that were added from other tallies.
    private var moments: [Int64: Timestamp] = [:]
    private var journal: [Int64: Int64] = [:]

    /// Net change of the journal's size in bytes.
    var journalBytes: Int64 { journal.values.reduce(0, +) }

    /// Adds a record.
    /// - Parameters:
    /// - bytes: size of its fields.
    /// - assetBytes: total size of the files its fields refer to.
    mutating func add(type: Int64, bytes: Int, assetBytes: Int64, position: Int64, to zone: Int64) {
        add(
            RecordTotals(records: 1, bytes: Int64(bytes), assetBytes: assetBytes), type: type, position: position,
            to: zone)
    }

    mutating func addDeletion(position: Int64, to zone: Int64) {
        add(RecordTotals(records: 1), type: 0, position: position, to: zone)
    }

    private mutating func add(_ amount: RecordTotals, type: Int64, position: Int64, to zone: Int64) {
        types[Key(zone: zone, number: type), default: RecordTotals()] += amount
        buckets[Key(zone: zone, number: position >> Self.bucketBits), default: 0] += 1
        positions[zone] = position
    }

    /// - Parameter assetBytes: total size of the files that the record's fields refer to.
    mutating func remove(_ row: StoredRow, type: Int64, assetBytes: Int64, from zone: Int64) {
        let bytes = row.isDeleted ? 0 : Int64(row.record.fields.bytes.count)
        remove(
            RecordTotals(records: 1, bytes: bytes, assetBytes: assetBytes), number: row.isDeleted ? 0 : type,
            position: row.position, from: zone)
    }

    mutating func removeDeletion(at position: Int64, from zone: Int64) {
        remove(RecordTotals(records: 1), number: 0, position: position, from: zone)
    }

    /// Subtracts removed values of a record that keeps its position.
    mutating func shrink(type: Int64, bytes: Int, assetBytes: Int64, in zone: Int64) {
        types[Key(zone: zone, number: type), default: RecordTotals()] += RecordTotals(
            bytes: -Int64(bytes), assetBytes: -assetBytes)
    }

    /// Adds a change of the journal's size; `bytes` is negative if the journal shrank.
    mutating func journal(_ bytes: Int64, in zone: Int64) {
        journal[zone, default: 0] += bytes
    }

    private mutating func remove(_ amount: RecordTotals, number: Int64, position: Int64, from zone: Int64) {
        let key = Key(zone: zone, number: number)
        types[key] = (types[key] ?? RecordTotals()) - amount
        buckets[Key(zone: zone, number: position >> Self.bucketBits), default: 0] -= 1
    }

    /// Adds the changes of a batch.
    /// - Parameter moment: the time of the changes.
    mutating func add(_ batch: ChangeTally, at moment: Timestamp) {
        for (key, amount) in batch.types { types[key, default: RecordTotals()] += amount }
        for (key, count) in batch.buckets { buckets[key, default: 0] += count }
        for (zone, bytes) in batch.journal { journal[zone, default: 0] += bytes }
        for (zone, position) in batch.positions { (positions[zone], moments[zone]) = (position, moment) }
    }

    /// Writes the collected changes and clears them.
    mutating func flush(_ db: SQLConnection) throws {
        try write(db, now: Timestamp(milliseconds: 0))
        self = ChangeTally()
    }

    /// - Parameter now: the time of the changes, except for those added from other tallies.
    func write(_ db: SQLConnection, now: Timestamp) throws {
        for (zone, position) in positions {
            try db.run(
                "UPDATE zones SET position = ?, moment = ?, journalBytes = journalBytes + ? WHERE number = ?",
                [position, (moments[zone] ?? now).milliseconds, journal[zone] ?? 0, zone])
        }
        for (zone, bytes) in journal where positions[zone] == nil && bytes != 0 {
            try db.run("UPDATE zones SET journalBytes = journalBytes + ? WHERE number = ?", [bytes, zone])
        }
        for (key, change) in types where change != RecordTotals() {
            try db.run(
                """
                INSERT INTO typeCounts (zone, type, count, bytes, assetBytes) VALUES (?, ?, ?, ?, ?) ON CONFLICT (zone, type) DO UPDATE SET
                count = typeCounts.count + excluded.count, bytes = typeCounts.bytes + excluded.bytes, assetBytes = typeCounts.assetBytes + excluded.assetBytes
                """, [key.zone, key.number, change.records, change.bytes, change.assetBytes])
        }
        for (key, change) in buckets where change != 0 {
            try db.run(
                """
                INSERT INTO changeCounts (zone, bucket, count) VALUES (?, ?, ?)
                ON CONFLICT (zone, bucket) DO UPDATE SET count = changeCounts.count + excluded.count
                """,
                [key.zone, key.number, change])
            if change < 0 {
                try db.run(
                    "DELETE FROM changeCounts WHERE zone = ? AND bucket = ? AND count = 0", [key.zone, key.number])
            }
        }
    }

    /// Counts the records and deletions of a zone whose latest change is after `position`.
    static func changes(after position: Int64, in zone: Int64, _ db: SQLConnection) throws -> Int {
        let bucket = position >> bucketBits
        let later =
            try Int.fetchOne(
                db, sql: "SELECT coalesce(sum(count), 0) FROM changeCounts WHERE zone = ? AND bucket > ?",
                [zone, bucket]) ?? 0
        let same =
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM records WHERE id > ? AND id < ?",
                [
                    try StoredRow.id(zone: zone, position: position),
                    StoredRow.id(zone: zone, position: (bucket + 1) << bucketBits),
                ]) ?? 0
        return later.addingSaturated(same)
    }
}

// MARK: - Notes of the writer

/// The state of a store's writer besides the tables. If several processes write to a store, it is also stored in a
/// row, which the next writer reads.
struct WriterState: Sendable, Equatable {
    /// The last assigned position.
    var position: Int64
    /// Total size of the journal in bytes.
    var journalBytes: Int64
    /// Number of rows of cascades and hierarchy walks that are still to be processed.
    var cascades: Int64
    /// Number of times that values were removed from records without a new position.
    var strips: Int64
    /// 0 if no hierarchy was ever shared.
    var hierarchies: Int64
    var schemaVersion: Int64
    /// Incremented by changes of facts that are read when a store is opened.
    var factsVersion: Int64

    /// Names of the columns, in the order of ``values``.
    static let columns = [
        "position", "journalBytes", "cascades", "strips", "hierarchies", "schemaVersion", "factsVersion",
    ]

    var values: [Int64] { [position, journalBytes, cascades, strips, hierarchies, schemaVersion, factsVersion] }

    init(
        position: Int64, journalBytes: Int64, cascades: Int64, strips: Int64, hierarchies: Int64, schemaVersion: Int64,
        factsVersion: Int64
    ) {
        (self.position, self.journalBytes, self.cascades, self.strips) = (position, journalBytes, cascades, strips)
        (self.hierarchies, self.schemaVersion, self.factsVersion) = (hierarchies, schemaVersion, factsVersion)
    }

    /// - Returns: `nil` unless there is a value for each column.
    init?(_ values: [Int64]) {
        guard values.count == Self.columns.count else { return nil }
        self.init(
            position: values[0], journalBytes: values[1], cascades: values[2], strips: values[3],
            hierarchies: values[4], schemaVersion: values[5],
            factsVersion: values[6])
    }

    /// The state of a store that was just opened or created.
    init(_ facts: StoreFacts) {
        self.init(
            position: facts.position, journalBytes: facts.journalBytes, cascades: Int64(facts.cascades), strips: 0,
            hierarchies: facts.hasHierarchies ? 1 : 0, schemaVersion: facts.catalog.version, factsVersion: 0)
    }
}

extension CommitWriter.State {
    var notes: WriterState {
        WriterState(
            position: position, journalBytes: journalBytes, cascades: Int64(cascades.count), strips: Int64(strips),
            hierarchies: hasHierarchies ? 1 : 0,
            schemaVersion: catalog.version, factsVersion: factsVersion)
    }

    /// Adopts the state after a commit of another process.
    /// - Throws: ``SQLError`` or ``DamagedRow`` if the new schema can't be read.
    mutating func adopt(_ notes: WriterState, _ db: SQLConnection) throws {
        (position, journalBytes, strips, factsVersion) = (
            notes.position, notes.journalBytes, Int(notes.strips), notes.factsVersion
        )
        cascades.count = Int(notes.cascades)
        hasHierarchies = notes.hierarchies != 0
        if catalog.version == notes.schemaVersion { return }
        let limits = catalog.indexLimits
        catalog = try SchemaCatalog(db)
        catalog.indexLimits = limits
    }
}
