internal import JSON
internal import Records

/// An object of an answer, whose members are decoded where they are asked for; fields of records never are.
struct Answer {
    private let members: [(name: Name, value: ArraySlice<UInt8>)]
    /// Who gave the answer.
    private let address: String

    /// - Throws: `JSONError` when the text is not an object.
    init(_ text: ArraySlice<UInt8>, from address: String) throws(JSONError) {
        members = try JSONReader.memberSlices(of: text)
        self.address = address
    }

    /// What the answer, or an item of it, says went wrong; `nil` when it says no such thing.
    var error: RecordError? {
        // What stands there in another form than the protocol's says nothing of an error.
        guard let name = try? optionalString("serverErrorCode") else { return nil }
        let reason = (try? optionalString("reason")) ?? nil
        // A code that this version does not know is not the caller's fault.
        let code = ServerErrorCode(rawValue: name) ?? .internalError
        return RecordError(code, reason ?? name, retryAfter: (try? integer("retryAfter")).map { Int($0) })
    }

    // MARK: Members

    func has(_ name: Name) -> Bool { text(name) != nil }

    /// The JSON of a member, not decoded.
    func text(_ name: Name) -> ArraySlice<UInt8>? {
        members.first { $0.name == name }?.value
    }

    /// The names of all members with what they hold.
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

    /// The whole answer.
    var value: JSONValue {
        get throws { .object(JSONObject(try members.map { JSONObject.Member(name: $0.name, value: try value($0.name) ?? .null) })) }
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

    /// An answer that is not of the form that this version of Skylight gives.
    func unexpected(_ what: String) -> RecordError {
        RecordError(.internalError, "What answers at \(address) is no Skylight, or one of another version: expected \(what)")
    }
}
