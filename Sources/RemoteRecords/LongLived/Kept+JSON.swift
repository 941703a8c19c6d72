internal import CloudKitClient
internal import JSON
internal import Records

// The JSON of kept events and errors.

extension JSONValue {
    /// The object of a literal.
    var object: JSONObject { if case .object(let object) = self { object } else { JSONObject() } }
}

extension JSONObject {
    static func kept(_ recordID: RecordID, _ more: JSONValue) -> JSONObject {
        var object = more.object
        object["recordID"] = .object(recordID.json)
        return object
    }

    func adding<Value>(_ result: Result<Value, OperationError>, _ json: (Value) -> JSONObject) -> JSONObject {
        var object = self
        switch result {
        case .success(let value): object["value"] = .object(json(value))
        case .failure(let error): object["error"] = .object(error.json)
        }
        return object
    }

    /// - Throws: ``UnreadableRecord``.
    func result<Value>(_ read: (JSONObject) throws -> Value) throws -> Result<Value, OperationError> {
        if case .object(let error)? = self["error"] { return .failure(try OperationError(json: error)) }
        guard case .object(let value)? = self["value"] else { throw UnreadableRecord() }
        return .success(try read(value))
    }

    /// - Throws: ``UnreadableRecord``.
    func objects(_ name: Name) throws -> [JSONObject] {
        guard case .array(let elements)? = self[name] else { throw UnreadableRecord() }
        return elements.map(\.object)
    }
}

extension OperationError {
    /// Everything but the request.
    var json: JSONObject {
        var object = JSONObject()
        object["code"] = .integer(Int64(code.rawValue))
        object["reason"] = .string(reason)
        object["retryAfter"] = retryAfter.map { .integer($0.components.seconds) }
        object["serverErrorCode"] = serverError.map { .string($0.codeName) }
        if let conflict {
            object["serverRecord"] = .object(conflict.serverRecord.json)
            object["clientRecord"] = .object(conflict.clientRecord.json)
            object["ancestorRecord"] = conflict.ancestorRecord.map { .object($0.json) }
        }
        return object
    }

    /// - Throws: ``UnreadableRecord``.
    init(json object: JSONObject) throws {
        guard case .integer(let number)? = object["code"], let code = Int(exactly: number).flatMap({ Code(rawValue: $0) }),
            case .string(let reason)? = object["reason"]
        else { throw UnreadableRecord() }
        self.init(code, reason)
        if case .integer(let seconds)? = object["retryAfter"] { retryAfter = .seconds(seconds) }
        if case .string(let name)? = object["serverErrorCode"] { serverError = ServerError(codeName: name, reason: reason) }
        if case .object(let server)? = object["serverRecord"], case .object(let client)? = object["clientRecord"] {
            var ancestor: Record?
            if case .object(let record)? = object["ancestorRecord"] { ancestor = try Record(json: record) }
            conflict = Conflict(serverRecord: try Record(json: server), clientRecord: try Record(json: client), ancestorRecord: ancestor)
        }
    }
}
