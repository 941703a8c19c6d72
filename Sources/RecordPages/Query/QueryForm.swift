internal import Console
internal import Foundation
internal import RecordStore
package import Records

/// A query in the format of the URL and the form:
/// `type=Message&filter1=room&is1=EQUALS&value1=general&sort1=sentAt&order1=descending`.
package struct QueryForm: Sendable {
    struct Filter: Sendable {
        var field: Name
        /// `nil` if no fitting comparator is chosen.
        var comparator: Records.Comparator?
        /// The input: see ``FilterValueReader``.
        var value: String
        /// In metres, for NEAR.
        var distance: String

        /// True if the row has no value yet. The query omits such rows.
        var isUnfinished: Bool { value.isEmpty }

        /// - Parameter value: the input, in the format of ``FilterValueReader``.
        init(field: Name, comparator: Records.Comparator?, value: String, distance: String = "") {
            (self.field, self.comparator, self.value, self.distance) = (field, comparator, value, distance)
        }

        /// A comparison with a single text or record name, whatever it contains.
        init(_ field: Name, _ comparator: Records.Comparator, exactly text: String) {
            self.init(field: field, comparator: comparator, value: QueryForm.aloneText(text))
        }
    }

    struct Sort: Sendable {
        var field: Name
        var isDescending: Bool
        /// The location from which to measure distances, for a location field.
        var origin: String
    }

    static let limits = [10, 25, 50, 100, RequestObject.pageLimit]
    /// The maximum number of filter rows, and of sort rows. Further rows in the URL are ignored.
    static let rowLimit = 20
    /// The number of pages that the user can go back through. Before them, only the first page is available.
    static let markerLimit = 20
    /// The greatest number of a page.
    private static let lastPage = 1_000_000_000

    var type: Name?
    var filters: [Filter]
    var sorts: [Sort]
    var keys: DesiredKeys
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
    static func text(of input: FieldInput, as field: QueryField?) -> String {
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
    static func aloneText(_ value: String) -> String {
        let isPlain =
            !value.isEmpty && value.utf8.first != UInt8(ascii: "\"")
            && value.trimmingWhiteSpace.utf8.count == value.utf8.count
        return isPlain ? value : value.csvQuoted
    }

    /// The input text of a list: comma-separated, with quotation marks where required.
    static func listText(_ values: [String]) -> String {
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

// MARK: - Filters by a value

/// Filters by the value of a record: the menu of a cell, and the counted values.
extension QueryForm {
    /// The URL parameter with the field whose value becomes a filter. The record is in ``PickedRecord/fieldName``.
    static let alikeName = "alike"

    /// Longer texts become a filter on their beginning, because a URL holds the filter. In UTF-8 bytes.
    fileprivate static let textLimit = 1000
    fileprivate static let beginningLength = 100
    /// The distance of a filter on a place, in metres.
    fileprivate static let distance = "1000"

    /// The form with one more filter, at the first page.
    func narrowed(by row: Filter) -> QueryForm {
        changed { form in
            // A scalar can't equal two values, so the new filter replaces the old one. A list can contain both.
            if let index = form.filters.firstIndex(where: { $0.field == row.field && $0.comparator == .equals }) {
                form.filters[index] = row
            } else if form.filters.count < Self.rowLimit {
                form.filters.append(row)
            }
        }
    }

    /// The redirect to the query for the records with the same value as a given one; `nil` for other requests.
    /// - Throws: `RecordError` BAD_REQUEST if no filter finds the value, or NOT_FOUND if the record is gone.
    func alike(_ visit: Visit) async throws -> Answer? {
        guard let name = visit.fields.text(Self.alikeName).map({ Name($0) }) else { return nil }
        guard let typeName = type,
            let field = (visit.schema?.types[typeName] ?? RecordType(name: typeName)).queryField(named: name)
        else {
            throw RecordError(.badRequest, "The type \(type?.string ?? "") has no field '\(name)' to filter by")
        }
        guard let picked = visit.fields.text(PickedRecord.fieldName).flatMap({ PickedRecord($0, in: visit.place) })
        else {
            throw RecordError(
                .badRequest,
                "The parameter '\(PickedRecord.fieldName)' does not name a record: open the menu of a cell again")
        }
        let fetched = try await visit.measure {
            try await visit.database.fetch([picked.recordID], desiredKeys: field.isSystem ? [] : [field.name])
        }
        guard let record = try fetched.first?.get(), let row = try Filter(the: field, of: record) else {
            throw RecordError(
                .badRequest,
                "The record '\(picked.recordID.recordName)' has no value of '\(name)' that a filter could find")
        }
        return .redirect(visit.place.link("query", narrowed(by: row).parameters))
    }
}

extension QueryForm.Filter {
    /// A filter that finds the record by its value of a field; `nil` if it has none, or files.
    fileprivate init?(the field: QueryField, of record: StoredRecord) throws {
        guard let value = try field.value(of: record), !value.elements.isEmpty,
            let usual = field.comparators.first?.comparator
        else { return nil }
        let text = QueryForm.text(of: FieldInput(value), as: field)
        self.init(field: field.name, comparator: .equals, value: text, distance: "")
        if field.definition.type.isList {
            comparator = field.comparators.contains { $0.comparator == .listContainsAll } ? .listContainsAll : usual
        } else if field.definition.type.valueType == .location {
            (comparator, distance) = (.near, QueryForm.distance)
        } else if case .string(let string) = value, string.utf8.count > QueryForm.textLimit {
            (comparator, self.value) = (
                .beginsWith, QueryForm.aloneText(String(string.prefix(QueryForm.beginningLength)))
            )
        }
    }
}

extension QueryField {
    /// The value of the field in a record; `nil` if it has none.
    func value(of record: StoredRecord) throws -> FieldValue? {
        guard case .system(let system) = key else { return try record.fields.values(of: [name])[name] }
        return switch system {
        case .recordID: .reference(Reference(recordName: record.recordID.recordName))
        case .createTime: .timestamp(record.created.timestamp)
        case .modTime: .timestamp(record.modified.timestamp)
        case .createdBy: .reference(Reference(recordName: record.created.userRecordName))
        case .modifiedBy: .reference(Reference(recordName: record.modified.userRecordName))
        case .parent: record.parent.map { .reference(Reference(recordName: $0)) }
        default: nil
        }
    }
}
