internal import Foundation
internal import Logging
public import RecordStore
public import Records
internal import Synchronization

extension SQLiteRecordEngine: ContainerEditing {
    public func deleteContainer(_ container: ContainerID) async throws {
        // Under another name first: a container is there or not, whenever the power fails, and removing many files takes a while.
        try await move(container, to: "\(Self.deletedPrefix)\(UUID().uuidString)")
        Self.sweepDeleted(in: folder, settings.logger)
    }

    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws {
        let taken = try await containers().first { $0 != container && $0.description.lowercased() == name.description.lowercased() }
        if let taken { throw RecordError.containerExists(taken) }
        if name == container { return }
        try await move(container, to: name.description, name)
    }

    /// What the folders of deleted containers begin with until they are removed; no container's does.
    private static let deletedPrefix = ".deleted-"

    /// Closes a container's stores and gives its folder another name.
    /// - Parameter name: the container that it becomes, which nobody opens before it is there.
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
            // The same folder where case is not told apart is no other container.
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

    /// Removes what is left of deleted containers, behind what goes on. What can't be removed is tried again at the next start.
    static func sweepDeleted(in folder: URL, _ logger: Logger) {
        DispatchQueue.global(qos: .utility).async {
            do {
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
                for name in names where name.hasPrefix(deletedPrefix) { try FileManager.default.removeItem(at: folder.appending(path: name)) }
            } catch {
                logger.warning("A deleted container's files stay for now: \(error)")
            }
        }
    }
}
