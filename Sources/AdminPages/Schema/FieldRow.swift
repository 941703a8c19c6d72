internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// A field of a record type, with its indexes and usage.
struct FieldRow: ViewModel {
    /// The usage of a field across all databases and users of the environment.
    struct Usage: ViewModel {
        /// The number of records with a value; `nil` if there are records, but none has a value.
        let records: String?
        /// `80 %`
        let share: String?
        let distinct: String
        let largest: String
        /// The page of the record with the largest value; `nil` if it is in another database.
        let largestRecord: String?
        let largestName: String?
        let space: String
    }

    let name: String
    /// The name in schema files, if it differs.
    let schemaName: String?
    let type: String
    let cells: [IndexCell]
    let isMeasured: Bool
    let usage: Usage?
    /// The link to the confirmation of the removal; `nil` for system fields.
    let remove: String?
    let removeLabel: String
}

extension FieldRow {
    /// - Parameters:
    ///   - measured: the usage of the type, if measured.
    ///   - reachable: the records with the largest values that are in the current database.
    init(
        _ field: QueryField, of type: RecordType, works: IndexWorks, usage measured: TypeUsage?, reachable: Set<RecordID>, visit: Visit
    ) {
        let isSystemType = type.name == Schema.usersType
        name = field.name.string
        schemaName = field.name == field.key.schemaName ? nil : field.key.schemaName.string
        self.type = field.definition.type.schemaName
        cells = IndexCell.all(of: field, in: type.name, works: works, canEdit: visit.canEditSchema && !isSystemType)
        isMeasured = measured != nil
        usage = measured.flatMap { measured in
            measured.fields.first { $0.key == field.key }.map { Usage($0, of: measured, reachable: reachable, visit: visit) }
        }
        let isOwn = !field.isSystem && !(Schema.initial.types[type.name]?.fields.keys.contains(field.name) ?? false)
        remove =
            isOwn && visit.canEditSchema
            ? visit.place.link("field/remove", [("type", type.name.string), ("field", field.name.string)]) : nil
        removeLabel = "Delete the field \(field.name)…"
    }
}

extension FieldRow.Usage {
    fileprivate init(_ field: TypeUsage.FieldUsage, of type: TypeUsage, reachable: Set<RecordID>, visit: Visit) {
        let isEmpty = field.records == 0
        records = isEmpty && type.records > 0 ? nil : Digits.grouped(field.records)
        share = isEmpty || type.records == 0 ? nil : Self.percent(field.records, of: type.records)
        distinct = isEmpty ? "–" : Digits.grouped(field.distinctValues) + (field.isCutOff ? " or more" : "")
        largest = isEmpty ? "–" : Digits.bytes(Int64(field.largestBytes))
        largestRecord = field.largestRecord.flatMap { reachable.contains($0) ? visit.place.link(toRecord: $0.recordName, in: $0.zoneID) : nil }
        largestName = field.largestRecord?.recordName.string
        let bytes = field.entryBytes + field.tokenBytes
        space = bytes == 0 ? "–" : Digits.bytes(Int64(bytes))
    }

    /// A percentage. Only an exact share counts as all; other shares show as 1 % to 99 %.
    private static func percent(_ part: Int, of whole: Int) -> String {
        if part >= whole { return "all" }
        return "\(min(99, max(1, Int((Double(part) * 100 / Double(whole)).rounded())))) %"
    }
}
