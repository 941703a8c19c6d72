internal import JSON
internal import Records

/// An object in an answer. Members are decoded on access. The fields of records are never decoded.
struct Answer {
    private let members: [(name: Name, value: ArraySlice<UInt8>)]
    /// The address of the server.
    private let address: String

    /// - Throws: `JSONError` if the text is not an object.
    init(_ text: ArraySlice<UInt8>, from address: String) throws(JSONError) {
        members = try JSONReader.memberSlices(of: text)
        self.address = address
    }

    /// The error of the answer or of an item; `nil` if there is none.
    var error: RecordError? {
        // A member of another type is not an error of the protocol.
        guard let name = try? optionalString("serverErrorCode") else { return nil }
        let reason = (try? optionalString("reason")) ?? nil
        // An unknown code is treated as a server error, not as an error of the caller.
        let code = ServerErrorCode(rawValue: name) ?? .internalError
        return RecordError(code, reason ?? name, retryAfter: (try? integer("retryAfter")).map { Int($0) })
    }

    // MARK: Members

    /// The whole object, decoded.
    func object() throws -> RequestObject {
        RequestObject(JSONObject(try members.compactMap { member in try value(member.name).map { JSONObject.Member(name: member.name, value: $0) } }))
    }

    func has(_ name: Name) -> Bool { text(name) != nil }

    /// The JSON of a member, not decoded; `nil` if there is none.
    func text(_ name: Name) -> ArraySlice<UInt8>? {
        members.first { $0.name == name }?.value
    }

    /// All members as integers, by name.
    func integers() throws -> [Name: Int64] {
        try Dictionary(members.map { ($0.name, try integer($0.name)) }, uniquingKeysWith: { first, _ in first })
    }

    func value(_ name: Name) throws -> JSONValue? {
        guard let text = text(name) else { return nil }
        do {
            return try JSONReader.value(of: text)
        } catch {
            throw unexpected("JSON in '\(name)'")
        }
    }

    func optionalString(_ name: Name) throws -> String? {
        switch try value(name) {
        case nil, .null?: nil
        case .string(let string)?: string
        case .some: throw unexpected("'\(name)' to be a string")
        }
    }

    func string(_ name: Name) throws -> String {
        guard let string = try optionalString(name) else { throw unexpected("a string '\(name)'") }
        return string
    }

    func name(_ name: Name) throws -> Name { Name(try string(name)) }

    func integer(_ name: Name) throws -> Int64 {
        guard case .integer(let integer)? = try value(name) else { throw unexpected("a whole number '\(name)'") }
        return integer
    }

    func timestamp(_ name: Name) throws -> Timestamp { Timestamp(milliseconds: try integer(name)) }

    func optionalTimestamp(_ name: Name) throws -> Timestamp? { has(name) ? try timestamp(name) : nil }

    func container() throws -> ContainerID {
        guard let container = ContainerID(try string("container")) else { throw unexpected("a container") }
        return container
    }

    func environment() throws -> Environment {
        guard let environment = Environment(rawValue: try string("environment")) else { throw unexpected("an environment") }
        return environment
    }

    func bool(_ name: Name) throws -> Bool {
        guard case .bool(let bool)? = try value(name) else { throw unexpected("'\(name)' to be true or false") }
        return bool
    }

    func optionalObject(_ name: Name) throws -> Answer? {
        guard let text = text(name) else { return nil }
        do {
            return try Answer(text, from: address)
        } catch {
            throw unexpected("'\(name)' to be an object")
        }
    }

    func object(_ name: Name) throws -> Answer {
        guard let object = try optionalObject(name) else { throw unexpected("an object '\(name)'") }
        return object
    }

    func array(_ name: Name) throws -> [Answer] {
        guard let text = text(name) else { throw unexpected("an array '\(name)'") }
        do {
            return try JSONReader.elementSlices(of: text).map { try Answer($0, from: address) }
        } catch {
            throw unexpected("'\(name)' to be an array of objects")
        }
    }

    func strings(_ name: Name) throws -> [String] {
        guard case .array(let elements)? = try value(name) else { throw unexpected("an array '\(name)'") }
        return try elements.map { element in
            guard case .string(let string) = element else { throw unexpected("strings in '\(name)'") }
            return string
        }
    }

    /// The error for an answer in an unexpected format.
    func unexpected(_ what: String) -> RecordError {
        RecordError(.internalError, "The server at \(address) is not a Skylight, or has another version: expected \(what)")
    }
}
