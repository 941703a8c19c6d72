internal import Foundation
internal import Logging
internal import RecordStore
public import Records
internal import Synchronization

extension SQLRecordEngine {
    public func deleteContainer(_ container: ContainerID) async throws {
        try await move([container], "\(container) can't be deleted") { try $0.delete(container) }
    }

    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws {
        let taken = try await containers().first { $0 != container && $0.description.lowercased() == name.description.lowercased() }
        if let taken { throw RecordError.containerExists(taken) }
        if name == container { return }
        try await move([container, name], "\(container) can't be renamed") { try $0.rename(container, to: name) }
    }

    /// Closes the containers' stores and keeps them closed while `body` moves them.
    /// - Parameter failure: what is said if the database fails.
    private func move(_ containers: Set<ContainerID>, _ failure: String, _ body: @escaping @Sendable (any StoreHome) throws -> Void) async throws {
        let open = try stores.withLock { stores in
            guard stores != nil else { throw RecordError.storeClosed }
            try moving.withLock { moving in
                if let busy = containers.first(where: moving.contains) { throw RecordError.containerBusy(busy) }
                moving.formUnion(containers)
            }
            let open = stores?.filter { containers.contains($0.key.container) } ?? [:]
            for key in open.keys { stores?[key] = nil }
            return open.values
        }
        defer { moving.withLock { $0.subtract(containers) } }
        for place in open { await place.end() }
        try await ask(failure, body)
    }
}
