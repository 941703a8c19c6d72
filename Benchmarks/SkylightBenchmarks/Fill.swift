import ArgumentParser
import RecordStore

/// Makes a container with so many notes.
struct Fill: AsyncParsableCommand {
    @OptionGroup var store: BenchmarkStore

    @Option(help: "How many notes.")
    var records: Int

    private static let batch = 200
    /// Batches that wait for the writer while it writes another.
    private static let ahead = 8

    func run() async throws {
        let start = ContinuousClock.now
        try await store.with { database in
            try await BenchmarkStore.prepare(database)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, first) in stride(from: 0, to: records, by: Self.batch).enumerated() {
                    if index >= Self.ahead { try await group.next() }
                    let numbers = first..<min(first + Self.batch, records)
                    group.addTask {
                        try await BenchmarkStore.save(
                            numbers.map { try NoteRecords.save(UInt64($0), version: 0) }, in: database)
                    }
                }
                try await group.waitForAll()
            }
        }
        Finding.say(records, in: .now - start)
    }
}
