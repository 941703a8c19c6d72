internal import Console
internal import RecordStore
internal import Records

/// A query in words, as in the form of the tab Query: `Message where room is general, sorted by sentAt newest first`.
enum QuerySentence {
    /// The maximum length of a value, in characters.
    private static let valueLimit = 60

    /// - Parameters:
    ///   - zone: the zone in words, such as `Chats` or `all zones`; `nil` to leave it out.
    ///   - title: the title of the record of a reference, if it is known.
    static func text(
        of query: Query, type: RecordType?, in zone: String? = nil, title: (Reference) -> String? = { _ in nil }
    ) -> String {
        var parts = [query.recordType.string + (zone.map { " in \($0)" } ?? "")]
        if !query.filters.isEmpty {
            parts.append(
                "where " + query.filters.map { text(of: $0, type: type, title: title) }.joined(separator: " and "))
        }
        let sorts = query.sorts.map { text(of: $0, type: type) }
        return parts.joined(separator: " ")
            + (sorts.isEmpty ? "" : ", sorted by " + sorts.joined(separator: ", then by "))
    }

    private static func text(of filter: Query.Filter, type: RecordType?, title: (Reference) -> String?) -> String {
        let (comparison, value) = parts(of: filter, type: type, title: title)
        return "\(comparison) \(value)"
    }

    /// The two parts of a filter, such as `room is` and `General`.
    static func parts(of filter: Query.Filter, type: RecordType?, title: (Reference) -> String?) -> (String, String) {
        let field = type?.queryField(named: filter.fieldName)
        let words = field?.comparators.first { $0.comparator == filter.comparator }?.words ?? filter.comparator.rawValue
        let value =
            filter.value == .cleared
            ? "no value" : filter.reference.flatMap(title) ?? QueryForm.text(of: filter.value, as: field)
        let shown = value.count > valueLimit ? value.prefix(valueLimit) + "…" : value[...]
        if filter.comparator == .near {
            let distance = filter.distance.map { "\(Digits.fixed($0, 0)) metres" } ?? "any distance"
            return ("\(filter.fieldName) is within \(distance) of", String(shown))
        }
        return ("\(filter.fieldName) \(words)", String(shown))
    }

    static func text(of sort: Query.Sort, type: RecordType?) -> String {
        let words = type?.queryField(named: sort.fieldName)?.orderWords ?? ("ascending", "descending")
        if let location = sort.relativeLocation {
            return
                "distance of \(sort.fieldName) from \(location.latitude), \(location.longitude), \(sort.ascending ? words.0 : words.1)"
        }
        return "\(sort.fieldName) \(sort.ascending ? words.0 : words.1)"
    }
}

extension CheckedQuery {
    /// The titles of the records that the filters refer to. Those of several zones have none: a reference does not say
    /// its zone.
    func titles(_ visit: Visit) async throws -> (Reference) -> String? {
        guard let zoneID = visit.queriedZone else { return { _ in nil } }
        let titles = try await ReferencedTitles(
            query.filters.compactMap { $0.reference?.target(from: zoneID) }, known: [], visit)
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

// MARK: - Number of matches

/// The number of records that match a query, counted page by page. Only the count is kept.
struct MatchCount {
    /// The maximum number of records to count beyond the first page.
    static let limit = 100_000
    private static let pageSize = 1000

    /// Records found.
    let count: Int
    /// True if there are more records than were counted.
    let isCutOff: Bool

    /// `1,940`, or `100,050 or more`.
    var text: String { isCutOff ? "\(Digits.grouped(count)) or more" : Digits.grouped(count) }

    /// - Parameter first: the answer to the request.
    init(_ request: QueryRequest, after first: QueryPage, in database: any RecordDatabase) async throws {
        guard first.continuationMarker != nil else {
            (count, isCutOff) = (first.records.count, false)
            return
        }
        let limit = Self.limit + first.records.count
        let isAnew = request.isQuickerInNoOrder
        var request = isAnew ? request.inNoOrder : request
        request.desiredKeys = []
        var count = isAnew ? 0 : first.records.count
        var marker = isAnew ? nil : first.continuationMarker
        repeat {
            request.continuationMarker = marker
            request.limit = PageLimit(records: min(Self.pageSize, limit - count))
            let page = try await database.query(request)
            count += page.records.count
            marker = page.continuationMarker
            try Task.checkCancellation()
        } while marker != nil && count < limit
        self.count = count
        isCutOff = marker != nil
    }
}

extension QueryRequest {
    /// True if a full scan is faster without the sort order. A sorted page may have to find and
    /// sort all matches again, but in name order each page continues from the previous one.
    var isQuickerInNoOrder: Bool { !query.sorts.isEmpty && !query.filters.isEmpty }

    /// The same request from the beginning, in name order.
    var inNoOrder: QueryRequest {
        var request = self
        request.query.sorts = []
        request.continuationMarker = nil
        return request
    }
}
