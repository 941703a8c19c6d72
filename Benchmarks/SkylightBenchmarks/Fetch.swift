import ArgumentParser
import BenchmarkRecords
import RecordStore
import Records

/// Fetches records by name, so many at once, and writes them as JSON.
struct Fetch: AsyncParsableCommand {
    @OptionGroup var store: BenchmarkStore

    @Option(help: "How many notes there are.")
    var records: Int

    @Option(help: "Names in a fetch.")
    var names = 200

    @Option(help: "How many fetches.")
    var rounds = 500

    func run() async throws {
        try await store.with { database in
            var bytes = 0
            var time = Duration.zero
            for round in 0..<rounds {
                let recordIDs = (0..<names).map { index in
                    let number = benchmark_hash(UInt64(round * names + index)) % UInt64(records)
                    return RecordID(recordName: NoteRecords.name(number), zoneID: NoteRecords.zoneID)
                }
                let start = ContinuousClock.now
                let found = try await database.fetch(recordIDs, desiredKeys: nil)
                var writer = JSONWriter()
                try writer.array { writer in
                    for record in found { try writer.value(record.get()) }
                }
                bytes += writer.bytes.count
                time += .now - start
            }
            Finding.say(rounds * names, in: time, bytes: bytes)
        }
    }
}
