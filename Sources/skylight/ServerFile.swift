import Foundation
import ServiceLifecycle

/// A file in the data folder for other commands, with the address, the instance id and the
/// secret of the server that has the folder open. Only the owner of the folder can read it.
///
/// Stale files of killed servers are detected: an address is valid only while a process has the folder open, and
/// opening the folder removes an old file. If another server has reused the address, its instance id differs.
struct ServerFile {
    struct Entry: Sendable {
        /// The address, such as `http://127.0.0.1:8080`.
        let address: String
        /// A random id, which the health service of the server also returns.
        let instance: String
        /// A random secret. A client with the secret is treated as the administrator.
        let secret: String
    }

    private let url: URL
    /// The folder, which the process that has it open locks.
    private let folder: URL

    init(folder: URL) {
        url = folder.appending(path: ".server")
        self.folder = folder
    }

    /// The content of the file; `nil` if no server has the folder open.
    var entry: Entry? {
        // A server that has just opened the folder may not have written the file yet.
        guard isFolderOpen, let data = try? Data(contentsOf: url), data.count < 1024 else { return nil }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.count == 3 ? Entry(address: String(lines[0]), instance: String(lines[1]), secret: String(lines[2])) : nil
    }

    /// True if any process, including this one, has the folder open.
    private var isFolderOpen: Bool {
        let descriptor = open(folder.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        // Closing the descriptor also releases the lock.
        defer { close(descriptor) }
        // Servers with a common database share the lock.
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    /// Writes the file atomically.
    func write(_ entry: Entry) throws {
        let (path, draft) = (url.path(percentEncoded: false), url.path(percentEncoded: false) + ".new")
        _ = unlink(draft)
        // Creates the file with its final permissions, so that other users can never read it.
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data("\(entry.address)\n\(entry.instance)\n\(entry.secret)\n".utf8))
        try handle.close()
        guard rename(draft, path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// Removes the file. On failure the file is ignored, because no process has the folder open.
    func remove() {
        try? FileManager.default.removeItem(at: url)
    }

    /// Removes the file if it has the entry of this server. Another server with the same database may have replaced it.
    func remove(entryOf instance: String) {
        if entry?.instance == instance { remove() }
    }
}

/// Removes the server file as soon as the shutdown begins, so that commands do not connect to a server that no longer answers.
struct ServerFileWithdrawal: Service {
    let file: ServerFile
    /// The server's instance.
    let instance: String

    func run() async throws {
        try await gracefulShutdown()
        file.remove(entryOf: instance)
    }
}
