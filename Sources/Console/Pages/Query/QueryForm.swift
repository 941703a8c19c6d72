internal import JSON
internal import Records

/// A query as the URL and the form say it: `type=Message&filter1=room&is1=EQUALS&value1=general&sort1=sentAt&order1=descending`.
struct QueryForm: Sendable {
    struct Filter: Sendable {
        var field: Name
        /// `nil` while none is chosen that fits.
        var comparator: Comparator?
        var value: String
        /// Metres, for NEAR.
        var distance: String

        /// Whether something is still to be typed; such a row is left out of the query.
        var isUnfinished: Bool { value.isEmpty }
    }

    struct Sort: Sendable {
        var field: Name
        var isDescending: Bool
        /// Where distances are measured from, for a location field.
        var origin: String
    }

    static let limits = [10, 25, 50, 100, 200]
    /// Rows of either kind; more in the URL are ignored.
    static let rowLimit = 20
    /// Pages that can be gone back to; before them there is the first page.
    static let markerLimit = 20

    var type: Name?
    var filters: [Filter]
    var sorts: [Sort]
    /// The fields to return; empty for all.
    var keys: [Name]
    var returnsSystemFieldsOnly: Bool
    /// The field whose values are counted, if any.
    var facet: Name?
    var limit: Int
    /// The continuation markers of the pages from the second to the current one, or the last of them.
    var markers: [String]
    /// The number of the page, counted from 1.
    var page: Int

    init(_ fields: FormFields) {
        let type = fields.text("type").map { Name($0) }
        self.type = type
        filters = (1...Self.rowLimit).compactMap { number in
            fields.text("filter\(number)").map { field in
                Filter(
                    field: Name(field), comparator: fields["is\(number)"].flatMap { Comparator(rawValue: $0) }, value: fields["value\(number)"] ?? "",
                    distance: fields["within\(number)"] ?? "")
            }
        }
        sorts = (1...Self.rowLimit).compactMap { number in
            fields.text("sort\(number)").map { field in
                Sort(field: Name(field), isDescending: fields["order\(number)"] == "descending", origin: fields["from\(number)"] ?? "")
            }
        }
        keys = fields.all("key").filter { !$0.isEmpty }.map { Name($0) }
        returnsSystemFieldsOnly = fields["return"] == "system"
        facet = fields.text("facet").map { Name($0) }
        limit = fields["limit"].flatMap { Int($0) }.map { min(max($0, 1), 200) } ?? 50
        markers = Array(fields.all("marker").filter { !$0.isEmpty }.suffix(Self.markerLimit))
        page = max(fields["page"].flatMap { Int($0) } ?? 1, markers.count + 1)
        // The form says which type its rows were made for: they stay behind when another type is picked.
        if let madeFor = fields.text("of"), Name(madeFor) != type {
            filters = []
            sorts = []
            keys = []
            facet = nil
        }
    }

    /// The fields that the engine is asked for; `nil` for all.
    var desiredKeys: Set<Name>? {
        returnsSystemFieldsOnly ? [] : keys.isEmpty ? nil : Set(keys)
    }

    /// The query string that means this form.
    var parameters: [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = type.map { [("type", $0.string)] } ?? []
        for (index, filter) in filters.enumerated() {
            parameters.append(("filter\(index + 1)", filter.field.string))
            if let comparator = filter.comparator { parameters.append(("is\(index + 1)", comparator.rawValue)) }
            parameters.append(("value\(index + 1)", filter.value))
            if !filter.distance.isEmpty { parameters.append(("within\(index + 1)", filter.distance)) }
        }
        for (index, sort) in sorts.enumerated() {
            parameters.append(("sort\(index + 1)", sort.field.string))
            if sort.isDescending { parameters.append(("order\(index + 1)", "descending")) }
            if !sort.origin.isEmpty { parameters.append(("from\(index + 1)", sort.origin)) }
        }
        parameters += keys.map { ("key", $0.string) }
        if returnsSystemFieldsOnly { parameters.append(("return", "system")) }
        if let facet { parameters.append(("facet", facet.string)) }
        if limit != 50 { parameters.append(("limit", String(limit))) }
        parameters += markers.map { ("marker", $0) }
        if page > markers.count + 1 { parameters.append(("page", String(page))) }
        return parameters
    }

    /// A row that kept the comparison of another field gets one of its own.
    mutating func chooseFittingComparators(for type: RecordType) {
        for index in filters.indices {
            guard let field = type.queryField(named: filters[index].field) else { continue }
            let fits = field.comparators.contains { $0.comparator == filters[index].comparator }
            if !fits { filters[index].comparator = field.usualComparator }
        }
    }

    /// The same form changed, from its first page.
    func changed(_ change: (inout QueryForm) -> Void) -> QueryForm {
        var form = self
        form.markers = []
        form.page = 1
        change(&form)
        return form
    }

    func nextPage(_ marker: String) -> QueryForm {
        var form = self
        form.markers = Array((markers + [marker]).suffix(Self.markerLimit))
        form.page = page + 1
        return form
    }

    /// - Returns: `nil` on the first page, and where the way back is forgotten.
    var previousPage: QueryForm? {
        if markers.isEmpty || markers.count == 1 && page > 2 { return nil }
        var form = self
        form.markers.removeLast()
        form.page = page - 1
        return form
    }
}
