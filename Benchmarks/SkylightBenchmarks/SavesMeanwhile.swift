import ArgumentParser
import BenchmarkRecords
import RecordStore
import Records

/// Savers that go on while some work is done, and how long their saves take.
struct SavesMeanwhile: ParsableArguments {
    @Option(help: "How many notes there are.")
    var records: Int

    @Option(help: "Tasks that save at the same time, each a random note after the other.")
    var savers = 4

    @Option(help: "Seconds of saving before the work.")
    var quiet = 5

    /// How long saves take before the work.
    func before(in database: any RecordDatabase) async throws -> [Duration] {
        try await during(in: database) { try await Task.sleep(for: .seconds(quiet)) }
    }

    /// How long saves take while some work goes on, shortest first.
    func during(in database: any RecordDatabase, _ work: () async throws -> Void) async throws -> [Duration] {
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
}

extension JSONWriter {
    mutating func member(_ name: Name, _ times: [Duration]) {
        self.name(name)
        object { writer in
            writer.member("count", Int64(times.count))
            for (name, part) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] as [(Name, Double)] {
                writer.name(name)
                writer.value(
                    times.isEmpty ? 0 : times[min(times.count - 1, Int(Double(times.count) * part))] / .seconds(1))
            }
        }
    }

    mutating func member(_ name: Name, seconds: Duration) {
        self.name(name)
        value(seconds / .seconds(1))
    }
}
