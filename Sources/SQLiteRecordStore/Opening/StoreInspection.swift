internal import Foundation
internal import JSON
internal import RecordStore
internal import Records

/// Checks the files of a store without opening them.
enum StoreInspection {
    enum Finding {
        /// There is no file, because nothing was saved.
        case nothing
        case file
    }

    /// - Throws: `RecordError` INTERNAL_ERROR if the path is not a usable store file.
    static func look(at key: StoreKey, in data: URL) throws -> Finding {
        switch try kind(of: key.folder(in: data)) {
        case .missing: return .nothing
        case .folder: break
        case .link: throw refused(key.container.description, "is a symbolic link. Replace it with the folder")
        case .file, .other: throw refused(key.container.description, "is not a folder. Move it away")
        }
        let file = key.file(in: data)
        let path = file.path(percentEncoded: false)
        let log = try size(of: path + "-wal")
        switch try kind(of: file) {
        case .missing:
            guard let log, log > 0 else { return .nothing }
            throw refused(
                "\(key)", "is missing, and its log \(key.fileName)-wal of \(log) bytes exists. Restore the file that belongs to the log: together they contain "
                    + "the saved data. To start empty, move the log away")
        case .link: throw refused("\(key)", "is a symbolic link. Replace it with the file")
        case .folder, .other: throw refused("\(key)", "is not a file. Move it away")
        case .file: break
        }
        guard let length = try size(of: path), length > 0 else {
            let beside = log.map { $0 > 0 ? ", and its log \(key.fileName)-wal of \($0) bytes exists" : "" } ?? ""
            throw refused("\(key)", "is empty\(beside). Restore the file. To start empty, move it and its log away")
        }
        return .file
    }

    /// The reason why a store can't be opened, as far as the files show it.
    static func problem(of key: StoreKey, in data: URL) -> RecordError? {
        do {
            _ = try look(at: key, in: data)
            return nil
        } catch {
            return error as? RecordError ?? RecordError(.internalError, "\(key) can't be inspected: \(error)")
        }
    }

    /// Size in bytes of the file and its log, and the time of the last write; `nil` if there is no file.
    static func extent(of key: StoreKey, in data: URL) -> (bytes: Int64, lastSave: Timestamp)? {
        let path = key.file(in: data).path(percentEncoded: false)
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        var (bytes, last) = (Int64(status.st_size), status.lastWrite)
        if lstat(path + "-wal", &status) == 0, status.st_size > 0 { (bytes, last) = (bytes + Int64(status.st_size), max(last, status.lastWrite)) }
        return (bytes, last)
    }

    private enum Kind { case missing, file, folder, link, other }

    private static func kind(of url: URL) throws -> Kind {
        var status = stat()
        // A trailing slash would make lstat follow a link.
        var path = url.path(percentEncoded: false)
        if path.hasSuffix("/") { path.removeLast() }
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return .missing }
            throw refused(url.lastPathComponent, "can't be inspected (\(String(cString: strerror(errno)))). Give the server read access")
        }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .folder
        case S_IFLNK: .link
        default: .other
        }
    }

    /// - Returns: `nil` if there is no such file.
    private static func size(of path: String) throws -> Int64? {
        var status = stat()
        return lstat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    private static func refused(_ name: String, _ problem: String) -> RecordError {
        RecordError(.internalError, "\(name) in the data folder \(problem)")
    }
}

extension stat {
    fileprivate var lastWrite: Timestamp {
        #if os(Linux)
            Timestamp(milliseconds: Int64(st_mtim.tv_sec) * 1000)
        #else
            Timestamp(milliseconds: Int64(st_mtimespec.tv_sec) * 1000)
        #endif
    }
}
