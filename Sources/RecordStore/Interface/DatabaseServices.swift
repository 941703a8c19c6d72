package import Records

/// The services of a database, below `/skylight/1/{container}/{environment}/{database}/` (docs/services.md).
package enum DatabaseServices {
    package static let all = [
        schema.entry, editSchema.entry, indexBuilds.entry, schemaHistory.entry, usage.entry, valueCounts.entry,
        queryStatistics.entry, counts.entry, referrers.entry, assetUses.entry, changedZones.entry, position.entry,
        currentToken.entry, explainToken.entry, expireTokens.entry, shareZone.entry, unshareZone.entry,
        participants.entry,
        purgeZone.entry, keyValues.entry, modifyKeyValues.entry,
    ]

    // MARK: The schema

    // It belongs to the container's environment, and is the same for all its databases.

    package static let schema = SkylightService("schema", .read, answers: JSONMember<Schema>.members)
    /// Changes types, fields, indexes, grants and roles in one atomic change.
    package static let editSchema = SkylightService(
        "schema/edit", .change,
        // Clients cannot give the other reasons, which the server records itself.
        takes: JSONMember<[SchemaEdit]>("edits"),
        JSONMember<SchemaHistoryEntry.Reason>("reason", default: .edit, of: [.edit, .schemaImport, .data]),
        JSONMember<Bool>("wait", default: true),
        answers: JSONMember<Schema>.members, JSONMember<[IndexBuildProgress]>("builds"))
    /// The progress of indexes that are being built or removed.
    package static let indexBuilds = SkylightService(
        "schema/builds", .read, answers: JSONMember<[IndexBuildProgress]>("builds"))
    /// The changes of the schema, the latest first. Only full pages have a position to continue from.
    package static let schemaHistory = SkylightService(
        "schema/history", .read, takes: JSONMember<Int64?>.wholeNumber("before", from: 1), .itemLimit,
        answers: JSONMember<[SchemaHistoryEntry]>("entries"), JSONMember<Int64?>("before"))
    /// The values in the records of a type, and the size of its indexes.
    package static let usage = SkylightService(
        "schema/usage", .read, takes: JSONMember<Name>("recordType"), answers: JSONMember<TypeUsage>.members)
    /// Counts the records of a type, and the records with a value in the given fields.
    package static let valueCounts = SkylightService(
        "schema/counts", .read, takes: JSONMember<Name>("recordType"), JSONMember<[Name]>("fields", default: []),
        answers: JSONMember<ValueCounts>.members)
    /// The indexes that the queries of the environment used and lacked.
    package static let queryStatistics = SkylightService(
        "query/statistics", .read, answers: JSONMember<QueryStatistics>.members)

    // MARK: Records

    /// Counts a zone's records by type, and the deletions that the zone remembers.
    package static let counts = SkylightService(
        "records/counts", .read, takes: .zone, JSONMember<AsOf?>("asOf"), answers: JSONMember<ZoneCounts>.members)
    /// The records of a zone that refer to a record.
    package static let referrers = SkylightService(
        "records/referrers", .read, takes: .recordID, .page, answers: JSONMember<[Referrer]>("referrers"))
    /// The records that refer to the same file.
    package static let assetUses = SkylightService(
        "assets/uses", .read, takes: .fileChecksum, .page, answers: JSONMember<AssetUses>.members)

    // MARK: Changes

    /// A page of a database's changes with details beyond the protocol: purges, and the time of each zone's last change.
    package static let changedZones = SkylightService(
        "changes/zones", .ask,
        takes: JSONMember<DatabaseChangesRequest>.members, answers: JSONMember<DatabaseChangesPage>.members)
    /// The position of a point in the history, such as a token or a time.
    package static let position = SkylightService(
        "changes/position", .read, takes: JSONMember<AsOf>("asOf"), answers: JSONMember<Int64>("position"))
    /// The current token of a zone, or of the database if no zone is named. For clients that only want future changes.
    package static let currentToken = SkylightService(
        "token/current", .get,
        takes: JSONMember<ZoneID?>("zoneID"), answers: JSONMember<ZoneID?>("zoneID"),
        JSONMember<ChangeToken>("syncToken"))
    /// The meaning of a token, which is a query parameter.
    package static let explainToken = SkylightService(
        "token/explain", .get,
        takes: JSONMember<String?>("token"), JSONMember<ZoneID?>("zoneID"),
        answers: JSONMember<TokenExplanation>.members)
    /// Invalidates every token of the container's environment, so that all clients start over.
    package static let expireTokens = SkylightService(
        "tokens/expire", .change, answers: JSONMember<Bool>("expired"))

    // MARK: Zones

    /// Shares a zone with another user, or changes the user's permission.
    package static let shareZone = SkylightService(
        "zones/share", .change,
        takes: .zone, JSONMember<Name>("userRecordName"),
        JSONMember<ZoneParticipant.Permission>(
            "permission", default: .readWrite, of: ZoneParticipant.Permission.allCases),
        answers: JSONMember<ZoneID>("zoneID"), JSONMember<[ZoneParticipant]>("participants"))
    package static let unshareZone = SkylightService(
        "zones/unshare", .change,
        takes: .zone, JSONMember<Name>("userRecordName"),
        answers: JSONMember<ZoneID>("zoneID"), JSONMember<[ZoneParticipant]>("participants"))
    /// The users, besides the owner, who can see a zone.
    package static let participants = SkylightService(
        "zones/participants", .read,
        takes: .zone, answers: JSONMember<ZoneID>("zoneID"), JSONMember<[ZoneParticipant]>("participants"))
    /// Deletes a zone with all its data, as if the user deleted the app's data.
    package static let purgeZone = SkylightService(
        "zones/purge", .change, takes: .zone, answers: JSONMember<ZoneID>("zoneID"), JSONMember<Bool>("purged"))

    // MARK: Key-value stores

    /// The user's key-value store, or the keys that changed since a token. The service can wait for a change, at most
    /// a number of seconds.
    package static let keyValues = SkylightService(
        "keyvalues/changes", .read,
        takes: JSONMember<ChangeToken?>("syncToken"), JSONMember<Int64?>.wholeNumber("wait", from: 0),
        answers: JSONMember<KeyValueChanges>.members)
    /// Sets and removes keys of the user's store: all of them, or none.
    package static let modifyKeyValues = SkylightService(
        "keyvalues/modify", .change,
        takes: JSONMember<[KeyValueOperation]>("operations"), answers: JSONMember<KeyValueUsage>.members)
}

// MARK: - Members of requests

extension RequestObject {
    /// The maximum number of records in an answer and of items in a request.
    package static let pageLimit = 200
    /// The page limit of Skylight's own services.
    private static let widePageLimit = PageLimit(records: 10_000, bytes: 64 << 20)

    /// The zone for Skylight's own services, which do not default to the default zone.
    /// - Throws: `RecordError` BAD_REQUEST if the request names no zone.
    package func namedZone() throws -> ZoneID {
        if let zoneID = try zoneID() { return zoneID }
        _ = try required("zoneName", "a string", string("zoneName"))
        return try asZoneID()
    }

    package func recordIdentity() throws -> RecordID {
        RecordID(recordName: try .member("recordName", of: self), zoneID: try zoneID() ?? .default)
    }

    /// The page size, at most 200; `nil` if the request has none.
    /// - Throws: `RecordError` BAD_REQUEST if the value is not a positive whole number.
    package func resultsLimit() throws -> Int? {
        try wholeNumber("resultsLimit", from: 1).map { min($0, Self.pageLimit) }
    }

    /// The page limit of Skylight's own services: `resultsLimit` records, 200 by default, and `bytesLimit` bytes of
    /// fields.
    /// - Throws: `RecordError` BAD_REQUEST if a value is not a whole number in range.
    package func widePageLimit() throws -> PageLimit {
        var limit = PageLimit(
            records: min(try wholeNumber("resultsLimit", from: 1) ?? Self.pageLimit, Self.widePageLimit.records))
        if let bytes = try wholeNumber("bytesLimit", from: 0) { limit.bytes = min(bytes, Self.widePageLimit.bytes) }
        return limit
    }
}

extension JSONMember<ZoneID> {
    fileprivate static var zone: JSONMember {
        JSONMember(
            [
                MemberShape("zoneID", isRequired: false, ZoneID.shape),
                MemberShape("zoneName", isRequired: false, String.shape),
                MemberShape("ownerRecordName", isRequired: false, String.shape),
            ], read: { try $0.namedZone() }, write: { $1.member(zoneID: $0) })
    }
}

extension JSONMember<RecordID> {
    fileprivate static var recordID: JSONMember {
        JSONMember(
            [MemberShape("recordName", String.shape), MemberShape("zoneID", isRequired: false, ZoneID.shape)],
            read: { try $0.recordIdentity() },
            write: { recordID, writer in
                writer.member("recordName", recordID.recordName)
                writer.member(zoneID: recordID.zoneID)
            })
    }
}

extension JSONMember<PageLimit> {
    /// A page of records.
    static var page: JSONMember {
        JSONMember(
            ["resultsLimit", "bytesLimit"].map { MemberShape($0, isRequired: false, .integer) },
            read: { try $0.widePageLimit() }, write: { $1.members(of: $0) })
    }
}

extension JSONMember<Int> {
    /// A page of other items.
    fileprivate static var itemLimit: JSONMember {
        JSONMember(
            [MemberShape("resultsLimit", isRequired: false, .integer)],
            read: { try $0.resultsLimit() ?? RequestObject.pageLimit },
            write: { $0.write(as: "resultsLimit", into: &$1) })
    }
}

extension JSONMember<FileChecksum> {
    fileprivate static var fileChecksum: JSONMember {
        JSONMember(
            [MemberShape("fileChecksum", String.shape)], read: { try $0.fileChecksum() },
            write: { $1.member("fileChecksum", $0.description) })
    }
}

extension RequestObject {
    /// - Throws: `RecordError` BAD_REQUEST if the checksum is missing or malformed.
    package func fileChecksum() throws -> FileChecksum {
        let kind = "64 hexadecimal digits in lower case"
        let text = try required("fileChecksum", kind, string("fileChecksum"))
        guard let checksum = FileChecksum(text) else {
            throw RecordError.unexpectedInput("Expected 'fileChecksum' to be \(kind)")
        }
        return checksum
    }
}

extension JSONWriter {
    package mutating func members(of limit: PageLimit) {
        member("resultsLimit", Int64(limit.records))
        member("bytesLimit", Int64(max(0, limit.bytes)))
    }
}
