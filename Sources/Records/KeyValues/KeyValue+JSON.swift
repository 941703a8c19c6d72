public import JSON
internal import Text

// JSON form of key-value stores in requests and answers. Stores and exports have it too.

extension PropertyValue {
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject) throws {
        let type = try object.required("type", "a string", object.string("type"))
        guard let kind = Kind(rawValue: type) else {
            throw RecordError.unexpectedInput(
                "Unknown type '\(type)' in '\(object.place)'; known are \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        func read<Value>(_ expected: String, _ value: Value?) throws -> Value { try object.required("value", expected, value) }
        switch kind {
        case .string: self = .string(try read("a string", object.string("value")))
        case .bytes:
            let text = try read("a string", object.string("value"))
            guard let bytes = Base64.bytes(of: text.utf8) else { throw RecordError.unexpectedInput("Expected '\(object.place(of: "value"))' to be base64") }
            self = .bytes(bytes)
        case .bool: self = .bool(try read("true or false", object.bool("value")))
        case .integer: self = .integer(try read("a whole number", Self.integer(of: object)))
        case .double: self = .double(try read("a number", object.number("value")))
        case .date: self = .date(Timestamp(milliseconds: try read("a whole number of milliseconds", Self.integer(of: object))))
        case .array: self = .array(try read("an array", object.objects("value")).map { try PropertyValue($0) })
        case .dictionary:
            let members = try read("an object", object.members("value")).map { ($0.name, try PropertyValue($0.object)) }
            // JSON with a name twice is refused when it is read.
            self = .dictionary(Dictionary(members, uniquingKeysWith: { _, last in last }))
        }
    }

    private static func integer(of object: RequestObject) throws -> Int64? {
        switch object.value("value") {
        case nil: nil
        case .integer(let integer): integer
        case .some(let other): throw object.unexpected("value", "a whole number", other)
        }
    }
}

extension KeyValueOperation {
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject) throws {
        let kind = try object.required("operationType", "a string", object.string("operationType"))
        let key = try object.required("key", "a string", object.name("key"))
        switch kind {
        case "set": self = .set(key, try PropertyValue(object.required("value", "an object", object.object("value"))))
        case "remove": self = .remove(key)
        default: throw RecordError.unexpectedInput("Unknown operationType '\(kind)' in '\(object.place)'; known are set, remove")
        }
    }
}

extension KeyValueChange {
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject) throws {
        self.init(
            try object.required("key", "a string", object.name("key")), try object.object("value").map { try PropertyValue($0) },
            modified: Timestamp(milliseconds: try object.wholeNumber("modified")), position: try object.wholeNumber("position"))
    }
}

extension KeyValueUsage {
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject) throws {
        self.init(keys: Int(try object.wholeNumber("keys")), bytes: Int(try object.wholeNumber("bytes")))
    }
}

extension KeyValueChanges {
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject) throws {
        self.init(
            try object.required("changes", "an array", object.objects("changes")).map { try KeyValueChange($0) },
            syncToken: ChangeToken(text: try object.required("syncToken", "a string", object.string("syncToken"))), usage: try KeyValueUsage(object))
    }
}

extension RequestObject {
    fileprivate func wholeNumber(_ name: Name) throws -> Int64 {
        guard case .integer(let integer)? = value(name) else { throw RecordError.unexpectedInput("Expected '\(place(of: name))' to be a whole number") }
        return integer
    }
}

extension JSONWriter {
    /// Writes `{"type":"BOOL","value":true}`.
    public mutating func value(_ value: PropertyValue) {
        object { writer in
            writer.member("type", value.kind.rawValue)
            writer.name("value")
            switch value {
            case .string(let string): writer.value(string)
            case .bytes(let bytes): writer.value(Base64.text(of: bytes))
            case .bool(let bool): writer.value(bool)
            case .integer(let integer): writer.value(integer)
            case .double(let double): writer.value(double)
            case .date(let date): writer.value(date.milliseconds)
            case .array(let elements): writer.array { writer in for element in elements { writer.value(element) } }
            case .dictionary(let members):
                writer.object { writer in
                    for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                        writer.name(name)
                        writer.value(member)
                    }
                }
            }
        }
    }

    /// Writes `{"operationType":"remove","key":"hasData"}`; for `set` with the value too.
    public mutating func value(_ operation: KeyValueOperation) {
        object { writer in
            switch operation {
            case .set(let key, let value):
                writer.member("operationType", "set")
                writer.member("key", key)
                writer.name("value")
                writer.value(value)
            case .remove(let key):
                writer.member("operationType", "remove")
                writer.member("key", key)
            }
        }
    }

    /// Writes a change with its value and the value's size, or with `"removed":true`.
    public mutating func value(_ change: KeyValueChange) {
        object { writer in
            writer.member("key", change.key)
            if let value = change.value {
                writer.name("value")
                writer.value(value)
                writer.member("size", Int64(value.size))
            } else {
                writer.member("removed", true)
            }
            writer.member("modified", change.modified.milliseconds)
            writer.member("position", change.position)
        }
    }

    /// Writes the members `keys` and `bytes` into the current object.
    public mutating func members(of usage: KeyValueUsage) {
        member("keys", Int64(usage.keys))
        member("bytes", Int64(usage.bytes))
    }
}
