internal import CloudKitClient
internal import RecordStore
internal import Records

/// An object in an answer of a Skylight.
struct Answer {
    private let members: JSONObject
    private let server: ServerClient

    init(_ members: JSONObject, from server: ServerClient) {
        (self.members, self.server) = (members, server)
    }

    /// The error of the answer or of an item; `nil` if there is none.
    var error: RecordError? { ServerError(members).map(server.error) }

    /// Reads the object.
    /// - Throws: `RecordError` INTERNAL_ERROR that says which member is not as expected.
    func read<Value>(_ body: (RequestObject) throws -> Value) throws -> Value {
        do {
            return try body(RequestObject(members))
        } catch let error as RecordError {
            throw server.unexpected(saying: error.reason)
        } catch let shape as UnexpectedShape {
            throw server.unexpected(shape.expected)
        } catch let lack as RecordLack {
            throw server.unexpected(lack.expected)
        }
    }
}

// MARK: - Records

extension RequestObject {
    func record() throws -> StoredRecord {
        try StoredRecord(ReceivedRecord(members, in: .member("zoneID", of: self)))
    }

    func change() throws -> RecordChange {
        let (kind, position) = (
            try RecordChange.Kind?.member("change", of: self), try Int64?.member("position", of: self)
        )
        let record = try RequestObject.member("record", of: self)
        if kind == .deleted, record.value("recordType") == nil {
            return RecordChange(deletionOf: try RecordID.form.read(record), position: position)
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
