import Records

/// Compares an answer with the expected part of it.
///
/// Objects may have more members than expected; arrays must have the expected length. The strings
/// `<absent>`, `<any>` and `<has …>` stand for no such member, any value, and a string that contains a text.
enum Subset {
    static func differences(_ expected: JSONValue, _ actual: JSONValue?, at place: String = "") -> [String] {
        switch (expected, actual) {
        case (.string("<absent>"), nil): return []
        case (.string("<absent>"), _): return ["\(place) is there"]
        case (_, nil): return ["\(place) is missing"]
        case (.string("<any>"), _): return []
        case (.string(let pattern), .string(let text)?) where pattern.hasPrefix("<has "):
            return text.contains(pattern.dropFirst(5).dropLast()) ? [] : ["\(place) is '\(text)'"]
        case (.object(let expected), .object(let actual)?):
            return expected.flatMap {
                differences($0.value, actual[$0.name], at: place.isEmpty ? $0.name.string : "\(place).\($0.name)")
            }
        case (.array(let expected), .array(let actual)?):
            if expected.count != actual.count {
                return ["\(place) has \(actual.count) elements, not \(expected.count)"]
            }
            return zip(expected, actual).enumerated().flatMap { differences($1.0, $1.1, at: "\(place)[\($0)]") }
        default:
            return expected == actual
                ? [] : ["\(place) is not \(String(decoding: JSONWriter.bytes(of: expected), as: UTF8.self))"]
        }
    }

    /// The value at a place such as `records[0].fields.title.value`.
    static func value(at place: String, in json: JSONValue) -> JSONValue? {
        place.replacing("[", with: ".").replacing("]", with: "").split(separator: ".").reduce(json as JSONValue?) {
            value, part in
            switch value {
            case .object(let object)?: return object[Name(part)]
            case .array(let array)?: return Int(part).flatMap { array.indices.contains($0) ? array[$0] : nil }
            default: return nil
            }
        }
    }
}
