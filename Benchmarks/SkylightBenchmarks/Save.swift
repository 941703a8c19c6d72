import ArgumentParser
import BenchmarkRecords
import RecordStore
import Records

/// Saves from so many tasks at once, each waiting for the disk before its next save. The time includes reading the
/// records from JSON.
struct Save: AsyncParsableCommand {
    @OptionGroup var store: BenchmarkStore

    @Option(help: "Tasks that save at the same time.")
    var savers = 1

    @Option(help: "Users in whose names the tasks save, each into a zone of their own.")
    var users = 1

    @Option(help: "Records in each save.")
    var batch = 1

    @Option(help: "How many records to save in all.")
    var count: Int

    @Option(help: "How many notes there are, to be saved anew at random; 0 saves new ones into a new zone.")
    var records = 0

    @Option(help: "Where the random choice begins.")
    var seed: UInt64 = 1

    func run() async throws {
        try await store.withEngine { engine, database in
            if records == 0 { try await BenchmarkStore.prepare(database) }
            let databases = try await [database] + others(engine, database.address)
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for saver in 0..<savers {
                    group.addTask {
                        for first in stride(from: saver * batch, to: count, by: savers * batch) {
                            try await BenchmarkStore.save(
                                try operations(first..<min(first + batch, count)),
                                in: databases[saver % databases.count])
                        }
                    }
                }
                try await group.waitForAll()
            }
            Finding.say(count, in: .now - start)
        }
    }

    /// The databases of all users but the first, with their zones.
    private func others(_ engine: any RecordEngine, _ address: DatabaseAddress) async throws -> [any RecordDatabase] {
        var databases: [any RecordDatabase] = []
        while databases.count + 1 < users {
            let number = String(databases.count)
            let user = Caller(
                userRecordName: Name("_be7c4" + String(repeating: "0", count: 27 - number.count) + number))
            let database = try await engine.database(address, as: user)
            for result in try await database.modifyZones([.create(NoteRecords.zoneID)]) { _ = try result.get() }
            databases.append(database)
        }
        return databases
    }

    private func operations(_ indexes: Range<Int>) throws -> [RecordOperation] {
        if records == 0 { return try indexes.map { try NoteRecords.save(UInt64($0), version: 0) } }
        // A batch can't hold a record twice.
        let numbers = Set(indexes.map { benchmark_hash(seed << 32 + UInt64($0)) % UInt64(records) })
        return try numbers.map { try NoteRecords.save($0, version: seed) }
    }
}
