package import Console
internal import RecordStore
internal import Records

/// The page Indexes: the indexes of all types in one table.
package struct IndexesView: Page {
    package static let template = "indexes"
    package static let tab = Tab.indexes

    /// A field with its indexes.
    struct Row: ViewModel {
        let typeName: String
        let typeHref: String
        let name: String
        let schemaName: String?
        let type: String
        let cells: [IndexCell]
        /// The lowercase text that the filter searches.
        let words: String

        func child(named name: String) -> Any? {
            switch name {
            case "typeName": typeName
            case "typeHref": typeHref
            case "name": self.name
            case "schemaName": schemaName ?? Absent()
            case "type": type
            case "cells": cells
            case "words": words
            default: nil
            }
        }
    }

    /// The maximum number of rows. The filter finds the other fields.
    private static let rowLimit = 400

    package let title = Self.tab.title
    let isProduction: Bool
    let canEdit: Bool
    let works: IndexWorkPanel?
    let indexNames: [String]
    let rows: [Row]
    /// The indexes that the grid shows.
    let shown: String
    /// A message in place of an empty table.
    let nothing: String?
    /// A note about the omitted rows, and how to see them.
    let left: String?
    /// True if the table has all fields, so that a script can filter it in place.
    let isWhole: Bool
    let filter: String
    let filterAction: String
    let filterFields: [Frame.Hidden]
    let views: [Frame.Entry]
    /// Types without any index, which can't be queried at all.
    let bare: [Frame.Link]
    let composites: [CompositeIndexRow]
    /// True, because the composite indexes belong to several types.
    let showsTypes = true
    let isMeasured = false
    let action: String
    let compositeAction: String
    /// The address of this page, for the way back.
    let here: String
    let count: String

    package static func load(_ visit: Visit) async throws -> IndexesView {
        let works = try await visit.indexWorks()
        let filter = visit.fields["find"]?.trimmingSpaces ?? ""
        let showsAll = visit.fields["show"] == "all"
        let wanted = filter.lowercased().split(separator: " ")
        let matching = rows(visit, works: works, showsAll: showsAll).filter { row in
            wanted.allSatisfy { row.words.contains($0) }
        }
        let composites = visit.types.flatMap { CompositeIndexRow.all(of: $0, works: works, visit: visit) }.filter {
            row in
            let words = "\(row.typeName) \(row.filter) \(row.sort) composite".lowercased()
            return wanted.allSatisfy { words.contains($0) }
        }
        let filtered = filter.isEmpty ? [] : [("find", filter)]
        let show = showsAll ? [("show", "all")] : []
        let left = matching.count - rowLimit
        let here = visit.place.link("indexes", filtered + show)
        let shown = Array(matching.prefix(rowLimit))
        let indexCount = matching.reduce(composites.count) { $0 + $1.cells.count { $0.isThere } }
        return IndexesView(
            isProduction: visit.place.address.environment == .production, canEdit: visit.canEditSchema,
            works: works.panel, indexNames: Indexes.named.map(\.name), rows: shown,
            shown: IndexCell.shown(shown.map(\.cells)),
            nothing: !matching.isEmpty
                ? nil : filter.isEmpty ? "No field has an index." : "No field matches ‘\(filter)’.",
            left: left > 0 ? "\(Digits.count(left, "more field")) not shown; filter to see them." : nil,
            isWhole: left <= 0 && filter.isEmpty,
            filter: filter, filterAction: "\(visit.place.path)/indexes",
            filterFields: (visit.place.parameters + show).map { Frame.Hidden(name: $0.name, value: $0.value) },
            views: [
                Frame.Entry(
                    text: "Fields with indexes", href: visit.place.link("indexes", filtered), count: nil, key: nil,
                    isCurrent: !showsAll),
                Frame.Entry(
                    text: "All fields", href: visit.place.link("indexes", filtered + [("show", "all")]), count: nil,
                    key: nil, isCurrent: showsAll),
            ],
            bare: visit.types.filter { !$0.hasAnyIndex }.map {
                Frame.Link(text: $0.name.string, href: visit.place.link("type", [("type", $0.name.string)]))
            },
            composites: composites, action: visit.place.link("type/indexes"),
            compositeAction: visit.place.link("composites/change"),
            here: here,
            count: Digits.count(indexCount, "index", plural: "indexes"))
    }

    private static func rows(_ visit: Visit, works: IndexWorks, showsAll: Bool) -> [Row] {
        visit.types.flatMap { type in
            let href = visit.place.link("type", [("type", type.name.string)])
            let fields = QueryField.all(of: type).filter { showsAll || !$0.definition.indexes.isEmpty }
            return fields.sorted { ($0.isSystem ? 1 : 0, $0.name) < ($1.isSystem ? 1 : 0, $1.name) }.map { field in
                Row(
                    field, of: type, href: href,
                    cells: IndexCell.all(of: field, in: type.name, works: works, canEdit: visit.canEditSchema))
            }
        }
    }
}

extension IndexesView.Row {
    fileprivate init(_ field: QueryField, of type: RecordType, href: String, cells: [IndexCell]) {
        typeName = type.name.string
        typeHref = href
        name = field.name.string
        schemaName = field.name == field.key.schemaName ? nil : field.key.schemaName.string
        self.type = field.definition.type.schemaName
        self.cells = cells
        words = ([typeName, name, schemaName ?? "", self.type] + field.definition.indexes.names).joined(separator: " ")
            .lowercased()
    }
}

// MARK: - Indexes of a field

/// One index of a field in a grid: a tick, or nothing where the field can't have it.
struct IndexCell: ViewModel {
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

/// A composite index in a table.
struct CompositeIndexRow: ViewModel {
    let typeName: String
    let typeHref: String
    let filter: String
    let sort: String
    let work: String?
    /// Its disk space, if measured.
    let space: String?
    /// The form value that identifies it; `nil` if it can't be removed.
    let value: String?
    let label: String
}

extension CompositeIndexRow {
    /// The composite indexes of a type, sorted by field names.
    static func all(of type: RecordType, works: IndexWorks, usage: TypeUsage? = nil, visit: Visit)
        -> [CompositeIndexRow]
    {
        let canEdit = visit.database.can(.editSchema)
        return type.compositeIndexes.sorted {
            ($0.filter.schemaName, $0.sort.schemaName) < ($1.filter.schemaName, $1.sort.schemaName)
        }.map { composite in
            CompositeIndexRow(
                typeName: type.name.string, typeHref: visit.place.link("type", [("type", type.name.string)]),
                filter: composite.filter.label.string,
                sort: composite.sort.label.string, work: works.words(of: composite, in: type.name),
                space: usage.map { Digits.bytes(Int64($0.compositeBytes[composite] ?? 0)) },
                value: canEdit ? "\(type.name)/\(composite.filter.schemaName):\(composite.sort.schemaName)" : nil,
                label:
                    "Delete the composite index of \(type.name) on \(composite.filter.label) by \(composite.sort.label)"
            )
        }
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

// MARK: - Notice

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
