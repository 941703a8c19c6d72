public import Records
internal import JSON

/// The order of field values for sorts, ranges and equality on all engines.
///
/// | type | order |
/// |---|---|
/// | STRING | UTF-8 bytes |
/// | INT64, DOUBLE, TIMESTAMP | number |
/// | BYTES | byte by byte, a prefix first |
/// | REFERENCE | record name |
/// | no value | before every value; so last in a descending sort |
public enum ValueOrder {
    /// Compares two values: -1, 0 or 1. Values of different types never occur in the same field; they compare as
    /// equal.
    public static func compare(_ left: FieldValue?, _ right: FieldValue?) -> Int {
        switch (left, right) {
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        case (.string(let left), .string(let right)): compare(Name(left), Name(right))
        case (.int64(let left), .int64(let right)): compare(left, right)
        case (.double(let left), .double(let right)): compare(left, right)
        case (.timestamp(let left), .timestamp(let right)): compare(left, right)
        case (.reference(let left), .reference(let right)): compare(left.recordName, right.recordName)
        case (.bytes(let left), .bytes(let right)):
            left == right ? 0 : (left.lexicographicallyPrecedes(right) ? -1 : 1)
        default: 0
        }
    }

    private static func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left < right ? -1 : (right < left ? 1 : 0)
    }

    /// Equality for EQUALS and the list comparators. References are equal if they name the same record; zones are
    /// compared only if both specify one. Locations are equal if they are the same place, whether written +180° or
    /// -180°.
    static func equal(_ left: FieldValue, _ right: FieldValue) -> Bool {
        switch (left, right) {
        case (.reference(let left), .reference(let right)):
            left.recordName == right.recordName && (left.zoneID == nil || right.zoneID == nil || left.zoneID?.zoneName == right.zoneID?.zoneName)
        case (.location(let left), .location(let right)): left.isSamePlace(as: right)
        case (.asset, _), (.list, _): false
        default: left.type == right.type && compare(left, right) == 0
        }
    }
}
