internal import Records
internal import RecordStore

extension InMemoryDatabase {
    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        try store.read { state in
            if address.scope == .public { throw ZoneRules.noFeed }
            let all = view.zoneChanges(in: state, codec: store.codec)
            let feed = databaseFeed(all, in: state)
            let content = try request.since.map { try store.codec.content(of: $0, for: feed) { _ in false } }
            let plan = PullPlan(content, reverse: false, feed: feed)
            let wanted = all.filter { item in
                let isNews = item.position > plan.after
                let isShown =
                    item.change.kind == .changed || request.includesGoneZones
                    || item.position > plan.skipsDeletionsThrough
                return isNews && isShown
            }
            let page = wanted.prefix(request.limit)
            if page.count < wanted.count, let last = page.last {
                return DatabaseChangesPage(
                    changes: page.map(\.change),
                    syncToken: plan.token(at: last.position, moment: last.moment, from: store.codec), moreComing: true)
            }
            return DatabaseChangesPage(
                changes: page.map(\.change), syncToken: plan.finalToken(from: store.codec), moreComing: false)
        }
    }

    private func databaseFeed(
        _ changes: [(change: ZoneChange, position: Int64, moment: Timestamp)], in state: InMemoryState
    ) -> FeedState {
        FeedState(
            scope: address.scope, databaseNumber: view.databaseNumber(in: state), subject: .database,
            position: changes.last?.position ?? 0,
            moment: changes.last?.moment ?? Timestamp(milliseconds: 0))
    }

    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        try store.read { state in
            try ZoneChangeRules.check(request, in: address)
            let zone = try view.zone(request.zoneID, in: state)
            let feed = view.feed(of: zone, in: state)
            let content = try request.since.map { token in
                try store.codec.content(of: token, for: feed) {
                    state.zones[$0].map { $0.name == zone.name && $0.owner == zone.owner } ?? false
                }
            }
            let plan = PullPlan(content, reverse: request.reverse, feed: feed)
            let rows = zone.rows.values.filter { row in
                row.position > plan.after && row.position <= plan.through
                    && !(row.isDeleted && row.position <= plan.skipsDeletionsThrough)
                    && (row.isDeleted || request.desiredRecordTypes.map { $0.contains(row.record.recordType) } ?? true)
            }.sorted { ($0.position < $1.position) != plan.descending }
            var fill = PageFill(request.limit)
            let page = rows.prefix { fill.admits($0.record) }
            let changes = try page.map { row in
                RecordChange(
                    kind: plan.kind(isDeleted: row.isDeleted, born: row.born, isRenewed: row.isRenewed),
                    position: row.position,
                    record: try row.record.keeping(request.desiredKeys))
            }
            if page.count < rows.count, let last = page.last {
                let token = plan.token(at: last.position, moment: last.record.modified.timestamp, from: store.codec)
                return ZoneChangesPage(
                    zoneID: view.zoneID(of: zone), changes: changes, syncToken: token, moreComing: true)
            }
            return ZoneChangesPage(
                zoneID: view.zoneID(of: zone), changes: changes, syncToken: plan.finalToken(from: store.codec),
                moreComing: false)
        }
    }

    func commits() -> AsyncStream<Void> { store.signals.listen() }

    func currentToken() async throws -> ChangeToken {
        try store.read { state in
            if address.scope == .public { throw ZoneRules.noFeed }
            return store.codec.current(databaseFeed(view.zoneChanges(in: state, codec: store.codec), in: state))
        }
    }

    func explain(_ token: ChangeToken) async throws -> TokenExplanation {
        try store.read { state in
            guard let opened = store.codec.open(token) else { throw TokenCodec.foreign }
            let content = opened.content
            let user = state.users.first { $0.value == content.databaseNumber }?.key
            switch content.subject {
            case .keyValues: throw KeyValueRules.otherToken
            case .database:
                let all = view.zoneChanges(in: state, codec: store.codec)
                return TokenExplanation(
                    opened, about: .database, user: user, view: (address.scope, view.databaseNumber(in: state)),
                    feed: databaseFeed(all, in: state), codec: store.codec,
                    changesAfter: all.count { $0.position > content.position })
            case .zone(let number):
                let zone = state.zones[number]
                return TokenExplanation(
                    opened, about: .zone(zone.map { view.zoneID(of: $0) }), user: user,
                    view: (address.scope, view.databaseNumber(in: state)),
                    feed: zone.flatMap {
                        $0.end == nil && view.isVisible($0, in: state) ? view.feed(of: $0, in: state) : nil
                    }, codec: store.codec,
                    changesAfter: zone?.rows.values.count { $0.position > content.position } ?? 0)
            }
        }
    }

    func expireTokens() async throws { store.expireTokens() }
}

extension InMemoryDatabase {
    func list(_ request: RecordListRequest) async throws -> RecordListPage {
        try store.read { state in
            let rows = try view.zoneUnlessDefault(request.zoneID, in: state)?.rows.values.map { $0 } ?? []
            let wanted = rows.filter { !$0.isDeleted }.map(\.record)
                .filter { record in
                    request.recordTypes?.contains(record.recordType) ?? true
                        && request.after.map { $0 < record.recordID.recordName } ?? true
                }
                .sorted { $0.recordID.recordName < $1.recordID.recordName }
            var fill = PageFill(request.limit)
            let page = Array(wanted.prefix { fill.admits($0) })
            return RecordListPage(records: page, last: page.count < wanted.count ? page.last?.recordID.recordName : nil)
        }
    }
}

extension InMemoryDatabase {
    func outline(_ request: FeedOutlineRequest) async throws -> FeedOutline {
        try store.read { state in
            try ZoneChangeRules.check(ZoneChangesRequest(request.zoneID), in: address)
            let zone = try view.zone(request.zoneID, in: state)
            let feed = view.feed(of: zone, in: state)
            let rows = zone.rows.values.sorted { $0.position < $1.position }
            var outline = FeedOutline(position: feed.position, floor: feed.floor, stretches: [])
            guard let first = rows.first,
                let ruler = FeedRuler(
                    after: request.after ?? first.position - 1, through: request.through ?? feed.position,
                    parts: request.stretches, latest: feed.position)
            else { return outline }
            let codec = store.codec
            var rest = rows.drop { $0.position <= ruler.after }
            outline.stretches = (0..<ruler.count).map { index in
                let (after, through) = ruler.part(index)
                let inside = rest.prefix { $0.position <= through }
                let before = rest.startIndex > rows.startIndex ? rows[rest.startIndex - 1] : nil
                rest = rest[inside.endIndex...]
                return FeedOutline.Stretch(
                    after: after, through: through, changes: inside.count,
                    began: inside.first?.record.modified.timestamp,
                    token: codec.token(after: before.map { ($0.position, $0.record.modified.timestamp) }, of: feed))
            }
            return outline
        }
    }
}

extension InMemoryDatabase {
    func position(of recordID: RecordID) async throws -> RecordPosition? {
        try store.read { state in
            guard let zone = try zoneUnlessDefault(recordID.zoneID, in: state),
                let row = zone.rows[recordID.recordName], !row.isDeleted
            else { return nil }
            return RecordPosition(latest: row.position, born: row.born)
        }
    }
}
