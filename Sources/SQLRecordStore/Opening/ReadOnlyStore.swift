internal import Foundation
internal import JSON
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// A store that can't be written to, because the disk is full or read-only. Its data can still be read.
final class ReadOnlyStore: Sendable {
    let reader: StoreReader
    /// The users in the store when it was opened.
    let users: [Name: Int64]
    /// The error for writes.
    let refusal: RecordError
    private let connections: any StoreConnections
    private let settings: StoreSettings
    /// The running check whether the folder is writable.
    private let look = Mutex<Task<Bool, Never>?>(nil)

    /// Opens an existing store without changing it. Blocks on the disk.
    /// - Parameters:
    /// - last: the state of the store when this process last closed it.
    /// - refusal: the error for writes.
    init(_ key: StoreKey, continuing last: StoreOpening?, refusing refusal: RecordError, _ settings: StoreSettings) throws {
        let connections = try settings.home.openForReading(key)
        let facts = try connections.read { db in try db.snapshot { try StoreFacts(db, journal: settings.journal) } }
        self.connections = connections
        self.refusal = refusal
        self.settings = settings
        users = facts.users
        reader = StoreReader(connections, of: key, facts, StoreOpening(facts, continuing: last, epoch: connections.epoch), settings)
    }

    /// Checks whether the store can probably be written to again. Reads continue meanwhile, and concurrent callers
    /// share one check.
    func looksWritable() async -> Bool {
        let task = look.withLock { look in
            if let look { return look }
            let task = Task.detached { [self] in
                let isPossible = (try? await DiskThreads.run { [home = settings.home, key = reader.key] in home.looksWritable(key) }) ?? false
                self.look.withLock { $0 = nil }
                return isPossible
            }
            look = task
            return task
        }
        return await task.value
    }

    /// Closes the store after its readers are done. SQLite then copies the log into the file if the disk allows it.
    func close() async {
        await reader.gate.shut()
        do {
            try await DiskThreads.run { [connections] in try connections.close() }
        } catch {
            settings.logger.error("\(reader.key) could not be closed: \(StoreProblem.details(of: error))")
        }
    }
}
