internal import HTTPServing
internal import Hummingbird
internal import RecordStore
internal import Records

// MARK: - Requests

// Members that have the same meaning in all requests.

extension RequestObject {
    /// Parses a body. Large bodies are parsed on a worker thread.
    /// - Throws: the errors of ``init(_:)``; `RecordError` TRY_AGAIN_LATER if the server is overloaded.
    static func reading(_ body: [UInt8]) async throws -> RequestObject {
        try await WorkPool.prompt.run(on: body.count) { try RequestObject(body) }
    }

    /// The zone of an item of `zones/lookup` or of a zone operation: `{"zoneID":{…}}`, or the zone ID itself.
    func zoneIdentity() throws -> ZoneID {
        try zoneID() ?? asZoneID()
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

    /// A change token; `nil` if it is absent or empty, which requests the changes from the start.
    func token(_ name: Name = "syncToken") throws -> ChangeToken? {
        try string(name).flatMap { $0.isEmpty ? nil : ChangeToken(text: $0) }
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

/// The location in requests of Skylight's own services. Each part is optional.
extension RequestObject {
    func container() throws -> ContainerID? { try ContainerID?.member("container", of: self) }
    func environment() throws -> Records.Environment? { try Records.Environment?.member("environment", of: self) }
    func databaseScope() throws -> DatabaseScope? { try DatabaseScope?.member("database", of: self) }
}

// MARK: - Query strings

extension RequestObject {
    /// Reads the query string of a GET as if it were a body. `zone` and `owner` form a
    /// `zoneID`. Parameters that must be whole numbers are parsed; the others stay strings.
    init(parametersOf request: Request) throws {
        var members = JSONObject()
        var zone = JSONObject()
        for (key, text) in request.uri.queryParameters {
            let name = Name(String(key))
            switch name {
            case "zone": zone["zoneName"] = .string(String(text))
            case "owner": zone["ownerRecordName"] = .string(String(text))
            case "resultsLimit", "bytesLimit", "before", "position", "wait":
                members[name] = Int64(text).map { .integer($0) } ?? .string(String(text))
            case "recordTypes", "fields": members[name] = .array(text.split(separator: ",").map { .string(String($0)) })
            default: members[name] = .string(String(text))
            }
        }
        if zone["zoneName"] != nil { members["zoneID"] = .object(zone) }
        self.init(members)
    }
}

// MARK: - Answers

// Parts of answers (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    /// A deleted record.
    mutating func deletion(of recordName: Name) {
        object { writer in
            writer.member("recordName", recordName)
            writer.member("deleted", true)
        }
    }

    /// The error for a record that could not be read or saved.
    mutating func value(_ error: RecordError, recordName: Name?) {
        object { writer in
            if let recordName { writer.member("recordName", recordName) }
            writer.members(of: error)
        }
    }

    /// The error for a zone that could not be read or changed.
    mutating func value(_ error: RecordError, zoneID: ZoneID) {
        object { writer in
            writer.name("zoneID")
            writer.value(zoneID)
            writer.members(of: error)
        }
    }

    mutating func value(_ zone: Zone) {
        object { writer in
            writer.name("zoneID")
            writer.value(zone.zoneID)
            if let token = zone.syncToken { writer.member("syncToken", token.text) }
            writer.member("atomic", zone.atomic)
        }
    }

    /// A change in a zone's feed.
    mutating func value(_ change: RecordChange, numbersAsStrings: Bool, downloadURL: AssetAddress?, for viewer: Name)
        throws
    {
        if change.kind != .deleted, let record = change.record {
            try value(record, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL, for: viewer)
        } else {
            deletion(of: change.recordID.recordName)
        }
    }

    /// The members of a page of a zone's changes.
    mutating func members(
        of page: ZoneChangesPage, numbersAsStrings: Bool, downloadURL: AssetAddress?, for viewer: Name
    ) throws {
        try member("records", values: page.changes) { writer, change in
            try writer.value(change, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL, for: viewer)
        }
        member("syncToken", page.syncToken.text)
        member("moreComing", page.moreComing)
    }
}
