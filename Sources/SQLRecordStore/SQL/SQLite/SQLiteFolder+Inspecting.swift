internal import Foundation
internal import JSON
internal import RecordStore
internal import Records

// Checks the files of a store without opening them.
extension SQLiteFolder {
    func holds(_ key: StoreKey) throws -> Bool {
        switch try Self.kind(of: key.folder(in: folder)) {
        case .missing: return false
        case .folder: break
        case .link: throw Self.refused(key.container.description, "is a symbolic link. Replace it with the folder")
        case .file, .other: throw Self.refused(key.container.description, "is not a folder. Move it away")
        }
        let file = key.file(in: folder)
        let path = file.path(percentEncoded: false)
        let log = try Self.size(of: path + "-wal")
        switch try Self.kind(of: file) {
        case .missing:
            guard let log, log > 0 else { return false }
            throw Self.refused(
                "\(key)", "is missing, and its log \(key.fileName)-wal of \(log) bytes exists. Restore the file that belongs to the log: together they contain "
                    + "the saved data. To start empty, move the log away")
        case .link: throw Self.refused("\(key)", "is a symbolic link. Replace it with the file")
        case .folder, .other: throw Self.refused("\(key)", "is not a file. Move it away")
        case .file: break
        }
        guard let length = try Self.size(of: path), length > 0 else {
            let beside = log.map { $0 > 0 ? ", and its log \(key.fileName)-wal of \($0) bytes exists" : "" } ?? ""
            throw Self.refused("\(key)", "is empty\(beside). Restore the file. To start empty, move it and its log away")
        }
        return true
    }

    func extent(of key: StoreKey) -> (bytes: Int64, lastSave: Timestamp)? {
        let path = key.file(in: folder).path(percentEncoded: false)
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
            throw Self.refused(url.lastPathComponent, "can't be inspected (\(String(cString: strerror(errno)))). Give the server read access")
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
