import Foundation

/// The file in a data folder that says where the server is that has the folder open.
///
/// What a killed server leaves is not believed: an address counts only while somebody has the folder open, and whoever opens it removes
/// what stood there before.
struct ServerFile {
    private let url: URL
    private let lock: URL

    init(folder: URL) {
        url = folder.appending(path: ".server")
        lock = folder.appending(path: ".lock")
    }

    /// The server's address such as `http://127.0.0.1:8080`, `nil` when there is no server.
    var address: String? {
        guard isFolderOpen, let data = try? Data(contentsOf: url), data.count < 1024 else { return nil }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }

    /// Whether a process has the folder open, this one included.
    private var isFolderOpen: Bool {
        let descriptor = open(lock.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        // Closing lets go of it again.
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// Writes the address, whole or not at all.
    func write(_ address: String) throws {
        try Data((address + "\n").utf8).write(to: url, options: .atomic)
    }

    func remove() {
        try? FileManager.default.removeItem(at: url)
    }
}
