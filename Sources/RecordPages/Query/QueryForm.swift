internal import Console
internal import JSON
internal import Records

/// A query in the format of the URL and the form: `type=Message&filter1=room&is1=EQUALS&value1=general&sort1=sentAt&order1=descending`.
package struct QueryForm: Sendable {
    struct Filter: Sendable {
        var field: Name
        /// `nil` if no fitting comparator is chosen.
        var comparator: Comparator?
        /// The input: see ``FilterValueReader``.
        var value: String
        /// In metres, for NEAR.
        var distance: String

        /// True if the row has no value yet. The query omits such rows.
        var isUnfinished: Bool { value.isEmpty }

        /// - Parameter value: the input, in the format of ``FilterValueReader``.
        init(field: Name, comparator: Comparator?, value: String, distance: String = "") {
            (self.field, self.comparator, self.value, self.distance) = (field, comparator, value, distance)
        }

        /// A comparison with a single text or record name, whatever it contains.
        init(_ field: Name, _ comparator: Comparator, exactly text: String) {
            self.init(field: field, comparator: comparator, value: QueryForm.aloneText(text))
        }
    }

    struct Sort: Sendable {
        var field: Name
        var isDescending: Bool
        /// The location from which to measure distances, for a location field.
        var origin: String
    }

    static let limits = [10, 25, 50, 100, 200]
    /// The maximum number of filter rows, and of sort rows. Further rows in the URL are ignored.
    static let rowLimit = 20
    /// The number of pages that the user can go back through. Before them, only the first page is available.
    static let markerLimit = 20
    /// The greatest number of a page.
    private static let lastPage = 1_000_000_000

    var type: Name?
    var filters: [Filter]
    var sorts: [Sort]
    /// The fields to return; empty for all.
    var keys: [Name]
    var returnsSystemFieldsOnly: Bool
    /// True to show the columns beyond ``ResultTable/columnLimit`` too.
    var showsAllColumns: Bool
    /// The field whose values the page counts; `nil` for none.
    var facet: Name?
    /// The field whose locations the page draws; `nil` for none.
    var map: Name?
    var limit: Int
    /// The continuation markers of the second page to the current one, limited to the last ones.
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
        showsAllColumns = fields["columns"] == "all"
        facet = fields.text("facet").map { Name($0) }
        map = fields.text("map").map { Name($0) }
        limit = fields.number("limit", in: 1...200) ?? 50
        markers = Array(fields.all("marker").filter { !$0.isEmpty }.suffix(Self.markerLimit))
        page = fields.number("page", in: (markers.count + 1)...Self.lastPage) ?? markers.count + 1
        // The form names the type of its rows. They are dropped when the user picks another type.
        if let madeFor = fields.text("of"), Name(madeFor) != type {
            filters = []
            sorts = []
            keys = []
            showsAllColumns = false
            facet = nil
            map = nil
        }
    }

    /// The fields to request from the engine; `nil` for all.
    var desiredKeys: Set<Name>? {
        returnsSystemFieldsOnly ? [] : keys.isEmpty ? nil : Set(keys)
    }

    /// The URL parameters of this form.
    package var parameters: [(name: String, value: String)] {
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
        if showsAllColumns { parameters.append(("columns", "all")) }
        if let facet { parameters.append(("facet", facet.string)) }
        if let map { parameters.append(("map", map.string)) }
        if limit != 50 { parameters.append(("limit", String(limit))) }
        parameters += markers.map { ("marker", $0) }
        if page > markers.count + 1 { parameters.append(("page", String(page))) }
        return parameters
    }

    /// Replaces comparators that do not fit their field, after the user chose another field.
    mutating func chooseFittingComparators(for type: RecordType) {
        for index in filters.indices {
            guard let field = type.queryField(named: filters[index].field) else { continue }
            let fits = field.comparators.contains { $0.comparator == filters[index].comparator }
            if !fits { filters[index].comparator = field.usualComparator }
        }
    }

    /// A changed copy of the form, at the first page.
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

    /// - Returns: `nil` on the first page, and if the previous marker is no longer known.
    var previousPage: QueryForm? {
        if markers.isEmpty || markers.count == 1 && page > 2 { return nil }
        var form = self
        form.markers.removeLast()
        form.page = page - 1
        return form
    }
}
