internal import CSystemCalls
internal import Crypto
internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import Records
internal import Synchronization

/// An open file. All calls except one block, so they must run on ``FileThreads``.
final class DiskFile: Sendable {
    let descriptor: Int32

    init(reading path: String) throws(DiskFailure) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw DiskFailure("open the asset's file") }
    }

    /// Opens a file only if this does not block on the disk, so that any thread can call it.
    /// - Returns: `nil` if the call would block, might block, or fails.
    init?(readingAtHand path: String) {
        let descriptor = CSystemCalls_openCached(path)
        if descriptor < 0 { return nil }
        self.descriptor = descriptor
    }

    /// Creates a file, which must not exist.
    init(creating path: String) throws(DiskFailure) {
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw DiskFailure("make a file for the asset") }
    }

    /// Opens a file in order to lock it. It is opened for writing, because some file systems lock only such files.
    /// - Parameter makes: true to create a missing file.
    init(toLock path: String, makes: Bool = false) throws(DiskFailure) {
        descriptor = open(path, O_RDWR | O_CLOEXEC | (makes ? O_CREAT : 0), 0o644)
        guard descriptor >= 0 else { throw DiskFailure("open a file to lock it") }
    }

    deinit {
        close(descriptor)
    }

    func status() throws(DiskFailure) -> FileStatus {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw DiskFailure("inspect the asset's file") }
        return FileStatus(status)
    }

    /// Reads until the buffer is full. Reads less only at the end of the file.
    func read(into space: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DiskFailure) -> Int {
        var done = 0
        while done < space.count {
            let count = pread(
                descriptor, space.baseAddress?.advanced(by: done), space.count - done, off_t(offset) + off_t(done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw DiskFailure("read the asset's file") }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Reads a part. It is shorter only at the end of the file.
    func read(_ length: Int, at offset: Int64) throws -> ByteBuffer {
        var part = ByteBufferAllocator().buffer(capacity: length)
        try part.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { space in
            try read(into: UnsafeMutableRawBufferPointer(rebasing: space[..<length]), at: offset)
        }
        return part
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskFailure) {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(offset) + off_t(done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw DiskFailure("write the asset's file") }
            done += count
        }
    }

    /// Truncates the file to zero bytes.
    func truncate() throws(DiskFailure) {
        guard ftruncate(descriptor, 0) == 0 else { throw DiskFailure("write the asset's file") }
    }

    /// Starts writing a part to the disk, so that the final sync has less to do.
    func beginSync(from offset: Int64, length: Int64) {
        #if os(Linux)
            // On Linux, this flushes pages that are not needed in memory. It is only a hint, and the final sync does
            // the rest.
            _ = posix_fadvise(descriptor, off_t(offset), off_t(length), POSIX_FADV_DONTNEED)
        #endif
    }

    /// Returns when all data is on the disk. After a failure the state is unknown, and a second attempt would not
    /// reveal it.
    func sync() throws(DiskFailure) {
        guard Self.sync(descriptor) == 0 else { throw DiskFailure("sync the asset's file") }
    }

    private static func sync(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
            // On these systems, a plain sync leaves the data in the cache of the drive.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
        #endif
        return fsync(descriptor)
    }

    /// Makes the names in a folder durable.
    static func syncFolder(_ path: String) throws(DiskFailure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw DiskFailure("open the folder of assets") }
        defer { close(descriptor) }
        // Some file systems do not support syncing a folder. They make names durable in other ways.
        guard sync(descriptor) == 0 || errno == EINVAL else { throw DiskFailure("sync the folder of assets") }
    }
}

/// The metadata of a file.
struct FileStatus: Sendable, Hashable {
    /// The size in bytes.
    let size: Int64
    /// The modification time, in milliseconds since 1970.
    let modified: Int64

    init(_ status: stat) {
        size = Int64(status.st_size)
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        modified = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// - Returns: `nil` if the file does not exist.
    init?(ofFileAt path: String) throws(DiskFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let failure = DiskFailure("inspect the asset's file")
            if failure.isMissing { return nil }
            throw failure
        }
        self.init(status)
    }
}

// MARK: - Locks

/// Advisory locks. Each open file has its own, also within one process. The system releases them when the file is
/// closed or the process ends.
extension DiskFile {
    enum Lock: Sendable {
        /// A lock that other processes can share.
        case shared
        case exclusive
    }

    /// Takes a lock without waiting.
    /// - Returns: `false` if a lock of another open file excludes it.
    func tryLock(_ lock: Lock) -> Bool {
        while flock(descriptor, (lock == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            // If the file system has no locks, nothing keeps processes apart. Uploads must still work there.
            return errno != EWOULDBLOCK
        }
        return true
    }

    func unlock() {
        flock(descriptor, LOCK_UN)
    }
}

// MARK: - Errors

/// A failed file system call.
struct DiskFailure: Error, Hashable, CustomStringConvertible {
    /// The value of `errno`.
    let code: Int32
    /// The attempted operation, as in "read the asset".
    let attempt: String

    /// Captures the error of the last call.
    init(_ attempt: String) {
        self.init(attempt, code: errno)
    }

    init(_ attempt: String, code: Int32) {
        self.code = code
        self.attempt = attempt
    }

    var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    /// The message for the log.
    var description: String { "could not \(attempt): \(String(cString: strerror(code)))" }

    /// The error for the client.
    var recordError: RecordError {
        switch code {
        case ENOSPC, EDQUOT:
            RecordError(.quotaExceeded, "The disk is full; the upload was not stored. Free some space and upload again")
        case EMFILE, ENFILE:
            RecordError(
                .tryAgainLater, "Too many files are open, so the server could not \(attempt); try again", retryAfter: 1)
        default:
            RecordError(.internalError, "The server \(self)")
        }
    }
}

// MARK: - Threads

/// Threads for blocking calls, in separate pools so that no kind of work delays another:
/// writing uploads, opening downloads, compression for waiting clients, and background work.
final class FileThreads: Sendable {
    private let writing: NIOThreadPool
    private let reading: NIOThreadPool
    private let compressing: NIOThreadPool
    private let background: NIOThreadPool
    private let stopped = Atomic(false)
    /// True if the store is closed.
    var isStopped: Bool { stopped.load(ordering: .relaxed) }
    private var all: [NIOThreadPool] { [writing, reading, compressing, background] }

    enum Kind: Sendable {
        case writing, reading, compressing, background
    }

    init() {
        writing = NIOThreadPool(numberOfThreads: 4)
        reading = NIOThreadPool(numberOfThreads: 4)
        compressing = NIOThreadPool(numberOfThreads: 2)
        background = NIOThreadPool(numberOfThreads: 1)
        for pool in all { pool.start() }
        #if os(Linux)
            // Lowers the priority of the background thread. On Linux, this call applies to single threads.
            background.submit { _ in setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }
        #endif
    }

    deinit {
        for pool in all { pool.shutdownGracefully { _ in } }
    }

    /// Runs blocking work. The work runs to its end even if the calling task is cancelled.
    /// - Throws: errors of the work, or `RecordError` TRY_AGAIN_LATER if the store is closed.
    func run<Value: Sendable>(_ kind: Kind, _ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            pool(kind).submit { state in
                switch state {
                case .active: continuation.resume(with: Result(catching: work))
                case .cancelled:
                    continuation.resume(throwing: RecordError(.tryAgainLater, "The store is closed", retryAfter: 1))
                }
            }
        }
    }

    func stop() async {
        stopped.store(true, ordering: .relaxed)
        // This fails for a pool that was never started.
        for pool in all { try? await pool.shutdownGracefully() }
    }

    private func pool(_ kind: Kind) -> NIOThreadPool {
        switch kind {
        case .writing: writing
        case .reading: reading
        case .compressing: compressing
        case .background: background
        }
    }
}

// MARK: - Checksums

/// Computes the checksum of a file in steps. All calls block.
final class FileHashing: Sendable {
    private struct State {
        var hash = SHA256()
        var size: Int64 = 0
        var space = [UInt8](repeating: 0, count: stepLength)
    }

    private static let stepLength = 1 << 20

    private let file: DiskFile
    private let state = Mutex(State())

    init(_ file: DiskFile) {
        self.file = file
    }

    /// Reads the next part.
    /// - Returns: `false` at the end.
    func step() throws(DiskFailure) -> Bool {
        let file = file
        return try state.withLock { (state) throws(DiskFailure) in
            let offset = state.size
            var failure: DiskFailure?
            let count = state.space.withUnsafeMutableBytes { space in
                do throws(DiskFailure) { return try file.read(into: space, at: offset) } catch { failure = error }
                return 0
            }
            if let failure { throw failure }
            state.space.withUnsafeBytes {
                state.hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            state.size += Int64(count)
            return count == Self.stepLength
        }
    }

    /// The number of bytes read.
    var size: Int64 { state.withLock { $0.size } }

    /// The checksum of the bytes read.
    var checksum: FileChecksum? { state.withLock { FileChecksum(bytes: $0.hash.finalize()) } }
}
