import Foundation
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import SQLRecordStore

/// Slow readers must neither delay the writer nor keep the log from being reset.
@Suite(.serialized, .timeLimit(.minutes(5))) struct StalledReaderTests {
    private let folder: TemporaryFolder
    private let disk: WatchedFolder

    init() throws {
        folder = try TemporaryFolder()
        disk = WatchedFolder(folder.url.appending(path: "iCloud.com.example.Test"))
    }

    /// Signals between the tasks of a test.
    private final class Talk: Sendable {
        let isOver = Mutex(false)
        let events = Mutex<[String]>([])
    }

    private var logSize: Int {
        let log = folder.url.appending(path: "iCloud.com.example.Test/development.sqlite-wal").path(
            percentEncoded: false)
        return (try? FileManager.default.attributesOfItem(atPath: log)[.size] as? Int) ?? 0
    }

    /// 50 clients in the middle of a playback: some are stalled, some continue, some keep starting over.
    @Test func theLogStaysBoundedUnderConstantLoad() async throws {
        // A sixteenth of the regular limits, and so of the 64 MiB limit of the log.
        let limits = WriteAheadLogLimits(checkpoint: 512, restart: 768)
        let engine = try SQLRecordEngine(folder: folder.url, logLimits: limits, clock: Timestamp.now)
        let database = try await engine.withZone()
        let text = FieldValue.string(String(repeating: "0123456789", count: 300))
        for number in 0..<60 { try await database.save(Name("old\(number)"), in: notes, ["text": text]) }
        let talk = Talk()
        let longest = try await withThrowingTaskGroup(of: Int.self) { group in
            for reader in 0..<50 {
                group.addTask {
                    var token: ChangeToken?
                    while !talk.isOver.withLock({ $0 }) {
                        let page = try await database.zoneChanges(
                            ZoneChangesRequest(notes, since: token, limit: PageLimit(records: 10)))
                        token = reader % 5 == 0 && !page.moreComing ? nil : page.syncToken
                        try await Task.sleep(for: .milliseconds(reader % 5 == 0 ? 1 : reader % 5 == 1 ? 40 : 400))
                    }
                    return 0
                }
            }
            group.addTask {
                defer { talk.isOver.withLock { $0 = true } }
                var longest = 0
                for round in 0..<110 {
                    let operations = (0..<8).map { number in
                        RecordOperation(
                            .forceReplace, recordName: Name("r\(round * 8 + number)"), recordType: "Item",
                            fields: ["text": FieldInput(text)])
                    }
                    try await database.apply(operations, in: notes)
                    longest = max(longest, logSize)
                }
                return longest
            }
            return try await group.reduce(0, max)
        }
        let wrote = disk.count(.writes, of: "-wal") * 4096 / 2
        #expect(wrote > 6 << 20, "too little was written to tell anything")
        #expect(longest <= 4 << 20, "the log grew to \(longest) bytes")
        #expect(longest > 1 << 20, "the log never reached its limit")
        await engine.close()
    }

    /// A save does not wait for long reads.
    @Test func noReaderBlocksTheWriter() async throws {
        let engine = try await LargeStore.make(records: 30_000, in: folder.url)
        let database = try await engine.full(.private)
        let talk = Talk()
        let (saves, pages) = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for _ in 0..<6 {
                group.addTask {
                    // Pages of the whole zone, repeatedly, until the savers are done.
                    var pages = 0
                    var token: ChangeToken?
                    while !talk.isOver.withLock({ $0 }) {
                        let page = try await database.zoneChanges(ZoneChangesRequest(LargeStore.zone, since: token))
                        token = page.moreComing ? page.syncToken : nil
                        pages += 1
                        // The pause between two requests of a client.
                        await Task.yield()
                    }
                    return (0, pages)
                }
            }
            group.addTask {
                defer { talk.isOver.withLock { $0 = true } }
                for number in 0..<40 {
                    try await database.save(
                        Name("new\(number)"), in: LargeStore.zone, ["number": .int64(Int64(number))])
                }
                return (40, 0)
            }
            return try await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
        }
        #expect(saves == 40 && pages > 6)
        await engine.close()
    }

    /// Saves are committed while an index of a large zone is being built.
    @Test func anIndexBuildDoesNotBlockSaves() async throws {
        await (try LargeStore.make(records: 30_000, in: folder.url)).close()
        let (talk, gate) = (Talk(), WorkGate())
        gate.open()
        var limits = IndexLimits()
        limits.beforeStep = { await gate.wait() }
        let engine = try SQLRecordEngine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), indexLimits: limits, clock: Timestamp.now)
        let database = try await engine.full(.private)
        try await database.edit(.setIndexes([], of: .custom("number"), in: "Item"))
        gate.close()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await database.edit(.setIndexes([.queryable, .sortable], of: .custom("number"), in: "Item"))
                talk.events.withLock { $0.append("index") }
            }
            group.addTask {
                try await gate.allow(1)
                for number in 0..<5 {
                    try await database.save(
                        Name("new\(number)"), in: LargeStore.zone, ["number": .int64(Int64(number))])
                    talk.events.withLock { $0.append("save") }
                }
                gate.open()
            }
            try await group.waitForAll()
        }
        #expect(talk.events.withLock { $0 } == Array(repeating: "save", count: 5) + ["index"])
        let found = try await database.all(
            Query(recordType: "Item", filters: [Query.Filter("number", .lessThan, FieldInput(.int64(5)))], sorts: []),
            in: .zone(LargeStore.zone))
        #expect(found.count == 4 + 5, "what was saved meanwhile is indexed too")
        await engine.close()
    }
}
