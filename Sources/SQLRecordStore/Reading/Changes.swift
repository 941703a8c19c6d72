internal import RecordStore
internal import Records

extension SQLDatabase {
    /// Maximum number of rows examined for one page. If the requested types are rare, the page ends here, possibly
    /// empty, with `moreComing` set.
    private static let scanLimit = 10_000

    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        if address.scope == .public { throw ZoneRules.noFeed }
        return try await store.read { [view, store] db, _ in
            let codec = try store.codec
            let feed = try view.databaseFeed(db)
            let content = try request.since.map { try codec.content(of: $0, for: feed) { _ in false } }
            let plan = PullPlan(content, reverse: false, feed: feed)
            let wanted = try view.zoneNews(after: plan.after, db).filter { news in
                news.kind == .changed || request.includesGoneZones || news.position > plan.skipsDeletionsThrough
            }
            let page = wanted.prefix(request.limit)
            let changes = page.map { news in
                ZoneChange(
                    zoneID: news.zone.zoneID, kind: news.kind, timestamp: news.moment,
                    syncToken: news.kind == .changed ? codec.current(view.feed(of: news.zone)) : nil)
            }
            if page.count < wanted.count, let last = page.last {
                return DatabaseChangesPage(
                    changes: changes, syncToken: plan.token(at: last.position, moment: last.moment, from: codec),
                    moreComing: true)
            }
            return DatabaseChangesPage(changes: changes, syncToken: plan.finalToken(from: codec), moreComing: false)
        }
    }

    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        try ZoneChangeRules.check(request, in: address)
        return try await store.read { [view, store] db, catalog in
            let codec = try store.codec
            let zone = try view.zone(request.zoneID, db)
            let feed = view.feed(of: zone)
            let content = try request.since.map { token in
                try codec.content(of: token, for: feed) { number in
                    try Bool.fetchOne(
                        db,
                        sql: """
                            SELECT coalesce(b.owner, z.owner) = ? AND coalesce(b.name, z.name) = ?
                            FROM zones z LEFT JOIN zones b ON b.number = z.base WHERE z.number = ?
                            """,
                        [zone.owner, zone.zoneID.zoneName.string, number]) ?? false
                }
            }
            let plan = PullPlan(content, reverse: request.reverse, feed: feed)
            return try Self.page(request, of: zone, plan, codec, db, catalog)
        }
    }

    private static func page(
        _ request: ZoneChangesRequest, of zone: ZoneRow, _ plan: PullPlan, _ codec: TokenCodec, _ db: SQLConnection,
        _ catalog: SchemaCatalog
    ) throws -> ZoneChangesPage {
        var changes: [RecordChange] = []
        changes.reserveCapacity(min(request.limit.records, 512))
        var fill = PageFill(request.limit)
        var scanned = 0
        // The last change of the page; `nil` for the final page.
        var end: (position: Int64, moment: Timestamp)?
        var last: (position: Int64, moment: Timestamp)?
        try db.eachRow(
            "SELECT \(RowReader.columns) FROM records r WHERE r.id > ? AND r.id <= ? ORDER BY r.id \(plan.descending ? "DESC" : "ASC")",
            [
                try StoredRow.id(zone: zone.number, position: plan.after),
                StoredRow.id(zone: zone.number, position: max(plan.through, 0)),
            ],
            zone: zone.zoneID, catalog: catalog
        ) { row in
            let position = row.position
            let state = row.state
            let isSkipped = state.isDeleted && position <= plan.skipsDeletionsThrough
            let isWanted = try state.isDeleted || request.desiredRecordTypes?.contains(row.recordType) ?? true
            scanned += 1
            if isSkipped || !isWanted {
                guard scanned >= scanLimit else { return .next }
                end = (position, row.moment)
                return .stop
            }
            guard fill.admits(bytes: row.size) else {
                end = last
                return .stop
            }
            let record = try row.record(at: position)
            last = (position, record.modified.timestamp)
            changes.append(
                RecordChange(
                    kind: plan.kind(isDeleted: state.isDeleted, born: row.born, isRenewed: state.isRenewed),
                    position: position, record: record))
            return .next
        }
        if request.desiredKeys != nil {
            for index in changes.indices {
                changes[index].record = try changes[index].record?.keeping(request.desiredKeys)
            }
        }
        guard let end else {
            return ZoneChangesPage(
                zoneID: zone.zoneID, changes: changes, syncToken: plan.finalToken(from: codec), moreComing: false)
        }
        return ZoneChangesPage(
            zoneID: zone.zoneID, changes: changes,
            syncToken: plan.token(at: end.position, moment: end.moment, from: codec), moreComing: true)
    }

    func commits() -> AsyncStream<Void> { store.commits() }

    func currentToken() async throws -> ChangeToken {
        if address.scope == .public { throw ZoneRules.noFeed }
        return try await store.read { [view, store] db, _ in try store.codec.current(view.databaseFeed(db)) }
    }

    func explain(_ token: ChangeToken) async throws -> TokenExplanation {
        try await store.read { [view, store] db, _ in
            let codec = try store.codec
            guard let opened = codec.open(token) else { throw TokenCodec.foreign }
            let content = opened.content
            let user = try store.userName(of: content.databaseNumber, in: db)
            let own = (scope: view.address.scope, number: view.databaseNumber)
            switch content.subject {
            case .keyValues: throw KeyValueRules.otherToken
            case .database:
                return TokenExplanation(
                    opened, about: .database, user: user, view: own, feed: try view.databaseFeed(db), codec: codec,
                    changesAfter: try view.zoneNews(after: content.position, db).count)
            case .zone(let number):
                let zone = try ZoneRow.fetchOne(db, ZoneRow.sql("WHERE z.number = ?"), [number])
                return TokenExplanation(
                    opened, about: .zone(zone?.zoneID), user: user, view: own,
                    feed: try zone.flatMap { try view.isVisible($0, db) ? view.feed(of: $0) : nil }, codec: codec,
                    changesAfter: try ChangeTally.changes(after: content.position, in: number, db))
            }
        }
    }

    func expireTokens() async throws { try await store.expireTokens() }
}

// MARK: - Outline of a feed

extension SQLDatabase {
    /// Maximum number of changes counted individually. Above it the stored counts are used, whose buckets are wider.
    private static let countedLimit = 8192

    func outline(_ request: FeedOutlineRequest) async throws -> FeedOutline {
        try ZoneChangeRules.check(ZoneChangesRequest(request.zoneID), in: address)
        return try await store.readLong(for: .scan) { [view, store] db, _ in
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
            guard let exact = ruler(unit: 1), let coarse = ruler(unit: 1 << ChangeTally.bucketBits) else {
                return outline
            }
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
    private static func firstChange(after position: Int64, in zone: Int64, _ db: SQLConnection) throws -> (
        position: Int64, moment: Timestamp
    )? {
        try change(
            "SELECT id, modifiedAt FROM records WHERE id >= ? AND id < ? ORDER BY id LIMIT 1",
            [try StoredRow.id(zone: zone, position: position + 1), StoredRow.id(zone: zone + 1, position: 0)], db)
    }

    /// The last change up to and including a position.
    private static func lastChange(through position: Int64, in zone: Int64, _ db: SQLConnection) throws -> (
        position: Int64, moment: Timestamp
    )? {
        try change(
            "SELECT id, modifiedAt FROM records WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1",
            [try StoredRow.id(zone: zone, position: 0), StoredRow.id(zone: zone, position: position + 1)], db)
    }

    private static func change(_ sql: String, _ arguments: [(any Bindable)?], _ db: SQLConnection) throws -> (
        position: Int64, moment: Timestamp
    )? {
        try SQLRow.fetchOne(db, sql: sql, arguments).map { row in
            (
                StoredRow.position(ofID: try row.value("id", in: "records")),
                Timestamp(milliseconds: try row.value("modifiedAt", in: "records"))
            )
        }
    }

    /// Number of changes in each part, counted from the records.
    private static func counts(_ ruler: FeedRuler, in zone: Int64, _ db: SQLConnection) throws -> [Int: Int] {
        let start = try StoredRow.id(zone: zone, position: ruler.after + 1)
        let rows = try SQLRow.fetchAll(
            db,
            sql: "SELECT (id - ?) / ? AS part, count(*) AS count FROM records WHERE id BETWEEN ? AND ? GROUP BY part",
            [start, ruler.width, start, try StoredRow.id(zone: zone, position: ruler.through)])
        return Dictionary(
            try rows.map { (try $0.value("part", in: "records"), try $0.value("count", in: "records")) },
            uniquingKeysWith: +)
    }
}

extension ChangeTally {
    /// Number of changes in each part of a ruler whose unit is a bucket, from the stored counts.
    fileprivate static func keptCounts(_ ruler: FeedRuler, in zone: Int64, _ db: SQLConnection) throws -> [Int: Int] {
        let first = (ruler.after + 1) >> bucketBits
        let rows = try SQLRow.fetchAll(
            db,
            sql:
                "SELECT (bucket - ?) / ? AS part, sum(count) AS count FROM changeCounts WHERE zone = ? AND bucket BETWEEN ? AND ? GROUP BY part",
            [first, ruler.width >> bucketBits, zone, first, ruler.through >> bucketBits])
        return Dictionary(
            try rows.map { (try $0.value("part", in: "changeCounts"), try $0.value("count", in: "changeCounts")) },
            uniquingKeysWith: +)
    }
}
