import Foundation

/// The file in a data folder that says where the server is that has the folder open: its address, its instance, and the secret by which it knows
/// those who may read the folder. Only the folder's owner can read it.
///
/// What a killed server leaves is not believed: an address counts only while somebody has the folder open, and whoever opens it removes
/// what stood there before. Between the two another server may have got the address: it is of another instance.
struct ServerFile {
    struct Entry: Sendable {
        /// Such as `http://127.0.0.1:8080`.
        let address: String
        /// A random name that the server also tells in its health.
        let instance: String
        /// A random text that the server tells nobody; who sends it back is taken for its administrator.
        let secret: String
    }

    private let url: URL
    /// What the process that has it open has locked.
    private let folder: URL

    init(folder: URL) {
        url = folder.appending(path: ".server")
        self.folder = folder
    }

    /// Where the server says it is, `nil` when there is none.
    var entry: Entry? {
        // A server that has only just opened the folder has not written it yet.
        guard isFolderOpen, let data = try? Data(contentsOf: url), data.count < 1024 else { return nil }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.count == 3 ? Entry(address: String(lines[0]), instance: String(lines[1]), secret: String(lines[2])) : nil
    }

    /// Whether a process has the folder open, this one included.
    private var isFolderOpen: Bool {
        let descriptor = open(folder.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        // Closing lets go of it again.
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0
    }

    /// Writes the file, whole or not at all.
    func write(_ entry: Entry) throws {
        let (path, draft) = (url.path(percentEncoded: false), url.path(percentEncoded: false) + ".new")
        _ = unlink(draft)
        // From its beginning nobody else can read it.
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data("\(entry.address)\n\(entry.instance)\n\(entry.secret)\n".utf8))
        try handle.close()
        guard rename(draft, path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// One that stays is not believed: nobody has the folder open.
    func remove() {
        try? FileManager.default.removeItem(at: url)
    }
}
