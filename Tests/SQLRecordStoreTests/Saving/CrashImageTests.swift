import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// Records every write and sync of concurrent savers, and then reconstructs the files as a crash at any moment may
/// leave them: unsynced data lost, torn or reordered. The store must open, and every save acknowledged before must
/// exist.
@Suite(.serialized, .enabled(if: WatchedFolder.isPossible, "calls can't be recorded here"))
struct CrashImageTests {
    private static let imagesOfOne = Chance.times(10)

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: Chance.seed...(Chance.seed &+ 3))
    func nothingAcknowledgedIsLost(seed: UInt64) async throws {
        let disk = watch("data")
        disk.record()
        // A single saver is deterministic; several savers are committed in groups.
        let workload = try await CrashWorkload.run(
            in: folder.url.appending(path: "data"), on: disk, seed: seed, savers: seed % 4 == 0 ? 1 : 4,
            editsSchema: seed % 2 == 1)
        #expect(workload.refusals == [], "seed \(seed)")
        #expect(disk.count(.syncs, of: ".sqlite") > 2, "the log was moved into the file more than once")
        for image in 0..<Self.imagesOfOne {
            let problems = try await problems(of: workload, on: disk, seed: seed, image: image)
            #expect(problems == [], "seed \(seed), image \(image)")
            if !problems.isEmpty { return }
        }
    }

    enum Lie: CaseIterable { case diskForgetsSyncs, storeDoesNotSync, storeSyncsLater }

    /// Proves that the tests above can detect a loss.
    @Test(arguments: Lie.allCases)
    func aStoreThatAcknowledgesBeforeTheSyncIsCaught(lie: Lie) async throws {
        let disk = watch("data")
        disk.record()
        let workload = try await CrashWorkload.run(
            in: folder.url.appending(path: "data"), on: disk, seed: 99, openings: 1
        ) { engine in
            let database = try await engine.full(.private)
            let store = try #require(database as? SQLDatabase).store
            // The first save creates the file.
            try await store.write { _, _ in }
            let pool = try store.pool
            switch lie {
            case .diskForgetsSyncs: disk.forgetSyncs()
            case .storeDoesNotSync:
                try await pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
            // The log is synced when it is checkpointed. Nothing is corrupted, but later acknowledged saves are lost.
            case .storeSyncsLater:
                try await pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
            }
        }
        var caught = 0
        // Few moments show a sync that comes too late, fewer on a busy machine.
        for image in 0..<40 where caught < 3 {
            if try await !problems(of: workload, on: disk, seed: 99, image: image).isEmpty { caught += 1 }
        }
        #expect(caught >= 3, "only \(caught) of 40 images show that syncs are missing")
    }

    private func watch(_ name: String) -> WatchedFolder {
        WatchedFolder(folder.url.appending(path: "\(name)/iCloud.com.example.Test"))
    }

    /// Creates and checks one image.
    private func problems(of workload: CrashWorkload, on disk: WatchedFolder, seed: UInt64, image: Int) async throws
        -> [String]
    {
        var random = SeededRandom(seed: seed &* 10_000 &+ UInt64(image))
        let acknowledged = workload.savers.values.joined().compactMap(\.acknowledgedAt)
        // Right after an acknowledgement, at any point, or sometimes while the store is created.
        let events =
            switch Int.random(in: 0..<8, using: &random) {
            case 0: Int.random(in: 0...(workload.zoneMadeAt ?? 0), using: &random)
            case 1...4: acknowledged.sorted().randomElement(using: &random) ?? 0
            default: Int.random(in: 0...disk.events, using: &random)
            }
        let manner = WatchedFolder.Manner.allCases[image % WatchedFolder.Manner.allCases.count]
        let copy = folder.url.appending(path: "image\(image)")
        let files = copy.appending(path: "iCloud.com.example.Test")
        let imageSeed = random.next()
        try disk.makeImage(after: events, manner, seed: imageSeed, in: files)
        let imageDisk = watch("image\(image)")
        let problems = await CrashCheck(workload: workload, events: events).problems(in: copy)
        withExtendedLifetime(imageDisk) {}
        try FileManager.default.removeItem(at: copy)
        return problems.map { "\(manner) after \(events) of \(disk.events) events, image seed \(imageSeed): \($0)" }
    }
}
