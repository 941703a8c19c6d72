internal import Accounts
internal import AssetStore
internal import Console
internal import Mustache
internal import Records

/// Records of one type in a table.
struct ResultTable: ViewModel {
    typealias Row = RecordRow<TableValue>

    /// The part of a record that a column shows.
    private enum Part {
        case field(QueryField)
        case system(SystemField, named: String)

        var key: FieldKey {
            switch self {
            case .field(let field): field.key
            case .system(let field, _): .system(field)
            }
        }
    }

    /// The maximum number of columns for fields without a value on the page.
    static let emptyColumnLimit = 12
    /// The maximum number of columns for fields. A link shows the others: hardly anybody reads them, and every cell
    /// takes time.
    static let columnLimit = 20

    /// The maximum length of a title, in characters. The style sheet cuts what does not fit.
    private static let titleLength = 1000

    let caption: String
    /// True if the first column is the field with the titles, and leads to the records.
    let isTitled: Bool
    let columns: [TableColumn]
    let rows: [Row]
    /// The address of the query that also filters by a value of the table, without that value.
    let alike: String
    /// The link that shows all columns, if some are missing.
    let allColumns: Frame.Link?
    /// The links that draw the locations of a field, unless the page does.
    let drawable: [Frame.Link]

    /// - Parameters:
    ///   - showsZones: true if the records may be from several zones.
    ///   - links: creates the download links of assets.
    ///   - since: how the records differ now.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    init(
        _ records: [StoredRecord], of type: RecordType, form: QueryForm, showsZones: Bool, links: AssetLinks?,
        since: SinceThen, visit: Visit
    ) async throws {
        caption = "Records of type \(type.name)"
        let decoded = try records.map { record in
            Dictionary(try record.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
        var fields = QueryField.all(of: type).filter { !$0.isSystem }
        if let keys = form.keys.set { fields = fields.filter { keys.contains($0.name) } }
        if fields.count > Self.emptyColumnLimit {
            let used = Set(decoded.flatMap(\.keys))
            fields = fields.filter { used.contains($0.name) }
        }
        let count = fields.count
        if form.keys.fields.isEmpty, !form.showsAllColumns, count > Self.columnLimit {
            let asked = Set(form.filters.map(\.field) + form.sorts.map(\.field))
            let others = fields.filter { !asked.contains($0.name) }.prefix(max(0, Self.columnLimit - asked.count))
            let kept = asked.union(others.map(\.name))
            fields = fields.filter { kept.contains($0.name) }
        }
        allColumns =
            fields.count == count
            ? nil
            : Frame.Link(
                text: "Show all \(Digits.grouped(count)) columns",
                href: visit.place.link("query", form.withAllColumns.parameters))
        let located =
            form.map == nil
            ? fields.filter { field in
                field.definition.type.valueType == .location && decoded.contains { $0[field.name] != nil }
            } : []
        drawable = located.prefix(2).map {
            Frame.Link(text: "Map of \($0.name)", href: visit.place.link("query", form.drawing($0.name).parameters))
        }
        alike = visit.place.link("query", form.changed { _ in }.parameters)
        func column(_ field: QueryField) -> TableColumn {
            var column = TableColumn(field, of: type, form: form, visit: visit) {
                visit.place.link("query", $0.parameters)
            }
            column.edit = visit.edit(field)
            return column
        }
        func column(_ field: SystemField, _ name: String) -> TableColumn {
            guard let definition = type.definition(of: .system(field)) else { return TableColumn(name) }
            return TableColumn(
                QueryField(.system(field), of: type, definition: definition), named: name, showsType: false, of: type,
                form: form, visit: visit
            ) {
                visit.place.link("query", $0.parameters)
            }
        }
        // A title has a column already, which then is the first one.
        let titleField = Self.titleField(fields, of: type, visit)
        isTitled = titleField != nil
        var columns = [titleField.map { column($0) }, column(.recordID, "recordName")].compactMap(\.self)
        if showsZones { columns.append(TableColumn("zone")) }
        let sorts = Set(form.sorts.map { type.key(named: $0.field) })
        let system: [(SystemField, String)] = [(.createTime, "created"), (.modTime, "modified")]
        let shownSystem = system.filter { field, _ in
            field == .modTime || sorts.contains(.system(field)) || form.keys.isSystemOnly
        }
        let shown = Self.inOrder(
            fields.filter { $0.name != titleField?.name }.map { .field($0) }
                + shownSystem.map { .system($0, named: $1) }, of: type, form: form)
        columns += shown.map { part in
            switch part {
            case .field(let field): column(field)
            case .system(let field, let name): column(field, name)
            }
        }
        self.columns = columns
        let headings = columns.map(\.name)
        let targets = zip(records, decoded).lazy.flatMap { record, values in
            fields.lazy.flatMap {
                values[$0.name]?.targets(from: record.recordID.zoneID, limit: ValuePresenter.shortCount) ?? []
            }
        }
        let titles = try await ReferencedTitles(targets, known: records, visit)
        rows = zip(records, decoded).map { record, values in
            let zoneID = record.recordID.zoneID
            let presenter = ValuePresenter(place: visit.place, zoneID: zoneID, links: links, titles: titles)
            let name = record.recordID.recordName.string
            let title = titleField.flatMap { values[$0.name].flatMap(RecordTitles.text) }
            var cells = titleField == nil ? [] : [ValueView(.text(name))]
            if showsZones { cells.append(ValueView(.text(visit.zoneName(zoneID)), note: visit.ownerName(zoneID))) }
            cells += shown.map { part in
                switch part {
                case .field(let field): values[field.name].map { presenter.view($0, of: field.name) } ?? .blank
                case .system(let field, _):
                    ValueView(.time(field == .createTime ? record.created.timestamp : record.modified.timestamp))
                }
            }
            return Row(
                href: visit.place.link(toRecord: record.recordID.recordName, in: zoneID),
                recordName: name,
                title: titleField == nil ? titles[record.recordID] : title.map { String($0.prefix(Self.titleLength)) },
                isTitled: title != nil, mark: since[record.recordID],
                pick: visit.pick(record), cells: TableValue.row(cells, headings))
        }
    }

    /// The field that the titles of a type's records are from, if it has a column.
    private static func titleField(_ fields: [QueryField], of type: RecordType, _ visit: Visit) -> QueryField? {
        let titles = visit.titles
        let isChosen = titles.chosen[type.name] != nil
        return titles.fields(of: type.name).lazy.compactMap { name in fields.first { $0.name == name } }.first {
            field in
            // Only a text is a title that nobody has chosen.
            isChosen || field.definition.type.valueType == .string && !field.definition.type.isList
        }
    }

    /// The columns that the query sorts by come first, then those that it filters by, so that no scrolling is needed to
    /// see them. Columns that the query chooses keep their order.
    private static func inOrder(_ parts: [Part], of type: RecordType, form: QueryForm) -> [Part] {
        if !form.keys.fields.isEmpty { return parts }
        let asked = (form.sorts.map(\.field) + form.filters.map(\.field)).map { type.key(named: $0) }
        let ranks = Dictionary(zip(asked, asked.indices), uniquingKeysWith: { first, _ in first })
        return parts.enumerated().sorted {
            (ranks[$0.element.key] ?? asked.count, $0.offset) < (ranks[$1.element.key] ?? asked.count, $1.offset)
        }.map(\.element)
    }
}

extension QueryForm {
    /// The same page of the query with all columns.
    var withAllColumns: QueryForm {
        var form = self
        form.showsAllColumns = true
        return form
    }
}

// MARK: - Columns

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
    init(
        _ field: QueryField, named name: String? = nil, showsType: Bool = true, of type: RecordType, form: QueryForm,
        visit: Visit, page: (QueryForm) -> String
    ) {
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
        sort = page(
            form.changed { $0.sorts = [QueryForm.Sort(field: field.name, isDescending: isDescending, origin: "")] })
        // A container in iCloud does not tell its indexes.
        lacksIndex = !field.canSort && visit.connection == nil
    }
}

extension Visit {
    /// - Returns: the ``TableColumn/edit`` of a field.
    func edit(_ field: QueryField) -> String? {
        if field.isSystem || earlier != nil || connection?.isReadOnly ?? false { return nil }
        let type = field.definition.type
        return !type.isList && [.string, .int64, .double, .timestamp, .reference].contains(type.valueType)
            ? "short" : "long"
    }
}

extension FieldType {
    var isNumber: Bool { !isList && (valueType == .int64 || valueType == .double) }
}

// MARK: - Rows

/// A record as a table row.
struct RecordRow<Cell: Sendable>: ViewModel {
    let href: String
    let recordName: String
    /// `nil` for a record without one.
    let title: String?
    /// True if the title stands alone, because the name has a column of its own.
    let isTitled: Bool
    /// What is another now, in an earlier state.
    let mark: RecordMark?
    /// Identifies the record in actions on ticked records; `nil` in an earlier state.
    let pick: String?
    let cells: [Cell]

    func child(named name: String) -> Any? {
        switch name {
        case "href": href
        case "recordName": recordName
        case "title": title ?? Absent()
        case "isTitled": isTitled
        case "mark": mark ?? Absent()
        case "pick": pick ?? Absent()
        case "cells": cells
        default: nil
        }
    }
}
