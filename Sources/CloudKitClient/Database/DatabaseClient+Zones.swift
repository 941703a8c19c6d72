public import Records

/// A zone in an answer of CloudKit.
public struct ReceivedZone: Sendable, Hashable {
    /// The zone's name, with its owner if CloudKit reports it.
    public var zoneID: ZoneID
    /// The change token of the zone's latest change; `nil` if CloudKit does not report it, or if the zone has no feed,
    /// as in the public database.
    public var syncToken: SyncToken?
    /// True if batches in the zone can be atomic; `nil` if CloudKit does not report it.
    public var atomic: Bool?
    /// True in the answer to the zone's deletion, and afterwards in the feed of the database.
    public var isDeleted: Bool

    /// Creates a zone with only an ID.
    public init(zoneID: ZoneID) {
        self.zoneID = zoneID
        isDeleted = false
    }

    init(_ object: JSONObject) throws {
        guard let zoneID = object.zoneID else { throw UnexpectedShape(expected: "an object 'zoneID'") }
        self.zoneID = zoneID
        syncToken = object.syncToken
        atomic = object.bool("atomic")
        isDeleted = object.bool("deleted") ?? false
    }
}

/// A change token: a client's position in a feed, exactly as CloudKit sent it.
public struct SyncToken: Sendable, Hashable, CustomStringConvertible {
    /// The token as text. It is opaque: store it, and send it unchanged.
    public let text: String

    /// Creates a token from its stored text.
    public init(_ text: String) {
        self.text = text
    }

    public var description: String { text }
}

extension DatabaseClient {
    /// Fetches all zones of the database.
    public func zones() async throws -> [ReceivedZone] {
        try await send(ServiceCall("zones/list", under: root)) { answer in
            try answer.objects("zones").map { try ReceivedZone($0) }
        }
    }

    /// Looks up any number of zones by ID.
    /// - Returns: a zone or an error for each zone ID, in the order of the IDs. The error for a missing zone is
    ///   ZONE_NOT_FOUND.
    public func lookupZones(_ zoneIDs: [ZoneID]) async throws -> [Result<ReceivedZone, ServerError>] {
        try await inParts(zoneIDs) { part in
            let call = try ServiceCall("zones/lookup", under: root, items: "zones") {
                (writer) throws(CloudKitFailure) in
                // According to the reference, the item itself contains the zone's name and owner.
                try writer.member("zones", part) { writer, zoneID in writer.members(of: zoneID) }
            }
            return try await send(call) { answer in
                try answer.objects("zones", count: part.count).map { try $0.result { try ReceivedZone($0) } }
            }
        }
    }

    /// Creates and deletes any number of custom zones. Every operation is attempted, in order.
    /// - Returns: a zone or an error for each operation, in the order of the operations.
    public func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<ReceivedZone, ServerError>] {
        try await inParts(operations) { part in
            let call = try ServiceCall("zones/modify", under: root, .saves, items: "zones") {
                (writer) throws(CloudKitFailure) in
                try writer.member("operations", part) { writer, operation in
                    let kind = if case .create = operation { "create" } else { "delete" }
                    writer.member("operationType", kind)
                    writer.name("zone")
                    writer.object { $0.member(zoneID: operation.zoneID) }
                }
            }
            return try await send(call) { answer in
                try answer.objects("zones", count: part.count).map { try $0.result { try ReceivedZone($0) } }
            }
        }
    }
}

// MARK: - Changes

/// A page of the zones that changed in a database.
public struct DatabaseFeedPage: Sendable, Hashable {
    /// The zones that changed or were deleted. CloudKit does not report whether a user or an app deleted a zone.
    public var zones: [ReceivedZone]
    /// The token for the next page, or for a later fetch.
    public var syncToken: SyncToken
    /// True if there are more changes after the token. The page may be empty nevertheless.
    public var moreComing: Bool
}

/// A page of the records that changed in a zone.
public struct ZoneFeedPage: Sendable, Hashable {
    /// One entry of the feed. CloudKit does not report whether a record was created or modified.
    public enum Change: Sendable, Hashable {
        /// A record in its latest version.
        case saved(ReceivedRecord)
        /// A deleted record.
        case deleted(ReceivedDeletion)
        /// A record that could not be read.
        case failed(ServerError)
    }

    /// The zone of the page: from the answer, or from the request if the answer does not name it.
    public var zoneID: ZoneID
    /// The changes. Each record occurs once, in its latest version.
    public var changes: [Change]
    /// The token for the next page, or for a later fetch.
    public var syncToken: SyncToken
    /// True if there are more changes after the token. The page may be empty nevertheless.
    public var moreComing: Bool
}

/// A request for the changes of one zone.
public struct ZonePull: Sendable, Hashable {
    /// The zone to fetch. In the shared database, its ID must include the owner.
    public var zoneID: ZoneID
    /// The token of the previous page or of the last fetch; `nil` for all records that exist now, without deletions.
    public var since: SyncToken?
    /// The maximum number of records, at most 200; `nil` for CloudKit's choice.
    public var limit: Int?
    /// The fields to fetch; `nil` for all, empty for none.
    public var desiredKeys: Set<Name>?
    /// The record types to fetch; `nil` for all types.
    public var desiredRecordTypes: Set<Name>?
    /// True for the newest changes first. The shared database refuses this.
    public var reverse: Bool

    /// Creates a request for the changes of one zone; for all its records if there is no token.
    public init(
        _ zoneID: ZoneID, since: SyncToken? = nil, limit: Int? = nil, desiredKeys: Set<Name>? = nil,
        desiredRecordTypes: Set<Name>? = nil,
        reverse: Bool = false
    ) {
        self.zoneID = zoneID
        self.since = since
        self.limit = limit
        self.desiredKeys = desiredKeys
        self.desiredRecordTypes = desiredRecordTypes
        self.reverse = reverse
    }
}

extension DatabaseClient {
    /// Fetches one page of the zones that changed. The public database and default zones have no feed.
    /// - Parameters:
    ///   - token: the token of the previous page or of the last fetch; `nil` for all zones.
    ///   - limit: the maximum number of zones; `nil` for CloudKit's choice.
    public func databaseChanges(since token: SyncToken? = nil, limit: Int? = nil) async throws -> DatabaseFeedPage {
        let call = try ServiceCall("changes/database", under: root) { (writer) throws(CloudKitFailure) in
            if let token { writer.member("syncToken", token.text) }
            writer.member(resultsLimit: limit)
        }
        return try await send(call) { answer in
            DatabaseFeedPage(
                zones: try answer.objects("zones").map { try ReceivedZone($0) },
                syncToken: try answer.requiredSyncToken,
                moreComing: answer.bool("moreComing") ?? false)
        }
    }

    /// Returns all pages of the zones that changed.
    public func databaseChangesPages(since token: SyncToken? = nil, limit: Int? = nil) -> Pages<DatabaseFeedPage> {
        Pages(of: "changes/database", after: token?.text, container.pacing) { marker in
            let page = try await databaseChanges(since: marker.map { SyncToken($0) }, limit: limit)
            return (page, page.zones.isEmpty, page.moreComing ? page.syncToken.text : nil)
        }
    }

    /// Fetches one page of changes from each of any number of zones.
    /// - Returns: a page or an error for each zone, in the order of the zones. The error for an expired token is
    ///   BAD_REQUEST, for a deleted zone ZONE_NOT_FOUND.
    public func zoneChanges(_ pulls: [ZonePull]) async throws -> [Result<ZoneFeedPage, ServerError>] {
        try await inParts(pulls) { part in
            let call = try ServiceCall("changes/zone", under: root, items: "zones") {
                (writer) throws(CloudKitFailure) in
                try writer.member("zones", part) { writer, pull in writer.members(of: pull) }
            }
            return try await send(call) { answer in
                try zip(part, answer.objects("zones", count: part.count)).map { pull, object in
                    try object.result { try ZoneFeedPage($0, of: pull.zoneID) }
                }
            }
        }
    }

    /// Returns all pages of the changes in one zone. If the zone has an error, the sequence throws it as
    /// ``CloudKitFailure``. The tokens of earlier pages remain valid.
    public func zoneChangesPages(_ pull: ZonePull) -> Pages<ZoneFeedPage> {
        Pages(of: "changes/zone", after: pull.since?.text, container.pacing) { marker in
            var pull = pull
            pull.since = marker.map { SyncToken($0) }
            switch try await zoneChanges([pull])[0] {
            case .success(let page): return (page, page.changes.isEmpty, page.moreComing ? page.syncToken.text : nil)
            case .failure(let error):
                throw CloudKitFailure(error.isTemporary ? .throttled(error) : .refused(error), action: "changes/zone")
            }
        }
    }
}

extension JSONWriter {
    /// Writes the members of an item of `changes/zone`.
    fileprivate mutating func members(of pull: ZonePull) {
        member(zoneID: pull.zoneID)
        if let token = pull.since { member("syncToken", token.text) }
        member(resultsLimit: pull.limit)
        member("desiredKeys", pull.desiredKeys)
        member("desiredRecordTypes", pull.desiredRecordTypes)
        if pull.reverse { member("reverse", true) }
    }
}

extension ZoneFeedPage {
    fileprivate init(_ object: JSONObject, of asked: ZoneID) throws {
        let zoneID = object.zoneID ?? asked
        self.zoneID = zoneID
        changes = try object.objects("records").map { record in
            if let error = ServerError(record) { return .failed(error) }
            if record.bool("deleted") == true { return .deleted(try ReceivedDeletion(record, in: zoneID)) }
            return .saved(try ReceivedRecord(record, in: zoneID))
        }
        syncToken = try object.requiredSyncToken
        moreComing = object.bool("moreComing") ?? false
    }
}

extension JSONObject {
    fileprivate var requiredSyncToken: SyncToken {
        get throws {
            guard let token = syncToken else { throw UnexpectedShape(expected: "a string 'syncToken'") }
            return token
        }
    }
}
