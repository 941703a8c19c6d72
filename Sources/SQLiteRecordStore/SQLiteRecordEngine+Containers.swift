internal import Foundation
internal import Logging
internal import RecordStore
public import Records
internal import Synchronization

extension SQLiteRecordEngine {
    public func deleteContainer(_ container: ContainerID) async throws {
        // Renamed first, because removing many files takes long and a power cut must not leave half a container.
        try await move(container, to: "\(Self.deletedPrefix)\(UUID().uuidString)")
        Self.sweepDeleted(in: folder, settings.logger)
    }

    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws {
        let taken = try await containers().first { $0 != container && $0.description.lowercased() == name.description.lowercased() }
        if let taken { throw RecordError.containerExists(taken) }
        if name == container { return }
        try await move(container, to: name.description, name)
    }

    /// Prefix of the folders of deleted containers until they are removed. No container name starts with it.
    private static let deletedPrefix = ".deleted-"

    /// Closes a container's stores and renames its folder.
    /// - Parameter name: the new container, which is locked during the move.
    private func move(_ container: ContainerID, to folderName: String, _ name: ContainerID? = nil) async throws {
        let held = Set([container] + (name.map { [$0] } ?? []))
        let open = try stores.withLock { stores in
            guard stores != nil else { throw RecordError.storeClosed }
            try moving.withLock { moving in
                if let busy = held.first(where: moving.contains) { throw RecordError.containerBusy(busy) }
                moving.formUnion(held)
            }
            let open = stores?.filter { held.contains($0.key.container) } ?? [:]
            for key in open.keys { stores?[key] = nil }
            return open.values
        }
        defer { moving.withLock { $0.subtract(held) } }
        for place in open { await place.end() }
        let (from, to) = (folder.appending(path: container.description), folder.appending(path: folderName))
        try await DiskThreads.run { [folder] in
            guard FileManager.default.fileExists(atPath: from.path(percentEncoded: false)) else { throw RecordError.noContainer(container) }
            // On a case-insensitive file system a name that differs only in case refers to the same folder.
            let isOccupied = FileManager.default.fileExists(atPath: to.path(percentEncoded: false)) && container.description.lowercased() != folderName.lowercased()
            if let name, isOccupied { throw RecordError.containerExists(name) }
            do {
                try FileManager.default.moveItem(at: from, to: to)
                try FileManager.default.syncDirectory(at: folder)
            } catch {
                throw RecordError(.internalError, "The folder of the container '\(container)' can't be moved: \(error.localizedDescription)")
            }
        }
    }

    /// Removes the folders of deleted containers in the background. Failures are retried at the next start.
    static func sweepDeleted(in folder: URL, _ logger: Logger) {
        DispatchQueue.global(qos: .utility).async {
            do {
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
                for name in names where name.hasPrefix(deletedPrefix) { try FileManager.default.removeItem(at: folder.appending(path: name)) }
            } catch {
                logger.warning("The files of a deleted container are kept for now: \(error)")
            }
        }
    }
}
