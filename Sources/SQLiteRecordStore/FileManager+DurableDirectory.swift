internal import Foundation

extension FileManager {
    /// Makes a folder whose name survives a power cut: the name stands in the folder above, which is synced too.
    func createDurableDirectory(at url: URL) throws {
        if fileExists(atPath: url.path(percentEncoded: false)) { return }
        try createDirectory(at: url, withIntermediateDirectories: true)
        try syncDirectory(at: url.deletingLastPathComponent())
    }

    /// Waits until the names in a folder are on the disk.
    func syncDirectory(at url: URL) throws {
        let descriptor = open(url.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        defer { close(descriptor) }
        // Some file systems can't sync a folder and say so; they keep names in another way.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }
}
