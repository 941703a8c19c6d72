internal import Crypto
public import Foundation
internal import NIOCore
internal import NIOPosix
internal import Records
internal import Synchronization

/// The folder beside an export with the bytes of its assets. Each distinct content is one file, named by its checksum.
///
/// Files appear atomically, complete or not at all. Other files in the folder stay unchanged.
public struct AssetFileFolder: Sendable {
    /// What the folder does with a file whose download breaks off.
    public enum BrokenDownload: Sendable {
        case removed
        /// The next download continues it.
        case kept
    }

    private let url: URL
    private let brokenDownload: BrokenDownload
    private let partials = PartialFiles()

    public init(_ url: URL, brokenDownload: BrokenDownload = .removed) {
        self.url = url
        self.brokenDownload = brokenDownload
    }

    func path(of checksum: FileChecksum) -> String {
        url.appending(path: checksum.description).path(percentEncoded: false)
    }

    /// Creates the folder if it is missing, and removes partial files from exports that were killed at least a day ago.
    /// - Throws: ``AssetFileError`` if the folder can't be created.
    func make() throws {
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw AssetFileError(url.path(percentEncoded: false), error.localizedDescription)
        }
        removeLeftovers()
    }

    /// Keeps newer files, which may belong to a running export. Errors are harmless and ignored.
    private func removeLeftovers() {
        let keys: Set<URLResourceKey> = [.contentModificationDateKey, .isRegularFileKey]
        let files = try? FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: Array(keys))
        for file in files ?? [] where file.lastPathComponent.wholeMatch(of: /[0-9a-f]{64}\.[0-9A-F]{8}\.part/) != nil {
            guard let values = try? file.resourceValues(forKeys: keys), values.isRegularFile == true,
                let modified = values.contentModificationDate,
                -modified.timeIntervalSinceNow > 86_400
            else { continue }
            try? FileManager.default.removeItem(at: file)
        }
    }

    /// Opens the file of an asset.
    /// - Throws: ``AssetFileError`` if the file is missing or has another size.
    func file(of checksum: FileChecksum, size: Int64) throws -> FileBytes {
        let path = path(of: checksum)
        let file = try FileBytes(path: path)
        guard file.size == size else {
            throw AssetFileError(path, "it has \(file.size) bytes, but the asset has \(size)")
        }
        return file
    }

    /// Verifies the file of an asset against its checksum.
    /// - Throws: ``AssetFileError`` if the file is missing or its content differs.
    func verify(_ checksum: FileChecksum, size: Int64) async throws {
        let file = try file(of: checksum, size: size)
        var hash = SHA256()
        for try await part in file { part.withUnsafeReadableBytes { hash.update(bufferPointer: $0) } }
        guard FileChecksum(bytes: hash.finalize()) == checksum else {
            throw AssetFileError(path(of: checksum), "its bytes do not match its name: it was changed or is damaged")
        }
    }

    /// Adds an asset to the folder, unless a valid file exists.
    /// - Parameter progress: receives the number of bytes downloaded so far.
    /// - Throws: ``AssetFileError`` if the folder is not writable; errors of the transport;
    ///   `RecordError` INTERNAL_ERROR if the transported bytes do not match the asset.
    func add(_ checksum: FileChecksum, size: Int64, from transport: any AssetTransport, progress: (Int64) -> Void)
        async throws
    {
        // A missing or damaged file is downloaded again.
        if (try? await verify(checksum, size: size)) != nil { return }
        let final = path(of: checksum)
        if brokenDownload == .kept,
            let file = try await Self.blocking({ try PartialFile(continuing: "\(final).part", size: size) })
        {
            if try await fill(file, checksum, size: size, from: transport, progress: progress) {
                return try await Self.blocking { try file.finish(as: final) }
            }
            // The bytes that were there are damaged. What comes from the transport is complete.
            file.abandon()
        }
        let temporary = "\(final).\(UUID().uuidString.prefix(8)).part"
        partials.paths.withLock { _ = $0.insert(temporary) }
        defer { partials.paths.withLock { _ = $0.remove(temporary) } }
        let file = try await Self.blocking { try PartialFile(temporary) }
        do {
            guard try await fill(file, checksum, size: size, from: transport, progress: progress) else {
                throw RecordError(
                    .internalError,
                    "The bytes of the asset \(checksum) do not match its checksum; run `skylight assets verify` to find the damaged files"
                )
            }
            try await Self.blocking { try file.finish(as: final) }
        } catch {
            file.abandon()
            throw error
        }
    }

    /// Downloads what the file lacks.
    /// - Returns: true if the bytes match the checksum.
    private func fill(
        _ file: PartialFile, _ checksum: FileChecksum, size: Int64, from transport: any AssetTransport,
        progress: (Int64) -> Void
    ) async throws -> Bool {
        var hash = SHA256()
        var count: Int64 = 0
        if file.isContinued {
            for try await part in try FileBytes(path: file.path) {
                part.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
                count += Int64(part.readableBytes)
            }
        }
        if count == 0 || count < size {
            try await transport.download(checksum, size: size, from: count) { part in
                part.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
                try await Self.blocking { try file.write(part) }
                count += Int64(part.readableBytes)
                progress(count)
            }
        }
        return FileChecksum(bytes: hash.finalize()) == checksum
    }

    /// Removes partial files before the process ends.
    public func abandon() {
        for path in partials.paths.withLock({ $0 }) { unlink(path) }
    }

    /// Syncs the folder, so that its file names survive a power failure.
    func sync() async throws {
        let path = url.path(percentEncoded: false)
        try await Self.blocking {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw AssetFileError(path, String(cString: strerror(errno))) }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else { throw AssetFileError(path, String(cString: strerror(errno))) }
        }
    }

    private static func blocking<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await NIOThreadPool.singleton.runIfActive(work)
    }
}

/// The files that are being written.
private final class PartialFiles: Sendable {
    let paths = Mutex<Set<String>>([])
}

/// A file that is written under a temporary name.
private final class PartialFile: Sendable {
    let path: String
    /// True if the file has the bytes of an earlier download.
    let isContinued: Bool
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        isContinued = false
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw failure }
    }

    /// Opens what an earlier download left, to continue it, or an empty file.
    /// - Parameter size: the size of the complete file. A longer one is emptied.
    /// - Returns: `nil` while another process writes the file.
    init?(continuing path: String, size: Int64) throws {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
        var (opened, named) = (stat(), stat())
        var isMine = false
        if descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
            // The process that had the lock may have finished the file, and the path names another one.
            isMine =
                fstat(descriptor, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino
                && opened.st_mode & S_IFMT == S_IFREG
        }
        let isLonger = opened.st_size > size
        isContinued = opened.st_size > 0 && !isLonger
        guard descriptor >= 0 else { throw failure }
        if !isMine { return nil }
        if isLonger, ftruncate(descriptor, 0) != 0 { throw failure }
    }

    deinit { close(descriptor) }

    func write(_ part: ByteBuffer) throws {
        try part.withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count >= 0 { rest = rest.dropFirst(count) } else if errno != EINTR { throw failure }
            }
        }
    }

    func finish(as final: String) throws {
        guard fsync(descriptor) == 0, rename(path, final) == 0 else { throw failure }
    }

    func abandon() {
        unlink(path)
    }

    private var failure: AssetFileError { AssetFileError(path, String(cString: strerror(errno))) }
}

/// The reason why a file in the asset folder of an export can't be used.
public struct AssetFileError: Error, Sendable, CustomStringConvertible {
    public let path: String
    public let reason: String
    /// True if the operating system refuses to read the file, so that its content is unknown.
    let isUnreadable: Bool

    init(_ path: String, _ reason: String, isUnreadable: Bool = false) {
        self.path = path
        self.reason = reason
        self.isUnreadable = isUnreadable
    }

    public var description: String { "'\(path)': \(reason)" }
}
