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

    /// Measures what changes would lose, type by type.
    static func losses(of changes: [SchemaDifference.Change], measuredBy database: (any SchemaMeasuring)?) async throws -> [SchemaLoss] {
        var usages: [TypeUsage] = []
        var losses: [SchemaLoss] = []
        for change in changes where change.losesSomething {
            guard let database, let name = change.recordType else {
                losses.append(SchemaLoss(change: change, records: nil))
                continue
            }
            if usages.last?.recordType != name { usages.append(try await database.usage(of: name)) }
            let records = change.field.map { key in usages.last?.fields.first { $0.key == key }?.records ?? 0 } ?? usages.last?.records
            losses.append(SchemaLoss(change: change, records: records))
        }
        return losses
    }
}
