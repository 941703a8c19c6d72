/// How a field declared as NUMBER in the schema language stores its values.
public enum NumberPreference: String, Sendable, Hashable, CaseIterable {
    /// `NUMBER`: stored as DOUBLE.
    case none = "NUMBER"
    /// `NUMBER PREFERRED AS INT64`
    case int64 = "NUMBER PREFERRED AS INT64"
    /// `NUMBER PREFERRED AS DOUBLE`
    case double = "NUMBER PREFERRED AS DOUBLE"

    /// The type of the stored values.
    public var valueType: ValueType { self == .int64 ? .int64 : .double }
}
