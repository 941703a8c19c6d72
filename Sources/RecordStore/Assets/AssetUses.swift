public import JSON
public import Records

/// Uses of one asset file.
public struct AssetUses: Sendable, Hashable {
    public var visible: [AssetUse]
    /// Number of uses in all databases of the container and environment.
    public var total: Int

    public init(visible: [AssetUse], total: Int) {
        self.visible = visible
        self.total = total
    }
}

/// A record field that refers to an asset file.
public struct AssetUse: Sendable, Hashable {
    /// True if the record is in the public database.
    public var isPublic: Bool
    /// Includes the owner.
    public var zoneID: ZoneID
    public var recordName: Name
    public var recordType: Name
    public var fieldName: Name

    public init(isPublic: Bool, zoneID: ZoneID, recordName: Name, recordType: Name, fieldName: Name) {
        self.isPublic = isPublic
        self.zoneID = zoneID
        self.recordName = recordName
        self.recordType = recordType
        self.fieldName = fieldName
    }
}
