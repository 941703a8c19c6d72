public import JSON
public import Records

/// The result of an export.
public struct ExportReport: Sendable, Hashable {
    public var records: Int
    /// The number of records by type.
    public var types: [Name: Int] = [:]
    public var zones: [ZoneID]
    public var recordTypes: [Name]
    /// The assets in the exported records, and their files in the folder.
    public var assets = AssetCount()
    /// The assets that were omitted because there was no folder for their bytes.
    public var leftOut = AssetCount()

    public struct AssetCount: Sendable, Hashable {
        /// The number of assets in records. Several may have the same bytes.
        public var references = 0
        /// The number of distinct files.
        public var files = 0
        /// The total size of the distinct files, in bytes.
        public var bytes: Int64 = 0
    }
}

/// The progress of an export.
public struct ExportProgress: Sendable, Hashable {
    /// The number of records written.
    public var count: Int
    /// The number of records at the start; `nil` if the store keeps no counts.
    public var total: Int?
    /// The number of asset bytes that were fetched or already in the folder.
    public var assetBytes: Int64 = 0
}

/// The reason why an export failed.
public enum ExportError: Error, Sendable, CustomStringConvertible {
    /// The requested data does not exist or is not available, with a message for the user.
    case invalid(String)

    public var description: String {
        switch self {
        case .invalid(let reason): reason
        }
    }
}
