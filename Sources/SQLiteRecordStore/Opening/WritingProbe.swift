internal import Foundation

/// Finds out whether something can be written beside a store's file, without touching the store.
enum WritingProbe {
    /// Enough for the index of a log, 32 KiB, and as much of the log itself.
    private static let size = 64 << 10

    /// Waits for the disk.
    static func succeeds(beside file: URL) -> Bool {
        guard access(file.path(percentEncoded: false), W_OK) == 0 else { return false }
        let path = file.deletingLastPathComponent().appending(path: ".probe-\(file.lastPathComponent)").path(percentEncoded: false)
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Nothing stays of it, however the process ends.
        unlink(path)
        let bytes = [UInt8](repeating: 1, count: size)
        // Some file systems tell only with the sync that they have no room.
        return pwrite(descriptor, bytes, size, 0) == size && fsync(descriptor) == 0
    }
}
