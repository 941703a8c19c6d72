internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    /// Maximum number of rows examined for one page. A page of rare types ends here, possibly empty, with
    /// `moreComing` set.
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
                    changes: changes, syncToken: plan.token(at: last.position, moment: last.moment, from: codec), moreComing: true)
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
        _ request: ZoneChangesRequest, of zone: ZoneRow, _ plan: PullPlan, _ codec: TokenCodec, _ db: SQLConnection, _ catalog: SchemaCatalog
    ) throws -> ZoneChangesPage {
        var changes: [RecordChange] = []
        changes.reserveCapacity(min(request.limit.records, 512))
        var fill = PageFill(request.limit)
        var scanned = 0
        // The last change of a page that is not the final one.
        var end: (position: Int64, moment: Timestamp)?
        var last: (position: Int64, moment: Timestamp)?
        try db.eachRow(
            "SELECT \(RowReader.columns) FROM records r WHERE r.id > ? AND r.id <= ? ORDER BY r.id \(plan.descending ? "DESC" : "ASC")",
            [try StoredRow.id(zone: zone.number, position: plan.after), StoredRow.id(zone: zone.number, position: max(plan.through, 0))],
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
                RecordChange(kind: plan.kind(isDeleted: state.isDeleted, born: row.born, isRenewed: state.isRenewed), position: position, record: record))
            return .next
        }
        if request.desiredKeys != nil {
            for index in changes.indices { changes[index].record = try changes[index].record?.keeping(request.desiredKeys) }
        }
        guard let end else {
            return ZoneChangesPage(zoneID: zone.zoneID, changes: changes, syncToken: plan.finalToken(from: codec), moreComing: false)
        }
        return ZoneChangesPage(
            zoneID: zone.zoneID, changes: changes, syncToken: plan.token(at: end.position, moment: end.moment, from: codec), moreComing: true)
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
