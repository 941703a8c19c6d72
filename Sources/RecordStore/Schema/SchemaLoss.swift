internal import JSON
internal import Records

/// Data that a schema change removes permanently.
public struct SchemaLoss: Sendable, Hashable {
    /// A removed type or field, or a field that gets another type.
    public var change: SchemaDifference.Change
    /// Number of records of the type, or with a value in the field; `nil` if not counted.
    public var records: Int?

    public init(change: SchemaDifference.Change, records: Int?) {
        self.change = change
        self.records = records
    }

    /// A line such as `Item: field 'author' STRING deleted; its values in 12 records are deleted`.
    public var line: String {
        guard let records else { return change.line }
        let count = records == 1 ? "1 record" : "\(records) records"
        let loss =
            if case .removeType = change {
                records == 0 ? "it has no records" : "its \(count) \(records == 1 ? "is" : "are") deleted"
            } else {
                records == 0 ? "no record has a value in it" : "its values in \(count) are deleted"
            }
        return "\(change.line); \(loss)"
    }

    /// Counts the losses of changes, by type.
    static func losses(of changes: [SchemaDifference.Change], measuredBy database: any RecordDatabase) async throws -> [SchemaLoss] {
        let changes = changes.filter(\.losesSomething)
        guard database.can(.measureTypes) else { return changes.map { SchemaLoss(change: $0, records: nil) } }
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
