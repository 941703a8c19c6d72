internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func shares(in zoneID: ZoneID?, after: Int64?, limit: Int) async throws -> [ZoneShare] {
        try store.read { state in
            var wanted: Int64?
            if let zoneID {
                guard let zone = try view.zoneUnlessDefault(zoneID, in: state) else { return [] }
                wanted = zone.base ?? zone.number
            }
            let living = state.hierarchies.values.filter { $0.isLive && $0.hierarchy.number > after ?? 0 }.sorted {
                $0.hierarchy.number < $1.hierarchy.number
            }
            let shares = living.compactMap { row -> ZoneShare? in
                guard let zone = state.zones[row.hierarchy.zone], zone.end == nil, wanted ?? zone.number == zone.number
                else { return nil }
                let isSeen =
                    switch address.scope {
                    case .public: false
                    case .private: zone.owner == caller.userRecordName
                    case .shared: row.guests[caller.userRecordName] != nil
                    }
                guard isSeen, let holder = zone.rows[row.hierarchy.shareName], !holder.isDeleted else { return nil }
                return ZoneShare(holder.record)
            }
            return Array(shares.prefix(limit))
        }
    }

    func tree(of zoneID: ZoneID, limit: Int) async throws -> ZoneTree {
        try store.read { state in
            let rows =
                try view.zoneUnlessDefault(zoneID, in: state)?.rows.values.filter { !$0.isDeleted }.sorted {
                    $0.position < $1.position
                } ?? []
            let nodes = rows.prefix(limit).map(\.record).map {
                ZoneTree.Node(
                    recordName: $0.recordID.recordName, recordType: $0.recordType, parent: $0.parent,
                    hierarchy: $0.sharing?.hierarchy)
            }
            return ZoneTree(nodes: nodes, isComplete: nodes.count == rows.count)
        }
    }
}
