internal import Foundation

extension FileManager {
    /// Creates a folder durably: syncs the parent folder, which holds the new name.
    func createDurableDirectory(at url: URL) throws {
        if fileExists(atPath: url.path(percentEncoded: false)) { return }
        try createDirectory(at: url, withIntermediateDirectories: true)
        try syncDirectory(at: url.deletingLastPathComponent())
    }

    /// Syncs the folder's list of names to disk.
    func syncDirectory(at url: URL) throws {
        let descriptor = open(url.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        defer { close(descriptor) }
        // Some file systems return EINVAL because they can't sync folders. They persist names by other means.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }
}
