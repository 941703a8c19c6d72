public import JSON
internal import Records

/// How sure the schema of a mirror is. CloudKit Web Services do not tell a container's schema.
public struct SchemaEvidence: Sendable, Hashable {
    public enum Source: Sendable, Hashable {
        /// From the origin's schema file.
        case declared
        /// From the values of records. Fields that no record has are unknown, and so are the origin's indexes and roles.
        case observed
    }

    public struct TypeEvidence: Sendable, Hashable {
        public var source: Source
        public var fields: [Name: Source]
    }

    public var types: [Name: TypeEvidence]

    /// True if a schema file declares every type and field that was seen.
    public var isComplete: Bool {
        types.values.allSatisfy { type in type.source == .declared && type.fields.values.allSatisfy { $0 == .declared } }
    }

    /// - Parameters:
    ///   - schema: the mirror's.
    ///   - declared: the origin's, if there was a file of it.
    init(of schema: Schema, declared: Schema?) {
        types = schema.types.filter { $0.key != Schema.usersType }.mapValues { type in
            let known = declared?.types[type.name]
            return TypeEvidence(
                source: known == nil ? .observed : .declared,
                fields: Dictionary(
                    uniqueKeysWithValues: type.fields.keys.map { ($0, known?.fields[$0] == nil ? Source.observed : .declared) }))
        }
    }
}

extension RecordType {
    /// The type with every index that it may have.
    var withAllIndexes: RecordType {
        var type = self
        for (name, definition) in type.fields { type.fields[name]?.indexes.formUnion(definition.type.allowedIndexes) }
        for field in SystemField.implicit { type.systemIndexes[field, default: []].formUnion(field.allowedIndexes) }
        return type
    }
}
