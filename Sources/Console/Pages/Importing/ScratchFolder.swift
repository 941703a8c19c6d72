internal import Foundation
internal import HTTPServing
internal import Synchronization

/// A folder for files that are of use for a while only. It goes with whoever has it; what a process left that was killed goes with the next
/// ``sweep()``.
///
/// Beside the folder stands a file that is locked for as long as its process lives: what nobody holds locked is nobody's any more.
final class ScratchFolder: Sendable {
    private struct Place {
        let folder: URL
        let lock: URL
        let descriptor: Int32
    }

    private static let lockSuffix = ".lock"
    /// Seconds.
    private static let unlockedLifetime: TimeInterval = 86_400
    private let parent: URL
    private let prefix: String
    private let place = Mutex<Place?>(nil)

    /// Makes nothing yet.
    /// - Parameters:
    ///   - prefix: what the names of these folders begin with; nobody else's do.
    ///   - parent: where the folder is to stand.
    init(prefix: String, in parent: URL = FileManager.default.temporaryDirectory) {
        self.prefix = prefix
        self.parent = parent
    }

    deinit { remove() }

    /// Removes the folder; who asks for it again gets another. Waits for the disk.
    func remove() {
        place.withLock { place in
            guard let known = place else { return }
            // What can't be removed goes with a later sweep: its lock is let go of.
            try? FileManager.default.removeItem(at: known.folder)
            try? FileManager.default.removeItem(at: known.lock)
            close(known.descriptor)
            place = nil
        }
    }

    /// Does something with the folder on a thread that may wait, later on.
    func later(_ work: @escaping @Sendable (ScratchFolder) -> Void) {
        Task.detached(executorPreference: WorkPool.lengthy, priority: .low) { work(self) }
    }

    /// The folder, which is made when it is asked for first. Waits for the disk.
    /// - Throws: `CocoaError` when it can't be made.
    func url() throws -> URL {
        try place.withLock { place in
            if let place { return place.folder }
            let made = try make()
            place = made
            return made.folder
        }
    }

    private func make() throws -> Place {
        for _ in 0..<8 {
            let folder = parent.appending(path: prefix + UUID().uuidString, directoryHint: .isDirectory)
            let lock = parent.appending(path: folder.lastPathComponent + Self.lockSuffix)
            let descriptor = open(lock.path(percentEncoded: false), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { break }
            // Whoever sweeps may have come first, and taken the file away.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isSame(descriptor, lock) {
                do {
                    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
                    return Place(folder: folder, lock: lock, descriptor: descriptor)
                } catch {
                    // The error that is thrown says what is wrong with the place.
                    try? FileManager.default.removeItem(at: lock)
                    close(descriptor)
                    throw error
                }
            }
            close(descriptor)
        }
        throw CocoaError(.fileWriteNoPermission, userInfo: [NSFilePathErrorKey: parent.path(percentEncoded: false)])
    }

    /// Whether a path still leads to the file that is open.
    private static func isSame(_ descriptor: Int32, _ url: URL) -> Bool {
        var (opened, there) = (stat(), stat())
        return fstat(descriptor, &opened) == 0 && lstat(url.path(percentEncoded: false), &there) == 0 && opened.st_ino == there.st_ino
            && opened.st_dev == there.st_dev
    }

    /// Removes the folders of this kind whose processes ended without doing so. Waits for the disk.
    ///
    /// Servers once made such folders without a lock. Those go a day after they were last changed.
    func sweep() {
        // Where nothing can be listed there is nothing that can be removed.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path(percentEncoded: false))) ?? []
        sweepLocked(names)
        let locked = Set(names.filter { $0.hasSuffix(Self.lockSuffix) }.map { $0.dropLast(Self.lockSuffix.count) })
        for name in names where name.hasPrefix(prefix) && !locked.contains(name[...]) {
            guard UUID(uuidString: String(name.dropFirst(prefix.count))) != nil else { continue }
            let folder = parent.appending(path: name, directoryHint: .notDirectory)
            // Of a link this says what it is itself.
            let found = try? FileManager.default.attributesOfItem(atPath: folder.path(percentEncoded: false))
            guard found?[.type] as? FileAttributeType == .typeDirectory, let changed = found?[.modificationDate] as? Date,
                -changed.timeIntervalSinceNow > Self.unlockedLifetime
            else { continue }
            // Another user's stays.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    private func sweepLocked(_ names: [String]) {
        for name in names where name.hasPrefix(prefix) && name.hasSuffix(Self.lockSuffix) {
            let lock = parent.appending(path: name)
            // A link is not ours, whatever it leads to.
            let descriptor = open(lock.path(percentEncoded: false), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isSame(descriptor, lock) else { continue }
            let folder = parent.appending(path: String(name.dropLast(Self.lockSuffix.count)), directoryHint: .isDirectory)
            do {
                if FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) { try FileManager.default.removeItem(at: folder) }
                try FileManager.default.removeItem(at: lock)
            } catch {
                // Another user's, who may sweep it.
                continue
            }
        }
    }
}
