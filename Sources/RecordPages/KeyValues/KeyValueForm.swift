internal import Console
internal import Foundation
internal import JSON
internal import Records
internal import Text

/// The form that sets a key: the key, and the kind and text of its value.
struct KeyValueForm {
    /// Maximum length of a text that the form shows, in bytes.
    private static let textLimit = 100_000

    var key = ""
    var kind = PropertyValue.Kind.string
    var text = ""
    /// True if the key is there already.
    var isThere = false

    init() {}

    init(_ fields: FormFields) {
        key = Self.key(fields)
        kind = fields["kind"].flatMap { PropertyValue.Kind(rawValue: $0) } ?? .string
        text = Self.withoutReturns(fields["value"] ?? "")
        isThere = fields["saved"] != nil
    }

    /// - Returns: `nil` for a value that is too long for a form, or a key or text that a browser would send as another one.
    init?(_ change: KeyValueChange) {
        guard let value = change.value, value.size <= Self.textLimit, Self.holds(change.key.string), Self.holds(value.text) else { return nil }
        (key, kind, text, isThere) = (change.key.string, value.kind, value.text, true)
    }

    /// The key that a form sent.
    static func key(_ fields: FormFields) -> String { withoutReturns(fields["key"] ?? "") }

    /// True if a form sends the text back as it is.
    static func holds(_ text: String) -> Bool { !text.utf8.contains(UInt8(ascii: "\r")) }

    /// Browsers end all lines with CR LF.
    private static func withoutReturns(_ text: String) -> String { text.replacingOccurrences(of: "\r\n", with: "\n") }

    /// - Throws: `RecordError` BAD_REQUEST with what is wrong.
    func operation() throws -> KeyValueOperation { .set(Name(key), try value()) }

    private func value() throws -> PropertyValue {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        func needed<Value>(_ expected: String, _ value: Value?) throws -> Value {
            guard let value else { throw RecordError(.badRequest, "Not saved: a value of the kind \(kind.words) is \(expected)") }
            return value
        }
        switch kind {
        case .string: return .string(text)
        case .bytes: return .bytes(try needed("base64", Base64.bytes(of: trimmed.utf8.filter { $0 > 0x20 })))
        case .bool: return .bool(try needed("true or false", Bool(trimmed.lowercased())))
        case .integer: return .integer(try needed("a whole number", Int64(trimmed)))
        case .double: return .double(try needed("a number", Double(trimmed)))
        case .date: return .date(try needed("a time such as 2026-11-20 18:00", Timestamp(utcText: trimmed)))
        case .array, .dictionary:
            let json = try needed("JSON", try? JSONReader.value(of: trimmed.utf8.map { $0 }))
            return try PropertyValue(
                RequestObject(JSONObject([.init(name: "type", value: .string(kind.rawValue)), .init(name: "value", value: json)])))
        }
    }
}

extension PropertyValue {
    /// The text in the form: of an array or a dictionary, the JSON of its elements with their types.
    var text: String {
        switch self {
        case .string(let string): return string
        case .bytes(let bytes): return Base64.text(of: bytes)
        case .bool(let bool): return bool ? "true" : "false"
        case .integer(let integer): return String(integer)
        case .double(let double): return double.description
        case .date(let date): return date.utcText
        case .array, .dictionary:
            var writer = JSONWriter()
            writer.value(self)
            let object = try? RequestObject(writer.bytes)
            return object?.value("value").map { String(decoding: JSONWriter.bytes(of: $0), as: UTF8.self) } ?? ""
        }
    }
}

extension PropertyValue.Kind {
    /// The kind as property lists name it.
    var words: String {
        switch self {
        case .string: "string"
        case .bytes: "data"
        case .bool: "boolean"
        case .integer: "integer"
        case .double: "double"
        case .date: "date"
        case .array: "array"
        case .dictionary: "dictionary"
        }
    }
}
