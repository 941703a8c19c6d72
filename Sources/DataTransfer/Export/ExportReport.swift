public import JSON
public import Records

/// What an export wrote.
public struct ExportReport: Sendable, Hashable {
    public var records: Int
    public var zones: [ZoneID]
    public var recordTypes: [Name]
    /// Assets in the records, and the files in the folder that hold their bytes.
    public var assets = AssetCount()
    /// Assets that were left out of their records, because there was no folder for their bytes.
    public var leftOut = AssetCount()

    public struct AssetCount: Sendable, Hashable {
        /// In records; several may have the same bytes.
        public var references = 0
        /// With different bytes.
        public var files = 0
        /// Of those files.
        public var bytes: Int64 = 0
    }
}
