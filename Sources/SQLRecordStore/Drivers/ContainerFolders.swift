internal import Foundation
internal import Logging
internal import RecordStore
internal import Records

/// The folders of containers in the data folder. A container's folder has its asset files and snapshots, and its
/// records if they are in SQLite.
struct ContainerFolders: Sendable {
    private let folder: URL
    private let logger: Logger

    init(_ folder: URL, _ logger: Logger) {
        self.folder = folder
        self.logger = logger
    }

    func contains(_ container: ContainerID) -> Bool {
        FileManager.default.fileExists(
            atPath: folder.appending(path: container.description).path(percentEncoded: false))
    }

    /// - Throws: `RecordError` NOT_FOUND if the container does not exist, BAD_REQUEST if the new name is taken.
    func rename(_ container: ContainerID, to name: ContainerID) throws {
        try move(container, to: name.description, name)
    }

    func delete(_ container: ContainerID) throws {
        // The folder is renamed first, because removing many files takes long and a power failure must not leave half
        // a container.
        try move(container, to: "\(Self.deletedPrefix)\(UUID().uuidString)", nil)
        sweepDeleted()
    }

    /// Prefix of the folders of deleted containers until they are removed. No container name starts with it.
    private static let deletedPrefix = ".deleted-"

    private func move(_ container: ContainerID, to folderName: String, _ name: ContainerID?) throws {
        let (from, to) = (folder.appending(path: container.description), folder.appending(path: folderName))
        guard contains(container) else { throw RecordError.noContainer(container) }
        // On a case-insensitive file system a name that differs only in case refers to the same folder.
        let isOccupied =
            FileManager.default.fileExists(atPath: to.path(percentEncoded: false))
            && container.description.lowercased() != folderName.lowercased()
        if let name, isOccupied { throw RecordError.containerExists(name) }
        do {
            try FileManager.default.moveItem(at: from, to: to)
            try FileManager.default.syncDirectory(at: folder)
        } catch {
            throw RecordError(
                .internalError,
                "The folder of the container '\(container)' can't be moved: \(StoreProblem.words(for: error))")
        }
    }

    /// Removes the folders of deleted containers in the background. Failures are retried at the next start.
    func sweepDeleted() {
        DispatchQueue.global(qos: .utility).async { [folder, logger] in
            do {
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
                for name in names where name.hasPrefix(Self.deletedPrefix) {
                    try FileManager.default.removeItem(at: folder.appending(path: name))
                }
            } catch {
                logger.warning("The files of a deleted container are kept for now: \(StoreProblem.words(for: error))")
            }
        }
    }
}

// MARK: - Durable folders

extension FileManager {
    /// Creates a folder durably: syncs the parent folder, which holds the new name.
    func createDurableDirectory(at url: URL) throws {
        if fileExists(atPath: url.path(percentEncoded: false)) { return }
        try createDirectory(at: url, withIntermediateDirectories: true)
        try syncDirectory(at: url.deletingLastPathComponent())
    }

    /// Syncs the folder's list of names to disk.
    func syncDirectory(at url: URL) throws {
        let descriptor = open(url.path(percentEncoded: false), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        defer { close(descriptor) }
        // Some file systems return EINVAL because they can't sync folders. They persist names by other means.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }
}
