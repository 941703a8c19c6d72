// The form of a value in JSON, said once: what reads it, what writes it, and what the description of the services says
// about it come from the same line. Foundation's coders are slow, do not distinguish 1 from 1.0, and do not keep the
// order of members, which clients see.

/// A value with one form in JSON: in requests and answers, for the server and its clients.
package protocol JSONCoded: Sendable {
    /// What the JSON is, for errors and for the description of the services.
    static var shape: JSONShape { get }

    /// - Parameter path: the place of the value in the body, which only errors need.
    /// - Throws: `RecordError` BAD_REQUEST that names the place, and what is expected there.
    init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws

    func write(into writer: inout JSONWriter)

    /// False if an object may lack a member of this type.
    static var isRequired: Bool { get }
    /// The value of a member of an object.
    static func member(_ name: Name, of object: RequestObject) throws -> Self
    /// Writes a member of an object.
    func write(as name: Name, into writer: inout JSONWriter)
}

extension JSONCoded {
    package static var isRequired: Bool { true }

    package static func member(_ name: Name, of object: RequestObject) throws -> Self {
        try Self(object.required(name, shape.words, object.value(name)), at: object.path(of: name))
    }

    package func write(as name: Name, into writer: inout JSONWriter) {
        writer.name(name)
        write(into: &writer)
    }
}

extension JSONWriter {
    package mutating func value(_ value: some JSONCoded) { value.write(into: &self) }
}

/// What a piece of JSON is.
package indirect enum JSONShape: Sendable {
    /// A string, with what it is in words.
    case string(String)
    case integer
    case number
    case boolean
    case array(JSONShape)
    /// An object; with `nil`, of several forms, or with names of the user's.
    case object([MemberShape]?)

    /// What is expected, for errors.
    package var words: String {
        switch self {
        case .string(let words): words
        case .integer: "a whole number"
        case .number: "a number"
        case .boolean: "true or false"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// A member of an object.
package struct MemberShape: Sendable {
    package let name: Name
    package let isRequired: Bool
    package let shape: JSONShape

    package init(_ name: Name, isRequired: Bool = true, _ shape: JSONShape) {
        (self.name, self.isRequired, self.shape) = (name, isRequired, shape)
    }
}

// MARK: - Objects

/// The members of two parts of an object.
func + (left: [MemberShape]?, right: [MemberShape]?) -> [MemberShape]? {
    if let left, let right { [left, right].flatMap(\.self) } else { nil }
}

/// A value that an object has as a member, or as several that belong together.
package struct JSONMember<Value: Sendable>: Sendable {
    /// `nil` for those of an object of several forms.
    package let shapes: [MemberShape]?
    package let read: @Sendable (RequestObject) throws -> Value
    package let write: @Sendable (Value, inout JSONWriter) -> Void

    package init(
        _ shapes: [MemberShape]?, read: @escaping @Sendable (RequestObject) throws -> Value,
        write: @escaping @Sendable (Value, inout JSONWriter) -> Void
    ) {
        (self.shapes, self.read, self.write) = (shapes, read, write)
    }
}

extension JSONMember where Value: JSONCoded {
    package init(_ name: Name) {
        self.init(
            [MemberShape(name, isRequired: Value.isRequired, Value.shape)],
            read: { try Value.member(name, of: $0) }, write: { $0.write(as: name, into: &$1) })
    }

    /// A member that requests may leave out.
    package init(_ name: Name, default value: Value) {
        self.init(
            [MemberShape(name, isRequired: false, Value.shape)],
            read: { try Value?.member(name, of: $0) ?? value }, write: { $0.write(as: name, into: &$1) })
    }
}

extension JSONMember<Bool> {
    /// A member that is only there if it is true.
    package static func flag(_ name: Name) -> JSONMember {
        JSONMember(
            [MemberShape(name, isRequired: false, Bool.shape)], read: { try Bool?.member(name, of: $0) ?? false },
            write: { if $0 { $1.member(name, true) } })
    }
}

extension JSONMember<Int64?> {
    /// A number in requests.
    package static func wholeNumber(_ name: Name, from lowest: Int64) -> JSONMember {
        JSONMember(
            [MemberShape(name, isRequired: false, Int64.shape)],
            read: { try $0.wholeNumber(name, from: lowest).map { Int64($0) } },
            write: { $0.write(as: name, into: &$1) })
    }
}

extension JSONMember where Value: JSONWord {
    /// A word in requests.
    package init(_ name: Name, default value: Value, of known: [Value]) {
        self.init(
            [MemberShape(name, isRequired: false, Value.shape)],
            read: { object in
                guard let word = try object.string(name) else { return value }
                guard let value = known.first(where: { $0.rawValue == word }) else {
                    throw RecordError.unexpectedInput(
                        "Unknown \(name) '\(word)'; known are \(known.map(\.rawValue).joined(separator: ", "))")
                }
                return value
            }, write: { $0.write(as: name, into: &$1) })
    }
}

extension JSONMember where Value: JSONObjectCoded {
    /// The members of a value, beside others in the same object.
    package static var members: JSONMember {
        JSONMember(Value.form.shapes, read: { try Value.form.read($0) }, write: { Value.form.write($0, &$1) })
    }
}

/// A member of a type's objects, with the property that it is.
package struct JSONPart<Root, Value: Sendable>: Sendable {
    let member: JSONMember<Value>
    let get: @Sendable (Root) -> Value

    /// A part that is in several members, or in one with a default.
    package init(joined member: JSONMember<Value>, _ get: @escaping @Sendable (Root) -> Value) {
        (self.member, self.get) = (member, get)
    }
}

extension JSONPart where Value: JSONCoded {
    package init(_ name: Name, _ get: @escaping @Sendable (Root) -> Value) { self.init(joined: JSONMember(name), get) }
}

/// The form of a type's objects: its members, in their order.
package struct JSONForm<Root: Sendable>: Sendable {
    package let shapes: [MemberShape]?
    package let read: @Sendable (RequestObject) throws -> Root
    package let write: @Sendable (Root, inout JSONWriter) -> Void

    /// - Parameter make: gets the values of the parts, in their order.
    package init<each Value>(
        _ make: @escaping @Sendable (repeat each Value) throws -> Root, _ part: repeat JSONPart<Root, each Value>
    ) {
        var shapes: [MemberShape]? = []
        repeat shapes = shapes + (each part).member.shapes
        self.shapes = shapes
        read = { object in try make(repeat try (each part).member.read(object)) }
        write = { root, writer in repeat (each part).member.write((each part).get(root), &writer) }
    }

    /// For objects of several forms.
    package init(
        shapes: [MemberShape]? = nil, read: @escaping @Sendable (RequestObject) throws -> Root,
        write: @escaping @Sendable (Root, inout JSONWriter) -> Void
    ) {
        (self.shapes, self.read, self.write) = (shapes, read, write)
    }
}

/// A value that is an object in JSON.
package protocol JSONObjectCoded: JSONCoded {
    static var form: JSONForm<Self> { get }
}

extension JSONObjectCoded {
    package static var shape: JSONShape { .object(form.shapes) }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        self = try Self.form.read(RequestObject(json, at: path()))
    }

    package func write(into writer: inout JSONWriter) {
        writer.object { Self.form.write(self, &$0) }
    }
}

// MARK: - Values

extension RequestObject: JSONCoded {
    package static var shape: JSONShape { .object(nil) }
    package func write(into writer: inout JSONWriter) { writer.value(.object(members)) }
}

extension Optional: JSONCoded where Wrapped: JSONCoded {
    package static var shape: JSONShape { Wrapped.shape }
    package static var isRequired: Bool { false }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        self = json == .null ? nil : try Wrapped(json, at: path())
    }

    package static func member(_ name: Name, of object: RequestObject) throws -> Wrapped? {
        try object.value(name).map { try Wrapped($0, at: object.path(of: name)) }
    }

    package func write(into writer: inout JSONWriter) {
        if let self { self.write(into: &writer) } else { writer.null() }
    }

    package func write(as name: Name, into writer: inout JSONWriter) { self?.write(as: name, into: &writer) }
}

extension Array: JSONCoded where Element: JSONCoded {
    package static var shape: JSONShape { .array(Element.shape) }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        guard case .array(let elements) = json else { throw path().unexpected(Self.shape.words, json) }
        let array = path()
        self = try elements.enumerated().map { try Element($0.element, at: .element($0.offset, of: array)) }
    }

    package func write(into writer: inout JSONWriter) {
        writer.array { writer in for element in self { element.write(into: &writer) } }
    }
}

/// An object with names of the user's. It is written in the order of the names.
extension Dictionary: JSONCoded where Key == Name, Value: JSONCoded {
    package static var shape: JSONShape { .object(nil) }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        let object = try RequestObject(json, at: path())
        self = try Dictionary(
            object.members.map { ($0.name, try Value($0.value, at: object.path(of: $0.name))) },
            uniquingKeysWith: { first, _ in first })
    }

    package func write(into writer: inout JSONWriter) {
        writer.object { writer in
            for (name, value) in sorted(by: { $0.key < $1.key }) { value.write(as: name, into: &writer) }
        }
    }
}

extension String: JSONCoded {
    package static var shape: JSONShape { .string("a string") }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        guard case .string(let string) = json else { throw path().unexpected(Self.shape.words, json) }
        self = string
    }

    package func write(into writer: inout JSONWriter) { writer.value(self) }
}

extension Bool: JSONCoded {
    package static var shape: JSONShape { .boolean }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        guard case .bool(let bool) = json else { throw path().unexpected(Self.shape.words, json) }
        self = bool
    }

    package func write(into writer: inout JSONWriter) { writer.value(self) }
}

extension Int64: JSONCoded {
    package static var shape: JSONShape { .integer }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        guard case .integer(let integer) = json else { throw path().unexpected(Self.shape.words, json) }
        self = integer
    }

    package func write(into writer: inout JSONWriter) { writer.value(self) }
}

extension Double: JSONCoded {
    package static var shape: JSONShape { .number }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        switch json {
        case .integer(let integer): self = Double(integer)
        case .double(let double): self = double
        default: throw path().unexpected(Self.shape.words, json)
        }
    }

    package func write(into writer: inout JSONWriter) { writer.value(self) }
}

/// A value that is written as another one.
package protocol JSONCodedAs: JSONCoded {
    associatedtype Coded: JSONCoded
    /// - Returns: `nil` if the value is none of this type.
    init?(coded: Coded)
    var coded: Coded { get }
}

extension JSONCodedAs {
    package static var shape: JSONShape { Coded.shape }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        let coded = try Coded(json, at: path())
        guard let value = Self(coded: coded) else {
            throw RecordError.unexpectedInput(
                "Expected '\(path().text)' to be \(Self.shape.words), found '\(coded)'")
        }
        self = value
    }

    package func write(into writer: inout JSONWriter) { coded.write(into: &writer) }
}

extension Int: JSONCodedAs {
    package init?(coded: Int64) { self.init(clamping: coded) }
    package var coded: Int64 { Int64(self) }
}

extension Name: JSONCodedAs {
    package init?(coded: String) { self.init(coded) }
    package var coded: String { string }
}

extension Timestamp: JSONCodedAs {
    package init?(coded: Int64) { self.init(milliseconds: coded) }
    package var coded: Int64 { milliseconds }
}

extension ChangeToken: JSONCodedAs {
    package init?(coded: String) { self.init(text: coded) }
    package var coded: String { text }
}

extension ContainerID: JSONCodedAs {
    package static var shape: JSONShape { .string("iCloud. and a reverse domain name") }
    package init?(coded: String) { self.init(coded) }
    package var coded: String { description }
}

/// A word of a list.
package protocol JSONWord: JSONCodedAs, CaseIterable, RawRepresentable where RawValue == String {}

extension JSONWord {
    package static var shape: JSONShape {
        let words = allCases.map(\.rawValue)
        return .string(words.dropLast().joined(separator: ", ") + " or " + (words.last ?? ""))
    }

    package init?(coded: String) { self.init(rawValue: coded) }
    package var coded: String { rawValue }
}

extension Environment: JSONWord {}
extension DatabaseScope: JSONWord {}
extension Reference.Action: JSONWord {}
extension RecordChange.Kind: JSONWord {}
extension ZoneChange.Kind: JSONWord {}

extension FileChecksum: JSONCodedAs {
    package static var shape: JSONShape { .string("64 hexadecimal digits in lower case") }
    package init?(coded: String) { self.init(coded) }
    package var coded: String { description }
}

extension FieldKey: JSONCodedAs {
    package init?(coded: Name) { self.init(schemaName: coded) }
    package var coded: Name { schemaName }
}

extension RecordID: JSONObjectCoded {
    package static let form = JSONForm(
        RecordID.init(recordName:zoneID:), JSONPart("recordName", \.recordName), JSONPart("zoneID", \.zoneID))
}
