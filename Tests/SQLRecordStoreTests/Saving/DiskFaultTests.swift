import Foundation
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// Disk calls that fail at any point: during creation, commits, checkpoints and closing.
/// Every save is durable or refused, reads still work, and nothing crashes or hangs.
@Suite(
    .serialized, .enabled(if: WatchedFolder.isPossible, "calls can't be made to fail here"), .timeLimit(.minutes(10)))
struct DiskFaultTests {
    private let folder: TemporaryFolder
    private let data: URL
    private let disk: WatchedFolder

    init() throws {
        folder = try TemporaryFolder()
        data = folder.url.appending(path: "data")
        disk = WatchedFolder(data.appending(path: "iCloud.com.example.Test"))
    }

    struct Fault: CustomTestStringConvertible {
        let calls: WatchedFolder.Calls
        /// The number of calls that succeed first.
        let skipped: Int
        let lasts: Bool
        let error: Int32

        var testDescription: String {
            "\(calls) \(skipped) \(error == EIO ? "EIO" : "ENOSPC")\(lasts ? " from then on" : "")"
        }

        init(seed: UInt64) {
            var random = SeededRandom(seed: seed)
            // Roughly the number of calls of the kind in one run.
            let choices: [(WatchedFolder.Calls, Int)] = [
                (.writes, 700), (.syncs, 40), (.opens, 14), (.truncates, 3), (.removals, 3),
            ]
            let weight = Int.random(in: 0..<10, using: &random)
            let (calls, count) = choices[weight < 4 ? 0 : weight < 7 ? 1 : weight - 5]
            self.calls = calls
            skipped = Int.random(in: 0..<count, using: &random)
            lasts = Bool.random(using: &random)
            error = Bool.random(using: &random) ? EIO : ENOSPC
        }
    }

    @Test(arguments: Chance.seeds(24))
    func everySaveIsOnDiskOrRefused(seed: UInt64) async throws {
        let fault = Fault(seed: seed)
        disk.fail(fault.calls, after: fault.skipped, failing: fault.lasts ? nil : 1, error: fault.error)
        let workload = try await CrashWorkload.run(in: data, on: disk, seed: seed, savers: 3, requests: 10, openings: 1)
        { _ in
        } inspect: { engine, database in
            try await look(at: database, of: engine, fault, seed)
        }
        let failed = disk.failed
        disk.heal()
        for refusal in workload.refusals {
            #expect(refusal.isClear, "seed \(seed), \(fault.testDescription): \(refusal)")
        }
        if failed == 0 { #expect(workload.refusals == [], "seed \(seed), \(fault.testDescription): nothing failed") }
        let problems = await CrashCheck(workload: workload, events: .max).problems(in: data)
        #expect(problems == [], "seed \(seed), \(fault.testDescription), which failed \(failed) times")
    }

    /// Checks an open store while the disk fails and after it recovered.
    private func look(at database: any RecordDatabase, of engine: SQLRecordEngine, _ fault: Fault, _ seed: UInt64)
        async throws
    {
        let context: Comment = "seed \(seed), \(fault.testDescription)"
        disk.heal()
        let reading = await refusal { _ = try await database.pull(crashZone) }
        #expect(reading == nil, context)
        let saving = await refusal { try await database.save("later", in: crashZone, ["number": .int64(1)]) }
        // Afterwards: a write in the background may have met the fault just before.
        let reason = await engine.health().first?.readOnlyBecause
        #expect(saving == reason, context)
        if fault.error == ENOSPC, fault.calls == .writes {
            #expect(reason == nil, "a full disk does not make the store read-only; \(context)")
        }
    }

    @Test func shortWritesAreTakenUp() async throws {
        disk.shortenWrites()
        let workload = try await CrashWorkload.run(in: data, on: disk, seed: 5, savers: 3, requests: 8)
        #expect(workload.refusals == [])
        #expect(await CrashCheck(workload: workload, events: .max).problems(in: data) == [])
    }

    @Test func aFullDiskRefusesOnlyTheSavesConcerned() async throws {
        let engine = try SQLRecordEngine(folder: data)
        let database = try await engine.withZone()
        try await database.save("before", in: notes)
        let token = try await database.pull(notes).token
        disk.fail(.writes, failing: nil, error: ENOSPC)
        for number in 0..<3 {
            let refused = await refusal { try await database.save("r\(number)" as Name, in: notes) }
            #expect(refused?.code == .quotaExceeded && refused?.reason.contains("disk is full") == true)
        }
        #expect(try await database.pull(notes).changes.map(\.recordID.recordName) == ["before"])
        #expect(try await database.pull(notes).token == token)
        #expect(await engine.health().first?.readOnlyBecause == nil)
        disk.heal()
        try await database.save("after", in: notes)
        #expect(try await database.pull(notes, since: token).changes.map(\.recordID.recordName) == ["after"])
        await engine.close()
        let again = try SQLRecordEngine(folder: data)
        #expect(
            try await again.full(.private).names(in: notes, of: ["before", "r0", "r1", "r2", "after"]) == [
                "before", "after",
            ])
        await again.close()
    }

    /// If the log's index cannot grow, SQLite reports an I/O error instead of a full disk.
    @Test func aFullDiskThatTheIndexOfTheLogMeetsFirstIsNoBrokenDisk() async throws {
        let engine = try SQLRecordEngine(folder: data)
        let database = try await engine.withZone()
        try await database.save("before", in: notes)
        disk.fail(.writes, of: "-shm", failing: nil, error: ENOSPC)
        // One part of the index covers 4,062 pages of the log, and each of these records takes some 200.
        let operations = (0..<30).map { number in
            RecordOperation(
                .create, recordName: Name("r\(number)"), recordType: "Item",
                fields: ["bytes": FieldInput(.bytes([UInt8](repeating: 7, count: 600_000)))])
        }
        let refused = await refusal {
            _ = try await database.modify(ModifyRequest(operations, zoneID: notes)).map { try $0.get() }
        }
        #expect(disk.failed > 0)
        #expect(refused?.code == .quotaExceeded, "\(String(describing: refused))")
        #expect(await engine.health().first?.readOnlyBecause == nil)
        disk.heal()
        try await database.save("after", in: notes)
        #expect(try await database.names(in: notes, of: ["before", "after"]) == ["before", "after"])
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    /// A request for a user gets an answer, whatever prevents the creation of the user's record.
    @Test func aUserWhoseRecordCantBeMadeIsNotFound() async throws {
        let engine = try SQLRecordEngine(folder: data)
        let database = try await engine.full(.public)
        try await database.save("before")
        _ = try await engine.full(.public, as: grace)
        disk.fail(.syncs, of: "-wal")
        let found = try await database.fetch(
            [RecordID(recordName: "before"), RecordID(recordName: grace.userRecordName)], desiredKeys: nil)
        #expect(disk.failed == 1)
        #expect(try found[0].get().recordID.recordName == "before")
        #expect(throws: RecordError.recordNotFound) { try found[1].get() }
        await engine.close()
    }

    /// An incomplete index build must neither be used nor be forgotten.
    @Test func anIndexBuildThatFailedIsDoneAnew() async throws {
        var engine = try await LargeStore.make(records: 8000, in: data)
        var database = try await engine.full(.private)
        try await database.edit(.setIndexes([], of: .custom("number"), in: "Item"))
        for round in 0..<3 {
            disk.fail(.writes, of: "-wal", after: 20 + round * 20, failing: nil, error: ENOSPC)
            let refused = await refusal {
                try await database.edit(.setIndexes([.queryable, .sortable], of: .custom("number"), in: "Item"))
            }
            #expect(refused?.code == .quotaExceeded)
            disk.heal()
            // Changed, deleted and new records while the index is incomplete.
            try await database.save("r00000010", in: LargeStore.zone, ["number": .int64(Int64(50_000 + round))])
            try await database.delete(Name("r0000002\(round)"), in: LargeStore.zone)
            try await database.save(Name("new\(round)"), in: LargeStore.zone, ["number": .int64(Int64(60_000 + round))])
            if round == 1 {
                await engine.close()
                engine = try SQLRecordEngine(folder: data)
                database = try await engine.full(.private)
            }
        }
        try await database.edit(.setIndexes([.queryable, .sortable], of: .custom("number"), in: "Item"))
        let sorted = try await database.all(
            Query(
                recordType: "Item", filters: [Query.Filter("number", .greaterThan, FieldInput(.int64(-1)))],
                sorts: [Query.Sort("number", ascending: true)]),
            in: .zone(LargeStore.zone))
        let there = try await database.pull(LargeStore.zone).changes.compactMap(\.record)
        #expect(sorted.count == 8000)
        #expect(Set(sorted.map(\.recordChangeTag)) == Set(there.map(\.recordChangeTag)))
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    /// Syncs can also fail during a checkpoint. The data in the log is safe, but the disk cannot be trusted any more.
    @Test(arguments: ["-wal", ".sqlite"])
    func afterAFailedSyncTheStoreIsReadOnlyUntilOpenedAnew(file: String) async throws {
        let engine = try SQLRecordEngine(
            folder: data, logLimits: WriteAheadLogLimits(checkpoint: 10, restart: 20), clock: Timestamp.now)
        let database = try await engine.withZone()
        disk.fail(.syncs, of: file)
        var acknowledged: [Name] = []
        var refused: RecordError?
        for number in 0..<200 where refused == nil {
            let name = Name("r\(number)")
            refused = await refusal { try await database.save(name, in: notes) }
            if refused == nil { acknowledged.append(name) }
        }
        #expect(disk.failed == 1)
        #expect(refused?.leavesOpen == true)
        #expect(await engine.health().first?.readOnlyBecause == refused)
        #expect(try await database.names(in: notes, of: acknowledged) == acknowledged)
        let later = await refusal { try await database.save("later", in: notes) }
        #expect(later == refused)
        await engine.close()
        let again = try SQLRecordEngine(folder: data)
        #expect(await again.health().allSatisfy { $0.readOnlyBecause == nil })
        let anew = try await again.full(.private)
        try await anew.save("anew", in: notes)
        #expect(try await anew.names(in: notes, of: acknowledged + ["later", "anew"]) == acknowledged + ["anew"])
        #expect(try await StoreRecount.problems(of: anew) == [])
        await again.close()
    }
}

extension RecordError {
    /// True if the error says what happened to the save.
    fileprivate var isClear: Bool {
        switch code {
        case .quotaExceeded: reason.contains("disk is full")
        case .internalError: leavesOpen || reason.contains("nothing was saved") || reason.contains("can't be")
        case .tryAgainLater: true
        default: false
        }
    }
}
