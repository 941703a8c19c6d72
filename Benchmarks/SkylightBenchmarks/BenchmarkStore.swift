import Accounts
import ArgumentParser
import Foundation
import RecordStore
import Records
import SQLRecordStore

/// The place of a benchmark: a data folder like the server's, and a container in it.
struct BenchmarkStore: ParsableArguments {
    @Option(help: "The data folder.")
    var data: String

    @Option(help: "The container.")
    var container: String

    @Option(help: "A database of PostgreSQL that has the records, instead of the folder.")
    var store: String?

    /// Opens the database of the developer, as requests without a user see it, and closes it after the work.
    func with<Value>(_ work: (any RecordDatabase) async throws -> Value) async throws -> Value {
        try await withEngine { _, database in try await work(database) }
    }

    /// The same with the engine, for other users.
    func withEngine<Value>(_ work: (any RecordEngine, any RecordDatabase) async throws -> Value) async throws -> Value {
        guard let container = ContainerID(container) else { throw ValidationError("'\(container)' is no container") }
        let folder = URL(filePath: data, directoryHint: .isDirectory)
        let engine =
            if let store { try SQLRecordEngine(postgreSQL: store, beside: folder) } else {
                try SQLRecordEngine(folder: folder)
            }
        do {
            let accounts = try Accounts(file: folder.appending(path: "accounts.sqlite"))
            let database = try await engine.database(
                DatabaseAddress(container: container, environment: .development, scope: .private),
                as: try accounts.caller(named: nil, deviceID: nil))
            let value = try await work(engine, database)
            await engine.close()
            return value
        } catch {
            await engine.close()
            throw error
        }
    }

    /// Makes the zone and the type of the notes.
    static func prepare(_ database: any RecordDatabase) async throws {
        _ = try await database.modifyZones([.create(NoteRecords.zoneID)])
        _ = try await database.require(.editSchema).edit([.addType(NoteRecords.type)])
    }

    /// Saves a batch, every record of which must be saved.
    static func save(
        _ operations: [RecordOperation], in database: any RecordDatabase, _ zoneID: ZoneID = NoteRecords.zoneID
    ) async throws {
        for outcome in try await database.modify(ModifyRequest(operations, zoneID: zoneID)) { _ = try outcome.get() }
    }
}

/// The result of a benchmark, as a line of JSON.
enum Finding {
    static func say(_ count: Int, in time: Duration, bytes: Int = 0) {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("count", Int64(count))
            writer.name("seconds")
            writer.value(time / .seconds(1))
            writer.member("bytes", Int64(bytes))
        }
        print(String(decoding: writer.bytes, as: UTF8.self))
    }
}
