internal import Foundation
internal import HTTPServing
internal import Synchronization

/// A folder for temporary files. Its owner removes it. If a process is killed before that, the next ``sweep()`` removes
/// its folder.
///
/// Each folder has a lock file beside it. The process locks that file for its lifetime, so a folder with an unlocked
/// file has no owner.
final class ScratchFolder: Sendable {
    private struct Place {
        let folder: URL
        let lock: URL
        let descriptor: Int32
    }

    private static let lockSuffix = ".lock"
    /// In seconds.
    private static let unlockedLifetime: TimeInterval = 86_400
    private let parent: URL
    private let prefix: String
    private let place = Mutex<Place?>(nil)

    /// Creates nothing yet.
    /// - Parameters:
    ///   - prefix: the common prefix of these folders' names. No other files may use it.
    ///   - parent: the parent folder.
    init(prefix: String, in parent: URL = FileManager.default.temporaryDirectory) {
        self.prefix = prefix
        self.parent = parent
    }

    deinit { remove() }

    /// Removes the folder. The next call of ``url()`` creates another one. Blocks on the disk.
    func remove() {
        place.withLock { place in
            guard let known = place else { return }
            // Closing the descriptor releases the lock, so a later sweep removes what remains.
            try? FileManager.default.removeItem(at: known.folder)
            try? FileManager.default.removeItem(at: known.lock)
            close(known.descriptor)
            place = nil
        }
    }

    /// Runs work on the folder later, on a thread that may block.
    func later(_ work: @escaping @Sendable (ScratchFolder) -> Void) {
        Task.detached(executorPreference: WorkPool.lengthy, priority: .low) { work(self) }
    }

    /// The folder. The first call creates it. Blocks on the disk.
    /// - Throws: `CocoaError` if it can't be created.
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
            // A concurrent sweep may have removed the lock file.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isSame(descriptor, lock) {
                do {
                    try FileManager.default.createDirectory(
                        at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
                    return Place(folder: folder, lock: lock, descriptor: descriptor)
                } catch {
                    // Cleans up without errors of its own: the error below describes the cause.
                    try? FileManager.default.removeItem(at: lock)
                    close(descriptor)
                    throw error
                }
            }
            close(descriptor)
        }
        throw CocoaError(.fileWriteNoPermission, userInfo: [NSFilePathErrorKey: parent.path(percentEncoded: false)])
    }

    /// True if a path still refers to the open file.
    private static func isSame(_ descriptor: Int32, _ url: URL) -> Bool {
        var (opened, there) = (stat(), stat())
        return fstat(descriptor, &opened) == 0 && lstat(url.path(percentEncoded: false), &there) == 0
            && opened.st_ino == there.st_ino
            && opened.st_dev == there.st_dev
    }

    /// Removes the folders of this kind whose processes ended without a cleanup. Blocks on the disk.
    ///
    /// Earlier versions created such folders without a lock. Those are removed a day after their last change.
    func sweep() {
        // If the folder can't be listed, there is nothing to remove.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.path(percentEncoded: false))) ?? []
        sweepLocked(names)
        let locked = Set(names.filter { $0.hasSuffix(Self.lockSuffix) }.map { $0.dropLast(Self.lockSuffix.count) })
        for name in names where name.hasPrefix(prefix) && !locked.contains(name[...]) {
            guard UUID(uuidString: String(name.dropFirst(prefix.count))) != nil else { continue }
            let folder = parent.appending(path: name, directoryHint: .notDirectory)
            // For a symbolic link, these are the attributes of the link itself.
            let found = try? FileManager.default.attributesOfItem(atPath: folder.path(percentEncoded: false))
            guard found?[.type] as? FileAttributeType == .typeDirectory,
                let changed = found?[.modificationDate] as? Date,
                -changed.timeIntervalSinceNow > Self.unlockedLifetime
            else { continue }
            // Folders of other users can't be removed.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    private func sweepLocked(_ names: [String]) {
        for name in names where name.hasPrefix(prefix) && name.hasSuffix(Self.lockSuffix) {
            let lock = parent.appending(path: name)
            // Symbolic links are never lock files.
            let descriptor = open(lock.path(percentEncoded: false), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isSame(descriptor, lock) else { continue }
            let folder = parent.appending(
                path: String(name.dropLast(Self.lockSuffix.count)), directoryHint: .isDirectory)
            do {
                if FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) {
                    try FileManager.default.removeItem(at: folder)
                }
                try FileManager.default.removeItem(at: lock)
            } catch {
                // The folder belongs to another user, whose processes may remove it.
                continue
            }
        }
    }
}
