internal import CCachedReading
internal import Foundation
internal import NIOCore

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
        let descriptor = CCachedReading_open(path)
        if descriptor < 0 { return nil }
        self.descriptor = descriptor
    }

    /// Creates a file, which must not exist.
    init(creating path: String) throws(DiskFailure) {
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw DiskFailure("make a file for the asset") }
    }

    /// Opens a file to lock it. For writing, because some file systems lock only such files.
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
            let count = pread(descriptor, space.baseAddress?.advanced(by: done), space.count - done, off_t(offset) + off_t(done))
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
            let count = pwrite(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(offset) + off_t(done))
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
            // On Linux, this flushes pages that are not needed in memory. It is only a hint, and the final sync does the rest.
            _ = posix_fadvise(descriptor, off_t(offset), off_t(length), POSIX_FADV_DONTNEED)
        #endif
    }

    /// Returns when all data is on the disk. After a failure the state is unknown, and a second attempt would not reveal it.
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
