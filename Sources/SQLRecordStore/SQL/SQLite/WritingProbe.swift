internal import Foundation

/// Tests whether files can be written next to a store's file, without touching the store.
enum WritingProbe {
    /// Bytes written: the 32 KiB of a new log index plus the same amount for the log.
    private static let size = 64 << 10

    /// Blocks on the disk.
    static func succeeds(beside file: URL) -> Bool {
        guard access(file.path(percentEncoded: false), W_OK) == 0 else { return false }
        let path = file.deletingLastPathComponent().appending(path: ".probe-\(file.lastPathComponent)").path(percentEncoded: false)
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Unlinked at once, so that nothing is left however the process ends.
        unlink(path)
        let bytes = [UInt8](repeating: 1, count: size)
        // Some file systems report a full disk only on fsync.
        return pwrite(descriptor, bytes, size, 0) == size && fsync(descriptor) == 0
    }
}
