internal import CloudKitClient
internal import RecordStore
internal import Records

/// An object in an answer of a Skylight, with strict accessors to its members.
struct Answer {
    private let members: JSONObject
    private let server: ServerClient

    init(_ members: JSONObject, from server: ServerClient) {
        (self.members, self.server) = (members, server)
    }

    /// The error of the answer or of an item; `nil` if there is none.
    var error: RecordError? { ServerError(members).map(server.error) }

    // MARK: Members

    /// The whole object.
    func object() -> RequestObject { RequestObject(members) }

    /// Reads the whole object.
    /// - Throws: `RecordError` INTERNAL_ERROR that says which member is not as expected.
    func read<Value>(_ body: (RequestObject) throws -> Value) throws -> Value {
        do { return try body(object()) } catch let error as RecordError {
            throw server.unexpected(saying: error.reason)
        }
    }

    func has(_ name: Name) -> Bool { members[name] != nil }

    /// All members as integers, by name.
    func integers() throws -> [Name: Int64] {
        try Dictionary(members.map { ($0.name, try integer($0.name)) }, uniquingKeysWith: { first, _ in first })
    }

    func value(_ name: Name) -> JSONValue? { members[name] }

    func optionalString(_ name: Name) throws -> String? {
        switch value(name) {
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
        guard case .integer(let integer)? = value(name) else { throw unexpected("a whole number '\(name)'") }
        return integer
    }

    func timestamp(_ name: Name) throws -> Timestamp { Timestamp(milliseconds: try integer(name)) }

    func optionalTimestamp(_ name: Name) throws -> Timestamp? { has(name) ? try timestamp(name) : nil }

    func bool(_ name: Name) throws -> Bool {
        guard case .bool(let bool)? = value(name) else { throw unexpected("'\(name)' to be true or false") }
        return bool
    }

    func optionalObject(_ name: Name) throws -> Answer? {
        guard let value = value(name) else { return nil }
        guard case .object(let members) = value else { throw unexpected("'\(name)' to be an object") }
        return Answer(members, from: server)
    }

    func object(_ name: Name) throws -> Answer {
        guard let object = try optionalObject(name) else { throw unexpected("an object '\(name)'") }
        return object
    }

    func array(_ name: Name) throws -> [Answer] {
        guard case .array(let elements)? = value(name) else { throw unexpected("an array '\(name)'") }
        return try elements.map { element in
            guard case .object(let members) = element else { throw unexpected("'\(name)' to be an array of objects") }
            return Answer(members, from: server)
        }
    }

    func strings(_ name: Name) throws -> [String] {
        guard case .array(let elements)? = value(name) else { throw unexpected("an array '\(name)'") }
        return try elements.map { element in
            guard case .string(let string) = element else { throw unexpected("strings in '\(name)'") }
            return string
        }
    }

    /// The error for an answer in an unexpected format.
    func unexpected(_ what: String) -> RecordError { server.unexpected(what) }
}

// MARK: - Records

// Decoding of the protocol's types (Apple's reference page "Types and Dictionaries", and docs/services.md).

extension Answer {
    func zoneID() throws -> ZoneID {
        let zone = try object("zoneID")
        return ZoneID(
            zoneName: try zone.name("zoneName"),
            ownerRecordName: try zone.optionalString("ownerRecordName").map { Name($0) })
    }

    func token() throws -> ChangeToken { ChangeToken(text: try string("syncToken")) }

    func optionalToken() throws -> ChangeToken? {
        try optionalString("syncToken").map { ChangeToken(text: $0) }
    }

    func record() throws -> StoredRecord {
        do {
            return try StoredRecord(ReceivedRecord(members, in: zoneID()))
        } catch let shape as UnexpectedShape {
            throw unexpected(shape.expected)
        } catch let lack as RecordLack {
            throw unexpected(lack.expected)
        }
    }

    func signature() throws -> Signature {
        Signature(
            timestamp: try timestamp("timestamp"), userRecordName: try name("userRecordName"),
            deviceID: try string("deviceID"))
    }

    func change() throws -> RecordChange {
        let kind = try optionalString("change").map { text in
            guard let kind = RecordChange.Kind(rawValue: text) else {
                throw unexpected("a kind of change that is known")
            }
            return kind
        }
        let (position, record) = (has("position") ? try integer("position") : nil, try object("record"))
        if kind == .deleted, !record.has("recordType") {
            return RecordChange(
                deletionOf: RecordID(recordName: try record.name("recordName"), zoneID: try record.zoneID()),
                position: position)
        }
        return RecordChange(kind: kind, position: position, record: try record.record())
    }
}

extension RecordLack {
    /// What should have been there.
    var expected: String {
        switch self {
        case .member(let name, _, _): "'\(name)' of a record"
        case .value(let name, _, let recordName): "a value that is known in the field '\(name)' of '\(recordName)'"
        }
    }
}
