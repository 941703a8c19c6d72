import ArgumentParser
import BenchmarkRecords
import RecordStore
import Records

/// Saves from so many tasks at once, each waiting for the disk before its next save. The time includes reading the records from JSON.
struct Save: AsyncParsableCommand {
    @OptionGroup var store: BenchmarkStore

    @Option(help: "Tasks that save at the same time.")
    var savers = 1

    @Option(help: "Records in each save.")
    var batch = 1

    @Option(help: "How many records to save in all.")
    var count: Int

    @Option(help: "How many notes there are, to be saved anew at random; 0 saves new ones into a new zone.")
    var records = 0

    @Option(help: "Where the random choice begins.")
    var seed: UInt64 = 1

    func run() async throws {
        try await store.with { database in
            if records == 0 { try await BenchmarkStore.prepare(database) }
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for saver in 0..<savers {
                    group.addTask {
                        for first in stride(from: saver * batch, to: count, by: savers * batch) {
                            try await BenchmarkStore.save(try operations(first..<min(first + batch, count)), in: database)
                        }
                    }
                }
                try await group.waitForAll()
            }
            Finding.say(count, in: .now - start)
        }
    }

    private func operations(_ indexes: Range<Int>) throws -> [RecordOperation] {
        if records == 0 { return try indexes.map { try NoteRecords.save(UInt64($0), version: 0) } }
        // A batch can't hold a record twice.
        let numbers = Set(indexes.map { benchmark_hash(seed << 32 + UInt64($0)) % UInt64(records) })
        return try numbers.map { try NoteRecords.save($0, version: seed) }
    }
}
