internal import Foundation

/// Another process has the data folder open.
public struct DataFolderInUse: Error, Sendable, CustomStringConvertible {
    /// The folder's path.
    public let path: String

    public var description: String { "The data folder \(path) is open in another process" }
}

/// Keeps a second process out of a data folder for as long as this one has it, by advisory locks that die with the process.
///
/// The lock is on the folder itself, so there is nothing that somebody could remove to let a second server in. The file `.lock` in it is locked
/// too: versions of Skylight that know only the file are kept out as well, and file systems that lock no folders have it alone.
final class DataFolderLock: Sendable {
    private let descriptors: [Int32]

    init(folder: URL) throws {
        let path = folder.path(percentEncoded: false)
        var taken: [Int32] = []
        do {
            for (path, flags) in [(path, O_RDONLY | O_DIRECTORY), (folder.appending(path: ".lock").path(percentEncoded: false), O_RDWR | O_CREAT)] {
                let descriptor = open(path, flags | O_CLOEXEC, 0o644)
                guard descriptor >= 0 else { throw Self.failure(errno, path) }
                taken.append(descriptor)
                guard Self.take(descriptor) else { throw DataFolderInUse(path: folder.path(percentEncoded: false)) }
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

    /// Tries for a moment: a command that only looks whether the folder is held holds the lock itself for an instant.
    private static func take(_ descriptor: Int32) -> Bool {
        for _ in 0..<5 {
            // Where the file system can't lock this, it counts as taken: the folder or the file alone keeps others out then.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK && errno != EINTR { return true }
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
