/// How a field that the schema language declares as NUMBER keeps its values.
public enum NumberPreference: String, Sendable, Hashable, CaseIterable {
    /// `NUMBER`: kept as DOUBLE.
    case none = "NUMBER"
    /// `NUMBER PREFERRED AS INT64`
    case int64 = "NUMBER PREFERRED AS INT64"
    /// `NUMBER PREFERRED AS DOUBLE`
    case double = "NUMBER PREFERRED AS DOUBLE"

    /// What the values are.
    public var valueType: ValueType { self == .int64 ? .int64 : .double }
}
