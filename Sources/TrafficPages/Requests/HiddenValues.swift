internal import Console
internal import JSON

/// Removes the values of records and key-value stores from a body, to keep user data out of the request log pages.
///
/// Keeps names, types and the structure of the body. The values of filters are removed too.
struct HiddenValues {
    /// The number of removed values.
    private(set) var count = 0

    mutating func hide(in value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            .object(
                JSONObject(
                    object.map { member in
                        let isValue = member.name == "value" && Self.holdsValue(object, member.value)
                        return JSONObject.Member(name: member.name, value: isValue ? hidden(member.value) : hide(in: member.value, of: member.name))
                    }))
        case .array(let elements): .array(elements.map { hide(in: $0) })
        default: value
        }
    }

    /// True for a value with its type, and for the value of a key that came without one.
    private static func holdsValue(_ object: JSONObject, _ value: JSONValue) -> Bool {
        if object["type"] != nil { return true }
        guard object["key"] != nil else { return false }
        guard case .object(let typed) = value else { return true }
        return typed["type"] == nil
    }

    private mutating func hide(in value: JSONValue, of name: Name) -> JSONValue {
        switch (name, value) {
        case ("fields", .object(let fields)):
            .object(JSONObject(fields.map { JSONObject.Member(name: $0.name, value: hidden(field: $0.value)) }))
        case ("fieldValue", _), ("relativeLocation", _): hidden(field: value)
        default: hide(in: value)
        }
    }

    /// A field in a request: an object with the value and its type, or just the value.
    private mutating func hidden(field: JSONValue) -> JSONValue {
        guard case .object(let object) = field, object["value"] != nil else { return hidden(field) }
        return .object(
            JSONObject(object.map { $0.name == "value" ? JSONObject.Member(name: $0.name, value: hidden($0.value)) : $0 }))
    }

    private mutating func hidden(_ value: JSONValue) -> JSONValue {
        if value == .null { return .null }
        count += 1
        switch value {
        case .string(let text): return .string("‹\(Digits.count(text.count, "character")) hidden›")
        case .array(let elements): return .string("‹list of \(elements.count) hidden›")
        default: return .string("‹\(value.kind) hidden›")
        }
    }
}
