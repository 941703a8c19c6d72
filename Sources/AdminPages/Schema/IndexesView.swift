package import Console
internal import RecordStore
internal import Records

/// The page Indexes: the indexes of all types in one table.
package enum IndexesView {
    /// A field with its indexes.
    private struct Field {
        let cells: [IndexCell]
        let row: Table.Row
    }

    /// The maximum number of rows. The filter finds the other fields.
    private static let rowLimit = 400
    /// The id of the form with the boxes.
    private static let grid = "grid"

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let works = try await visit.indexWorks()
        let filter = visit.fields["find"]?.trimmingSpaces ?? ""
        let showsAll = visit.fields["show"] == "all"
        let wanted = filter.lowercased().split(separator: " ")
        let matching = fields(visit, works: works, showsAll: showsAll).filter { field in
            wanted.allSatisfy { field.row.words?.contains($0) ?? false }
        }
        let composites = visit.types.flatMap { type in
            CompositeIndexTable.rows(of: type, works: works, isNamed: true, visit: visit)
        }.filter { row in wanted.allSatisfy { row.words?.contains($0) ?? false } }
        let filtered = filter.isEmpty ? [] : [(name: "find", value: filter)]
        let show = showsAll ? [(name: "show", value: "all")] : []
        let left = matching.count - rowLimit
        let here = visit.place.link("indexes", filtered + show)
        var parts: [any Component] = []
        if let panel = works.panel {
            parts.append(
                Section(
                    "works", "Work on indexes", style: "works",
                    [
                        panel,
                        Paragraph.faint("Saves continue. Queries that need an index are refused until it is complete."),
                    ]))
        }
        let bare = visit.types.filter { !$0.hasAnyIndex }.map {
            Frame.Link(text: $0.name.string, href: visit.place.link("type", [("type", $0.name.string)]))
        }
        if !bare.isEmpty {
            parts.append(
                Paragraph.remark("Types that no query can read, because they have no index: \(Inline(bare))"))
        }
        let shown = Array(matching.prefix(rowLimit))
        let table = table(
            shown, nothing: filter.isEmpty ? "No field has an index." : "No field matches ‘\(filter)’.",
            left: left > 0 ? "\(Digits.count(left, "more field")) not shown; filter to see them." : nil)
        parts.append(
            shown.isEmpty
                ? table
                : Form(
                    .around, visit.place.link("type/indexes"), id: grid,
                    hidden: [
                        Frame.Hidden(name: "was", value: IndexCell.shown(shown.map(\.cells))),
                        Frame.Hidden(name: "back", value: here), Frame.Hidden(name: "from", value: here),
                    ], [], buttons: [], around: [table]))
        if !composites.isEmpty {
            parts.append(
                Section(
                    "composites", "Composite indexes",
                    [
                        Paragraph.faint(
                            "A composite index serves an EQUALS filter on one field together with a sort by another. It belongs to Skylight: schema files do not contain it. Add one on the page of a type, or where a query is explained."
                        ),
                        CompositeIndexTable.form(composites, isNamed: true, back: here, from: here, visit),
                    ]))
        }
        let views = [("Fields with indexes", false), ("All fields", true)].map { text, isAll in
            Frame.Link(
                text: text, href: visit.place.link("indexes", filtered + (isAll ? [("show", "all")] : [])),
                style: "button", isCurrent: isAll == showsAll)
        }
        let count = matching.reduce(composites.count) { $0 + $1.cells.count { $0.isThere } }
        return ComponentPage(
            .indexes, head(visit),
            [
                Form.filter(
                    "indexes", at: visit.place, keeping: show,
                    FormField(
                        .filter(narrows: left <= 0 && filter.isEmpty), "find", "Filter", value: filter,
                        placeholder: "type, field or index"), links: views),
                Live("indexes", until: works.panel.map { _ in "The work on indexes is done." }, parts),
            ], foot: PageFooter(count: Digits.count(count, "index", plural: "indexes")))
    }

    private static func head(_ visit: Visit) -> PageHead {
        let needs = "Queries need indexes: QUERYABLE to filter, SORTABLE to sort, SEARCHABLE for words."
        let isProduction = visit.place.address.environment == .production
        let names: Inline = "QUERYABLE on recordName is for a query without filters."
        let source: Inline =
            isProduction ? " The production schema comes from development and can't be edited here." : ""
        let canEdit = visit.canEditSchema
        return PageHead(
            Tab.indexes.title, (canEdit ? [] : [Inline(needs)]) + [names + source], saves: canEdit ? needs : nil,
            button: canEdit ? Form.Button("Save", act: nil, style: "go", form: grid) : nil)
    }

    private static func table(_ fields: [Field], nothing: String, left: String?) -> Table {
        Table(
            "Fields and their indexes", style: .indexes,
            ["record type", .column("field", "name"), "type"] + Indexes.named.map { Table.Column.boxes($0.name) },
            fields.map(\.row), nothing: EmptyState(sentence: Inline(nothing)), noMatch: "No field matches.", more: left)
    }

    private static func fields(_ visit: Visit, works: IndexWorks, showsAll: Bool) -> [Field] {
        visit.types.flatMap { type in
            let link = Inline.link(type.name.string, visit.place.link("type", [("type", type.name.string)]))
            let fields = QueryField.all(of: type).filter { showsAll || !$0.definition.indexes.isEmpty }
            return fields.sorted { ($0.isSystem ? 1 : 0, $0.name) < ($1.isSystem ? 1 : 0, $1.name) }.map { field in
                let name = field.name == field.key.schemaName ? nil : field.key.schemaName.string
                let fieldType = field.definition.type.schemaName
                let cells = IndexCell.all(of: field, in: type.name, works: works, canEdit: visit.canEditSchema)
                let words =
                    [type.name.string, field.name.string, name ?? "", fieldType] + field.definition.indexes.names
                return Field(
                    cells: cells,
                    row: Table.Row(
                        [
                            link, Inline(field.name.string) + (name.map { " \(.faint(Inline($0)))" } ?? ""),
                            Inline(fieldType).styled("type"),
                        ] + cells.map { Inline.part($0) }, head: 1, words: words.joined(separator: " ").lowercased()))
            }
        }
    }
}

// MARK: - Indexes of a field

/// One index of a field in a grid: a tick, or nothing where the field can't have it.
struct IndexCell: Component {
    static let template = "index_cell"

    let index: String
    let isThere: Bool
    /// True if the box is ticked: as in the schema, unless the form was refused.
    let isTicked: Bool
    /// The progress, such as `building, 43 %`; `nil` if there is no job.
    let work: String?
    /// True if the field can have the index, and the schema can be edited.
    let isEditable: Bool
    /// As the form names the index.
    let value: String
    let label: String

    func child(named name: String) -> Any? {
        switch name {
        case "template": Self.template
        case "index": index
        case "isThere": isThere
        case "isTicked": isTicked
        case "work": work ?? Absent()
        case "isEditable": isEditable
        case "value": value
        case "label": label
        default: nil
        }
    }
}

extension IndexCell {
    /// The three indexes of a field, in schema file order.
    static func all(
        of field: QueryField, in typeName: Name, works: IndexWorks, canEdit: Bool, ticks: IndexTicks? = nil
    ) -> [IndexCell] {
        Indexes.named.map { name, index in
            let isThere = field.definition.indexes.contains(index)
            let value = "\(typeName)/\(field.key.schemaName):\(name)"
            return IndexCell(
                index: name, isThere: isThere,
                isTicked: ticks.map { $0.added.contains(value) || isThere && !$0.dropped.contains(value) } ?? isThere,
                work: works.words(of: index, on: field.key, in: typeName),
                isEditable: canEdit && field.allowedIndexes.contains(index), value: value,
                label: "\(name) on \(field.name) of \(typeName)")
        }
    }

    /// The present indexes of a grid that its form can delete.
    static func shown(_ rows: [[IndexCell]]) -> String {
        rows.joined().filter { $0.isThere && $0.isEditable && $0.work == nil }.map(\.value).joined(separator: " ")
    }
}

/// What a grid changes: the difference between the ticks and what it showed, so that changes by others in between stay.
struct IndexTicks {
    let added: [String]
    let dropped: [String]

    /// - Returns: `nil` if the form is no grid.
    init?(_ fields: FormFields) {
        guard let shown = fields["was"]?.split(separator: " ").map(String.init) else { return nil }
        let ticked = fields.all("has")
        let (before, after) = (Set(shown), Set(ticked))
        added = ticked.filter { !before.contains($0) }
        dropped = shown.filter { !after.contains($0) }
    }
}

// MARK: - Composite indexes

/// Composite indexes, of one type or of several.
enum CompositeIndexTable {
    /// The composite indexes of a type, sorted by field names.
    /// - Parameters:
    ///   - usage: the usage of the type, if measured.
    ///   - isNamed: true if rows name the type.
    static func rows(of type: RecordType, works: IndexWorks, usage: TypeUsage? = nil, isNamed: Bool, visit: Visit)
        -> [Table.Row]
    {
        let canEdit = visit.database.can(.editSchema)
        return type.compositeIndexes.sorted {
            ($0.filter.schemaName, $0.sort.schemaName) < ($1.filter.schemaName, $1.sort.schemaName)
        }.map { composite in
            let (filter, sort) = (composite.filter.label.string, composite.sort.label.string)
            let work = works.words(of: composite, in: type.name)
            let deletion = Form.Button(
                "Delete", act: "\(type.name)/\(composite.filter.schemaName):\(composite.sort.schemaName)", name: "drop",
                label: "Delete the composite index of \(type.name) on \(filter) by \(sort)")
            var cells: [Inline] = [
                Inline(filter), Inline(sort), work.map { Inline.badge($0, "lacks") } ?? .badge("complete"),
            ]
            if isNamed {
                cells.insert(.link(type.name.string, visit.place.link("type", [("type", type.name.string)])), at: 0)
            }
            if let usage { cells.append(Inline(Digits.bytes(Int64(usage.compositeBytes[composite] ?? 0)))) }
            return Table.Row(
                cells + [canEdit ? .part(deletion) : ""], head: isNamed ? 1 : 0,
                words: "\(type.name) \(filter) \(sort) composite".lowercased())
        }
    }

    /// The table, whose buttons delete.
    /// - Parameters:
    ///   - isMeasured: true if the rows have the disk space.
    ///   - back: the page after a deletion.
    ///   - from: the page after an error.
    static func form(
        _ rows: [Table.Row], isNamed: Bool, isMeasured: Bool = false, back: String, from: String, _ visit: Visit
    ) -> Form {
        var columns: [Table.Column] = [.column("filter on", "mono"), .column("sort by", "mono"), "state"]
        if isNamed { columns.insert("type", at: 0) }
        if isMeasured { columns.append(.number("space")) }
        columns.append(.actions("delete"))
        return Form(
            .around, visit.place.link("composites/change"),
            hidden: [Frame.Hidden(name: "back", value: back), Frame.Hidden(name: "from", value: from)], [], buttons: [],
            around: [Table("Fields of composite indexes", style: .composites, columns, rows)])
    }
}

/// The form for a new composite index of a type.
struct CompositeIndexForm: ViewModel {
    let filters: [Choice]
    let sorts: [Choice]

    /// - Returns: `nil` if the type's fields allow no composite index.
    init?(_ type: RecordType) {
        let scalars = QueryField.all(of: type).filter { !$0.definition.type.isList && $0.key != .system(.recordID) }
        let filters = scalars.filter {
            $0.definition.indexes.contains(.queryable) && $0.definition.type.valueType != .location
        }
        let sorts = scalars.filter { $0.definition.indexes.contains(.sortable) }
        guard let first = filters.first, let second = sorts.first(where: { $0.key != first.key }) else { return nil }
        self.filters = filters.map { Choice($0, isSelected: $0.key == first.key) }
        self.sorts = sorts.map { Choice($0, isSelected: $0.key == second.key) }
    }
}

extension Choice {
    fileprivate init(_ field: QueryField, isSelected: Bool) {
        self.init(field.key.schemaName.string, field.name.string, isSelected: isSelected)
    }
}

// MARK: - Actions

/// The actions on a schema, and their common functions.
package enum SchemaActions {
    /// Saves indexes, and the new field of a type's page, which a refused form shows again.
    package static func save(_ visit: Visit) async throws -> Answer {
        do {
            return .redirect(try await changeIndexes(visit))
        } catch let error as RecordError
            where error.code == .badRequest && visit.fields["field"] != nil
            && visit.schema?.types[Name(visit.fields["type"] ?? "")] != nil
        {
            return .page(try await TypeView.load(visit, refused: error))
        }
    }

    /// Adds and drops indexes. Each `add` and `drop`, and each box of a grid, names a type, a field and an index, such
    /// as `Message/author:QUERYABLE`. The field `type` may name the type instead. `field` names a new field of it.
    private static func changeIndexes(_ visit: Visit) async throws -> String {
        let ticks = IndexTicks(visit.fields)
        let newField = try TypeActions.newField(visit)
        var edits = newField.map { [$0] } ?? []
        var named: [String: [String]] = [:]
        for (verb, ticked, edit) in [
            ("add", ticks?.added, SchemaEdit.addIndexes), ("drop", ticks?.dropped, SchemaEdit.dropIndexes),
        ] {
            for text in visit.fields.all(verb) + (ticked ?? []) {
                let (typeName, rest) = try place(text, visit: visit)
                let (key, index) = try change(rest)
                let type = try type(named: typeName, visit: visit)
                if ticks != nil, type.definition(of: key) == nil {
                    throw RecordError(
                        .badRequest,
                        "The field '\(key.label)' of \(typeName) was deleted after this page was loaded; nothing is saved"
                    )
                }
                edits.append(edit(index, key, type.name))
                named[verb, default: []].append("\(typeName)/\(rest)")
            }
        }
        if !edits.isEmpty || ticks == nil { try await edit(edits, visit: visit) }
        if let back = Place.local(visit.fields["back"]) {
            if newField != nil, named.isEmpty {
                return "\(back)\(back.contains("?") ? "&" : "?")notice=\(Notice.fieldAdded.rawValue)"
            }
            return named.isEmpty
                ? back : IndexNotice.address(back, added: named["add"] ?? [], dropped: named["drop"] ?? [])
        }
        let notice = newField != nil && named.isEmpty ? Notice.fieldAdded : Notice.indexesChanged
        guard let typeName = visit.fields.text("type") else { return visit.place.link("indexes", [notice.parameter]) }
        return visit.place.link("type", [("type", typeName), notice.parameter])
    }

    /// Adds or drops composite indexes. `add` and `drop` name a type and two fields, such
    /// as `Message/author:sentAt`. The form for a new index uses `type`, `filter` and `sort`.
    package static func changeCompositeIndexes(_ visit: Visit) async throws -> String {
        var edits: [SchemaEdit] = []
        var named: [String: [String]] = [:]
        for (verb, edit) in [("add", SchemaEdit.addCompositeIndex), ("drop", SchemaEdit.removeCompositeIndex)] {
            for text in visit.fields.all(verb) {
                let (typeName, rest) = try place(text, visit: visit)
                let parts = rest.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else {
                    throw RecordError(
                        .badRequest, "A composite index is written as type/filter:sort, and ‘\(text)’ is not")
                }
                edits.append(edit(composite(filter: String(parts[0]), sort: String(parts[1])), typeName))
                named[verb, default: []].append("\(typeName)/\(rest)")
            }
        }
        if let filter = visit.fields.text("filter"), let sort = visit.fields.text("sort") {
            let typeName = Name(visit.fields["type"] ?? "")
            edits.append(.addCompositeIndex(composite(filter: filter, sort: sort), in: typeName))
            named["add", default: []].append("\(typeName)/\(filter):\(sort)")
        }
        try await edit(edits, visit: visit)
        if let back = Place.local(visit.fields["back"]) {
            return IndexNotice.address(back, addedComposites: named["add"] ?? [], dropped: named["drop"] ?? [])
        }
        return visit.place.link("indexes", [Notice.indexesChanged.parameter])
    }

    // MARK: Parts

    /// Applies edits. Large indexes are built in the background, and pages show the progress.
    static func edit(_ edits: [SchemaEdit], visit: Visit) async throws {
        _ = try await visit.measure {
            try await visit.database.require(.editSchema).edit(edits, because: .edit, waitingForIndexes: false)
        }
    }

    /// - Throws: `RecordError` NOT_FOUND if the schema has no such type.
    static func type(named name: Name, visit: Visit) throws -> RecordType {
        guard let type = visit.schema?.types[name] else { throw RecordError(known: .unknownType, name) }
        return type
    }

    /// The parts before and after the slash. Type names contain no slashes.
    private static func place(_ text: String, visit: Visit) throws -> (typeName: Name, rest: String) {
        let parts = text.split(separator: "/", maxSplits: 1)
        if parts.count == 2 { return (Name(String(parts[0])), String(parts[1])) }
        guard let typeName = visit.fields.text("type") else {
            throw RecordError(.badRequest, "The request needs a record type: type=…")
        }
        return (Name(typeName), text)
    }

    private static func change(_ text: String) throws -> (FieldKey, Indexes) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let index = Indexes(name: String(parts[1])) else {
            throw RecordError(.badRequest, "A change of indexes is written as field:QUERYABLE, and ‘\(text)’ is not")
        }
        return (FieldKey(schemaName: Name(String(parts[0]))), index)
    }

    private static func composite(filter: String, sort: String) -> CompositeIndex {
        CompositeIndex(filter: FieldKey(schemaName: Name(filter)), sort: FieldKey(schemaName: Name(sort)))
    }
}
