internal import RecordStore
internal import Records

// Encoding of requests (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    mutating func member(zoneID: ZoneID) {
        name("zoneID")
        value(zoneID)
    }

    /// Writes the token to continue from. An empty token can't be sent, because an empty text means the beginning.
    /// - Throws: `RecordError` BAD_REQUEST for an empty token, like every store.
    mutating func member(since token: ChangeToken?) throws {
        guard let token else { return }
        guard !token.bytes.isEmpty else { throw TokenCodec.foreign }
        member("syncToken", token.text)
    }

    mutating func member(_ name: Name, _ names: Set<Name>?) {
        guard let names else { return }
        self.name(name)
        array { writer in
            for name in names.sorted() { writer.value(name) }
        }
    }

    mutating func members(of limit: PageLimit) {
        member("resultsLimit", Int64(limit.records))
        member("bytesLimit", Int64(max(0, limit.bytes)))
    }

    // MARK: Saving

    mutating func value(_ operation: RecordOperation) throws {
        try object { writer in
            writer.member("operationType", operation.kind.rawValue)
            writer.name("record")
            try writer.object { try $0.members(of: operation) }
        }
    }

    private mutating func members(of operation: RecordOperation) throws {
        if let recordName = operation.recordName { member("recordName", recordName) }
        if let zoneID = operation.zoneID { member(zoneID: zoneID) }
        if let recordType = operation.recordType { member("recordType", recordType) }
        if let tag = operation.recordChangeTag { member("recordChangeTag", tag) }
        name("fields")
        try object { writer in
            for (name, input) in operation.fields.sorted(by: { $0.key < $1.key }) {
                writer.name(name)
                try writer.value(input, of: name)
            }
        }
        switch operation.parent {
        case .unchanged: break
        case .cleared:
            name("parent")
            null()
        case .record(let parent):
            name("parent")
            object { writer in
                writer.member("recordName", parent)
                if let zoneID = operation.parentZoneID { writer.member(zoneID: zoneID) }
            }
        }
        if operation.createsShortGUID { member("createShortGUID", true) }
        members(of: operation.share)
        guard let provenance = operation.provenance else { return }
        name("created")
        value(provenance.created)
        name("modified")
        value(provenance.modified)
        if let shortGUID = provenance.shortGUID { member("shortGUID", shortGUID) }
    }

    /// - Throws: `RecordError` BAD_REQUEST for a number that JSON can't represent.
    private mutating func value(_ input: FieldInput, of field: Name) throws {
        try input.checkSayable(field)
        value(input)
    }

    // MARK: Querying

    /// Writes the members of a query request.
    /// - Throws: `RecordError` BAD_REQUEST for a number that JSON can't represent.
    mutating func members(of request: QueryRequest) throws {
        for filter in request.query.filters { try filter.value.checkSayable(filter.fieldName) }
        name("query")
        value(request.query)
        switch request.area {
        case .zone(let zoneID): member(zoneID: zoneID)
        case .allZones: member("zoneWide", true)
        }
        members(of: request.limit)
        if let marker = request.continuationMarker { member("continuationMarker", marker) }
        member("desiredKeys", request.desiredKeys)
    }
}

extension FieldInput {
    fileprivate func checkSayable(_ field: Name) throws {
        if !isFinite {
            throw RecordError(.badRequest, "Invalid value, expected a number that is finite. Field: '\(field)'")
        }
    }
}
