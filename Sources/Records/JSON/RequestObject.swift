/// Reads an object of a request member by member. Errors name the path of the member, such as
/// `operations[3].record.fields`.
///
/// `null` counts as absent, because clients send it for unset members. Unknown members are ignored.
public struct RequestObject: Sendable {
    /// The path to an object in the body. Its text is created only for errors, because a batch has hundreds of
    /// objects.
    package indirect enum Path: Sendable {
        case body
        case member(Name, of: Path)
        case element(Int, of: Path)

        package var text: String {
            switch self {
            case .body: ""
            case .member(let name, .body): name.string
            case .member(let name, let object): "\(object.text).\(name)"
            case .element(let index, let array): "\(array.text)[\(index)]"
            }
        }

        /// The error for a value of the wrong kind.
        package func unexpected(_ expected: String, _ found: JSONValue) -> RecordError {
            RequestObject.unexpected(text, expected, found)
        }
    }

    /// The members as received, including those that are `null`.
    public let members: JSONObject
    private let path: Path

    /// The path of the object in the body, empty for the body itself.
    public var place: String { path.text }

    /// The parsed body of a request.
    public init(_ members: JSONObject) {
        self.init(members, at: .body)
    }

    private init(_ members: JSONObject, at path: Path) {
        (self.members, self.path) = (members, path)
    }

    /// - Throws: `RecordError` BAD_REQUEST if the value is not an object.
    package init(_ json: JSONValue, at path: @autoclosure () -> Path) throws {
        guard case .object(let members) = json else { throw path().unexpected(Self.shape.words, json) }
        self.init(members, at: path())
    }

    /// Parses a body. An empty body is an empty object.
    /// - Throws: `RecordError` BAD_REQUEST if the body is not a JSON object.
    public init(_ body: [UInt8]) throws {
        guard !body.isEmpty else {
            self.init(JSONObject())
            return
        }
        let value: JSONValue
        do {
            value = try JSONReader.value(of: body)
        } catch {
            throw RecordError.unexpectedInput("The body is not valid JSON: \(error)")
        }
        guard case .object(let members) = value else {
            throw RecordError.unexpectedInput("Expected the body to be an object, found \(value.kind)")
        }
        self.init(members)
    }

    /// The value of a member; `nil` if it is absent or `null`.
    public func value(_ name: Name) -> JSONValue? {
        let value = members[name]
        if case .null? = value { return nil }
        return value
    }

    /// The path of a member in the body, whether or not the member exists.
    public func place(of name: Name) -> String {
        path(of: name).text
    }

    /// The place of a member, whether or not the member exists.
    package func path(of name: Name) -> Path { .member(name, of: path) }

    // MARK: Members

    /// The value of a string member.
    /// - Returns: `nil` if the member is absent.
    /// - Throws: `RecordError` BAD_REQUEST if the value is not a string.
    public func string(_ name: Name) throws -> String? { try String?.member(name, of: self) }

    /// The value of a string member as a name, which may be empty.
    /// - Returns: `nil` if the member is absent.
    /// - Throws: `RecordError` BAD_REQUEST if the value is not a string.
    public func name(_ name: Name) throws -> Name? { try Name?.member(name, of: self) }

    /// The value of a Boolean member.
    /// - Returns: `nil` if the member is absent.
    /// - Throws: `RecordError` BAD_REQUEST if the value is neither `true` nor `false`. The numbers 1 and 0 are not
    ///   accepted.
    public func bool(_ name: Name) throws -> Bool? { try Bool?.member(name, of: self) }

    /// The value of a number with or without a fraction. Integers above 2⁵³ are rounded.
    /// - Returns: `nil` if the member is absent.
    /// - Throws: `RecordError` BAD_REQUEST if the value is not a number.
    public func number(_ name: Name) throws -> Double? { try Double?.member(name, of: self) }

    /// An object member, which knows its path.
    /// - Returns: `nil` if the member is absent.
    /// - Throws: `RecordError` BAD_REQUEST if the value is not an object.
    public func object(_ name: Name) throws -> RequestObject? { try RequestObject?.member(name, of: self) }

    /// The objects in an array member.
    /// - Returns: `nil` if the member is absent.
    /// - Throws: `RecordError` BAD_REQUEST if the value is not an array, or contains anything but objects.
    public func objects(_ name: Name) throws -> [RequestObject]? { try [RequestObject]?.member(name, of: self) }

    /// The members of an object member, in their order. Each of them must be an object.
    /// - Returns: `nil` if the member is absent.
    /// - Throws: `RecordError` BAD_REQUEST if a value is not an object.
    public func members(_ name: Name) throws -> [(name: Name, object: RequestObject)]? {
        try object(name).map { object in
            try object.members.map { ($0.name, try RequestObject($0.value, at: object.path(of: $0.name))) }
        }
    }

    /// The strings in an array member, as names.
    /// - Returns: `nil` if the member is absent.
    /// - Throws: `RecordError` BAD_REQUEST if the value is not an array, or contains anything but strings.
    public func names(_ name: Name) throws -> [Name]? { try [Name]?.member(name, of: self) }

    /// The value of a whole number.
    /// - Returns: `nil` if the member is absent.
    /// - Throws: `RecordError` BAD_REQUEST if the value is not a whole number in range.
    package func wholeNumber(_ name: Name, from lowest: Int64) throws -> Int? {
        let kind = "a whole number above \(lowest - 1)"
        switch value(name) {
        case nil: return nil
        case .integer(let number)? where number >= lowest: return Int(number)
        case .integer(let number)?:
            throw RecordError.unexpectedInput("Expected '\(place(of: name))' to be \(kind), found \(number)")
        case .double(let double)?:
            throw RecordError.unexpectedInput("Expected '\(place(of: name))' to be \(kind), found \(double)")
        case .some(let other): throw unexpected(name, kind, other)
        }
    }

    /// Unwraps a required member.
    /// - Parameter kind: the expected kind of value, for the error message.
    /// - Throws: `RecordError` BAD_REQUEST if the value is `nil`.
    public func required<Value>(_ name: Name, _ kind: String, _ value: Value?) throws -> Value {
        guard let value else {
            throw RecordError.unexpectedInput("Expected '\(place(of: name))' to be \(kind), found nothing")
        }
        return value
    }

    /// The error for a member of the wrong kind.
    /// - Parameters:
    ///   - name: the member.
    ///   - expected: the expected kind, such as `a string`.
    ///   - found: the value. The error contains only its kind.
    public func unexpected(_ name: Name, _ expected: String, _ found: JSONValue) -> RecordError {
        Self.unexpected(place(of: name), expected, found)
    }

    private static func unexpected(_ place: String, _ expected: String, _ found: JSONValue) -> RecordError {
        RecordError.unexpectedInput("Expected '\(place)' to be \(expected), found \(found.kind)")
    }
}
