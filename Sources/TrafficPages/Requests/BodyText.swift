internal import Console
internal import Records
internal import RequestLog

/// The body of a request or of its answer, formatted for readers.
struct BodyText: ViewModel {
    let label: String
    /// `nil` if there is nothing to show.
    let text: String?
    /// Notes about differences from the original: truncation, or hidden values.
    let notes: [String]
    /// True if values of records are hidden.
    let hidesValues: Bool

    /// - Parameters:
    ///   - body: the kept part of the body.
    ///   - size: the size of the whole body, in bytes.
    ///   - isUnread: true if the server did not read the body to its end.
    /// - Returns: `nil` for an empty body.
    init?(_ label: String, _ body: RequestBodies.Body?, size: Int, isUnread: Bool = false, showsValues: Bool) {
        if size == 0, !isUnread { return nil }
        self.label = label
        if isUnread {
            (text, hidesValues) = (nil, false)
            notes = ["The body is not kept: the request failed before it was read."]
            return
        }
        guard let body, !body.bytes.isEmpty else {
            text = nil
            notes = [
                "The body of \(Digits.bytes(Int64(size))) is not kept. Files are never kept, and older requests keep only their heads."
            ]
            hidesValues = false
            return
        }
        var notes: [String] = []
        if body.isCut {
            notes.append(
                "Only the first \(Digits.bytes(Int64(body.bytes.count))) of \(Digits.bytes(Int64(body.total))) are kept."
            )
        }
        let end = body.isCut ? "\n…" : ""
        if let value = Self.value(of: body) {
            var hidden = HiddenValues()
            let shown = showsValues ? value : hidden.hide(in: value)
            hidesValues = hidden.count > 0
            text = RecordJSON.laidOut(shown) + end
        } else if showsValues {
            hidesValues = false
            text = String(decoding: body.bytes, as: UTF8.self) + end
        } else {
            hidesValues = true
            text = nil
            notes.append("The body is not JSON, so values can't be hidden separately.")
        }
        self.notes = notes
    }

    /// The JSON value of a body, as far as it is kept.
    static func value(of body: RequestBodies.Body) -> JSONValue? {
        let whole = body.isCut ? TruncatedJSON.completed(body.bytes) : body.bytes
        return whole.flatMap { try? JSONReader.value(of: $0) }
    }
}

// MARK: - Hidden values

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
                        return JSONObject.Member(
                            name: member.name,
                            value: isValue ? hidden(member.value) : hide(in: member.value, of: member.name))
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
            JSONObject(
                object.map { $0.name == "value" ? JSONObject.Member(name: $0.name, value: hidden($0.value)) : $0 }))
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

// MARK: - Truncated bodies

/// Completes a truncated JSON text, such as a long body in the log.
enum TruncatedJSON {
    /// The text up to the last comma between two members or elements, with its open brackets closed.
    /// - Returns: `nil` if the text has no complete member or element.
    static func completed(_ text: [UInt8]) -> [UInt8]? {
        var open: [UInt8] = []
        var end: (offset: Int, open: [UInt8])?
        var isInString = false
        var isEscaped = false
        for (offset, byte) in text.enumerated() {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"): open.append(UInt8(ascii: "}"))
            case UInt8(ascii: "["): open.append(UInt8(ascii: "]"))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard open.popLast() == byte else { return nil }
            case UInt8(ascii: ","): end = (offset, open)
            default: break
            }
            if open.count > JSONReader.depthLimit { return nil }
        }
        guard let end else { return nil }
        return text[..<end.offset] + end.open.reversed()
    }
}
