internal import Foundation
internal import GRDB
internal import RecordStore
internal import Records

/// Creates the file of a new store under a temporary name and renames it when it is complete. An empty or partial
/// file under the final name therefore never comes from Skylight.
enum StoreMaking {
    /// Creates the file. Blocks on the disk.
    /// - Throws: SQLite and file system errors. No file is left behind.
    static func make(_ key: StoreKey, _ keys: NewStoreKeys.Keys, _ settings: StoreSettings) throws {
        try checkCase(of: key.container, in: settings.folder)
        let folder = key.folder(in: settings.folder)
        try FileManager.default.createDurableDirectory(at: folder)
        let draft = folder.appending(path: ".new-\(key.fileName)").path(percentEncoded: false)
        let remove = { for end in ["", "-journal", "-wal", "-shm"] { unlink(draft + end) } }
        // Left behind by a process that was killed.
        remove()
        do {
            try fill(draft, keys, settings)
            try sync(draft)
            guard rename(draft, key.file(in: settings.folder).path(percentEncoded: false)) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            try FileManager.default.syncDirectory(at: folder)
        } catch {
            remove()
            throw error
        }
    }

    private static func fill(_ path: String, _ keys: NewStoreKeys.Keys, _ settings: StoreSettings) throws {
        var configuration = Configuration()
        // An unfinished file is never used, so one sync at the end is enough.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF") }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try StoreMigrations.migrator.migrate(queue)
        try queue.write { db in
            var catalog = try SchemaCatalog(db)
            _ = try catalog.store(.initial, in: db)
            for (name, bytes) in [("tokenKey", keys.tokens), ("assetKey", keys.assets)] {
                try db.execute(sql: "INSERT INTO facts (name, value) VALUES (?, ?)", arguments: [name, Data(bytes)])
            }
            try db.execute(sql: "INSERT INTO facts (name, value) VALUES (?, 1)", arguments: [FormerShares.fact])
            try db.execute(sql: "INSERT INTO incarnations (number, after) VALUES (?, 0)", arguments: [Int64(keys.epoch)])
        }
        try queue.close()
    }

    private static func sync(_ path: String) throws {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    /// Many file systems ignore case. There `iCloud.A` and `iCloud.a` would share one file.
    private static func checkCase(of container: ContainerID, in folder: URL) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        let name = container.description
        if !names.contains(name), let other = names.first(where: { $0.lowercased() == name.lowercased() }) {
            throw RecordError(.badRequest, "The container '\(name)' differs only in case from '\(other)', which exists; use the existing name")
        }
    }
}
