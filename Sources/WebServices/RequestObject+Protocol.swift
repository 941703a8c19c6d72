internal import JSON
internal import RecordStore
internal import Records

// Members that mean the same wherever they stand.

extension RequestObject {
    /// Most records in an answer, and items in a request.
    static let pageLimit = 200
    /// Most that a page of Skylight's own services holds.
    private static let widePageLimit = PageLimit(records: 10_000, bytes: 64 << 20)

    /// The zone that a member names, `nil` when there is none.
    func zoneID(_ name: Name = "zoneID") throws -> ZoneID? {
        try object(name)?.zoneIDItself()
    }

    /// This object as a zone ID. A zone without a name is the default zone (Apple's reference page "Types and Dictionaries").
    private func zoneIDItself() throws -> ZoneID {
        ZoneID(zoneName: try self.name("zoneName") ?? ZoneID.defaultZoneName, ownerRecordName: try self.name("ownerRecordName"))
    }

    /// The zone that an item of zones/lookup or the zone of an operation means: `{"zoneID":{…}}`, or the zone ID itself.
    func zoneIdentity() throws -> ZoneID {
        try zoneID() ?? zoneIDItself()
    }

    /// The same for Skylight's own services, where nobody means the default zone by saying nothing.
    /// - Throws: `RecordError` BAD_REQUEST when no zone is named.
    func namedZone() throws -> ZoneID {
        if let zoneID = try zoneID() { return zoneID }
        _ = try required("zoneName", "a string", string("zoneName"))
        return try zoneIDItself()
    }

    /// The fields to return: `nil` for all, empty for none but the system fields.
    func desiredKeys() throws -> Set<Name>? {
        try names("desiredKeys").map { Set($0) }
    }

    func desiredRecordTypes() throws -> Set<Name>? {
        try names("desiredRecordTypes").map { Set($0) }
    }

    func numbersAsStrings() throws -> Bool? {
        try bool("numbersAsStrings")
    }

    /// A token. The empty one means: from the start.
    func token(_ name: Name = "syncToken") throws -> ChangeToken? {
        try string(name).flatMap { $0.isEmpty ? nil : ChangeToken(text: $0) }
    }

    /// How many items a page may hold: at most 200, whatever is asked; `nil` when nothing is.
    /// - Throws: `RecordError` BAD_REQUEST for what is not a whole number above 0.
    func resultsLimit() throws -> Int? {
        try wholeNumber("resultsLimit", from: 1).map { min($0, Self.pageLimit) }
    }

    /// How much a page of Skylight's own services may hold: `resultsLimit` records, 200 unless it says otherwise, and `bytesLimit` bytes of
    /// fields.
    /// - Throws: `RecordError` BAD_REQUEST for what is not a whole number.
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

    /// The items of a request.
    /// - Throws: `RecordError` BAD_REQUEST when the member is missing, or has more items than a request may hold.
    func items(_ name: Name) throws -> [RequestObject] {
        let items = try required(name, "an array", objects(name))
        guard items.count <= Self.pageLimit else {
            throw RecordError(
                .badRequest,
                "Too many items in '\(place(of: name))': \(items.count) in one request, the limit is \(Self.pageLimit); send the others in another request")
        }
        return items
    }
}
