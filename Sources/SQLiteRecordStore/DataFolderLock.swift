internal import Foundation

/// Another process has the data folder open.
public struct DataFolderInUse: Error, Sendable, CustomStringConvertible {
    /// The folder's path.
    public let path: String

    public var description: String { "The data folder \(path) is open in another process" }
}

/// Keeps a second process out of a data folder for as long as this one has it, by an advisory lock that dies with the process.
final class DataFolderLock: Sendable {
    private let descriptor: Int32

    init(folder: URL) throws {
        let path = folder.appending(path: ".lock").path(percentEncoded: false)
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteNoPermission, userInfo: [NSFilePathErrorKey: path]) }
        guard Self.take(descriptor) else {
            Foundation.close(descriptor)
            throw DataFolderInUse(path: folder.path(percentEncoded: false))
        }
    }

    /// Tries for a moment: a command that only looks whether the folder is held holds the lock itself for an instant.
    private static func take(_ descriptor: Int32) -> Bool {
        for _ in 0..<5 {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            usleep(10_000)
        }
        return false
    }

    func release() {
        flock(descriptor, LOCK_UN)
    }

    deinit {
        Foundation.close(descriptor)
    }
}
