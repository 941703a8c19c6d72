/// A record zone as seen through a database.
public struct Zone: Sendable, Hashable {
    /// The zone's name and owner.
    public var zoneID: ZoneID
    /// Token of the zone's latest change; `nil` if there is no feed, as in the public database and in default zones.
    public var syncToken: ChangeToken?
    /// True if batches in the zone can be atomic.
    public var atomic: Bool

    /// Creates a zone as seen through a database.
    public init(zoneID: ZoneID, syncToken: ChangeToken?, atomic: Bool) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.atomic = atomic
    }
}

/// A change of a zone.
public struct ZoneChange: Sendable, Hashable {
    /// The latest change of the zone.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The zone was created, or records in it changed.
        case changed
        /// The zone was deleted, or is no longer shared.
        case deleted
        /// The zone's data was removed at the user's request. Clients see a deletion.
        case purged
    }

    /// The zone that changed.
    public var zoneID: ZoneID
    /// The kind of the latest change.
    public var kind: Kind
    /// The time of the latest change; `nil` if the store does not provide it.
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
    /// Creates a zone. An existing zone remains unchanged.
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
    /// The name of the zone that public and private databases always contain. It has no feed and supports no atomic
    /// batches.
    public static let defaultZoneName: Name = "_defaultZone"
    /// Placeholder owner names with which clients mean the caller.
    public static let currentOwnerNames: Set<Name> = ["__defaultOwner__", "_defaultOwner"]
    /// The owner name that responses use for zones of the public database.
    public static let publicOwner: Name = "_defaultOwner"
    /// Maximum length of a zone name in UTF-8 bytes.
    public static let nameLimit = 255

    /// The name, at most ``nameLimit`` bytes.
    public var zoneName: Name
    /// The owner; `nil` means the caller in a private database, and no owner in the public one.
    public var ownerRecordName: Name?

    /// The ID of a zone, which need not exist.
    public init(zoneName: Name, ownerRecordName: Name? = nil) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName
    }

    /// The caller's default zone, which is also that of the public database.
    public static let `default` = ZoneID(zoneName: defaultZoneName)

    /// True if both IDs mean the same zone, as those of a record and of a reference in it: the names are equal, and so
    /// are the owners if both IDs specify one. A placeholder does not specify an owner.
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
