import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// Long batches: their undo data is kept in a file.
@Suite struct SavepointTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// In memory, SQLite would traverse all of it after every statement.
    @Test func theWriterKeepsItsSavepointsInFiles() async throws {
        let engine = try SQLRecordEngine(folder: folder.url)
        let store = try #require(try await engine.withZone() as? SQLDatabase).store
        #expect(try await store.write { db, _ in try Int.fetchOne(db, sql: "PRAGMA temp_store") } == 1)
        #expect(
            try await store.read { db, _ in try Int.fetchOne(db, sql: "PRAGMA temp_store") } == 2,
            "readers sort in memory")
        await engine.close()
    }

    /// SQLite looks up the folder for each temporary file, so it finds another one if this folder is gone.
    @Test func aLongBatchIsUndoneAsAWhole() async throws {
        let engine = try SQLRecordEngine(folder: folder.url)
        let database = try await engine.withZone()
        let text = FieldInput(.string(String(repeating: "text ", count: 1000)))
        func batch(_ kind: RecordOperation.Kind) -> [RecordOperation] {
            (0..<199).map {
                RecordOperation(kind, recordName: Name("r\($0)"), recordType: "Item", fields: ["text": text])
            }
        }
        #expect(try await database.outcomes(batch(.create), in: notes).allSatisfy { $0 == nil })
        let token = try await database.pull(notes).token
        let refused = try await database.outcomes(
            batch(.forceReplace) + [RecordOperation(.delete, recordName: "missing", recordChangeTag: "1")], in: notes)
        #expect(refused.allSatisfy { $0 != nil })
        #expect(try await database.pull(notes, since: token).changes.isEmpty)
        #expect(try await database.outcomes(batch(.forceReplace), in: notes).allSatisfy { $0 == nil })
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    /// The first batch of a commit has no savepoint, so its refusal begins the transaction anew.
    @Test func refusedBatchesTakeNoOthersOfTheirCommitAlong() async throws {
        let engine = try SQLRecordEngine(folder: folder.url)
        let database = try await engine.withZone()
        let token = try await database.pull(notes).token
        let missing = RecordOperation(.delete, recordName: "missing", recordChangeTag: "1")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<120 {
                group.addTask {
                    let create = RecordOperation(
                        .create, recordName: Name("r\(number)"), recordType: "Item",
                        fields: ["n": FieldInput(.int64(Int64(number)))])
                    let isRefused = number % 3 != 0
                    let outcomes = try await database.outcomes(isRefused ? [create, missing] : [create], in: notes)
                    #expect(outcomes.allSatisfy { ($0 != nil) == isRefused })
                }
            }
            try await group.waitForAll()
        }
        let saved = (0..<120).filter { $0 % 3 == 0 }.map { Name("r\($0)") }
        #expect(Set(try await database.names(in: notes, of: (0..<120).map { Name("r\($0)") })) == Set(saved))
        #expect(try await database.pull(notes, since: token).changes.count == saved.count)
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }
}
