/// A record zone as its database shows it.
public struct Zone: Sendable, Hashable {
    public var zoneID: ZoneID
    /// Token of the zone's latest change; `nil` if there is no feed, as in the public database and in default zones.
    public var syncToken: ChangeToken?
    /// True if batches in the zone can be atomic.
    public var atomic: Bool

    public init(zoneID: ZoneID, syncToken: ChangeToken?, atomic: Bool) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.atomic = atomic
    }
}

/// A change of a zone.
public struct ZoneChange: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        /// The zone is new, or records in it changed.
        case changed
        /// The zone was deleted, or is no longer shared.
        case deleted
        /// The data was removed at the user's request. Clients see a deletion.
        case purged
    }

    public var zoneID: ZoneID
    public var kind: Kind
    /// `nil` if the store does not tell it.
    public var timestamp: Timestamp?
    /// The zone's current token; `nil` for a deleted zone.
    public var syncToken: ChangeToken?

    public init(zoneID: ZoneID, kind: Kind, timestamp: Timestamp?, syncToken: ChangeToken?) {
        self.zoneID = zoneID
        self.kind = kind
        self.timestamp = timestamp
        self.syncToken = syncToken
    }
}

/// One operation on a zone (Apple's reference page "Modifying Zones").
public enum ZoneOperation: Sendable, Hashable {
    case create(ZoneID)
    case delete(ZoneID)

    public var zoneID: ZoneID {
        switch self {
        case .create(let zoneID), .delete(let zoneID): zoneID
        }
    }
}
