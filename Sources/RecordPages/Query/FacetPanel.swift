internal import Console
internal import RecordStore
internal import Records

/// The values of a field in the results of a query, the most frequent first. Each links to a narrower query.
struct FacetPanel: ViewModel {
    struct Value: ViewModel {
        let text: String
        /// The title of the record that a reference leads to; `nil` for other values.
        let title: String?
        let isMissing: Bool
        let count: String
        /// The share of the examined records, in percent.
        let percent: Int
        /// The query with a filter for this value; `nil` if no such filter exists.
        let href: String?
        let isChosen: Bool
    }

    /// The maximum number of records to examine.
    static let recordLimit = 10_000
    /// The maximum number of values to show.
    static let valueLimit = 24
    private static let pageSize = 1000
    /// The maximum length of a shown value, in characters.
    private static let textLimit = 60

    let field: String
    let values: [Value]
    /// `7 values in 1,940 records`, with a note if only some records were examined.
    let summary: String
    /// A note about values that are not shown.
    let more: String?
    /// The link to the query without the panel.
    let without: String

    /// - Parameter first: the answer to the request, including the field.
    init(
        _ field: QueryField, of request: QueryRequest, after first: QueryPage, form: QueryForm, type: RecordType,
        visit: Visit
    ) async throws {
        var tally = FacetTally(field)
        let isAnew = first.continuationMarker != nil && request.isQuickerInNoOrder
        if !isAnew { try tally.add(first.records) }
        var marker = isAnew ? nil : first.continuationMarker
        var hasMore = isAnew || marker != nil
        var request = isAnew ? request.inNoOrder : request
        request.desiredKeys = field.isSystem ? [] : [field.name]
        while hasMore, tally.records < Self.recordLimit {
            request.continuationMarker = marker
            request.limit = PageLimit(records: min(Self.pageSize, Self.recordLimit - tally.records), bytes: 4 << 20)
            let page = try await visit.database.query(request)
            try tally.add(page.records)
            marker = page.continuationMarker
            hasMore = marker != nil
            try Task.checkCancellation()
        }
        self.field = field.name.string
        let sorted = tally.sorted
        let shown = sorted.prefix(Self.valueLimit)
        let title = try await Self.titles(
            of: shown.compactMap { $0.text.map { FilterValueReader.alone($0, of: field) } }, field, visit)
        values = shown.map { entry in
            Value(
                entry.text, title: entry.text.map { FilterValueReader.alone($0, of: field) }.flatMap(title),
                count: entry.count, of: tally.records, field: field, form: form, type: type, visit: visit)
        }
        let left = sorted.count - Self.valueLimit
        more = left > 0 ? "and \(Digits.count(left, "more value", plural: "more values"))" : nil
        let distinct = Digits.count(sorted.count, "value")
        summary =
            marker == nil
            ? "\(distinct) in \(Digits.count(tally.records, "record"))"
            : "\(distinct) in \(isAnew ? "" : "the first ")\(Digits.grouped(tally.records)) records; there are more records"
        without = visit.place.link("query", form.changed { $0.facet = nil }.parameters)
    }
}

extension FacetPanel {
    /// The titles of the records that references lead to, by their names. Those of several zones have none.
    private static func titles(of names: [String], _ field: QueryField, _ visit: Visit) async throws -> (String) ->
        String?
    {
        guard field.definition.type.valueType == .reference, let zoneID = visit.queriedZone else { return { _ in nil } }
        func recordID(_ name: String) -> RecordID { RecordID(recordName: Name(name), zoneID: zoneID) }
        let titles = try await ReferencedTitles(names.map(recordID), known: [], visit)
        return { titles[recordID($0)] }
    }
}

extension FacetPanel.Value {
    /// - Parameter text: the value as filter input; `nil` for no value.
    fileprivate init(
        _ text: String?, title: String?, count: Int, of records: Int, field: QueryField, form: QueryForm,
        type: RecordType, visit: Visit
    ) {
        self.title = title
        isMissing = text == nil
        let value = text.map { FilterValueReader.alone($0, of: field) }
        let shown = value ?? "no value"
        self.text =
            value?.isEmpty == true
            ? "empty text" : shown.count > FacetPanel.shownLength ? shown.prefix(FacetPanel.shownLength) + "…" : shown
        self.count = Digits.grouped(count)
        percent = records == 0 ? 0 : min(100, Int((Double(count) / Double(records) * 100).rounded()))
        let comparator: Comparator = field.definition.type.isList ? .listContains : .equals
        guard let text, field.allows(comparator) else {
            (href, isChosen) = (nil, false)
            return
        }
        isChosen = form.filters.contains {
            $0.field == field.name && $0.comparator == comparator
                && Name(FilterValueReader.alone($0.value, of: field)) == Name(shown)
        }
        let narrowed = form.narrowed(
            by: QueryForm.Filter(field: field.name, comparator: comparator, value: text, distance: ""))
        href = isChosen ? nil : visit.place.link("query", narrowed.parameters)
    }
}

extension FacetPanel {
    fileprivate static var shownLength: Int { textLimit }
}

/// Counts the values of a field. Texts are distinguished by their bytes, as in queries.
private struct FacetTally {
    private let field: QueryField
    private var counts: [Name?: Int] = [:]
    private(set) var records = 0

    init(_ field: QueryField) {
        self.field = field
    }

    mutating func add(_ records: [StoredRecord]) throws {
        for record in records {
            self.records += 1
            let values = Set(
                (try field.value(of: record)?.elements ?? []).map {
                    Name(QueryForm.text(of: FieldInput($0), as: field))
                })
            if values.isEmpty { counts[.none, default: 0] += 1 }
            for value in values { counts[.some(value), default: 0] += 1 }
        }
    }

    /// The most frequent values first. Among equal counts, the entry without a value is last.
    var sorted: [(text: String?, count: Int)] {
        counts.sorted { left, right in
            if left.value != right.value { return left.value > right.value }
            guard let leftName = left.key, let rightName = right.key else { return left.key != nil }
            return leftName < rightName
        }.map { ($0.key?.string, $0.value) }
    }
}

extension QueryField {
    /// True if counting its values is useful, and an index allows a filter for each value.
    var canBeCounted: Bool {
        guard definition.indexes.contains(.queryable), !definition.type.isEncrypted else { return false }
        guard case .system(let field) = key else {
            return definition.type.valueType != .location && definition.type.valueType != .bytes
        }
        return field == .createdBy || field == .modifiedBy || field == .parent
    }
}
