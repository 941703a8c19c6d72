public import JSON

/// The field of a filter or sort: a system field or a custom field of the type.
public enum FieldKey: Sendable, Hashable {
    case system(SystemField)
    case custom(Name)

    /// Names starting with `___` are always system fields. Other names of system fields count as custom fields here.
    public init(schemaName name: Name) {
        if let field = SystemField(rawValue: name.string) { self = .system(field) } else { self = .custom(name) }
    }

    /// The field's name in schema files. Its indexes are stored under this name.
    public var schemaName: Name {
        switch self {
        case .system(let field): field.schemaName
        case .custom(let name): name
        }
    }

    /// The field's name in error messages, as in CloudKit: `recordName`, and `___` names for the other system fields.
    public var errorName: Name {
        self == .system(.recordID) ? SystemField.recordID.alias : schemaName
    }
}
