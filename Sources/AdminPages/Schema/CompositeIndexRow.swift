internal import Console
internal import JSON
internal import RecordStore
internal import Records

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
    static func all(of type: RecordType, works: IndexWorks, usage: TypeUsage? = nil, visit: Visit) -> [CompositeIndexRow] {
        let canEdit = visit.database.can(.editSchema)
        return type.compositeIndexes.sorted { ($0.filter.schemaName, $0.sort.schemaName) < ($1.filter.schemaName, $1.sort.schemaName) }.map { composite in
            CompositeIndexRow(
                typeName: type.name.string, typeHref: visit.place.link("type", [("type", type.name.string)]), filter: composite.filter.label.string,
                sort: composite.sort.label.string, work: works.words(of: composite, in: type.name),
                space: usage.map { Digits.bytes(Int64($0.compositeBytes[composite] ?? 0)) },
                value: canEdit ? "\(type.name)/\(composite.filter.schemaName):\(composite.sort.schemaName)" : nil,
                label: "Delete the composite index of \(type.name) on \(composite.filter.label) by \(composite.sort.label)")
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
        let filters = scalars.filter { $0.definition.indexes.contains(.queryable) && $0.definition.type.valueType != .location }
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
