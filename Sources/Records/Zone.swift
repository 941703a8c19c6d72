/// A record zone as its database shows it.
public struct Zone: Sendable, Hashable {
    /// The zone's name and owner.
    public var zoneID: ZoneID
    /// Token of the zone's latest change; `nil` if there is no feed, as in the public database and in default zones.
    public var syncToken: ChangeToken?
    /// True if batches in the zone can be atomic.
    public var atomic: Bool

    /// A zone as a database shows it.
    public init(zoneID: ZoneID, syncToken: ChangeToken?, atomic: Bool) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.atomic = atomic
    }
}

/// A change of a zone.
public struct ZoneChange: Sendable, Hashable {
    /// The latest change of the zone.
    public enum Kind: String, Sendable, Hashable {
        /// The zone is new, or records in it changed.
        case changed
        /// The zone was deleted, or is no longer shared.
        case deleted
        /// The data was removed at the user's request. Clients see a deletion.
        case purged
    }

    /// The zone that changed.
    public var zoneID: ZoneID
    /// The latest of its changes.
    public var kind: Kind
    /// `nil` if the store does not tell it.
    public var timestamp: Timestamp?
    /// The zone's current token; `nil` for a deleted zone.
    public var syncToken: ChangeToken?

    /// A change of a zone in the feed of its database.
    public init(zoneID: ZoneID, kind: Kind, timestamp: Timestamp?, syncToken: ChangeToken?) {
        self.zoneID = zoneID
        self.kind = kind
        self.timestamp = timestamp
        self.syncToken = syncToken
    }
}

/// One operation on a zone (Apple's reference page "Modifying Zones").
public enum ZoneOperation: Sendable, Hashable {
    /// Creates a zone. One that exists stays as it is.
    case create(ZoneID)
    /// Deletes a zone with all its records.
    case delete(ZoneID)

    /// The zone that is created or deleted.
    public var zoneID: ZoneID {
        switch self {
        case .create(let zoneID), .delete(let zoneID): zoneID
        }
    }
}
