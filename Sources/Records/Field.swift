public import JSON

/// A named field of a record.
public struct Field: Sendable, Hashable {
    /// Maximum length of a field name in UTF-8 bytes.
    public static let nameLimit = 255

    /// Unique in its record.
    public var name: Name
    /// One value, or a list of values of one type.
    public var value: FieldValue
    /// True if the client requested encryption of the field. Encrypted fields can't be queried.
    public var isEncrypted: Bool

    /// A field; plain unless it says otherwise.
    public init(name: Name, value: FieldValue, isEncrypted: Bool = false) {
        self.name = name
        self.value = value
        self.isEncrypted = isEncrypted
    }
}
