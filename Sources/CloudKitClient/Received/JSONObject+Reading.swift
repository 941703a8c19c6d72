internal import JSON
internal import Records

/// The part of an answer that is missing or of another type than CloudKit documents.
struct UnexpectedShape: Error {
    let expected: String
}

// Members of another type than expected count as missing, because Apple's answers are only partly documented. Necessary members throw.

extension JSONObject {
    func string(_ name: Name) -> String? {
        if case .string(let string)? = self[name] { string } else { nil }
    }

    func name(_ name: Name) -> Name? {
        string(name).flatMap { $0.isEmpty ? nil : Name($0) }
    }

    func bool(_ name: Name) -> Bool? {
        if case .bool(let bool)? = self[name] { bool } else { nil }
    }

    /// A whole number, or one in quotes.
    func integer(_ name: Name) -> Int64? {
        switch self[name] {
        case .integer(let integer)?: integer
        case .double(let double)?: Int64(exactly: double)
        case .string(let digits)?: Int64(digits)
        default: nil
        }
    }

    func object(_ name: Name) -> JSONObject? {
        if case .object(let object)? = self[name] { object } else { nil }
    }

    /// - Throws: ``UnexpectedShape`` if the member is no array of objects.
    func objects(_ name: Name) throws -> [JSONObject] {
        guard case .array(let elements)? = self[name] else { throw UnexpectedShape(expected: "an array '\(name)'") }
        return try elements.map { element in
            guard case .object(let object) = element else { throw UnexpectedShape(expected: "objects in '\(name)'") }
            return object
        }
    }

    /// An array with one item per item of the request, in its order.
    /// - Throws: ``UnexpectedShape`` if there are more or fewer.
    func objects(_ name: Name, count: Int) throws -> [JSONObject] {
        let objects = try objects(name)
        guard objects.count == count else { throw UnexpectedShape(expected: "\(count) items in '\(name)', found \(objects.count)") }
        return objects
    }

    /// - Returns: the item as a value, or the error in its place.
    func result<Value>(_ read: (JSONObject) throws -> Value) rethrows -> Result<Value, ServerError> {
        if let error = ServerError(self) { return .failure(error) }
        return .success(try read(self))
    }

    func required(_ name: Name) throws -> Name {
        guard let value = self.name(name) else { throw UnexpectedShape(expected: "a string '\(name)'") }
        return value
    }

    /// The zone in the member `zoneID`.
    var zoneID: ZoneID? {
        guard let object = object("zoneID"), let zoneName = object.name("zoneName") else { return nil }
        return ZoneID(zoneName: zoneName, ownerRecordName: object.name("ownerRecordName"))
    }

    var syncToken: SyncToken? { string("syncToken").flatMap { $0.isEmpty ? nil : SyncToken($0) } }
}
