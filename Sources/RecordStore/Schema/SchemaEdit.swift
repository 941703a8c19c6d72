public import Records

/// One change of a schema.
public enum SchemaEdit: Sendable, Hashable {
    /// Adds a type, or the fields and indexes that an existing type lacks. Grants of an existing type stay unchanged.
    case addType(RecordType)
    /// Removes a type and its records.
    case removeType(Name)
    /// Removes a field and its values.
    case removeField(Name, in: Name)
    /// Replaces the indexes of a field.
    case setIndexes(Indexes, of: FieldKey, in: Name)
    /// Adds indexes to a field.
    case addIndexes(Indexes, of: FieldKey, in: Name)
    /// Removes indexes from a field. Indexes it does not have are ignored.
    case dropIndexes(Indexes, of: FieldKey, in: Name)
    /// Replaces the grants of a type.
    case setGrants([Grant], of: Name)
    /// Adds grants to a type.
    case addGrants([Grant], of: Name)
    case addRole(Name)
    /// Removes a role. No type may still grant anything to it.
    case removeRole(Name)
    case addCompositeIndex(CompositeIndex, in: Name)
    case removeCompositeIndex(CompositeIndex, in: Name)
}

// MARK: - Names

extension Schema {
    /// Resolves alternative names of system fields, such as `recordName`, unless the type has a custom field with
    /// that name.
    public func resolvingNames(in edits: [SchemaEdit]) -> [SchemaEdit] {
        var own = types.mapValues { Set($0.fields.keys) }
        func key(_ key: FieldKey, in typeName: Name) -> FieldKey {
            guard case .custom(let name) = key, own[typeName]?.contains(name) != true,
                let field = SystemField(named: name)
            else { return key }
            return .system(field)
        }
        func resolved(_ index: CompositeIndex, in typeName: Name) -> CompositeIndex {
            CompositeIndex(filter: key(index.filter, in: typeName), sort: key(index.sort, in: typeName))
        }
        return edits.map { edit in
            switch edit {
            case .addType(let type):
                own[type.name, default: []].formUnion(type.fields.keys)
                return edit
            case .removeType(let name):
                own[name] = nil
                return edit
            case .removeField(let name, let typeName):
                own[typeName]?.remove(name)
                return edit
            case .setIndexes(let indexes, let field, let typeName):
                return .setIndexes(indexes, of: key(field, in: typeName), in: typeName)
            case .addIndexes(let indexes, let field, let typeName):
                return .addIndexes(indexes, of: key(field, in: typeName), in: typeName)
            case .dropIndexes(let indexes, let field, let typeName):
                return .dropIndexes(indexes, of: key(field, in: typeName), in: typeName)
            case .addCompositeIndex(let index, let typeName):
                return .addCompositeIndex(resolved(index, in: typeName), in: typeName)
            case .removeCompositeIndex(let index, let typeName):
                return .removeCompositeIndex(resolved(index, in: typeName), in: typeName)
            case .setGrants, .addGrants, .addRole, .removeRole: return edit
            }
        }
    }
}

// MARK: - JSON

extension SchemaEdit: JSONObjectCoded {
    /// An object with exactly one member that names the kind of edit (docs/services.md).
    package static let form = JSONForm<SchemaEdit>(
        read: { object in
            let found = names.filter { object.value($0) != nil }
            guard let name = found.first, found.count == 1 else {
                let what = found.isEmpty ? "none" : found.map(\.string).joined(separator: ", ")
                throw RecordError.unexpectedInput(
                    "Expected '\(object.place)' to have one of \(names.map(\.string).joined(separator: ", ")), found \(what)"
                )
            }
            func recordType() throws -> Name { try .member("recordType", of: object) }
            func field() throws -> FieldKey { try .member("field", of: object) }
            func indexes() throws -> Indexes { try .member(name, of: object) }
            func json() throws -> JSONValue { try object.required(name, "an object", object.value(name)) }
            func grants() throws -> [Grant] {
                try [RequestObject].member(name, of: object).map { try Grant(.object($0.members)) }
            }
            switch name {
            case "addType": return .addType(try RecordType(json()))
            case "removeType": return .removeType(try .member(name, of: object))
            case "removeField": return .removeField(try .member(name, of: object), in: try recordType())
            case "setIndexes": return .setIndexes(try indexes(), of: try field(), in: try recordType())
            case "addIndexes": return .addIndexes(try indexes(), of: try field(), in: try recordType())
            case "dropIndexes": return .dropIndexes(try indexes(), of: try field(), in: try recordType())
            case "setGrants": return .setGrants(try grants(), of: try recordType())
            case "addGrants": return .addGrants(try grants(), of: try recordType())
            case "addRole": return .addRole(try .member(name, of: object))
            case "removeRole": return .removeRole(try .member(name, of: object))
            case "addCompositeIndex": return .addCompositeIndex(try CompositeIndex(json()), in: try recordType())
            default: return .removeCompositeIndex(try CompositeIndex(json()), in: try recordType())
            }
        },
        write: { edit, writer in
            switch edit {
            case .addType(let type):
                writer.name("addType")
                writer.value(type)
            case .removeType(let name): writer.member("removeType", name)
            case .removeField(let name, let recordType):
                writer.member("removeField", name)
                writer.member("recordType", recordType)
            case .setIndexes(let indexes, let field, let recordType):
                writer.members("setIndexes", indexes, of: field, in: recordType)
            case .addIndexes(let indexes, let field, let recordType):
                writer.members("addIndexes", indexes, of: field, in: recordType)
            case .dropIndexes(let indexes, let field, let recordType):
                writer.members("dropIndexes", indexes, of: field, in: recordType)
            case .setGrants(let grants, let recordType): writer.members("setGrants", grants, of: recordType)
            case .addGrants(let grants, let recordType): writer.members("addGrants", grants, of: recordType)
            case .addRole(let name): writer.member("addRole", name)
            case .removeRole(let name): writer.member("removeRole", name)
            case .addCompositeIndex(let index, let recordType):
                index.write(as: "addCompositeIndex", into: &writer)
                writer.member("recordType", recordType)
            case .removeCompositeIndex(let index, let recordType):
                index.write(as: "removeCompositeIndex", into: &writer)
                writer.member("recordType", recordType)
            }
        })

    private static let names: [Name] = [
        "addType", "removeType", "removeField", "setIndexes", "addIndexes", "dropIndexes", "setGrants", "addGrants",
        "addRole", "removeRole",
        "addCompositeIndex", "removeCompositeIndex",
    ]
}

extension JSONWriter {
    fileprivate mutating func members(_ edit: Name, _ indexes: Indexes, of field: FieldKey, in recordType: Name) {
        name(edit)
        value(indexes)
        member("field", field.schemaName)
        member("recordType", recordType)
    }

    fileprivate mutating func members(_ edit: Name, _ grants: [Grant], of recordType: Name) {
        name(edit)
        array { writer in
            for grant in grants { writer.value(grant) }
        }
        member("recordType", recordType)
    }
}

// MARK: - History

/// An entry of the schema history.
public struct SchemaHistoryEntry: Sendable, Hashable {
    /// The cause of a schema change.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// An edit of types, fields, indexes or grants.
        case edit = "EDIT"
        /// A schema file was imported.
        case schemaImport = "IMPORT"
        /// The development schema was deployed.
        case deployment = "DEPLOY"
        /// The environment was reset.
        case reset = "RESET"
        /// A save with unknown types or fields (just-in-time schema).
        case save = "SAVE"
        /// An import or restore of records, or the creation of demo data.
        case data = "DATA"
    }

    /// Increases with each entry, not necessarily by one.
    public var number: Int64
    public var timestamp: Timestamp
    public var userRecordName: Name
    public var reason: Reason
    /// One line per change, as in ``SchemaDifference``.
    public var changes: [String]

    public init(number: Int64, timestamp: Timestamp, userRecordName: Name, reason: Reason, changes: [String]) {
        self.number = number
        self.timestamp = timestamp
        self.userRecordName = userRecordName
        self.reason = reason
        self.changes = changes
    }
}

extension SchemaHistoryEntry.Reason: JSONWord {}

extension SchemaHistoryEntry: JSONObjectCoded {
    package static let form = JSONForm(
        SchemaHistoryEntry.init(number:timestamp:userRecordName:reason:changes:), JSONPart("number", \.number),
        JSONPart("timestamp", \.timestamp), JSONPart("userRecordName", \.userRecordName),
        JSONPart("reason", \.reason), JSONPart("changes", \.changes))
}
