internal import JSON
public import Records

extension Schema {
    /// The schema after edits.
    /// - Throws: `RecordError` BAD_REQUEST naming the type, the field and the rule.
    public func applying(_ edits: [SchemaEdit]) throws -> Schema {
        var schema = self
        for edit in edits {
            switch edit {
            case .addType(let added): try schema.add(added)
            case .setIndexes(let indexes, let key, let typeName): try schema.set(indexes, of: key, in: typeName)
            default: throw RecordError(.badRequest, "not written yet")
            }
        }
        return schema
    }

    private mutating func add(_ added: RecordType) throws {
        try NameRules.checkTypeName(added.name)
        guard var type = types[added.name] else {
            var type = RecordType(name: added.name, grants: added.grants)
            for (name, definition) in added.fields { try type.add(name, definition) }
            for (field, indexes) in added.systemIndexes { try type.set(indexes, of: .system(field)) }
            types[added.name] = type
            return
        }
        for (name, definition) in added.fields {
            if let existing = type.fields[name] {
                guard existing.type == definition.type else {
                    throw RecordError(
                        .badRequest,
                        "Field '\(name)' of type '\(type.name)' is \(existing.type.schemaName) already and can't become \(definition.type.schemaName)")
                }
                type.fields[name]?.indexes.formUnion(definition.indexes)
            } else {
                try type.add(name, definition)
            }
        }
        for (field, indexes) in added.systemIndexes { try type.set(indexes.union(type.systemIndexes[field] ?? []), of: .system(field)) }
        types[type.name] = type
    }

    private mutating func set(_ indexes: Indexes, of key: FieldKey, in typeName: Name) throws {
        guard var type = types[typeName] else { throw QueryProblem.unknownType(typeName).error }
        try type.set(indexes, of: key)
        types[typeName] = type
    }
}

extension RecordType {
    fileprivate mutating func add(_ name: Name, _ definition: FieldDefinition) throws {
        try NameRules.checkFieldName(name)
        fields[name] = FieldDefinition(type: definition.type)
        try set(definition.indexes, of: .custom(name))
    }

    fileprivate mutating func set(_ indexes: Indexes, of key: FieldKey) throws {
        guard let definition = definition(of: key) else {
            throw RecordError(.badRequest, "Did not find field: '\(key.errorName)' in type: '\(name)'")
        }
        let allowed = if case .system(let field) = key { field.allowedIndexes } else { definition.type.allowedIndexes }
        let refused = indexes.subtracting(allowed)
        if !refused.isEmpty {
            throw RecordError(
                .badRequest,
                "Field '\(key.errorName)' of type \(definition.type.schemaName) can't be \(refused.names.joined(separator: " or ")); "
                    + (allowed.isEmpty ? "it can carry no index" : "it can be \(allowed.names.joined(separator: ", "))"))
        }
        switch key {
        case .system(let field): systemIndexes[field] = indexes
        case .custom(let name): fields[name]?.indexes = indexes
        }
    }
}
