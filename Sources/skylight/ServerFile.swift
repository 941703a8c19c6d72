import Foundation

/// The file in a data folder that says where the server is that has the folder open: its address and, on a second line, its instance.
///
/// What a killed server leaves is not believed: an address counts only while somebody has the folder open, and whoever opens it removes
/// what stood there before. Between the two another server may have got the address: it is of another instance.
struct ServerFile {
    struct Entry: Sendable {
        /// Such as `http://127.0.0.1:8080`.
        let address: String
        /// A random name that the server also tells in its health.
        let instance: String
    }

    private let url: URL
    private let lock: URL

    init(folder: URL) {
        url = folder.appending(path: ".server")
        lock = folder.appending(path: ".lock")
    }

    /// Where the server says it is, `nil` when there is none.
    var entry: Entry? {
        guard isFolderOpen, let data = try? Data(contentsOf: url), data.count < 1024 else { return nil }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.count == 2 ? Entry(address: String(lines[0]), instance: String(lines[1])) : nil
    }

    /// Whether a process has the folder open, this one included.
    private var isFolderOpen: Bool {
        let descriptor = open(lock.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        // Closing lets go of it again.
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// Writes the file, whole or not at all.
    func write(_ entry: Entry) throws {
        try Data("\(entry.address)\n\(entry.instance)\n".utf8).write(to: url, options: .atomic)
    }

    func remove() {
        try? FileManager.default.removeItem(at: url)
    }
}
