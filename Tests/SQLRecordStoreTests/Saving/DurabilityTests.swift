import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

// One at a time, because they count the calls of the whole process.
@Suite(.serialized) struct DurabilityTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func everyCommitIsSynced() async throws {
        let engine = try SQLRecordEngine(folder: folder.url.appending(path: "data"))
        let store = try #require(try await engine.withZone() as? SQLDatabase).store
        let settings = try await store.pool.writeWithoutTransaction { db in
            [
                try Int.fetchOne(db, sql: "PRAGMA synchronous"), try Int.fetchOne(db, sql: "PRAGMA mmap_size"),
                try Int.fetchOne(db, sql: "PRAGMA wal_autocheckpoint"),
            ]
        }
        #expect(settings[0] == 2, "synchronous must be FULL")
        #expect((settings[1] ?? 0) == 0, "no memory map")
        #expect((settings[2] ?? 0) == 0, "the writer checkpoints by itself")
        let journal = try await store.pool.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
        #expect(journal == "wal")
        await #expect(throws: (any Error).self, "readers can't write") {
            try await store.pool.read { try $0.execute(sql: "DELETE FROM records") }
        }
        await engine.close()
    }

    @Test(.enabled(if: WatchedFolder.isPossible, "calls can't be counted here"))
    func everyAcknowledgedSaveWasSyncedBefore() async throws {
        let disk = WatchedFolder(folder.url.appending(path: "iCloud.com.example.Test"), syncs: true)
        let engine = try SQLRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        try await database.save("warm up" as Name)
        for number in 0..<20 {
            let before = disk.count(.syncs, of: "-wal")
            try await database.save("r\(number)" as Name, ["n": .int64(Int64(number))])
            #expect(disk.count(.syncs, of: "-wal") > before, "save \(number) was acknowledged without a sync")
        }
        // Concurrent savers share a sync, but none is acknowledged before it.
        let before = disk.count(.syncs, of: "-wal")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask { try await database.save("g\(number)" as Name) }
            }
            try await group.waitForAll()
        }
        let syncs = disk.count(.syncs, of: "-wal") - before
        #expect(syncs >= 1 && syncs < 64)
        await engine.close()
    }

    /// After a failed sync the state of the disk is unknown. A successful next sync proves nothing.
    @Test(.enabled(if: WatchedFolder.isPossible, "syncs can't be made to fail here"))
    func afterAFailedSyncNothingPretends() async throws {
        let disk = WatchedFolder(folder.url.appending(path: "iCloud.com.example.Test"), syncs: true)
        let engine = try SQLRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        try await database.save("before")
        disk.fail(.syncs, of: "-wal")
        let outcomes = await withTaskGroup(of: Records.RecordError?.self) { group in
            for number in 0..<600 {
                group.addTask { await refusal { try await database.save("r\(number)" as Name) } }
            }
            return await group.reduce(into: [Records.RecordError?]()) { $0.append($1) }
        }
        #expect(
            outcomes.allSatisfy { $0?.code == .internalError || $0?.code == .tryAgainLater },
            "a save was acknowledged after the failed sync")
        let later = await refusal { try await database.save("later") }
        #expect(later?.reason.contains("read-only until it is opened again") == true)
        #expect(try await database.fetch([RecordID(recordName: "before")], desiredKeys: nil).count == 1)
        await engine.close()
        let again = try SQLRecordEngine(folder: folder.url)
        try await again.full(.private).save("after")
        #expect(try await again.full(.private).names(of: ["before", "after"]) == ["before", "after"])
        await again.close()
    }

    @Test func aSaverThatHangsUpTakesNobodyAlong() async throws {
        let engine = try SQLRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        for round in 0..<20 {
            let savers = (0..<24).map { number in
                Task { try await database.save("r\(round).\(number)" as Name, ["n": .int64(Int64(number))]) }
            }
            var cancelled: Set<Int> = []
            for number in savers.indices where Bool.random() {
                cancelled.insert(number)
                savers[number].cancel()
            }
            for (number, saver) in savers.enumerated() {
                let outcome = await saver.result
                if case .failure = outcome {
                    #expect(cancelled.contains(number), "round \(round): saver \(number) lost its save")
                }
                if case .success = outcome {
                    let found = try await database.fetch(
                        [RecordID(recordName: "r\(round).\(number)" as Name)], desiredKeys: nil)
                    #expect((try? found.first?.get()) != nil, "round \(round): an acknowledged save is not there")
                }
            }
        }
        await engine.close()
    }

    @Test func aFailingSaveLeavesTheOthersOfItsGroup() async throws {
        let engine = try SQLRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        let names = try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
            for number in 0..<60 {
                group.addTask {
                    let kind: RecordOperation.Kind = number % 3 == 0 ? .update : .forceUpdate
                    let error = await refusal { try await database.save("r\(number)" as Name, as: kind, tag: "zz") }
                    return (number, error == nil)
                }
            }
            return try await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
        }
        for (number, isSaved) in names { #expect(isSaved == (number % 3 != 0)) }
        let counts = try await database.require(.countRecords).counts(in: .default)
        #expect(counts.total == 40)
        await engine.close()
    }

    @Test func oneFolderHasOneProcess() async throws {
        let engine = try SQLRecordEngine(folder: folder.url)
        #expect(throws: DataFolderInUse.self) { try SQLRecordEngine(folder: folder.url) }
        await engine.close()
        let again = try SQLRecordEngine(folder: folder.url)
        await again.close()
    }

    @Test func whatWasSavedIsThereAfterReopening() async throws {
        let first = try SQLRecordEngine(folder: folder.url)
        let saved = try await first.full(.private).save("r", ["text": .string("é\u{0}\n")])
        await first.close()
        let second = try SQLRecordEngine(folder: folder.url)
        let found = try await second.full(.private).fetch([RecordID(recordName: "r")], desiredKeys: nil)
        #expect(try found.first?.get() == saved)
        #expect(try await second.containers().map(\.description) == ["iCloud.com.example.Test"])
        await second.close()
    }

    /// A restored backup does not know later changes, and must refuse later tokens.
    @Test func aRestoredCopyRefusesLaterTokens() async throws {
        let zone = ZoneID(zoneName: "Z")
        let file = folder.url.appending(path: "data/iCloud.com.example.Test/development.sqlite")
        let data = folder.url.appending(path: "data")
        var engine = try SQLRecordEngine(folder: data)
        _ = try await engine.full(.private).modifyZones([.create(zone)])
        try await engine.full(.private).save("a", in: zone)
        let early = try await engine.full(.private).pull(zone).token
        await engine.close()
        let copy = folder.url.appending(path: "copy.sqlite")
        try FileManager.default.copyItem(at: file, to: copy)
        engine = try SQLRecordEngine(folder: data)
        try await engine.full(.private).save("b", in: zone)
        try await engine.full(.private).save("b2", in: zone)
        let late = try await engine.full(.private).pull(zone).token
        // Page tokens at positions that the backup knows, of pulls that began later.
        let half = try await engine.full(.private).zoneChanges(ZoneChangesRequest(zone, limit: PageLimit(records: 1)))
            .syncToken
        let back = try await engine.full(.private).zoneChanges(
            ZoneChangesRequest(zone, since: early, limit: PageLimit(records: 1), reverse: true)
        ).syncToken
        #expect(
            try await engine.full(.private).pull(zone, since: early).changes.map(\.recordID.recordName) == ["b", "b2"])
        await engine.close()
        try FileManager.default.removeItem(at: file)
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: file.path(percentEncoded: false) + suffix)
        }
        try FileManager.default.copyItem(at: copy, to: file)
        engine = try SQLRecordEngine(folder: data)
        let restored = try await engine.full(.private)
        let refused1 = await refusal { _ = try await restored.pull(zone, since: late) }
        #expect(refused1 == TokenCodec.expired)
        for token in [half, back] {
            let page = await refusal { _ = try await restored.pull(zone, since: token) }
            #expect(page == TokenCodec.expired)
        }
        #expect(try await restored.require(.explainTokens).explain(late).validity != .good)
        #expect(try await restored.pull(zone, since: early).changes.isEmpty)
        // The same position again in a different history.
        try await restored.save("c", in: zone)
        let refused2 = await refusal { _ = try await restored.pull(zone, since: late) }
        #expect(refused2 == TokenCodec.expired)
        #expect(try await restored.pull(zone, since: early).changes.map(\.recordID.recordName) == ["c"])
        await engine.close()
    }
}
