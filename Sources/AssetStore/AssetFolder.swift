internal import Foundation
internal import Records
internal import Synchronization

/// How files lie on the disk: `ab/ab12…` and its compressed form `ab/ab12….gz`, and in `incoming` what is not finished. All calls block.
final class AssetFolder: Sendable {
    let path: String
    private let incoming: String
    /// The folders that were made durable since the store was opened.
    private let durable = Mutex<Set<String>>([])

    init(_ folder: URL) {
        path = folder.path(percentEncoded: false)
        incoming = path + "/incoming"
    }

    var isThere: Bool { access(path, F_OK) == 0 }

    // MARK: Paths

    func path(of checksum: FileChecksum) -> String { "\(path)/\(Self.name(of: checksum))" }
    func compressedPath(of checksum: FileChecksum) -> String { path(of: checksum) + ".gz" }
    func subfolder(of checksum: FileChecksum) -> String { "\(path)/\(Self.subfolder(checksum.bytes[0]))" }

    /// The path below the folder.
    static func name(of checksum: FileChecksum) -> String { "\(subfolder(checksum.bytes[0]))/\(checksum)" }

    static func subfolder(_ number: UInt8) -> String {
        let digits = String(number, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }

    /// What comes just before all files of a subfolder.
    static func last(before number: UInt8) -> FileChecksum? {
        number == 0 ? nil : FileChecksum(bytes: [number - 1] + Array(repeating: UInt8.max, count: FileChecksum.length - 1))
    }

    // MARK: What is there

    /// - Throws: `RecordError` INTERNAL_ERROR for what is no folder of its own: a link may lead anywhere, and files would be written and removed there.
    func check() throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let kind = status.st_mode & S_IFMT
        if kind == S_IFDIR { return }
        let problem = kind == S_IFLNK ? "is a symbolic link. Put the folder itself there" : "is no folder. Move it away"
        throw RecordError(.internalError, "\(URL(filePath: path).lastPathComponent) beside the container's records \(problem)")
    }

    /// Removes what a process left unfinished that was killed.
    func recover() throws(DiskFailure) {
        for name in try names(in: incoming) { unlink("\(incoming)/\(name)") }
    }

    /// Names in a folder; none when it is not there.
    private func names(in folder: String) throws(DiskFailure) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch CocoaError.fileReadNoSuchFile, CocoaError.fileNoSuchFile {
            return []
        } catch {
            let cause = (error as? CocoaError)?.underlying as? POSIXError
            throw DiskFailure("list the folder \(folder.dropFirst(path.utf8.count + 1))", code: cause?.code.rawValue ?? EIO)
        }
    }

    /// The subfolders that there are, by number.
    func subfolders() throws(DiskFailure) -> Set<UInt8> {
        Set(try names(in: path).filter { $0.utf8.count == 2 }.compactMap { UInt8($0, radix: 16) })
    }

    /// The files of a subfolder in the order of their checksums, each with what is there of it.
    func files(in number: UInt8) throws(DiskFailure) -> [Found] {
        var found: [FileChecksum: Found] = [:]
        for name in try names(in: "\(path)/\(Self.subfolder(number))") {
            let isCompressed = name.hasSuffix(".gz")
            // What has another name was not put there by us.
            guard let checksum = FileChecksum(isCompressed ? name.dropLast(3) : name[...]), checksum.bytes[0] == number else { continue }
            var entry = found[checksum] ?? Found(checksum: checksum)
            if isCompressed { entry.hasCompressedForm = true } else { entry.isThere = true }
            found[checksum] = entry
        }
        return found.values.sorted { $0.checksum < $1.checksum }
    }

    struct Found: Sendable {
        let checksum: FileChecksum
        var isThere = false
        var hasCompressedForm = false
    }

    func status(of checksum: FileChecksum) throws(DiskFailure) -> FileStatus? { try FileStatus(ofFileAt: path(of: checksum)) }
    func compressedStatus(of checksum: FileChecksum) throws(DiskFailure) -> FileStatus? { try FileStatus(ofFileAt: compressedPath(of: checksum)) }

    /// What is kept of a file of this size in compressed form.
    /// - Returns: `nil` when there is nothing, or what there is is not whole.
    func compressedForm(of checksum: FileChecksum, size: Int64) throws(DiskFailure) -> KnownFiles.CompressedForm? {
        guard let status = try compressedStatus(of: checksum) else { return nil }
        if status.size == 0 { return .notWorthIt }
        let file = try DiskFile(reading: compressedPath(of: checksum))
        return try GzipTrailer(of: file, size: status.size)?.length == UInt32(truncatingIfNeeded: size) ? .kept : nil
    }

    // MARK: Coming and going

    /// A path for a file that is still to be written.
    func makeIncomingPath() throws(DiskFailure) -> String {
        try makeDurable(path)
        try makeDurable(incoming)
        return "\(incoming)/\(UUID().uuidString.lowercased())"
    }

    /// Gives a synced file its name, and makes the name durable.
    func place(_ temporary: String, as checksum: FileChecksum) throws(DiskFailure) {
        try makeDurable(subfolder(of: checksum))
        guard rename(temporary, path(of: checksum)) == 0 else { throw DiskFailure("give the asset's file its name") }
        try DiskFile.syncFolder(subfolder(of: checksum))
    }

    /// Makes the name of a file durable that was found there.
    func keep(_ checksum: FileChecksum) throws(DiskFailure) {
        try makeDurable(subfolder(of: checksum))
        try DiskFile.syncFolder(subfolder(of: checksum))
    }

    /// Gives a compressed form its name. A power cut may take it away again: it can be made anew.
    func placeCompressed(_ temporary: String, of checksum: FileChecksum) throws(DiskFailure) {
        guard rename(temporary, compressedPath(of: checksum)) == 0 else { throw DiskFailure("give the compressed form its name") }
    }

    func discard(_ temporary: String) {
        unlink(temporary)
    }

    /// Removes a file and its compressed form.
    func remove(_ checksum: FileChecksum) throws(DiskFailure) {
        try removeCompressed(checksum)
        try Self.remove(path(of: checksum))
    }

    /// Removes the compressed form alone.
    func removeCompressed(_ checksum: FileChecksum) throws(DiskFailure) {
        try Self.remove(compressedPath(of: checksum))
    }

    private static func remove(_ path: String) throws(DiskFailure) {
        guard unlink(path) != 0 else { return }
        let failure = DiskFailure("remove the asset's file")
        if !failure.isMissing { throw failure }
    }

    /// Makes a folder, once, whose name survives a power cut.
    private func makeDurable(_ folder: String) throws(DiskFailure) {
        if durable.withLock({ $0.contains(folder) }) { return }
        try Self.makeDurable(folder, ancestors: 2)
        durable.withLock { _ = $0.insert(folder) }
    }

    /// - Parameter ancestors: so many folders above may be missing too: the container's and the data folder.
    private static func makeDurable(_ path: String, ancestors: Int) throws(DiskFailure) {
        let above = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        if mkdir(path, 0o755) != 0 {
            let failure = DiskFailure("make a folder for assets")
            if failure.isMissing, ancestors > 0 {
                try makeDurable(above, ancestors: ancestors - 1)
                return try makeDurable(path, ancestors: 0)
            }
            guard failure.code == EEXIST else { throw failure }
        }
        // Also of a folder that was there: the process that made it may have been killed before it was synced.
        try DiskFile.syncFolder(above)
    }
}
