internal import Foundation
internal import Records
internal import Synchronization

/// The layout of files on the disk: `ab/ab12…`, its compressed form `ab/ab12….gz`, and unfinished files in `incoming`.
/// All calls block.
final class AssetFolder: Sendable {
    let path: String
    /// True if other processes may have the folder open, too.
    let isShared: Bool
    private let incoming: String
    /// The folders whose names are known to be durable since the store was opened.
    private let durable = Mutex<Set<String>>([])

    init(_ folder: URL, isShared: Bool = false) {
        self.isShared = isShared
        path = folder.path(percentEncoded: false)
        incoming = path + "/incoming"
    }

    var isThere: Bool { access(path, F_OK) == 0 }

    // MARK: Paths

    func path(of checksum: FileChecksum) -> String { "\(path)/\(Self.name(of: checksum))" }
    func compressedPath(of checksum: FileChecksum) -> String { path(of: checksum) + ".gz" }
    func subfolder(of checksum: FileChecksum) -> String { "\(path)/\(Self.subfolder(checksum.bytes[0]))" }

    /// The path relative to the folder.
    static func name(of checksum: FileChecksum) -> String { "\(subfolder(checksum.bytes[0]))/\(checksum)" }

    static func subfolder(_ number: UInt8) -> String { String(number, digits: 2, radix: 16) }

    /// The checksum just before all files of a subfolder; `nil` for the first one.
    static func last(before number: UInt8) -> FileChecksum? {
        number == 0
            ? nil : FileChecksum(bytes: [number - 1] + Array(repeating: UInt8.max, count: FileChecksum.length - 1))
    }

    // MARK: Existing files

    /// - Throws: `RecordError` INTERNAL_ERROR if the path is not a real folder.
    ///   A symbolic link could redirect writes and removals to another place.
    func check() throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let kind = status.st_mode & S_IFMT
        if kind == S_IFDIR { return }
        let problem =
            kind == S_IFLNK ? "is a symbolic link. Replace it with the folder" : "is not a folder. Move it away"
        throw RecordError(
            .internalError, "\(URL(filePath: path).lastPathComponent) beside the container's records \(problem)")
    }

    /// Removes unfinished files of a process that was killed. Files that another process is writing are locked and
    /// remain.
    func recover() throws(DiskFailure) {
        for name in try names(in: incoming) {
            let path = "\(incoming)/\(name)"
            guard isShared else {
                discard(path)
                continue
            }
            // The file was removed meanwhile, or another process may be using it.
            guard let file = try? DiskFile(toLock: path), file.tryLock(.exclusive) else { continue }
            discard(path)
            // The lock is held until after the removal, so that a process that has just created the file notices that
            // it was removed.
            file.unlock()
        }
    }

    /// The names in a folder; empty if it does not exist.
    private func names(in folder: String) throws(DiskFailure) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch CocoaError.fileReadNoSuchFile, CocoaError.fileNoSuchFile {
            return []
        } catch {
            let cause = (error as? CocoaError)?.underlying as? POSIXError
            throw DiskFailure(
                "list the folder \(folder.dropFirst(path.utf8.count + 1))", code: cause?.code.rawValue ?? EIO)
        }
    }

    /// The numbers of the existing subfolders.
    func subfolders() throws(DiskFailure) -> Set<UInt8> {
        Set(try names(in: path).filter { $0.utf8.count == 2 }.compactMap { UInt8($0, radix: 16) })
    }

    /// The files of a subfolder in checksum order, with their existing forms.
    func files(in number: UInt8) throws(DiskFailure) -> [Found] {
        var found: [FileChecksum: Found] = [:]
        for name in try names(in: "\(path)/\(Self.subfolder(number))") {
            let isCompressed = name.hasSuffix(".gz")
            // Ignores files with foreign names.
            guard let checksum = FileChecksum(isCompressed ? name.dropLast(3) : name[...]), checksum.bytes[0] == number
            else { continue }
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

    func status(of checksum: FileChecksum) throws(DiskFailure) -> FileStatus? {
        try FileStatus(ofFileAt: path(of: checksum))
    }
    func compressedStatus(of checksum: FileChecksum) throws(DiskFailure) -> FileStatus? {
        try FileStatus(ofFileAt: compressedPath(of: checksum))
    }

    /// The compressed form of a file with this size.
    /// - Returns: `nil` if there is no compressed form, or it is incomplete.
    func compressedForm(of checksum: FileChecksum, size: Int64) throws(DiskFailure) -> KnownFiles.CompressedForm? {
        guard let status = try compressedStatus(of: checksum) else { return nil }
        if status.size == 0 { return .notWorthIt }
        let file = try DiskFile(reading: compressedPath(of: checksum))
        return try GzipTrailer(of: file, size: status.size)?.length == UInt32(truncatingIfNeeded: size) ? .kept : nil
    }

    // MARK: Adding and removing

    /// Creates a file in `incoming`. It is locked until it is closed, so that no other process removes it as a
    /// leftover.
    func makeIncomingFile() throws(DiskFailure) -> (file: DiskFile, path: String) {
        try makeDurable(path)
        try makeDurable(incoming)
        while true {
            let path = "\(incoming)/\(UUID().uuidString.lowercased())"
            let file = try DiskFile(creating: path)
            guard isShared else { return (file, path) }
            // A process that was opening the store may have removed the file before it was locked.
            if file.tryLock(.exclusive), try FileStatus(ofFileAt: path) != nil { return (file, path) }
        }
    }

    /// Opens the lock file of a file's subfolder. Its lock prevents uploads to the subfolder during removals from it,
    /// and the reverse.
    func openLock(of checksum: FileChecksum) throws(DiskFailure) -> DiskFile {
        try makeDurable(path)
        try makeDurable(subfolder(of: checksum))
        return try DiskFile(toLock: "\(subfolder(of: checksum))/.lock", makes: true)
    }

    /// Moves a synced file to its final name, and makes the name durable.
    func place(_ temporary: String, as checksum: FileChecksum) throws(DiskFailure) {
        try makeDurable(subfolder(of: checksum))
        guard rename(temporary, path(of: checksum)) == 0 else { throw DiskFailure("give the asset's file its name") }
        try DiskFile.syncFolder(subfolder(of: checksum))
    }

    /// Makes the name of an existing file durable.
    func keep(_ checksum: FileChecksum) throws(DiskFailure) {
        try makeDurable(subfolder(of: checksum))
        try DiskFile.syncFolder(subfolder(of: checksum))
    }

    /// Moves a compressed form to its final name. The name is not made durable, because a lost compressed form can be
    /// created again.
    func placeCompressed(_ temporary: String, of checksum: FileChecksum) throws(DiskFailure) {
        guard rename(temporary, compressedPath(of: checksum)) == 0 else {
            throw DiskFailure("give the compressed form its name")
        }
    }

    func discard(_ temporary: String) {
        unlink(temporary)
    }

    /// Removes a file and its compressed form.
    func remove(_ checksum: FileChecksum) throws(DiskFailure) {
        try removeCompressed(checksum)
        try Self.remove(path(of: checksum))
    }

    /// Removes only the compressed form.
    func removeCompressed(_ checksum: FileChecksum) throws(DiskFailure) {
        try Self.remove(compressedPath(of: checksum))
    }

    private static func remove(_ path: String) throws(DiskFailure) {
        guard unlink(path) != 0 else { return }
        let failure = DiskFailure("remove the asset's file")
        if !failure.isMissing { throw failure }
    }

    /// Creates a folder whose name survives a power failure. Does so only once per folder, unless another process has
    /// deleted the container since.
    private func makeDurable(_ folder: String) throws(DiskFailure) {
        if durable.withLock({ $0.contains(folder) }), !isShared || access(folder, F_OK) == 0 { return }
        try Self.makeDurable(folder, ancestors: 2)
        durable.withLock { _ = $0.insert(folder) }
    }

    /// - Parameter ancestors: the number of parent folders to create if they are missing: the container's folder and
    ///   the data folder.
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
        // Syncs for an existing folder too, because the process that created it may have been killed before the sync.
        try DiskFile.syncFolder(above)
    }
}

// MARK: - Known files

/// Cached properties of frequently used files. Files never change, so the properties stay valid until the removal.
final class KnownFiles: Sendable {
    struct Facts: Sendable {
        var type: AssetType?
        var compressedForm: CompressedForm?
    }

    enum CompressedForm: Sendable, Hashable {
        case kept
        /// Compression would hardly reduce the size.
        case notWorthIt
    }

    /// The maximum number of cached files, half of them in each of two generations.
    /// Entries of the old generation that were not used since are dropped.
    private static let limit = 8192
    private struct State {
        var young: [FileChecksum: Facts] = [:]
        var old: [FileChecksum: Facts] = [:]
    }

    private let state = Mutex(State())

    func facts(of checksum: FileChecksum) -> Facts {
        state.withLock { state in
            if let facts = state.young[checksum] { return facts }
            guard let facts = state.old[checksum] else { return Facts() }
            Self.put(facts, of: checksum, in: &state)
            return facts
        }
    }

    func note(_ type: AssetType, of checksum: FileChecksum) {
        change(checksum) { $0.type = type }
    }

    /// - Parameter form: the new state; `nil` if the previous form no longer exists.
    func note(_ form: CompressedForm?, of checksum: FileChecksum) {
        change(checksum) { $0.compressedForm = form }
    }

    private func change(_ checksum: FileChecksum, _ change: (inout Facts) -> Void) {
        state.withLock { state in
            var facts = state.young[checksum] ?? state.old[checksum] ?? Facts()
            change(&facts)
            Self.put(facts, of: checksum, in: &state)
        }
    }

    func forget(_ checksum: FileChecksum) {
        state.withLock { state in
            state.young[checksum] = nil
            state.old[checksum] = nil
        }
    }

    private static func put(_ facts: Facts, of checksum: FileChecksum, in state: inout State) {
        if state.young.count >= limit / 2 {
            state.old = state.young
            state.young = [:]
        }
        state.young[checksum] = facts
    }
}
