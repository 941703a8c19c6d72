public import Records

/// Tracks the asset files of a container and environment and their use by records.
///
/// A file is entered after its bytes are safely on disk, and records can refer only to entered files. It is struck
/// off before its bytes are removed. So no record ever refers to missing bytes.
public protocol AssetLedger: Sendable {
    /// Seals and opens the tickets and receipts of this ledger, with the keys that its store had when it was last
    /// used.
    var tickets: AssetTickets { get }

    /// The tickets with the keys that the store has now. They differ from ``tickets`` if another process has replaced
    /// the store since.
    func presentTickets() async throws -> AssetTickets

    /// Enters a file, or extends the time for which an existing one is kept.
    /// - Parameter until: the file counts as in use until then, even without a reference.
    func enter(_ checksum: FileChecksum, size: Int64, inUseUntil until: Timestamp) async throws

    func entry(of checksum: FileChecksum) async throws -> AssetEntry?

    /// Entries in the order of their checksums.
    func entries(after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry]

    /// Entries unused since a moment, in the order of their checksums.
    func entries(unusedSince moment: Timestamp, after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry]

    /// Removes the entries of files unused since a moment. Files used again in the meantime stay.
    /// - Returns: the removed checksums.
    func strike(_ checksums: [FileChecksum], unusedSince moment: Timestamp) async throws -> Set<FileChecksum>

    /// The assets found in the records, a few thousand records per page. A verification compares them with the
    /// entries.
    /// - Parameter place: `next` of the previous page; `nil` for the first page.
    func recordedAssets(after place: Int64?) async throws -> RecordedAssetsPage
}

extension AssetLedger {
    // The default for stores that only one process uses.
    public func presentTickets() async throws -> AssetTickets { tickets }
}

/// A file in the ledger.
public struct AssetEntry: Sendable, Hashable {
    public var checksum: FileChecksum
    /// Size in bytes.
    public var size: Int64
    /// Number of record fields that refer to the file.
    public var useCount: Int
    /// Time when the last use by a record or an upload ended or will end. Meaningless while records refer to the
    /// file.
    public var inUseUntil: Timestamp

    public init(checksum: FileChecksum, size: Int64, useCount: Int, inUseUntil: Timestamp) {
        self.checksum = checksum
        self.size = size
        self.useCount = useCount
        self.inUseUntil = inUseUntil
    }
}

/// A page of the assets in the records of a container and environment.
public struct RecordedAssetsPage: Sendable {
    public var assets: [RecordedAsset]
    /// Start of the next page; `nil` after the last one.
    public var next: Int64?

    public init(assets: [RecordedAsset], next: Int64?) {
        self.assets = assets
        self.next = next
    }
}

/// An asset in a record.
public struct RecordedAsset: Sendable, Hashable {
    public var use: AssetUse
    public var asset: Asset
    /// True if the ledger counts this use.
    public var isCounted: Bool

    public init(use: AssetUse, asset: Asset, isCounted: Bool) {
        self.use = use
        self.asset = asset
        self.isCounted = isCounted
    }
}

// MARK: - Uploads

/// The answer to an ``UploadRequest``: permission to upload one file within 15 minutes.
public struct UploadGrant: Sendable, Hashable {
    public var recordName: Name
    public var fieldName: Name
    /// The sealed ticket, which is part of the upload URL.
    public var ticket: String

    public init(recordName: Name, fieldName: Name, ticket: String) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.ticket = ticket
    }
}

/// An asset of a record, to be used in another record too (Apple's reference page "Referencing Existing Assets").
public struct AssetSource: Sendable, Hashable {
    public var recordName: Name
    public var fieldName: Name
    /// Index in a list field. An extension of Skylight.
    public var index: Int?

    public init(recordName: Name, fieldName: Name, index: Int? = nil) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.index = index
    }
}

// MARK: - Uses

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
    /// Contains the owner.
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

extension AssetUses: JSONObjectCoded {
    package static let form = JSONForm(
        AssetUses.init(visible:total:), JSONPart("visible", \.visible), JSONPart("total", \.total))
}

extension AssetUse: JSONObjectCoded {
    package static let form = JSONForm<AssetUse>(
        { scope, zoneID, recordName, recordType, fieldName in
            AssetUse(
                isPublic: scope == .public, zoneID: zoneID, recordName: recordName, recordType: recordType,
                fieldName: fieldName)
        },
        JSONPart("database", { $0.isPublic ? DatabaseScope.public : .private }), JSONPart("zoneID", \.zoneID),
        JSONPart("recordName", \.recordName), JSONPart("recordType", \.recordType),
        JSONPart("fieldName", \.fieldName))
}
