internal import Console
internal import JSON
internal import Records

/// A query in words, as in the form of the tab Query: `Message where room is general, sorted by sentAt newest first`.
enum QuerySentence {
    /// The maximum length of a value, in characters.
    private static let valueLimit = 60

    /// - Parameters:
    ///   - zone: the zone in words, such as `Chats` or `all zones`; `nil` to leave it out.
    ///   - title: the title of the record of a reference, if it is known.
    static func text(of query: Query, type: RecordType?, in zone: String? = nil, title: (Reference) -> String? = { _ in nil }) -> String {
        var parts = [query.recordType.string + (zone.map { " in \($0)" } ?? "")]
        if !query.filters.isEmpty { parts.append("where " + query.filters.map { text(of: $0, type: type, title: title) }.joined(separator: " and ")) }
        let sorts = query.sorts.map { text(of: $0, type: type) }
        return parts.joined(separator: " ") + (sorts.isEmpty ? "" : ", sorted by " + sorts.joined(separator: ", then by "))
    }

    private static func text(of filter: Query.Filter, type: RecordType?, title: (Reference) -> String?) -> String {
        let field = type?.queryField(named: filter.fieldName)
        let words = field?.comparators.first { $0.comparator == filter.comparator }?.words ?? filter.comparator.rawValue
        let value = filter.value == .cleared ? "no value" : filter.reference.flatMap(title) ?? QueryForm.text(of: filter.value, as: field)
        let shown = value.count > valueLimit ? value.prefix(valueLimit) + "…" : value[...]
        if filter.comparator == .near {
            return "\(filter.fieldName) is within \(filter.distance.map { "\(Digits.fixed($0, 0)) metres" } ?? "any distance") of \(shown)"
        }
        return "\(filter.fieldName) \(words) \(shown)"
    }

    private static func text(of sort: Query.Sort, type: RecordType?) -> String {
        let words = type?.queryField(named: sort.fieldName)?.orderWords ?? ("ascending", "descending")
        if let location = sort.relativeLocation {
            return "distance of \(sort.fieldName) from \(location.latitude), \(location.longitude), \(sort.ascending ? words.0 : words.1)"
        }
        return "\(sort.fieldName) \(sort.ascending ? words.0 : words.1)"
    }
}

extension QueryPlan {
    /// The titles of the records that the filters refer to. Those of several zones have none: a reference does not say its zone.
    func titles(_ visit: Visit) async throws -> (Reference) -> String? {
        guard let zoneID = visit.queriedZone else { return { _ in nil } }
        let titles = try await ReferencedTitles(query.filters.compactMap { $0.reference?.target(from: zoneID) }, known: [], visit)
        return { titles[$0, from: zoneID] }
    }
}

extension Visit {
    /// The zone whose records a query returns; `nil` for several.
    var queriedZone: ZoneID? { place.zoneID ?? (queriesSeveralZones ? nil : .default) }
}

extension Query.Filter {
    /// The reference that values are compared with; `nil` for other values.
    var reference: Reference? {
        switch value {
        case .tagged(.reference(let reference), _, _), .untagged(.reference(let reference), _): reference
        default: nil
        }
    }
}
