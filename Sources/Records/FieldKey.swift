public import JSON

/// What a filter or a sort names: a system field or one of the type's own.
public enum FieldKey: Sendable, Hashable {
    case system(SystemField)
    case custom(Name)

    /// A `___` name is always a system field; the other names of system fields only where no own field is meant.
    public init(schemaName name: Name) {
        if let field = SystemField(rawValue: name.string) { self = .system(field) } else { self = .custom(name) }
    }

    /// The name in a schema file, under which its indexes are kept.
    public var schemaName: Name {
        switch self {
        case .system(let field): field.schemaName
        case .custom(let name): name
        }
    }

    /// The name in error messages: `recordName`, and for the other system fields their `___` names, as CloudKit writes them.
    public var errorName: Name {
        self == .system(.recordID) ? SystemField.recordID.alias : schemaName
    }
}
