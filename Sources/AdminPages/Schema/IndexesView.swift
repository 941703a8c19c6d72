internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The page Indexes: the indexes of all types in one table.
struct IndexesView: Page {
    static let template = "indexes"
    static let tab = Tab.indexes

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

    let title = Self.tab.title
    let notice: String?
    let indexNotice: IndexNotice?
    let isProduction: Bool
    let canEdit: Bool
    let works: IndexWorkPanel?
    let indexNames: [String]
    let rows: [Row]
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
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> IndexesView {
        let works = try await visit.indexWorks()
        let filter = visit.fields["find"]?.trimmingSpaces ?? ""
        let showsAll = visit.fields["show"] == "all"
        let wanted = filter.lowercased().split(separator: " ")
        let matching = rows(visit, works: works, showsAll: showsAll).filter { row in wanted.allSatisfy { row.words.contains($0) } }
        let composites = visit.types.flatMap { CompositeIndexRow.all(of: $0, works: works, visit: visit) }.filter { row in
            let words = "\(row.typeName) \(row.filter) \(row.sort) composite".lowercased()
            return wanted.allSatisfy { words.contains($0) }
        }
        let filtered = filter.isEmpty ? [] : [("find", filter)]
        let show = showsAll ? [("show", "all")] : []
        let left = matching.count - rowLimit
        let here = visit.place.link("indexes", filtered + show)
        let indexCount = matching.reduce(composites.count) { $0 + $1.cells.count { $0.isThere } }
        return IndexesView(
            notice: Notice.text(visit.fields["notice"]), indexNotice: IndexNotice(visit, on: here),
            isProduction: visit.place.address.environment == .production, canEdit: visit.canEditSchema,
            works: works.panel, indexNames: Indexes.named.map(\.name), rows: Array(matching.prefix(rowLimit)),
            nothing: !matching.isEmpty ? nil : filter.isEmpty ? "No field has an index." : "No field matches ‘\(filter)’.",
            left: left > 0 ? "\(Digits.count(left, "more field")) not shown; filter to see them." : nil, isWhole: left <= 0 && filter.isEmpty,
            filter: filter, filterAction: "\(visit.place.path)/indexes",
            filterFields: (visit.place.parameters + show).map { Frame.Hidden(name: $0.name, value: $0.value) },
            views: [
                Frame.Entry(text: "Fields with indexes", href: visit.place.link("indexes", filtered), count: nil, key: nil, isCurrent: !showsAll),
                Frame.Entry(text: "All fields", href: visit.place.link("indexes", filtered + [("show", "all")]), count: nil, key: nil, isCurrent: showsAll),
            ],
            bare: visit.types.filter { !$0.hasAnyIndex }.map {
                Frame.Link(text: $0.name.string, href: visit.place.link("type", [("type", $0.name.string)]))
            },
            composites: composites, action: visit.place.link("type/indexes"), compositeAction: visit.place.link("composites/change"),
            here: here,
            count: Digits.count(indexCount, "index", plural: "indexes"),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func rows(_ visit: Visit, works: IndexWorks, showsAll: Bool) -> [Row] {
        visit.types.flatMap { type in
            let href = visit.place.link("type", [("type", type.name.string)])
            let fields = QueryField.all(of: type).filter { showsAll || !$0.definition.indexes.isEmpty }
            return fields.sorted { ($0.isSystem ? 1 : 0, $0.name) < ($1.isSystem ? 1 : 0, $1.name) }.map { field in
                Row(field, of: type, href: href, cells: IndexCell.all(of: field, in: type.name, works: works, canEdit: visit.canEditSchema))
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
        words = ([typeName, name, schemaName ?? "", self.type] + field.definition.indexes.names).joined(separator: " ").lowercased()
    }
}
