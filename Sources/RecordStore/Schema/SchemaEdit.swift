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

extension JSONWriter {
    /// Writes an edit in the format of `schema/edit` (docs/services.md).
    public mutating func value(_ edit: SchemaEdit) {
        object { writer in
            switch edit {
            case .addType(let type):
                writer.name("addType")
                writer.value(type)
            case .removeType(let name):
                writer.member("removeType", name)
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
            case .addRole(let name):
                writer.member("addRole", name)
            case .removeRole(let name):
                writer.member("removeRole", name)
            case .addCompositeIndex(let index, let recordType):
                writer.name("addCompositeIndex")
                writer.value(index)
                writer.member("recordType", recordType)
            case .removeCompositeIndex(let index, let recordType):
                writer.name("removeCompositeIndex")
                writer.value(index)
                writer.member("recordType", recordType)
            }
        }
    }

    private mutating func members(_ edit: Name, _ indexes: Indexes, of field: FieldKey, in recordType: Name) {
        name(edit)
        value(indexes)
        member("field", field.schemaName)
        member("recordType", recordType)
    }

    private mutating func members(_ edit: Name, _ grants: [Grant], of recordType: Name) {
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

extension JSONWriter {
    /// Writes a schema history entry (docs/services.md).
    public mutating func value(_ entry: SchemaHistoryEntry) {
        object { writer in
            writer.member("number", entry.number)
            writer.member("timestamp", entry.timestamp.milliseconds)
            writer.member("userRecordName", entry.userRecordName)
            writer.member("reason", entry.reason.rawValue)
            writer.name("changes")
            writer.array { writer in
                for change in entry.changes { writer.value(change) }
            }
        }
    }
}
