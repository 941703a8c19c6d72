internal import Foundation
internal import RecordStore
package import Records

/// A query in the format of the URL and the form:
/// `type=Message&filter1=room&is1=EQUALS&value1=general&sort1=sentAt&order1=descending`.
package struct QueryForm: Sendable {
    package struct Filter: Sendable {
        package var field: Name
        /// `nil` if no fitting comparator is chosen.
        package var comparator: Records.Comparator?
        /// The input: see ``FilterValueReader``.
        package var value: String
        /// In metres, for NEAR.
        package var distance: String

        /// True if the row has no value yet. The query omits such rows.
        package var isUnfinished: Bool { value.isEmpty }

        /// - Parameter value: the input, in the format of ``FilterValueReader``.
        package init(field: Name, comparator: Records.Comparator?, value: String, distance: String = "") {
            (self.field, self.comparator, self.value, self.distance) = (field, comparator, value, distance)
        }

        /// A comparison with a single text or record name, whatever it contains.
        package init(_ field: Name, _ comparator: Records.Comparator, exactly text: String) {
            self.init(field: field, comparator: comparator, value: QueryForm.aloneText(text))
        }
    }

    package struct Sort: Sendable {
        package var field: Name
        package var isDescending: Bool
        /// The location from which to measure distances, for a location field.
        package var origin: String

        package init(field: Name, isDescending: Bool, origin: String) {
            (self.field, self.isDescending, self.origin) = (field, isDescending, origin)
        }
    }

    package static let limits = [10, 25, 50, 100, RequestObject.pageLimit]
    /// The maximum number of filter rows, and of sort rows. Further rows in the URL are ignored.
    package static let rowLimit = 20
    /// The number of pages that the user can go back through. Before them, only the first page is available.
    static let markerLimit = 20
    /// The greatest number of a page.
    private static let lastPage = 1_000_000_000

    package var type: Name?
    package var filters: [Filter]
    package var sorts: [Sort]
    package var keys: DesiredKeys
    /// True to show the columns beyond ``ResultTable/columnLimit`` too.
    package var showsAllColumns: Bool
    /// The field whose values the page counts; `nil` for none.
    package var facet: Name?
    /// The field whose locations the page draws; `nil` for none.
    package var map: Name?
    package var limit: Int
    /// The continuation markers of the second page to the current one, limited to the last ones.
    package var markers: [String]
    /// The number of the page, counted from 1.
    package var page: Int

    package init(_ fields: FormFields) {
        let type = fields.text("type").map { Name($0) }
        self.type = type
        filters = (1...Self.rowLimit).compactMap { number in
            fields.text("filter\(number)").map { field in
                Filter(
                    field: Name(field), comparator: fields["is\(number)"].flatMap { Comparator(rawValue: $0) },
                    value: fields["value\(number)"] ?? "",
                    distance: fields["within\(number)"] ?? "")
            }
        }
        sorts = (1...Self.rowLimit).compactMap { number in
            fields.text("sort\(number)").map { field in
                Sort(
                    field: Name(field), isDescending: fields["order\(number)"] == "descending",
                    origin: fields["from\(number)"] ?? "")
            }
        }
        keys = DesiredKeys(fields)
        showsAllColumns = fields["columns"] == "all"
        facet = fields.text("facet").map { Name($0) }
        map = fields.text("map").map { Name($0) }
        limit = fields.number("limit", in: 1...RequestObject.pageLimit) ?? 50
        markers = Array(fields.all("marker").filter { !$0.isEmpty }.suffix(Self.markerLimit))
        page = fields.number("page", in: (markers.count + 1)...Self.lastPage) ?? markers.count + 1
        // The form names the type of its rows. They are dropped when the user picks another type.
        if let madeFor = fields.text("of"), Name(madeFor) != type {
            filters = []
            sorts = []
            keys.fields = []
            showsAllColumns = false
            facet = nil
            map = nil
        }
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
        parameters += keys.parameters
        if showsAllColumns { parameters.append(("columns", "all")) }
        if let facet { parameters.append(("facet", facet.string)) }
        if let map { parameters.append(("map", map.string)) }
        if limit != 50 { parameters.append(("limit", String(limit))) }
        parameters += markers.map { ("marker", $0) }
        if page > markers.count + 1 { parameters.append(("page", String(page))) }
        return parameters
    }

    /// Replaces comparators that do not fit their field, after the user chose another field.
    package mutating func chooseFittingComparators(for type: RecordType) {
        for index in filters.indices {
            guard let field = type.queryField(named: filters[index].field) else { continue }
            let fits = field.comparators.contains { $0.comparator == filters[index].comparator }
            if !fits { filters[index].comparator = field.usualComparator }
        }
    }

    /// A changed copy of the form, at the first page.
    package func changed(_ change: (inout QueryForm) -> Void) -> QueryForm {
        var form = self
        form.markers = []
        form.page = 1
        change(&form)
        return form
    }

    package func nextPage(_ marker: String) -> QueryForm {
        var form = self
        form.markers = Array((markers + [marker]).suffix(Self.markerLimit))
        form.page = page + 1
        return form
    }

    /// - Returns: `nil` on the first page, and if the previous marker is no longer known.
    package var previousPage: QueryForm? {
        if markers.isEmpty || markers.count == 1 && page > 2 { return nil }
        var form = self
        form.markers.removeLast()
        form.page = page - 1
        return form
    }
}

// MARK: - Conversion from a query

extension QueryForm {
    /// The form of a query from a request.
    /// - Returns: `nil` if the form can't express the query: it has a limited number of rows, and no comparison with an
    ///   absent value.
    package init?(_ query: Query, of type: RecordType?) {
        guard query.filters.count <= Self.rowLimit, query.sorts.count <= Self.rowLimit,
            !query.filters.contains(where: { $0.value == .cleared })
        else { return nil }
        self.init(FormFields())
        self.type = query.recordType
        filters = query.filters.map { filter in
            Filter(
                field: filter.fieldName, comparator: filter.comparator,
                value: Self.text(of: filter.value, as: type?.queryField(named: filter.fieldName)),
                distance: filter.distance.map {
                    $0.rounded() == $0 && abs($0) < 1e15 ? String(Int64($0)) : $0.description
                } ?? "")
        }
        sorts = query.sorts.map { sort in
            Sort(
                field: sort.fieldName, isDescending: !sort.ascending, origin: sort.relativeLocation.map(Self.text) ?? ""
            )
        }
    }

    /// The input text of a value, in the format of ``FilterValueReader``.
    package static func text(of input: FieldInput, as field: QueryField?) -> String {
        let given: FieldValue
        switch input {
        case .cleared: return ""
        case .tagged(let value, _, _): given = value
        case .untagged(let value, _):
            given = field.flatMap { input.value(declared: FieldType($0.definition.type.valueType)) } ?? value
        }
        guard case .list(let elements, _) = given else { return aloneText(text(of: given)) }
        if case .location? = elements.first { return elements.map(text).joined(separator: "; ") }
        return listText(elements.map(text))
    }

    /// The input text of a single value, in quotation marks where it would read as another one without: the empty text,
    /// one that begins with a quotation mark, and one with blanks around it, which nobody sees in a form.
    package static func aloneText(_ value: String) -> String {
        let isPlain =
            !value.isEmpty && value.utf8.first != UInt8(ascii: "\"")
            && value.trimmingWhiteSpace.utf8.count == value.utf8.count
        return isPlain ? value : value.csvQuoted
    }

    /// The input text of a list: comma-separated, with quotation marks where required.
    package static func listText(_ values: [String]) -> String {
        values.map { text in
            let isPlain = !text.isEmpty && !text.utf8.contains { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }
            if isPlain, text.trimmingCharacters(in: .whitespaces).utf8.count == text.utf8.count { return text }
            return text.csvQuoted
        }.joined(separator: ", ")
    }

    private static func text(of value: FieldValue) -> String {
        switch value {
        case .string(let string): string
        case .int64(let integer): String(integer)
        case .double(let double): double.description
        case .bytes(let bytes): Data(bytes).base64EncodedString()
        case .timestamp(let timestamp): timestamp.utcText
        case .location(let location): text(of: location)
        case .reference(let reference): reference.recordName.string
        case .asset(let asset): asset.fileChecksum
        case .list(let elements, _): elements.map(text).joined(separator: ", ")
        }
    }

    private static func text(of location: Location) -> String {
        "\(location.latitude), \(location.longitude)"
    }
}
