/// The record types and roles of one container and environment.
public struct Schema: Sendable, Hashable {
    /// The types by their names. ``initial`` contains those of a new container.
    public var types: [Name: RecordType]
    /// The container's own roles, without ``Grant/systemRoles``.
    public var roles: Set<Name>

    /// - Parameter types: the types. If two have the same name, the last one is used.
    public init(types: [RecordType] = [], roles: Set<Name> = []) {
        self.types = Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
        self.roles = roles
    }

    /// All types, ordered by name.
    public var sortedTypes: [RecordType] {
        types.values.sorted { $0.name < $1.name }
    }

    /// The type that each container has from the start. It can't be queried.
    public static let usersType: Name = "Users"

    /// The `Users` type of a new container.
    public static let users = RecordType(
        name: usersType, fields: ["roles": FieldDefinition(type: .list(.int64))],
        grants: [Grant(role: "_creator", permissions: [.write]), Grant(role: "_world", permissions: [.read])])

    /// The schema of a new container.
    public static let initial = Schema(types: [users])
}

// MARK: - Record types

/// A record type with its fields, indexes and grants.
public struct RecordType: Sendable, Hashable {
    /// Maximum length of a type name in UTF-8 bytes.
    public static let nameLimit = 255

    /// The name, which is unique in the schema.
    public let name: Name
    /// Custom fields.
    public var fields: [Name: FieldDefinition]
    /// The indexes of system fields; a field without any may be missing.
    public var systemIndexes: [SystemField: Indexes]
    /// The permissions of roles in the public database. Private and shared databases don't use them.
    public var grants: [Grant]
    /// The composite indexes. An extension of Skylight that schema files don't contain.
    public var compositeIndexes: Set<CompositeIndex>

    /// Creates a type. By default it has no fields and indexes, and CloudKit's default grants.
    public init(
        name: Name, fields: [Name: FieldDefinition] = [:], systemIndexes: [SystemField: Indexes] = [:],
        grants: [Grant] = Grant.defaults,
        compositeIndexes: Set<CompositeIndex> = []
    ) {
        self.name = name
        self.fields = fields
        self.systemIndexes = systemIndexes
        self.grants = grants
        self.compositeIndexes = compositeIndexes
    }

    /// The type and indexes of a custom or system field; `nil` if the type does not have the field.
    public func definition(of key: FieldKey) -> FieldDefinition? {
        switch key {
        case .system(let field): FieldDefinition(type: field.type, indexes: systemIndexes[field] ?? [])
        case .custom(let name): fields[name]
        }
    }

    /// The field a name in a request refers to: a custom field with that name, or else a system field.
    public func key(named name: Name) -> FieldKey {
        if fields[name] == nil, let field = SystemField(named: name) { .system(field) } else { .custom(name) }
    }

    /// True if queries for the type are possible. False if no field has an index.
    public var hasAnyIndex: Bool {
        fields.values.contains { !$0.indexes.isEmpty } || systemIndexes.values.contains { !$0.isEmpty }
    }

    /// All fields with an index.
    public var indexedKeys: [FieldKey] {
        let system = systemIndexes.filter { !$0.value.isEmpty }.keys.map { FieldKey.system($0) }
        let custom = fields.filter { !$0.value.indexes.isEmpty }.keys.map { FieldKey.custom($0) }
        return (system + custom).sorted { $0.schemaName < $1.schemaName }
    }
}

/// The declaration of a field in a schema.
public struct FieldDefinition: Sendable, Hashable {
    /// The type of all values of the field.
    public var type: FieldType
    /// The indexes that queries use.
    public var indexes: Indexes
    /// Indexes that CloudKit can have on such a field but no query here can use. They cost nothing and are kept so
    /// that an exported schema equals the imported one.
    public var idleIndexes: Indexes

    /// Creates the declaration of a field. A field without an index can't be used in queries.
    public init(type: FieldType, indexes: Indexes = [], idleIndexes: Indexes = []) {
        self.type = type
        self.indexes = indexes
        self.idleIndexes = idleIndexes
    }
}

// MARK: - Indexes

/// The indexes of a field.
public struct Indexes: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// For equality, membership, distance and ranges.
    public static let queryable = Indexes(rawValue: 1)
    /// For sorting and ranges.
    public static let sortable = Indexes(rawValue: 2)
    /// For searching words of a text.
    public static let searchable = Indexes(rawValue: 4)

    /// The names in the order used in schema files.
    public static let named: [(name: String, index: Indexes)] = [
        ("QUERYABLE", .queryable), ("SEARCHABLE", .searchable), ("SORTABLE", .sortable),
    ]

    /// The names of these indexes, such as `QUERYABLE`, in the order of ``named``.
    public var names: [String] {
        Self.named.filter { contains($0.index) }.map(\.name)
    }

    /// The index with a name, ignoring case.
    public init?(name: String) {
        guard let index = Self.named.first(where: { $0.name == name.uppercased() })?.index else { return nil }
        self = index
    }
}

/// An index that serves a filter on one field and a sort by another at the same time.
///
/// An extension of Skylight. It is never exported to a schema file, and no query requires it.
public struct CompositeIndex: Sendable, Hashable {
    /// The field compared with EQUALS.
    public var filter: FieldKey
    /// The field of the query's first sort, in either direction.
    public var sort: FieldKey

    /// Creates an index for queries with EQUALS on one field and a sort by another.
    public init(filter: FieldKey, sort: FieldKey) {
        self.filter = filter
        self.sort = sort
    }
}

// MARK: - Grants

/// The permissions of a role for the records of a type in the public database.
public struct Grant: Sendable, Hashable {
    /// The permissions that a role can have. A caller has the permissions of all its roles.
    public enum Permission: String, Sendable, Hashable, CaseIterable {
        /// Permission to fetch and query records.
        case read = "READ"
        /// Permission to create records and upload files for them.
        case create = "CREATE"
        /// Permission to change and delete records, and to upload files for them.
        case write = "WRITE"
    }

    /// `_world`, `_icloud`, `_creator` or a custom role.
    public var role: Name
    /// All permissions of the role. If empty, the grant has no effect.
    public var permissions: Set<Permission>

    /// Creates a grant of permissions to one role.
    public init(role: Name, permissions: Set<Permission>) {
        self.role = role
        self.permissions = permissions
    }

    /// CloudKit's grants for a type without explicit grants.
    public static let defaults = [
        Grant(role: "_creator", permissions: [.write]),
        Grant(role: "_icloud", permissions: [.create]),
        Grant(role: "_world", permissions: [.read]),
    ]

    /// The roles that exist in each container.
    public static let systemRoles: Set<Name> = ["_world", "_icloud", "_creator"]

    /// Equivalent grants with one grant per role, ordered by role, as in exports.
    public static func canonical(_ grants: some Sequence<Grant>) -> [Grant] {
        Dictionary(grants.map { ($0.role, $0.permissions) }, uniquingKeysWith: { $0.union($1) })
            .filter { !$0.value.isEmpty }.map { Grant(role: $0.key, permissions: $0.value) }.sorted {
                $0.role < $1.role
            }
    }
}

// MARK: - JSON

// JSON form of a schema. An extension of Skylight that uses the terms of the schema language and of responses.

extension JSONWriter {
    /// Writes the members of a schema into the current object: `"types":[…],"roles":[…]`, both ordered by name.
    public mutating func members(of schema: Schema) {
        member("types", values: schema.sortedTypes) { $0.value($1) }
        member("roles", values: schema.roles.sorted()) { $0.value($1) }
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
                for (field, indexes) in type.systemIndexes.sorted(by: { $0.key.schemaName < $1.key.schemaName })
                where !indexes.isEmpty {
                    writer.name(field.schemaName)
                    writer.value(indexes)
                }
            }
            writer.member("grants", values: type.grants) { $0.value($1) }
            guard !type.compositeIndexes.isEmpty else { return }
            writer.member("compositeIndexes", values: type.sortedCompositeIndexes) { $0.value($1) }
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

    /// Writes `{"role":"_world","permissions":["READ"]}`.
    public mutating func value(_ grant: Grant) {
        object { writer in
            writer.member("role", grant.role)
            writer.name("permissions")
            writer.array { writer in
                for permission in Grant.Permission.allCases where grant.permissions.contains(permission) {
                    writer.value(permission.rawValue)
                }
            }
        }
    }
}

extension Schema: JSONObjectCoded {
    package static let form = JSONForm<Schema>(
        shapes: [MemberShape("types", .array(.object(nil))), MemberShape("roles", [Name].shape)],
        read: { try Schema(.object($0.members)) }, write: { $1.members(of: $0) })

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
                throw RecordError.unexpectedInput(
                    "Expected the 'type' of the field '\(member.name)' to be a field type such as STRING or INT64_LIST")
            }
            fields[member.name] = FieldDefinition(
                type: try type.declared(as: definition["number"], field: member.name),
                indexes: try definition["indexes"].map { try Indexes($0) } ?? [],
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
            compositeIndexes = Set(
                try object.array("compositeIndexes", of: "a record type").map { try CompositeIndex($0) })
        }
    }
}

extension RecordType {
    /// Composite indexes, ordered by their field names.
    public var sortedCompositeIndexes: [CompositeIndex] {
        compositeIndexes.sorted {
            ($0.filter.schemaName, $0.sort.schemaName) < ($1.filter.schemaName, $1.sort.schemaName)
        }
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

extension CompositeIndex: JSONObjectCoded {
    /// `{"filter":"author","sort":"year"}`.
    package static let form = JSONForm(
        CompositeIndex.init(filter:sort:), JSONPart("filter", \.filter), JSONPart("sort", \.sort))

    /// Parses a composite index as written by ``JSON/JSONWriter``.
    /// - Throws: `RecordError` BAD_REQUEST with the unexpected part.
    public init(_ json: JSONValue) throws {
        let object = try json.object("a composite index")
        guard case .string(let filter)? = object["filter"], case .string(let sort)? = object["sort"] else {
            throw RecordError.unexpectedInput(
                "Expected a composite index to have 'filter' and 'sort', the names of fields")
        }
        self.init(filter: FieldKey(schemaName: Name(filter)), sort: FieldKey(schemaName: Name(sort)))
    }
}

/// `["QUERYABLE","SORTABLE"]`.
extension Indexes: JSONCoded {
    package static var shape: JSONShape { [Name].shape }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        try self.init(names: [Name](json, at: path()))
    }

    package func write(into writer: inout JSONWriter) { names.write(into: &writer) }

    /// - Throws: `RecordError` BAD_REQUEST for an unknown index name.
    public init(names: some Sequence<Name>) throws {
        self = []
        for name in names {
            guard let index = Indexes(name: name.string) else {
                throw RecordError.unexpectedInput(
                    "Unknown index '\(name)'; known are \(Self.named.map(\.name).joined(separator: ", "))")
            }
            insert(index)
        }
    }

    fileprivate init(_ json: JSONValue) throws {
        guard case .array(let elements) = json else {
            throw RecordError.unexpectedInput("Expected 'indexes' to be an array, found \(json.kind)")
        }
        try self.init(names: elements.map { Name(try $0.string("indexes")) })
    }
}

extension Grant {
    /// Parses a grant as written by ``JSON/JSONWriter``.
    /// - Throws: `RecordError` BAD_REQUEST with the unexpected part.
    public init(_ json: JSONValue) throws {
        let object = try json.object("a grant")
        guard case .string(let role)? = object["role"] else {
            throw RecordError.unexpectedInput("Expected the 'role' of a grant to be a string")
        }
        let permissions = try object.array("permissions", of: "a grant").map { json in
            let name = try json.string("permissions")
            guard let permission = Permission(rawValue: name) else {
                throw RecordError.unexpectedInput("Unknown permission '\(name)' of a grant")
            }
            return permission
        }
        self.init(role: Name(role), permissions: Set(permissions))
    }
}

extension JSONValue {
    fileprivate func object(_ what: String) throws -> JSONObject {
        guard case .object(let object) = self else {
            throw RecordError.unexpectedInput("Expected \(what) to be an object, found \(kind)")
        }
        return object
    }

    fileprivate func string(_ place: String) throws -> String {
        guard case .string(let string) = self else {
            throw RecordError.unexpectedInput("Expected '\(place)' to contain strings, found \(kind)")
        }
        return string
    }
}

extension JSONObject {
    fileprivate func array(_ name: Name, of what: String) throws -> [JSONValue] {
        guard case .array(let elements)? = self[name] else {
            throw RecordError.unexpectedInput("Expected the '\(name)' of \(what) to be an array")
        }
        return elements
    }
}
