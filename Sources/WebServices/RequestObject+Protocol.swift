internal import HTTPServing
internal import JSON
internal import RecordStore
internal import Records

// Members that have the same meaning in all requests.

extension RequestObject {
    /// Parses a body. Large bodies are parsed on a worker thread.
    /// - Throws: the errors of ``init(_:)``; `RecordError` TRY_AGAIN_LATER if the server is overloaded.
    static func reading(_ body: [UInt8]) async throws -> RequestObject {
        try await WorkPool.prompt.run(on: body.count) { try RequestObject(body) }
    }

    /// The maximum number of records in an answer and of items in a request.
    static let pageLimit = 200
    /// The page limit of Skylight's own services.
    private static let widePageLimit = PageLimit(records: 10_000, bytes: 64 << 20)

    /// The zone of a `zones/lookup` item or of a zone operation: `{"zoneID":{…}}`, or the zone ID itself.
    func zoneIdentity() throws -> ZoneID {
        try zoneID() ?? asZoneID()
    }

    /// The zone for Skylight's own services, which do not default to the default zone.
    /// - Throws: `RecordError` BAD_REQUEST if the request names no zone.
    func namedZone() throws -> ZoneID {
        if let zoneID = try zoneID() { return zoneID }
        _ = try required("zoneName", "a string", string("zoneName"))
        return try asZoneID()
    }

    /// The fields to return: `nil` for all, empty for only the system fields.
    func desiredKeys() throws -> Set<Name>? {
        try names("desiredKeys").map { Set($0) }
    }

    func desiredRecordTypes() throws -> Set<Name>? {
        try names("desiredRecordTypes").map { Set($0) }
    }

    func numbersAsStrings() throws -> Bool? {
        try bool("numbersAsStrings")
    }

    /// A change token; `nil` if it is absent or empty, which means from the start.
    func token(_ name: Name = "syncToken") throws -> ChangeToken? {
        try string(name).flatMap { $0.isEmpty ? nil : ChangeToken(text: $0) }
    }

    /// The page size, at most 200; `nil` if the request has none.
    /// - Throws: `RecordError` BAD_REQUEST if the value is not a positive whole number.
    func resultsLimit() throws -> Int? {
        try wholeNumber("resultsLimit", from: 1).map { min($0, Self.pageLimit) }
    }

    /// The page limit of Skylight's own services: `resultsLimit` records, 200 by default, and `bytesLimit` bytes of fields.
    /// - Throws: `RecordError` BAD_REQUEST if a value is not a whole number in range.
    func widePageLimit() throws -> PageLimit {
        var limit = PageLimit(records: min(try wholeNumber("resultsLimit", from: 1) ?? Self.pageLimit, Self.widePageLimit.records))
        if let bytes = try wholeNumber("bytesLimit", from: 0) { limit.bytes = min(bytes, Self.widePageLimit.bytes) }
        return limit
    }

    func wholeNumber(_ name: Name, from lowest: Int64) throws -> Int? {
        let kind = "a whole number above \(lowest - 1)"
        switch value(name) {
        case nil: return nil
        case .integer(let number)? where number >= lowest: return Int(number)
        case .integer(let number)?: throw RecordError.unexpectedInput("Expected '\(place(of: name))' to be \(kind), found \(number)")
        case .double(let double)?: throw RecordError.unexpectedInput("Expected '\(place(of: name))' to be \(kind), found \(double)")
        case .some(let other): throw unexpected(name, kind, other)
        }
    }

    /// The items of a batch request.
    /// - Throws: `RecordError` BAD_REQUEST if the member is missing or exceeds ``pageLimit``.
    func items(_ name: Name) throws -> [RequestObject] {
        let items = try required(name, "an array", objects(name))
        guard items.count <= Self.pageLimit else {
            throw RecordError.tooManyItems(in: place(of: name), items.count, limit: Self.pageLimit)
        }
        return items
    }
}
