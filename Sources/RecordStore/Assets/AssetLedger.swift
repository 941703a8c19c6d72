public import Records

/// An engine that knows which files its records refer to.
public protocol AssetKeeping: RecordEngine {
    /// The ledger of a container's environment; tickets are good before anything is saved, too.
    func assetLedger(_ container: ContainerID, _ environment: Environment) async throws -> any AssetLedger
}

/// Which files a container's environment has, and whether records refer to them.
///
/// A file is entered when its bytes lie safely on disk, and a record can refer to entered files only. It is struck off before its bytes are
/// removed, so whatever happens in between, no record refers to bytes that are gone.
public protocol AssetLedger: Sendable {
    /// What seals and opens tickets and receipts here.
    var tickets: AssetTickets { get }

    /// Enters a file, or keeps one that is there from being swept for some time longer.
    /// - Parameter until: the file is in use until then, whether or not a record refers to it.
    func enter(_ checksum: FileChecksum, size: Int64, inUseUntil until: Timestamp) async throws

    func entry(of checksum: FileChecksum) async throws -> AssetEntry?

    /// The entries in the order of their checksums.
    func entries(after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry]

    /// Entries that nothing has used since a moment, in the order of their checksums.
    func entries(unusedSince moment: Timestamp, after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry]

    /// Strikes files off that nothing has used since a moment, and says which: those that came into use meanwhile stay.
    func strike(_ checksums: [FileChecksum], unusedSince moment: Timestamp) async throws -> Set<FileChecksum>

    /// The assets in the records themselves, some thousand records at a time: what a verification holds against the entries.
    /// - Parameter place: where the page before ended, `nil` for the first one.
    func recordedAssets(after place: Int64?) async throws -> RecordedAssetsPage
}

/// A file in the ledger.
public struct AssetEntry: Sendable, Hashable {
    public var checksum: FileChecksum
    /// Bytes.
    public var size: Int64
    /// Fields of records that refer to it.
    public var useCount: Int
    /// When the last use ended, of a record or an upload; may lie ahead, and says nothing while records refer to the file.
    public var inUseUntil: Timestamp

    public init(checksum: FileChecksum, size: Int64, useCount: Int, inUseUntil: Timestamp) {
        self.checksum = checksum
        self.size = size
        self.useCount = useCount
        self.inUseUntil = inUseUntil
    }
}

/// Some of the assets in the records of a container's environment.
public struct RecordedAssetsPage: Sendable {
    public var assets: [RecordedAsset]
    /// Where the next page begins; `nil` after the last one.
    public var next: Int64?

    public init(assets: [RecordedAsset], next: Int64?) {
        self.assets = assets
        self.next = next
    }
}

/// An asset as a record has it.
public struct RecordedAsset: Sendable, Hashable {
    public var use: AssetUse
    public var asset: Asset
    /// Whether the ledger counts this use.
    public var isCounted: Bool

    public init(use: AssetUse, asset: Asset, isCounted: Bool) {
        self.use = use
        self.asset = asset
        self.isCounted = isCounted
    }
}
