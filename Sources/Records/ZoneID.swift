public import JSON

/// The identity of a record zone: its name and the user it belongs to.
///
/// Zones of the same name with different owners are different zones: a shared database shows zones of several owners.
public struct ZoneID: Sendable, Hashable {
    public static let defaultZoneName: Name = "_defaultZone"
    /// The owner that stands for whoever asks, as clients write it.
    public static let currentOwnerNames: Set<Name> = ["__defaultOwner__", "_defaultOwner"]
    /// The owner that answers name for the zones of the public database, which belong to nobody.
    public static let publicOwner: Name = "_defaultOwner"
    /// Longest zone name, in UTF-8 bytes.
    public static let nameLimit = 255

    public var zoneName: Name
    /// `nil` means the natural owner: the caller in a private database, nobody in the public one.
    public var ownerRecordName: Name?

    public init(zoneName: Name, ownerRecordName: Name? = nil) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName
    }

    public static let `default` = ZoneID(zoneName: defaultZoneName)

    public var isDefault: Bool { zoneName == Self.defaultZoneName }
}
