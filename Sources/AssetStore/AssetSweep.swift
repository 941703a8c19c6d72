public import Records

/// The result of a sweep or of its dry run.
public struct AssetSweep: Sendable, Hashable {
    public struct File: Sendable, Hashable {
        /// `nil` for an unfinished upload.
        public var checksum: FileChecksum?
        public var name: String
        /// The size on disk in bytes, including the compressed form.
        public var bytes: Int64

        public init(checksum: FileChecksum?, name: String, bytes: Int64) {
            self.checksum = checksum
            self.name = name
            self.bytes = bytes
        }
    }

    public var removed: [File] = []
    /// The number of unused files that are within their grace time or being downloaded.
    public var waiting = 0
    public var isDryRun = false
    public var removedBytes: Int64 { removed.map(\.bytes).saturatedSum }

    public init() {}
}
