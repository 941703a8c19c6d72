import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// Stores of earlier versions whose migration is broken off at any moment.
@Suite(.serialized, .enabled(if: WatchedFolder.isPossible, "calls can't be recorded here"))
struct MigrationCrashTests {
    private static let container = "iCloud.com.example.Test"

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Versions before rows are counted anew (6), and before words are cut (16).
    @Test("A crash during a migration loses nothing, and the next start ends it", arguments: ["5", "15"])
    func crash(from version: String) async throws {
        let present = folder.url.appending(path: "present")
        let engine = try SQLRecordEngine(folder: present)
        let word = String(repeating: "long", count: 300)
        let filled = try await engine.full(.private)
        for result in try await filled.modifyZones([.create(crashZone)]) { _ = try result.get() }
        for number in 0..<60 {
            try await filled.save("r\(number)" as Name, in: crashZone, ["text": .string("word\(number) \(word)")])
        }
        let names = try await filled.pull(crashZone).changes.map(\.recordID.recordName)
        #expect(names.count == 60)
        await engine.close()

        let data = folder.url.appending(path: "data")
        let disk = WatchedFolder(data.appending(path: Self.container))
        disk.record()
        try Self.copy(from: file(in: present), to: file(in: data), version)
        let began = disk.events
        let migrating = try SQLRecordEngine(folder: data)
        #expect(try await migrating.full(.private).pull(crashZone).changes.map(\.recordID.recordName) == names)
        let ended = disk.events
        await migrating.close()

        var random = SeededRandom(seed: Chance.seed)
        for image in 0..<Chance.times(20) {
            let events = Int.random(in: began...ended, using: &random)
            let (manner, seed) = (
                WatchedFolder.Manner.allCases[image % WatchedFolder.Manner.allCases.count], random.next()
            )
            let copy = folder.url.appending(path: "image\(image)")
            try disk.makeImage(after: events, manner, seed: seed, in: copy.appending(path: Self.container))
            let engine = try SQLRecordEngine(folder: copy)
            let database = try await engine.full(.private)
            let problems = try await StoreRecount.problems(of: database) + IndexRecount.problems(of: database)
            let found = try await database.pull(crashZone).changes.map(\.recordID.recordName)
            #expect(
                found == names && problems == [],
                "\(problems), \(manner) after \(events) of \(began)...\(ended) events, image seed \(seed)")
            await engine.close()
        }
    }

    private func file(in folder: URL) -> URL { folder.appending(path: "\(Self.container)/development.sqlite") }

    /// Copies a store of today to one as an earlier version had it: with its tables and columns, and whole words.
    private static func copy(from present: URL, to file: URL, _ version: String) throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let queue = try DatabaseQueue(path: file.path(percentEncoded: false))
        try StoreMigrations.migrator.migrate(queue, upTo: version)
        // The next crash comes after it: also the removal of its journal is on the disk.
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA synchronous = EXTRA; ATTACH ? AS present", arguments: [present.path(percentEncoded: false)]
            )
            let tables = try String.fetchAll(
                db,
                sql:
                    "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'grdb_migrations'"
            )
            try db.inTransaction {
                for table in tables {
                    let (then, now) = (
                        try db.columns(in: table).map(\.name), try db.columns(in: table, in: "present").map(\.name)
                    )
                    let columns = then.filter(now.contains).joined(separator: ", ")
                    try db.execute(
                        sql:
                            "DELETE FROM main.\(table); INSERT INTO main.\(table) (\(columns)) SELECT \(columns) FROM present.\(table)"
                    )
                }
                if version == "15" {
                    try db.execute(sql: "UPDATE tokens SET token = token || 'longlong' WHERE token LIKE 'long%'")
                    #expect(db.changesCount == 60)
                }
                return .commit
            }
            try db.execute(sql: "DETACH present")
        }
        try queue.close()
    }
}
