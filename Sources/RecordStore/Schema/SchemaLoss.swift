internal import JSON
internal import Records

/// Something that a change of a schema takes away for good.
public struct SchemaLoss: Sendable, Hashable {
    /// A type or a field that goes, or a field that becomes another type.
    public var change: SchemaDifference.Change
    /// Records of the type, or with a value in the field; `nil` when nobody counted.
    public var records: Int?

    public init(change: SchemaDifference.Change, records: Int?) {
        self.change = change
        self.records = records
    }

    /// Whether nothing but a declaration is lost.
    public var isEmpty: Bool { records == 0 }

    /// One line: `Item: field 'author' STRING removed; its values in 12 records go`.
    public var line: String {
        guard let records else { return change.line }
        let count = records == 1 ? "1 record" : "\(records) records"
        let loss =
            if case .removeType = change {
                records == 0 ? "there are no records of it" : "its \(count) \(records == 1 ? "goes" : "go")"
            } else {
                records == 0 ? "no record has a value in it" : "its values in \(count) go"
            }
        return "\(change.line); \(loss)"
    }

    /// Counts what changes would lose, type by type.
    static func losses(of changes: [SchemaDifference.Change], measuredBy database: (any SchemaMeasuring)?) async throws -> [SchemaLoss] {
        let changes = changes.filter(\.losesSomething)
        guard let database else { return changes.map { SchemaLoss(change: $0, records: nil) } }
        var fields: [Name: Set<Name>] = [:]
        for change in changes {
            guard let type = change.recordType else { continue }
            fields[type, default: []].formUnion(change.field.map { [$0.schemaName] } ?? [])
        }
        var counts: [Name: ValueCounts] = [:]
        for (type, fields) in fields { counts[type] = try await database.valueCounts(of: fields, in: type) }
        return changes.map { change in
            let counts = change.recordType.flatMap { counts[$0] }
            return SchemaLoss(change: change, records: change.field.map { counts?.values[$0.schemaName] ?? 0 } ?? counts?.records)
        }
    }
}
