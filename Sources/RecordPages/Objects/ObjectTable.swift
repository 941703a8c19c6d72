internal import AssetStore
internal import Console
internal import JSON
internal import Records

/// Objects of one entity in a table: a column for each attribute and to-one relationship.
struct ObjectTable: ViewModel {
    struct Row: ViewModel {
        let href: String
        /// The text that tells the object from others, or else its record name.
        let label: String
        let cells: [ValueView]

        func child(named name: String) -> Any? {
            switch name {
            case "href": href
            case "label": label
            case "cells": cells
            default: nil
            }
        }
    }

    let caption: String
    let columns: [TableColumn]
    let rows: [Row]
    /// The link that shows all columns, if some are missing.
    let allColumns: Frame.Link?

    /// - Parameter page: the address of the table with another form.
    init(_ records: [StoredRecord], of type: RecordType, caption: String, form: QueryForm, visit: Visit, page: (QueryForm) -> String) async throws {
        self.caption = caption
        let values = try records.map { record in
            Dictionary(try record.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
        // The first field with a label is the first column, which leads to the object.
        let titles = visit.titles
        let label = titles.fields(of: type.name).first { name in MirroredNaming.property(of: name) != nil && type.fields[name] != nil }
        let first = label.flatMap { MirroredNaming.property(of: $0) }
        var names: [String] = []
        for field in QueryField.all(of: type) where !field.isSystem {
            if let property = MirroredNaming.property(of: field.name), property != first, !names.contains(property) { names.append(property) }
        }
        if names.count > ResultTable.emptyColumnLimit {
            let used = Set(values.flatMap(\.keys).compactMap { MirroredNaming.property(of: $0) })
            names = names.filter(used.contains)
        }
        let count = names.count
        if !form.showsAllColumns, count > ResultTable.columnLimit {
            let asked = Set((form.filters.map(\.field) + form.sorts.map(\.field)).compactMap { MirroredNaming.property(of: $0) })
            let kept = asked.union(names.filter { !asked.contains($0) }.prefix(max(0, ResultTable.columnLimit - asked.count)))
            names = names.filter(kept.contains)
        }
        allColumns = names.count == count ? nil : Frame.Link(text: "Show all \(Digits.grouped(count)) columns", href: page(form.withAllColumns))
        func column(_ property: String) -> TableColumn {
            if let field = type.queryField(named: MirroredNaming.field(of: property)) {
                return TableColumn(field, named: property, of: type, form: form, visit: visit, page: page)
            }
            var column = TableColumn(property)
            column.type = "ASSET"
            return column
        }
        columns = [first.map(column) ?? TableColumn("record name")] + names.map(column) + [TableColumn("modified")]
        let links = try await visit.links(toAssetsOf: records)
        let leading = zip(records, values).flatMap { record, values in
            names.compactMap { ObjectTargets.mayBeRecordName(values[MirroredNaming.field(of: $0)]) }
                .map { RecordID(recordName: $0, zoneID: record.recordID.zoneID) }
        }
        let targets = try await ObjectTargets(leading, visit)
        rows = try zip(records, values).map { record, values in
            let presenter = ValuePresenter(place: visit.place, zoneID: record.recordID.zoneID, links: links)
            let cells = names.map { property -> ValueView in
                let field = MirroredNaming.valueField(of: property, in: values) { $0 }
                if let name = ObjectTargets.mayBeRecordName(values[field]),
                    let link = targets.link(to: RecordID(recordName: name, zoneID: record.recordID.zoneID), visit.place)
                {
                    return ValueView(.link(link.text, href: link.href, hint: name.string))
                }
                return presenter.view(values[field], of: field)
            }
            return Row(
                href: visit.place.link(toObject: record.recordID), label: try titles.title(of: record) ?? record.recordID.recordName.string,
                cells: cells + [ValueView(.time(record.modified.timestamp))])
        }
    }
}
