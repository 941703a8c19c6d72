internal import Accounts
internal import Console
internal import JSON
internal import Records

/// A column of a table of records. Its head sorts by it.
struct TableColumn: ViewModel {
    let name: String
    /// The type as the API names it; `nil` for self-explanatory system fields.
    var type: String?
    /// `↑` or `↓` if the column is a sort key.
    var arrow: String?
    /// `ascending` or `descending` if the column is the first sort key.
    var order: String?
    /// The link that sorts by the column; `nil` if no index could allow it.
    var sort: String?
    /// True if the sort needs another index. Its refusal offers the index.
    var lacksIndex = false
    var isNumber = false
    /// The field that a filter on a value uses; `nil` if values can't be compared.
    var field: String?
    /// How the form of a record edits the field: `short` with one input, `long` with more; `nil` if it does not.
    var edit: String?

    /// A column without a field.
    init(_ name: String) {
        self.name = name
    }

    /// - Parameters:
    ///   - name: the name on the page; `nil` for the field's own.
    ///   - showsType: false for system fields, which explain themselves.
    ///   - page: the address of the table with another form.
    init(_ field: QueryField, named name: String? = nil, showsType: Bool = true, of type: RecordType, form: QueryForm, visit: Visit, page: (QueryForm) -> String) {
        self.init(name ?? field.name.string)
        self.type = showsType ? field.definition.type.label : nil
        isNumber = field.definition.type.isNumber
        if !field.comparators.isEmpty, !field.allowedIndexes.isEmpty { self.field = field.name.string }
        let sorted = form.sorts.first { type.key(named: $0.field) == field.key }
        arrow = sorted.map { $0.isDescending ? "↓" : "↑" }
        let first = form.sorts.first.flatMap { type.key(named: $0.field) == field.key ? $0 : nil }
        order = first.map { $0.isDescending ? "descending" : "ascending" }
        // A sort by distance needs a place to start from, which the form asks for.
        guard field.couldSort, field.definition.type != .location else { return }
        let isDescending = first.map { !$0.isDescending } ?? (field.definition.type == .timestamp)
        sort = page(form.changed { $0.sorts = [QueryForm.Sort(field: field.name, isDescending: isDescending, origin: "")] })
        // A container in iCloud does not tell its indexes.
        lacksIndex = !field.canSort && visit.connection == nil
    }
}

extension Visit {
    /// - Returns: the ``TableColumn/edit`` of a field.
    func edit(_ field: QueryField) -> String? {
        if field.isSystem || connection?.isReadOnly ?? false { return nil }
        let type = field.definition.type
        return !type.isList && [.string, .int64, .double, .timestamp, .reference].contains(type.valueType) ? "short" : "long"
    }
}

extension FieldType {
    var isNumber: Bool { !isList && (valueType == .int64 || valueType == .double) }
}
