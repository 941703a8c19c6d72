import ArgumentParser
import BenchmarkRecords
import JSON
import RecordStore
import Records

/// Builds an index on all notes while others go on saving some of them, and tells how long saves took meanwhile and before.
struct Index: AsyncParsableCommand {
    @OptionGroup var store: BenchmarkStore

    @Option(help: "How many notes there are.")
    var records: Int

    @Option(help: "Tasks that save at the same time, each a random note after the other.")
    var savers = 4

    @Option(help: "Seconds of saving before the index is asked for.")
    var quiet = 5

    private static let field: FieldKey = .custom("title")

    func run() async throws {
        try await store.with { database in
            _ = try await database.edit([.setIndexes([], of: Self.field, in: NoteRecords.typeName)])
            while try await !database.indexBuilds().isEmpty { try await Task.sleep(for: .milliseconds(10)) }
            let before = try await saving(in: database) { try await Task.sleep(for: .seconds(quiet)) }
            let start = ContinuousClock.now
            var built = Duration.zero
            let during = try await saving(in: database) {
                _ = try await database.edit([.setIndexes([.queryable, .sortable], of: Self.field, in: NoteRecords.typeName)])
                built = .now - start
            }
            say(before, during, built: built, found: try await count(in: database))
        }
    }

    /// How long saves take while some work goes on, shortest first.
    private func saving(in database: any RecordDatabase, _ work: () async throws -> Void) async throws -> [Duration] {
        try await withThrowingTaskGroup(of: [Duration].self) { group in
            // A save is not given up halfway, so the last ones are whole.
            for saver in 0..<savers {
                group.addTask { [records] in
                    var times: [Duration] = []
                    while !Task.isCancelled {
                        let seed = UInt64(saver) << 32 + UInt64(times.count)
                        let save = try NoteRecords.save(benchmark_hash(seed) % UInt64(records), version: seed)
                        let start = ContinuousClock.now
                        try await BenchmarkStore.save([save], in: database)
                        times.append(.now - start)
                    }
                    return times
                }
            }
            try await work()
            group.cancelAll()
            return try await group.reduce(into: []) { $0 += $1 }.sorted()
        }
    }

    /// The notes that a walk through the index finds.
    private func count(in database: any RecordDatabase) async throws -> Int {
        var count = 0
        var marker: String?
        repeat {
            let query = Query(recordType: NoteRecords.typeName, filters: Self.anyTitle, sorts: [Query.Sort("title")])
            let page = try await database.query(
                QueryRequest(query, in: .zone(NoteRecords.zoneID), limit: PageLimit(records: 5000), continuationMarker: marker, desiredKeys: []))
            count += page.records.count
            marker = page.continuationMarker
        } while marker != nil
        return count
    }

    private static let anyTitle = [Query.Filter("title", .greaterThanOrEquals, FieldInput(.string("")))]

    private func say(_ before: [Duration], _ during: [Duration], built: Duration, found: Int) {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, times) in [("quiet", before), ("building", during)] {
                writer.name(Name(name))
                writer.object { writer in
                    writer.member("count", Int64(times.count))
                    for (name, part) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] as [(Name, Double)] {
                        writer.name(name)
                        writer.value(times.isEmpty ? 0 : times[min(times.count - 1, Int(Double(times.count) * part))] / .seconds(1))
                    }
                }
            }
            writer.name("seconds")
            writer.value(built / .seconds(1))
            writer.member("found", Int64(found))
        }
        print(String(decoding: writer.bytes, as: UTF8.self))
    }
}
