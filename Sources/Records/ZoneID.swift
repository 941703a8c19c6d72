public import JSON

/// Identifies a record zone by its name and owner.
///
/// Zones with the same name and different owners are different. A shared database contains zones of several owners.
public struct ZoneID: Sendable, Hashable {
    /// The name of the zone that public and private databases have from the start. It has no feed and no atomic batches.
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

    /// True if a reference to the zone from a record in another one stays within that zone: the names are equal, and so are the owners, if both
    /// are told. A placeholder tells no owner.
    public func isSame(as other: ZoneID) -> Bool {
        func owner(_ zoneID: ZoneID) -> Name? { zoneID.ownerRecordName.flatMap { Self.currentOwnerNames.contains($0) ? nil : $0 } }
        guard zoneName == other.zoneName, let mine = owner(self), let theirs = owner(other) else { return zoneName == other.zoneName }
        return mine == theirs
    }

    /// True for the default zone of any owner.
    public var isDefault: Bool { zoneName == Self.defaultZoneName }
}
