internal import RecordStore
internal import Records

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
