public import JSON

// JSON form of a schema. An extension of Skylight that uses the terms of the schema language and of responses.

extension JSONWriter {
    /// Writes `{"types":[…],"roles":[…]}`, both ordered by name.
    public mutating func value(_ schema: Schema) {
        object { $0.members(of: schema) }
    }

    /// Writes the members of a schema into the current object.
    public mutating func members(of schema: Schema) {
        name("types")
        array { writer in
            for type in schema.sortedTypes { writer.value(type) }
        }
        name("roles")
        array { writer in
            for role in schema.roles.sorted() { writer.value(role) }
        }
    }

    /// Writes
    /// `{"name":"Item","fields":{"title":{"type":"STRING","indexes":["QUERYABLE"]}},"systemIndexes":{"___recordID":[…]},"grants":[…]}`,
    /// and `compositeIndexes` if there are any. A NUMBER field has a member `number` besides the type of its values.
    public mutating func value(_ type: RecordType) {
        object { writer in
            writer.member("name", type.name)
            writer.name("fields")
            writer.object { writer in
                for (name, definition) in type.fields.sorted(by: { $0.key < $1.key }) {
                    writer.name(name)
                    writer.object { $0.members(of: definition) }
                }
            }
            writer.name("systemIndexes")
            writer.object { writer in
                for (field, indexes) in type.systemIndexes.sorted(by: { $0.key.schemaName < $1.key.schemaName }) where !indexes.isEmpty {
                    writer.name(field.schemaName)
                    writer.value(indexes)
                }
            }
            writer.name("grants")
            writer.array { writer in
                for grant in type.grants { writer.value(grant) }
            }
            guard !type.compositeIndexes.isEmpty else { return }
            writer.name("compositeIndexes")
            writer.array { writer in
                for index in type.sortedCompositeIndexes { writer.value(index) }
            }
        }
    }

    /// Writes the members of a field into the current object: `"type":"STRING","indexes":["QUERYABLE"]`.
    public mutating func members(of definition: FieldDefinition) {
        member("type", definition.type.wireName)
        if let number = definition.type.number { member("number", number.rawValue) }
        name("indexes")
        value(definition.indexes)
        if !definition.idleIndexes.isEmpty {
            name("idleIndexes")
            value(definition.idleIndexes)
        }
    }

    /// Writes `{"filter":"author","sort":"year"}`.
    public mutating func value(_ index: CompositeIndex) {
        object { $0.members(of: index) }
    }

    /// Writes the members of a composite index into the current object.
    public mutating func members(of index: CompositeIndex) {
        member("filter", index.filter.schemaName)
        member("sort", index.sort.schemaName)
    }

    /// Writes `["QUERYABLE","SORTABLE"]`.
    public mutating func value(_ indexes: Indexes) {
        array { writer in
            for name in indexes.names { writer.value(name) }
        }
    }

    /// Writes `{"role":"_world","permissions":["READ"]}`.
    public mutating func value(_ grant: Grant) {
        object { writer in
            writer.member("role", grant.role)
            writer.name("permissions")
            writer.array { writer in
                for permission in Grant.Permission.allCases where grant.permissions.contains(permission) { writer.value(permission.rawValue) }
            }
        }
    }
}

extension Schema {
    /// Parses a schema as written by ``JSON/JSONWriter``.
    /// - Throws: `RecordError` BAD_REQUEST with the unexpected part.
    public init(_ json: JSONValue) throws {
        let object = try json.object("a schema")
        self.init(
            types: try object.array("types", of: "a schema").map { try RecordType($0) },
            roles: Set(try object.array("roles", of: "a schema").map { Name(try $0.string("roles")) }))
    }
}

extension RecordType {
    /// Parses a type as written by ``JSON/JSONWriter``. Without `grants` it has CloudKit's default grants.
    /// - Throws: `RecordError` BAD_REQUEST with the unexpected part.
    public init(_ json: JSONValue) throws {
        let object = try json.object("a record type")
        guard case .string(let name)? = object["name"] else {
            throw RecordError.unexpectedInput("Expected the 'name' of a record type to be a string")
        }
        self.init(name: Name(name))
        for member in try object["fields"]?.object("fields") ?? JSONObject() {
            let definition = try member.value.object(member.name.string)
            guard case .string(let typeName)? = definition["type"], let type = FieldType(wireName: typeName) else {
                throw RecordError.unexpectedInput("Expected the 'type' of the field '\(member.name)' to be a field type such as STRING or INT64_LIST")
            }
            fields[member.name] = FieldDefinition(
                type: try type.declared(as: definition["number"], field: member.name), indexes: try definition["indexes"].map { try Indexes($0) } ?? [],
                idleIndexes: try definition["idleIndexes"].map { try Indexes($0) } ?? [])
        }
        for member in try object["systemIndexes"]?.object("systemIndexes") ?? JSONObject() {
            guard let field = SystemField(named: member.name) else {
                throw RecordError.unexpectedInput("Unknown system field '\(member.name)' in 'systemIndexes'")
            }
            systemIndexes[field] = try Indexes(member.value)
        }
        if object["grants"] != nil { grants = try object.array("grants", of: "a record type").map { try Grant($0) } }
        if object["compositeIndexes"] != nil {
            compositeIndexes = Set(try object.array("compositeIndexes", of: "a record type").map { try CompositeIndex($0) })
        }
    }
}

extension RecordType {
    /// Composite indexes, ordered by their field names.
    public var sortedCompositeIndexes: [CompositeIndex] {
        compositeIndexes.sorted { ($0.filter.schemaName, $0.sort.schemaName) < ($1.filter.schemaName, $1.sort.schemaName) }
    }
}

extension FieldType {
    /// This type with the given number spelling of the schema language.
    fileprivate func declared(as number: JSONValue?, field: Name) throws -> FieldType {
        guard let number, number != .null else { return self }
        let known = NumberPreference.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        guard case .string(let text) = number, let preference = NumberPreference(rawValue: text) else {
            throw RecordError.unexpectedInput("Expected the 'number' of the field '\(field)' to be one of \(known)")
        }
        guard valueType == (preference == .int64 ? .int64 : .double) else {
            throw RecordError.unexpectedInput("The field '\(field)' can't be \(wireName) and \(text)")
        }
        return FieldType(valueType, isList: isList, isEncrypted: isEncrypted, number: preference)
    }
}

extension CompositeIndex {
    /// Parses a composite index as written by ``JSON/JSONWriter``.
    /// - Throws: `RecordError` BAD_REQUEST with the unexpected part.
    public init(_ json: JSONValue) throws {
        let object = try json.object("a composite index")
        guard case .string(let filter)? = object["filter"], case .string(let sort)? = object["sort"] else {
            throw RecordError.unexpectedInput("Expected a composite index to have 'filter' and 'sort', the names of fields")
        }
        self.init(filter: FieldKey(schemaName: Name(filter)), sort: FieldKey(schemaName: Name(sort)))
    }
}

extension Indexes {
    /// - Throws: `RecordError` BAD_REQUEST for an unknown index name.
    public init(names: some Sequence<Name>) throws {
        self = []
        for name in names {
            guard let index = Indexes(name: name.string) else {
                throw RecordError.unexpectedInput("Unknown index '\(name)'; known are \(Self.named.map(\.name).joined(separator: ", "))")
            }
            insert(index)
        }
    }

    fileprivate init(_ json: JSONValue) throws {
        guard case .array(let elements) = json else { throw RecordError.unexpectedInput("Expected 'indexes' to be an array, found \(json.kind)") }
        try self.init(names: elements.map { Name(try $0.string("indexes")) })
    }
}

extension Grant {
    /// Parses a grant as written by ``JSON/JSONWriter``.
    /// - Throws: `RecordError` BAD_REQUEST with the unexpected part.
    public init(_ json: JSONValue) throws {
        let object = try json.object("a grant")
        guard case .string(let role)? = object["role"] else { throw RecordError.unexpectedInput("Expected the 'role' of a grant to be a string") }
        let permissions = try object.array("permissions", of: "a grant").map { json in
            let name = try json.string("permissions")
            guard let permission = Permission(rawValue: name) else { throw RecordError.unexpectedInput("Unknown permission '\(name)' of a grant") }
            return permission
        }
        self.init(role: Name(role), permissions: Set(permissions))
    }
}

extension JSONValue {
    fileprivate func object(_ what: String) throws -> JSONObject {
        guard case .object(let object) = self else { throw RecordError.unexpectedInput("Expected \(what) to be an object, found \(kind)") }
        return object
    }

    fileprivate func string(_ place: String) throws -> String {
        guard case .string(let string) = self else { throw RecordError.unexpectedInput("Expected '\(place)' to contain strings, found \(kind)") }
        return string
    }
}

extension JSONObject {
    fileprivate func array(_ name: Name, of what: String) throws -> [JSONValue] {
        guard case .array(let elements)? = self[name] else { throw RecordError.unexpectedInput("Expected the '\(name)' of \(what) to be an array") }
        return elements
    }
}
