import ArgumentParser
import Foundation
import Logging
import RemoteRecords

/// Measures the ways of a new device to the records of a zone: the time until its newest records are there, and until
/// all are.
@main
struct Bootstrap: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bootstrap-benchmark",
        abstract: "Measures how a new device gets the records of a zone, against a running Skylight.")

    @Option(help: "The address of the server.")
    var address = "http://127.0.0.1:8080"

    @Option(help: "The container, in development.")
    var container: String

    @Option(help: "A zone of the private database.")
    var zone = "Bench"

    @Option(help: "The type of its records.")
    var type = "Note"

    @Option(help: "A sortable field. The newest record has its highest value.")
    var newestBy = "at"

    @Option(help: "The number of records that are the first useful ones.")
    var first = 50

    private struct Finding {
        let way: String
        let first: Duration
        let all: Duration
    }

    func run() async throws {
        guard let container = ContainerID(container) else { throw ValidationError("'\(container)' is no container") }
        var configuration = ClientConfiguration(address: address)
        configuration.patience = .seconds(600)
        let client = try ContainerClient(
            container: container, environment: .development, credentials: .apiToken(String(repeating: "0", count: 64)),
            configuration: configuration,
            logger: Logger(label: "bootstrap") { _ in SwiftLogNoOpLogHandler() })
        do {
            let findings = try await measure(Container(client).privateCloudDatabase)
            print("| way | the \(first) newest | all |\n|---|---|---|")
            for finding in findings {
                print("| \(finding.way) | \(Self.words(finding.first)) | \(Self.words(finding.all)) |")
            }
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    private static func words(_ time: Duration) -> String {
        let seconds = (time / .milliseconds(1)).rounded() / 1000
        return "\(seconds) s"
    }

    private var zoneID: ZoneID { ZoneID(zoneName: Name(zone)) }

    private func query(ascending: Bool) -> Query {
        Query(recordType: Name(type), filters: [], sorts: [.init(Name(newestBy), ascending: ascending)])
    }

    private func measure(_ database: Database) async throws -> [Finding] {
        // Every way begins with connections that are there, and pages that the server has read before.
        let newest = try await database.records(
            matching: query(ascending: false), inZoneWith: zoneID, resultsLimit: first)
        let oldest = try await database.records(matching: query(ascending: true), inZoneWith: zoneID, resultsLimit: 1)
        let ends = (newest.matchResults + oldest.matchResults).compactMap(\.recordID)
        guard ends.count == first + 1 else {
            throw ValidationError("The zone has fewer than \(first) records of the type")
        }
        return [
            try await history(database, ends), try await queryAndHistory(database, ends),
            try await queryFromNowOn(database, ends),
            try await feed(database), try await namesAndLookups(database, ends),
        ]
    }

    // MARK: Into a cache

    /// Runs a way with a new cache, in which the ends of the zone must be in the end.
    private func withCache(
        _ way: String, _ database: Database, _ ends: [RecordID], _ work: (RecordCache) async throws -> Duration?
    ) async throws -> Finding {
        let file = FileManager.default.temporaryDirectory.appending(path: "bootstrap-\(UUID().uuidString).sqlite")
        defer { try? FileManager.default.removeItem(at: file) }
        let cache = try await RecordCache(file, of: database)
        let start = ContinuousClock.now
        let first = try await work(cache)
        let all = ContinuousClock.now - start
        for recordID in ends where try await cache.record(for: recordID) == nil {
            throw ValidationError("The record '\(recordID.recordName)' is missing")
        }
        return Finding(way: way, first: first ?? all, all: all)
    }

    /// The newest records come last.
    private func history(_ database: Database, _ ends: [RecordID]) async throws -> Finding {
        try await withCache("`sync()`", database, ends) { cache in
            try await cache.sync()
            return nil
        }
    }

    private func queryAndHistory(_ database: Database, _ ends: [RecordID]) async throws -> Finding {
        try await withCache("`prefetch`, then `sync()`", database, ends) { cache in
            let start = ContinuousClock.now
            try await cache.prefetch(query(ascending: false), in: zoneID, resultsLimit: first)
            let time = ContinuousClock.now - start
            try await cache.sync()
            return time
        }
    }

    private func queryFromNowOn(_ database: Database, _ ends: [RecordID]) async throws -> Finding {
        try await withCache("`skipHistory`, then `prefetch` to its end", database, ends) { cache in
            let start = ContinuousClock.now
            try await cache.engine.skipHistory(of: zoneID)
            var cursor = try await cache.prefetch(query(ascending: false), in: zoneID, resultsLimit: first)
            let time = ContinuousClock.now - start
            while let next = cursor { cursor = try await cache.prefetch(continuing: next, in: zoneID) }
            try await cache.sync()
            return time
        }
    }

    // MARK: Without a store

    /// The feed as it comes, without a cache that stores it.
    private func feed(_ database: Database) async throws -> Finding {
        let start = ContinuousClock.now
        for try await event in database.events(of: FetchRecordZoneChanges([ZonePull(zoneID)])) {
            if case .changed(_, let result) = event { _ = try result.get() }
        }
        let time = ContinuousClock.now - start
        return Finding(way: "`FetchRecordZoneChanges`, not stored", first: time, all: time)
    }

    /// The names and versions of all records, then the records themselves from the newest change to the oldest.
    private func namesAndLookups(_ database: Database, _ ends: [RecordID]) async throws -> Finding {
        let start = ContinuousClock.now
        var recordIDs: [RecordID] = []
        for try await event in database.events(of: FetchRecordZoneChanges([ZonePull(zoneID, desiredKeys: [])])) {
            if case .changed(_, let result) = event { recordIDs.append(try result.get().recordID) }
        }
        recordIDs.reverse()
        for result in try await database.records(for: Array(recordIDs.prefix(first))).values { _ = try result.get() }
        let time = ContinuousClock.now - start
        try await database.perform(FetchRecords(Array(recordIDs.dropFirst(first))))
        return Finding(
            way: "`FetchRecordZoneChanges` with `desiredKeys: []`, then `FetchRecords`, not stored", first: time,
            all: ContinuousClock.now - start)
    }
}
