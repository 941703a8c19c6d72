public import JSON
public import Records

/// A database whose records can have assets.
public protocol AssetUploading: RecordDatabase {
    /// Grants an upload for each slot. The ticket is valid for 15 minutes, for this record field and this caller.
    ///
    /// Each slot has its own result: ACCESS_DENIED if the caller may not write, BAD_REQUEST if the field has another
    /// type or can't be created.
    /// - Parameter zoneID: the zone of the records. `nil` allows any zone of the database, for clients that request
    ///   uploads without a zone (CloudKit JS 1.2).
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<UploadGrant, RecordError>]

    /// Returns assets of existing records, each with a receipt that lets one other record in the target zone use it
    /// without another upload.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<Asset, RecordError>]

    /// Fields with the same asset bytes that the caller can see through this database, ordered by the names of
    /// record, zone and field, and the total number of uses.
    /// - Parameter limit: maximum number of returned fields.
    func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses
}

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
