internal import Records

/// Keeps other processes from entering files while this one strikes them off and removes them.
struct RemovalLocks: Sendable {
    /// The locked files, one in each subfolder; `nil` if no other process has the folder.
    private let files: [UInt8: DiskFile]?
    /// The error of a subfolder that could not be locked.
    let failure: DiskFailure?

    /// Locks the subfolders of some files, except those to which other processes are uploading. Blocks on the disk, but does not wait for a lock.
    init(for checksums: [FileChecksum], in folder: AssetFolder) {
        var files: [UInt8: DiskFile] = [:]
        var failure: DiskFailure?
        for checksum in checksums where folder.isShared && files[checksum.bytes[0]] == nil {
            do throws(DiskFailure) {
                let file = try folder.openLock(of: checksum)
                if file.tryLock(.exclusive) { files[checksum.bytes[0]] = file }
            } catch {
                failure = error
            }
        }
        self.files = folder.isShared ? files : nil
        self.failure = failure
    }

    /// True if the file can be removed.
    func covers(_ checksum: FileChecksum) -> Bool { files.map { $0[checksum.bytes[0]] != nil } ?? true }

    func release() {
        for file in (files ?? [:]).values { file.unlock() }
    }
}
