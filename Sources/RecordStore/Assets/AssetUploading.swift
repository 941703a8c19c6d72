public import JSON
public import Records

/// A database whose records can have assets.
public protocol AssetUploading: RecordDatabase {
    /// Leave to upload a file for each slot, with a ticket that is good for 15 minutes, for that field of that record and for this caller.
    ///
    /// Each slot has its own result: ACCESS_DENIED where the caller may not write, BAD_REQUEST where the field is declared as something
    /// else than an asset or a list of them, or can't come to be.
    /// - Parameter zoneID: the zone of the records. `nil` is good for whichever zone of the database the record is then saved in, for clients that
    ///   ask without a zone (CloudKit JS 1.2).
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<UploadGrant, RecordError>]

    /// Assets of records that exist, each with a receipt with which one other record in the target zone can have it too, without a
    /// second upload.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<Asset, RecordError>]

    /// Where the same bytes are referred to: places that the caller sees through this database, by the names of record, zone and field, and
    /// how many there are in all.
    /// - Parameter limit: how many places to return.
    func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses
}

/// Where bytes are referred to.
public struct AssetUses: Sendable, Hashable {
    public var visible: [AssetUse]
    /// All fields of records that refer to the bytes, in every database of the container's environment.
    public var total: Int

    public init(visible: [AssetUse], total: Int) {
        self.visible = visible
        self.total = total
    }
}

/// A field of a record that refers to bytes.
public struct AssetUse: Sendable, Hashable {
    /// Whether the record is in the public database.
    public var isPublic: Bool
    /// With its owner.
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
