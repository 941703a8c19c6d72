internal import JSON
public import Records

/// A zone as CloudKit's answer has it.
public struct ReceivedZone: Sendable, Hashable {
    public var zoneID: ZoneID
    /// The token of the zone's latest change; `nil` if it has no feed, as in the public database, and if CloudKit does not tell.
    public var syncToken: SyncToken?
    /// True if batches in the zone can be atomic; `nil` if CloudKit does not tell.
    public var atomic: Bool?
    /// True in the answer to its deletion, and in the feed of a database after it.
    public var isDeleted: Bool

    init(_ object: JSONObject) throws {
        guard let zoneID = object.zoneID else { throw UnexpectedShape(expected: "an object 'zoneID'") }
        self.zoneID = zoneID
        syncToken = object.syncToken
        atomic = object.bool("atomic")
        isDeleted = object.bool("deleted") ?? false
    }
}

/// A client's position in a feed, exactly as CloudKit sent it.
public struct SyncToken: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public var description: String { text }
}
