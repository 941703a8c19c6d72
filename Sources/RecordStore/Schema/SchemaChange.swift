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
        for type in removedTypes.sorted() where after.types[type] != nil {
            lines.append("\(type): deleted with its records, and created again")
        }
        for (type, fields) in removedFields.sorted(by: { $0.key < $1.key }) {
            for field in fields.sorted() {
                guard let was = before.types[type]?.fields[field]?.type,
                    after.types[type]?.fields[field]?.type.holdsSameValues(as: was) == true
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
            lines += was.subtracting(now).filter {
                type.definition(of: $0.filter) != nil && type.definition(of: $0.sort) != nil
            }
            .map { "\(name): \($0.phrase) deleted" }.sorted { Name($0) < Name($1) }
        }
        return lines
    }
}

extension CompositeIndex {
    /// A description: `composite index author, year`.
    var phrase: String { "composite index \(filter.errorName), \(sort.errorName)" }
}

// MARK: - Edits

extension Schema {
    /// The schema after edits.
    /// - Throws: like ``changed(by:)``.
    public func applying(_ edits: [SchemaEdit]) throws -> Schema {
        try changed(by: edits).after
    }

    /// The change that edits make to this schema.
    /// - Throws: `RecordError` BAD_REQUEST with the type, field and rule; NOT_FOUND for an unknown type.
    public func changed(by edits: [SchemaEdit]) throws -> SchemaChange {
        var editing = Editing(self)
        for edit in edits { try editing.apply(edit) }
        return try editing.change()
    }

    fileprivate struct Editing {
        private let before: Schema
        private var schema: Schema
        private var removedTypes: Set<Name> = []
        private var removedFields: [Name: Set<Name>] = [:]
        private var removedRoles: Set<Name> = []
        private var grantedTypes: Set<Name> = []

        init(_ schema: Schema) {
            before = schema
            self.schema = schema
        }

        mutating func apply(_ edit: SchemaEdit) throws {
            switch edit {
            case .addType(let added):
                if schema.types[added.name] == nil { grantedTypes.insert(added.name) }
                try schema.add(added)
            case .removeType(let name):
                if name == Schema.usersType {
                    throw RecordError(.badRequest, "The type 'Users' belongs to the system and can't be deleted")
                }
                _ = try schema.type(name)
                schema.types[name] = nil
                removedFields[name] = nil
                if before.types[name] != nil { removedTypes.insert(name) }
            case .removeField(let field, let typeName):
                try remove(field, from: typeName)
            case .setIndexes(let indexes, let key, let typeName):
                try schema.change(typeName) { try $0.set(indexes, of: key) }
            case .addIndexes(let indexes, let key, let typeName):
                try schema.change(typeName) { try $0.set(indexes.union($0.existing(key).indexes), of: key) }
            case .dropIndexes(let indexes, let key, let typeName):
                try schema.change(typeName) { type in
                    let definition = try type.existing(key)
                    try type.check(indexes, of: key, definition)
                    try type.set(definition.indexes.subtracting(indexes), of: key)
                }
            case .setGrants(let grants, let typeName):
                try schema.change(typeName) { try $0.set(grants) }
                grantedTypes.insert(typeName)
            case .addGrants(let grants, let typeName):
                try schema.change(typeName) { try $0.set($0.grants + grants) }
                grantedTypes.insert(typeName)
            case .addRole(let role):
                try SchemaRules.checkNewRole(role)
                schema.roles.insert(role)
                removedRoles.remove(role)
            case .removeRole(let role):
                guard schema.roles.remove(role) != nil else {
                    throw RecordError(.badRequest, "Did not find role: \(role)")
                }
                removedRoles.insert(role)
            case .addCompositeIndex(let index, let typeName):
                try schema.change(typeName) { try $0.add(index) }
            case .removeCompositeIndex(let index, let typeName):
                try schema.change(typeName) { type in
                    guard type.compositeIndexes.remove(index) != nil else {
                        throw RecordError(.badRequest, "The type '\(typeName)' has no \(index.phrase)")
                    }
                }
            }
        }

        private mutating func remove(_ field: Name, from typeName: Name) throws {
            if typeName == Schema.usersType, field == "roles" {
                throw RecordError(
                    .badRequest, "The field 'roles' of 'Users' belongs to the system and can't be deleted")
            }
            if typeName == Share.recordType, Share.type.fields[field] != nil {
                throw RecordError(
                    .badRequest, "The field '\(field)' of '\(typeName)' belongs to CloudKit and can't be deleted")
            }
            try schema.change(typeName) { type in
                guard type.fields.removeValue(forKey: field) != nil else {
                    throw RecordError(known: .fieldNotFound, field, typeName)
                }
                type.compositeIndexes = type.compositeIndexes.filter {
                    $0.filter != .custom(field) && $0.sort != .custom(field)
                }
            }
            if !removedTypes.contains(typeName), before.types[typeName]?.fields[field] != nil {
                removedFields[typeName, default: []].insert(field)
            }
        }

        /// Checks roles at the end, so that the order of edits does not matter.
        func change() throws -> SchemaChange {
            for type in schema.sortedTypes {
                for grant in type.grants where !SchemaRules.isKnown(grant.role, in: schema) {
                    if removedRoles.contains(grant.role) {
                        throw RecordError(
                            .badRequest,
                            "The role '\(grant.role)' can't be deleted: the type '\(type.name)' grants it a permission; remove the grant first"
                        )
                    }
                    if grantedTypes.contains(type.name) {
                        throw RecordError(
                            .badRequest,
                            "The type '\(type.name)' has a grant for the role '\(grant.role)', which does not exist; add the role first"
                        )
                    }
                }
            }
            return SchemaChange(from: before, to: schema, removedTypes: removedTypes, removedFields: removedFields)
        }
    }

    fileprivate func type(_ name: Name) throws -> RecordType {
        guard let type = types[name] else { throw QueryProblem.unknownType(name).error }
        return type
    }

    fileprivate mutating func change(_ typeName: Name, _ body: (inout RecordType) throws -> Void) throws {
        var type = try type(typeName)
        try body(&type)
        types[typeName] = type
    }

    fileprivate mutating func add(_ added: RecordType) throws {
        try NameRules.checkTypeName(added.name, from: .schema)
        guard var type = types[added.name] else {
            var type = RecordType(name: added.name)
            try type.set(added.grants)
            for (name, definition) in added.fields.sorted(by: { $0.key < $1.key }) { try type.add(name, definition) }
            for (field, indexes) in added.systemIndexes { try type.set(indexes, of: .system(field)) }
            for index in added.compositeIndexes { try type.add(index) }
            types[added.name] = type
            return
        }
        for (name, definition) in added.fields.sorted(by: { $0.key < $1.key }) {
            if let existing = type.fields[name] {
                guard existing.type.holdsSameValues(as: definition.type) else {
                    throw RecordError(
                        .badRequest,
                        "Field '\(name)' of type '\(type.name)' has type \(existing.type.schemaName), which can't be changed to \(definition.type.schemaName)"
                    )
                }
                // The spelling of the type may change, because the values stay the same.
                type.fields[name]?.type = definition.type
                type.fields[name]?.idleIndexes = definition.idleIndexes.intersection(
                    definition.type.possibleIdleIndexes)
                try type.set(existing.indexes.union(definition.indexes), of: .custom(name))
            } else {
                try type.add(name, definition)
            }
        }
        for (field, indexes) in added.systemIndexes {
            try type.set(indexes.union(type.systemIndexes[field] ?? []), of: .system(field))
        }
        for index in added.compositeIndexes { try type.add(index) }
        types[type.name] = type
    }
}

extension RecordType {
    fileprivate mutating func add(_ name: Name, _ definition: FieldDefinition) throws {
        try NameRules.checkFieldName(name, from: .schema)
        if definition.type.isEncrypted, !definition.type.canBeEncrypted {
            throw RecordError(
                .badRequest, "Field '\(name)' of type \(definition.type.valueType.rawValue) can't be encrypted")
        }
        fields[name] = FieldDefinition(
            type: definition.type, idleIndexes: definition.idleIndexes.intersection(definition.type.possibleIdleIndexes)
        )
        try set(definition.indexes, of: .custom(name))
    }

    fileprivate mutating func set(_ indexes: Indexes, of key: FieldKey) throws {
        try check(indexes, of: key, existing(key))
        switch key {
        case .system(let field): systemIndexes[field] = indexes.isEmpty ? nil : indexes
        case .custom(let name): fields[name]?.indexes = indexes
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST if the field can't have these indexes.
    fileprivate func check(_ indexes: Indexes, of key: FieldKey, _ definition: FieldDefinition) throws {
        let allowed = definition.allowedIndexes(of: key)
        let refused = indexes.subtracting(allowed)
        if refused.isEmpty { return }
        throw RecordError(
            .badRequest,
            "Field '\(key.errorName)' of type \(definition.type.schemaName) can't be \(refused.names.joined(separator: " or ")); "
                + (allowed.isEmpty ? "it can't have an index" : "it can be \(allowed.names.joined(separator: ", "))"))
    }

    /// Sets one grant per role, ordered by role.
    fileprivate mutating func set(_ grants: [Grant]) throws {
        let canonical = Grant.canonical(grants)
        if canonical.isEmpty {
            throw RecordError(
                .badRequest,
                "The type '\(name)' needs at least one grant; without grants it would get CloudKit's default grants")
        }
        self.grants = canonical
    }

    fileprivate mutating func add(_ index: CompositeIndex) throws {
        if name == Schema.usersType { throw QueryProblem.systemType.error }
        if index.filter == index.sort { throw RecordError(.badRequest, "A composite index needs two different fields") }
        for key in [index.filter, index.sort] where key == .system(.recordID) {
            throw RecordError(
                .badRequest,
                "A composite index can't have 'recordName': the index of the other field already orders its records by name"
            )
        }
        let (filter, sort) = (try existing(index.filter), try existing(index.sort))
        if filter.type.isList || !filter.allowedIndexes(of: index.filter).contains(.queryable) {
            throw RecordError(
                .badRequest,
                "Field '\(index.filter.errorName)' of type \(filter.type.schemaName) can't be compared with EQUALS")
        }
        if !sort.allowedIndexes(of: index.sort).contains(.sortable) {
            throw RecordError(
                .badRequest, "Field '\(index.sort.errorName)' of type \(sort.type.schemaName) can't be sorted by")
        }
        compositeIndexes.insert(index)
    }

    fileprivate func existing(_ key: FieldKey) throws -> FieldDefinition {
        guard let definition = definition(of: key) else {
            throw RecordError(known: .fieldNotFound, key.errorName, name)
        }
        return definition
    }
}

extension FieldDefinition {
    /// The indexes that a field with this definition can have.
    func allowedIndexes(of key: FieldKey) -> Indexes {
        if case .system(let field) = key { field.allowedIndexes } else { type.allowedIndexes }
    }
}
