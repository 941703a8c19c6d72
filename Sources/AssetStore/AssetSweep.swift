public import Records

/// What a sweep removed, or would remove.
public struct AssetSweep: Sendable, Hashable {
    public struct File: Sendable, Hashable {
        /// `nil` for what an upload left behind that never came to its end.
        public var checksum: FileChecksum?
        public var name: String
        /// Bytes on disk, with the compressed form.
        public var bytes: Int64

        public init(checksum: FileChecksum?, name: String, bytes: Int64) {
            self.checksum = checksum
            self.name = name
            self.bytes = bytes
        }
    }

    public var removed: [File] = []
    /// Unused files that are within their grace time, or being downloaded.
    public var waiting = 0
    public var isDryRun = false
    public var removedBytes: Int64 { removed.reduce(0) { $0 + $1.bytes } }

    public init() {}
}
