/// The value of a record field: one of each ``ValueType``, or a list.
public enum FieldValue: Sendable, Hashable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case bytes([UInt8])
    case timestamp(Timestamp)
    case location(Location)
    case reference(Reference)
    case asset(Asset)
    /// Values of one type. The type is known even for an empty list, except for an untagged empty list in a request.
    case list([FieldValue], of: ValueType?)

    /// The type of the value; `nil` for an empty list of unknown type.
    public var type: FieldType? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .bytes: .bytes
        case .timestamp: .timestamp
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list(_, let valueType): valueType.map { .list($0) }
        }
    }

    /// The type name for error messages.
    public var typeName: String {
        type?.wireName ?? "UNKNOWN_LIST"
    }

    /// The elements of a list, or the value itself.
    public var elements: [FieldValue] {
        if case .list(let elements, _) = self { elements } else { [self] }
    }

    /// The references in the value: one, the elements of a list, or none.
    public var references: [Reference] {
        switch self {
        case .reference(let reference): [reference]
        case .list(let elements, .reference?): elements.compactMap { if case .reference(let reference) = $0 { reference } else { nil } }
        default: []
        }
    }

    /// The assets in the value: one, the elements of a list, or none.
    public var assets: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let elements, .asset?): elements.compactMap { if case .asset(let asset) = $0 { asset } else { nil } }
        default: []
        }
    }
}
