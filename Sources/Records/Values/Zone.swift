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

// MARK: - Identifiers

/// Identifies a record zone by its name and owner.
///
/// Zones with the same name and different owners are different. A shared database contains zones of several owners.
public struct ZoneID: Sendable, Hashable {
    /// The name of the zone that public and private databases have from the start. It has no feed and no atomic
    /// batches.
    public static let defaultZoneName: Name = "_defaultZone"
    /// Placeholder owner names that clients use for the caller.
    public static let currentOwnerNames: Set<Name> = ["__defaultOwner__", "_defaultOwner"]
    /// The owner name that responses use for zones of the public database.
    public static let publicOwner: Name = "_defaultOwner"
    /// Maximum length of a zone name in UTF-8 bytes.
    public static let nameLimit = 255

    /// At most ``nameLimit`` bytes.
    public var zoneName: Name
    /// `nil` means the caller in a private database, and no owner in the public one.
    public var ownerRecordName: Name?

    /// The ID of a zone, which need not exist.
    public init(zoneName: Name, ownerRecordName: Name? = nil) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName
    }

    /// The caller's default zone, which is also that of the public database.
    public static let `default` = ZoneID(zoneName: defaultZoneName)

    /// True if a reference to the zone from a record in another one stays within that zone: the names are equal, and so
    /// are the owners, if both are told. A placeholder tells no owner.
    public func isSame(as other: ZoneID) -> Bool {
        func owner(_ zoneID: ZoneID) -> Name? {
            zoneID.ownerRecordName.flatMap { Self.currentOwnerNames.contains($0) ? nil : $0 }
        }
        guard zoneName == other.zoneName, let mine = owner(self), let theirs = owner(other) else {
            return zoneName == other.zoneName
        }
        return mine == theirs
    }

    /// True for the default zone of any owner.
    public var isDefault: Bool { zoneName == Self.defaultZoneName }
}
