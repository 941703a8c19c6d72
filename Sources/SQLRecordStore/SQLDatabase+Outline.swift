internal import RecordStore
internal import Records

extension SQLDatabase {
    /// Maximum number of changes counted individually. Above it the stored counts are used, whose buckets are wider.
    private static let countedLimit = 8192

    func outline(_ request: FeedOutlineRequest) async throws -> FeedOutline {
        try ZoneChangeRules.check(ZoneChangesRequest(request.zoneID), in: address)
        return try await store.readAtLength(for: .scan) { [view, store] db, _ in
            let codec = try store.codec
            let zone = try view.zone(request.zoneID, db)
            let feed = view.feed(of: zone)
            var outline = FeedOutline(position: feed.position, floor: feed.floor, stretches: [])
            guard let first = try Self.firstChange(after: -1, in: zone.number, db)?.position else { return outline }
            let after = request.after ?? first - 1
            let through = request.through ?? feed.position
            func ruler(unit: Int64) -> FeedRuler? {
                FeedRuler(after: after, through: through, parts: request.stretches, unit: unit, latest: feed.position)
            }
            guard let exact = ruler(unit: 1), let coarse = ruler(unit: 1 << ChangeTally.bucketBits) else { return outline }
            let kept = try ChangeTally.keptCounts(coarse, in: zone.number, db)
            let isExact = kept.values.reduce(0) { $0.addingSaturated($1) } <= Self.countedLimit
            let ruler = isExact ? exact : coarse
            let counts = try isExact ? Self.counts(exact, in: zone.number, db) : kept
            var last = try Self.lastChange(through: ruler.after, in: zone.number, db)
            outline.stretches = try (0..<ruler.count).map { index in
                let (after, through) = ruler.part(index)
                let count = counts[index] ?? 0
                let began = count == 0 ? nil : try Self.firstChange(after: after, in: zone.number, db)?.moment
                let token = codec.token(after: last, of: feed)
                if count > 0 { last = try Self.lastChange(through: through, in: zone.number, db) }
                return FeedOutline.Stretch(after: after, through: through, changes: count, began: began, token: token)
            }
            return outline
        }
    }

    /// The first change after a position.
    private static func firstChange(after position: Int64, in zone: Int64, _ db: SQLConnection) throws -> (position: Int64, moment: Timestamp)? {
        try change(
            "SELECT id, modifiedAt FROM records WHERE id >= ? AND id < ? ORDER BY id LIMIT 1",
            [try StoredRow.id(zone: zone, position: position + 1), StoredRow.id(zone: zone + 1, position: 0)], db)
    }

    /// The last change up to and including a position.
    private static func lastChange(through position: Int64, in zone: Int64, _ db: SQLConnection) throws -> (position: Int64, moment: Timestamp)? {
        try change(
            "SELECT id, modifiedAt FROM records WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1",
            [try StoredRow.id(zone: zone, position: 0), StoredRow.id(zone: zone, position: position + 1)], db)
    }

    private static func change(_ sql: String, _ arguments: [(any Bindable)?], _ db: SQLConnection) throws -> (position: Int64, moment: Timestamp)? {
        try SQLRow.fetchOne(db, sql: sql, arguments).map { row in
            (StoredRow.position(ofID: try row.value("id", in: "records")), Timestamp(milliseconds: try row.value("modifiedAt", in: "records")))
        }
    }

    /// Number of changes in each part, counted from the records.
    private static func counts(_ ruler: FeedRuler, in zone: Int64, _ db: SQLConnection) throws -> [Int: Int] {
        let start = try StoredRow.id(zone: zone, position: ruler.after + 1)
        let rows = try SQLRow.fetchAll(
            db, sql: "SELECT (id - ?) / ? AS part, count(*) AS count FROM records WHERE id BETWEEN ? AND ? GROUP BY part",
            [start, ruler.width, start, try StoredRow.id(zone: zone, position: ruler.through)])
        return Dictionary(try rows.map { (try $0.value("part", in: "records"), try $0.value("count", in: "records")) }, uniquingKeysWith: +)
    }
}

extension ChangeTally {
    /// Number of changes in each part of a ruler whose unit is a bucket, from the stored counts.
    fileprivate static func keptCounts(_ ruler: FeedRuler, in zone: Int64, _ db: SQLConnection) throws -> [Int: Int] {
        let first = (ruler.after + 1) >> bucketBits
        let rows = try SQLRow.fetchAll(
            db,
            sql: "SELECT (bucket - ?) / ? AS part, sum(count) AS count FROM changeCounts WHERE zone = ? AND bucket BETWEEN ? AND ? GROUP BY part",
            [first, ruler.width >> bucketBits, zone, first, ruler.through >> bucketBits])
        return Dictionary(try rows.map { (try $0.value("part", in: "changeCounts"), try $0.value("count", in: "changeCounts")) }, uniquingKeysWith: +)
    }
}
