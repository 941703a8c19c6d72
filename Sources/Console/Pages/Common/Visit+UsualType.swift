package import JSON
package import RecordStore
package import Records

extension Visit {
    /// The zones that the tab Query searches.
    package var queryArea: QueryRequest.Area {
        switch place.zone {
        case .one(let zoneID): .zone(zoneID)
        case .all, .unspecified: place.address.scope == .public ? .zone(.default) : .allZones
        }
    }

    package var queriesSeveralZones: Bool { queryArea == .allZones && zones.count > 1 }

    /// The default type: the one with the most records, among the listable types if there are any.
    /// - Parameter counts: the ``recordCounts()``.
    package func usualType(_ counts: [Name: Int]?) -> RecordType? {
        let listable = types.filter(\.isListable)
        let candidates = listable.isEmpty ? types : listable
        guard let counts else { return candidates.first }
        return candidates.reversed().max { counts[$0.name] ?? 0 < counts[$1.name] ?? 0 }
    }

    /// The record counts by type in the zones of the query; `nil` if the engine does not count, or there are many zones.
    package func recordCounts() async -> [Name: Int]? {
        guard database.can(.countRecords) else { return nil }
        let asked: [ZoneID] = if case .zone(let zoneID) = queryArea { [zoneID] } else { zones.map(\.zoneID) }
        guard asked.count <= 100 else { return nil }
        var total: [Name: Int] = [:]
        for zoneID in asked {
            // Counts are optional, so the page omits them on errors. The zone may have been deleted.
            guard let counts = try? await counts(in: zoneID) else { return nil }
            total.merge(counts.records, uniquingKeysWith: +)
        }
        return total
    }
}
