internal import Foundation

/// Thrown if another process has locked the data folder.
public struct DataFolderInUse: Error, Sendable, CustomStringConvertible {
    /// The folder's path.
    public let path: String

    public var description: String { "The data folder \(path) is open in another process" }
}

/// Locks a data folder with advisory locks, which the system releases when the process ends. The lock excludes all
/// other processes, or only those that don't share the folder.
///
/// The folder itself is locked, because a lock file could be removed while the server runs. The file `.lock` is locked
/// too, because some file systems can't lock folders, and because earlier versions of Skylight lock only this file.
final class DataFolderLock: Sendable {
    private let descriptors: [Int32]

    /// - Parameter isShared: `true` to admit other processes that share the folder, because the records are in a
    ///   database server.
    /// - Throws: ``DataFolderInUse``, or an error of the file system.
    init(folder: URL, isShared: Bool = false) throws {
        let path = folder.path(percentEncoded: false)
        var taken: [Int32] = []
        do {
            for (path, flags) in [
                (path, O_RDONLY | O_DIRECTORY),
                (folder.appending(path: ".lock").path(percentEncoded: false), O_RDWR | O_CREAT),
            ] {
                let descriptor = open(path, flags | O_CLOEXEC, 0o644)
                guard descriptor >= 0 else { throw Self.failure(errno, path) }
                taken.append(descriptor)
                guard Self.take(descriptor, isShared ? LOCK_SH : LOCK_EX) else {
                    throw DataFolderInUse(path: folder.path(percentEncoded: false))
                }
            }
        } catch {
            for descriptor in taken { Foundation.close(descriptor) }
            throw error
        }
        descriptors = taken
    }

    private static func failure(_ number: Int32, _ path: String) -> CocoaError {
        let code: CocoaError.Code =
            switch number {
            case EACCES, EPERM: .fileWriteNoPermission
            case EROFS: .fileWriteVolumeReadOnly
            case ENOSPC: .fileWriteOutOfSpace
            default: .fileWriteUnknown
            }
        return CocoaError(code, userInfo: [NSFilePathErrorKey: path])
    }

    /// Retries for about 50 milliseconds, because a command that checks whether the folder is locked holds the lock
    /// briefly itself.
    private static func take(_ descriptor: Int32, _ kind: Int32) -> Bool {
        for _ in 0..<5 {
            // If the file system can't lock this item, it counts as locked. The lock on the other item still keeps
            // other processes out.
            if flock(descriptor, kind | LOCK_NB) == 0 || errno != EWOULDBLOCK && errno != EINTR { return true }
            usleep(10_000)
        }
        return false
    }

    func release() {
        for descriptor in descriptors { flock(descriptor, LOCK_UN) }
    }

    deinit {
        for descriptor in descriptors { Foundation.close(descriptor) }
    }
}
