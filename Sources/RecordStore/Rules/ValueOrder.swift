public import Records
internal import JSON

/// The one order of field values, for sorts, ranges and equality on every engine.
///
/// | type | order |
/// |---|---|
/// | STRING | UTF-8 bytes |
/// | INT64, DOUBLE, TIMESTAMP | number |
/// | BYTES | byte by byte, a prefix first |
/// | REFERENCE | record name |
/// | no value | before every value; so last in a descending sort |
public enum ValueOrder {
    /// -1, 0 or 1. Values of different types never meet in one field; they compare as equal.
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

    /// Equality as EQUALS and the list comparators mean it. References are equal when they name the same record; the zone counts
    /// only where both say one. Locations are when they are the same place, be it written +180° or -180°.
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
