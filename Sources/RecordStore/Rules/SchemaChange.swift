public import JSON
public import Records

/// A schema change, with the records and values that it removes.
public struct SchemaChange: Sendable, Hashable {
    public let before: Schema
    public let after: Schema
    /// Types whose records are removed. The new schema may have another type with the same name.
    public let removedTypes: Set<Name>
    /// Fields whose values are removed, by type, except for removed types. The new schema may have another field with
    /// the same name.
    public let removedFields: [Name: Set<Name>]

    /// A change that removes nothing.
    public init(from before: Schema, to after: Schema) {
        self.init(from: before, to: after, removedTypes: [], removedFields: [:])
    }

    init(from before: Schema, to after: Schema, removedTypes: Set<Name>, removedFields: [Name: Set<Name>]) {
        self.before = before
        self.after = after
        self.removedTypes = removedTypes
        self.removedFields = removedFields
    }

    /// True if the change does nothing.
    public var isEmpty: Bool { before == after && !removesAnything }

    /// True if the change removes records or values.
    public var removesAnything: Bool { !removedTypes.isEmpty || !removedFields.isEmpty }

    /// One line per change, for the history.
    public var lines: [String] {
        var lines = SchemaDifference(from: before, to: after).lines
        for type in removedTypes.sorted() where after.types[type] != nil { lines.append("\(type): deleted with its records, and created again") }
        for (type, fields) in removedFields.sorted(by: { $0.key < $1.key }) {
            for field in fields.sorted() {
                guard let was = before.types[type]?.fields[field]?.type, after.types[type]?.fields[field]?.type.holdsSameValues(as: was) == true
                else { continue }
                lines.append("\(type): field '\(field)' deleted with its values, and added again")
            }
        }
        lines += SchemaRespelling.all(from: before, to: after).map(\.line)
        for name in Set(before.types.keys).union(after.types.keys).sorted() {
            let (was, now) = (before.types[name]?.compositeIndexes ?? [], after.types[name]?.compositeIndexes ?? [])
            lines += now.subtracting(was).map { "\(name): \($0.phrase) added" }.sorted { Name($0) < Name($1) }
            // Composite indexes removed with their type or field get no line of their own.
            guard let type = after.types[name] else { continue }
            lines += was.subtracting(now).filter { type.definition(of: $0.filter) != nil && type.definition(of: $0.sort) != nil }
                .map { "\(name): \($0.phrase) deleted" }.sorted { Name($0) < Name($1) }
        }
        return lines
    }
}

extension CompositeIndex {
    /// A description: `composite index author, year`.
    var phrase: String { "composite index \(filter.errorName), \(sort.errorName)" }
}
