import Foundation
import RecordStore
import Records
import SQLRecordStore
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import AssetStore

/// Records every disk call, and then reconstructs the files as a crash at any moment may leave
/// them, with unsynced data lost or torn. Every file that was acknowledged by then must exist.
@Suite(.serialized, .enabled(if: WatchedFolder.isPossible, "calls can't be recorded here"))
struct CrashTests {
    /// The ranges of disk calls during which a file was entered in the ledger.
    private final class Notes: Sendable {
        struct Entry {
            var entry: AssetEntry
            var from: Int
            var to = Int.max
        }

        let entries = Mutex<[Entry]>([])

        func entries(at events: Int) -> [FileChecksum: AssetEntry] {
            var found: [FileChecksum: AssetEntry] = [:]
            for note in entries.withLock({ $0 }) where note.from <= events && events < note.to {
                found[note.entry.checksum] = note.entry
            }
            return found
        }
    }

    private enum Lie: CaseIterable { case none, diskForgetsSyncs, storeEntersEarly }

    private static func workload(
        _ fixture: DoctoredLedger.Store, _ ledger: DoctoredLedger, on disk: WatchedFolder, _ lie: Lie
    ) async throws -> Notes {
        let notes = Notes()
        if lie == .diskForgetsSyncs { disk.forgetSyncs() }
        func note(_ bytes: [UInt8], at events: Int) {
            let entry = AssetEntry(
                checksum: bytes.checksum, size: Int64(bytes.count), useCount: 0,
                inUseUntil: Timestamp(milliseconds: .max))
            notes.entries.withLock { $0.append(Notes.Entry(entry: entry, from: events)) }
        }
        for (number, size) in [0, 700, 150_000, 700, 600_000, 3000].enumerated() {
            let bytes = size == 3000 ? [UInt8].text(size) : .random(size, seed: UInt64(size))
            let before = disk.events
            try await fixture.upload(bytes)
            note(bytes, at: lie == .storeEntersEarly ? before : disk.events)
            await fixture.store.compressor.finishWaiting()
            guard number == 3 else { continue }
            // A sweep in between: struck off first, then removed.
            let struck = disk.events
            ledger.entries[bytes.checksum]?.inUseUntil = Timestamp(milliseconds: 0)
            _ = try await fixture.store.sweep(graceTime: .zero, dryRun: false)
            notes.entries.withLock { entries in
                for index in entries.indices where entries[index].entry.checksum == bytes.checksum {
                    entries[index].to = min(entries[index].to, struck)
                }
            }
        }
        return notes
    }

    /// Checks every moment, with all unsynced data lost, and with another kind of loss.
    private static func problems(_ lie: Lie) async throws -> [String] {
        let ledger = DoctoredLedger()
        let fixture = try await DoctoredLedger.store(ledger)
        let disk = WatchedFolder(fixture.folder.url, below: true)
        disk.record()
        let notes = try await workload(fixture, ledger, on: disk, lie)
        var problems: [String] = []
        // A disk that ignores syncs is detected with fewer crash points.
        for events in stride(from: 0, through: disk.events, by: lie == .none ? 1 : 3) {
            let other = WatchedFolder.Manner.allCases[1 + events % 4]
            for manner in lie == .none ? [.losesAll, other] : [.losesAll] {
                let image = try TemporaryFolder()
                try disk.makeImage(after: events, manner, seed: UInt64(events), in: image.url)
                let ledger = DoctoredLedger()
                ledger.entries = notes.entries(at: events)
                let store = try await AssetStore(
                    folder: image.url.appending(path: "data"), ledger: ledger, sizeLimit: 64 << 20,
                    threads: fixture.store.threads,
                    clock: Timestamp.now)
                let result = try await store.verify { _ in }
                problems += result.problems.map { "after \(events) calls, \(manner): \($0.explanation)" }
                let incoming = image.url.appending(path: "data/incoming").path(percentEncoded: false)
                if let left = try? FileManager.default.contentsOfDirectory(atPath: incoming), !left.isEmpty {
                    problems.append("after \(events) calls, \(manner): \(left.count) unfinished files are left")
                }
            }
        }
        return problems
    }

    @Test func whatIsEnteredIsThere() async throws {
        #expect(try await Self.problems(.none) == [])
    }

    /// Proves that the tests above can detect a loss.
    @Test func storesAndDisksThatLieAreCaught() async throws {
        for lie in Lie.allCases where lie != .none {
            #expect(try await !Self.problems(lie).isEmpty, "\(lie)")
        }
    }

    // MARK: With the database

    private static let rounds = Chance.times(15)

    private struct Acknowledged: Sendable {
        let checksum: FileChecksum
        let events: Int
    }

    /// After a crash during uploads, saves, deletions and sweeps, no referenced and no acknowledged file may be
    /// missing.
    @Test func noRecordRefersToBytesThatAreGone() async throws {
        let folder = try TemporaryFolder()
        let disk = WatchedFolder(folder.url, below: true)
        disk.record()
        let saved = try await Self.work(in: folder, on: disk)
        var random = SeededRandom(seed: 4)
        for round in 0..<Self.rounds {
            let events = round == 0 ? disk.events : Int.random(in: 0...disk.events, using: &random)
            let manner = try #require(WatchedFolder.Manner.allCases.randomElement(using: &random))
            let image = try TemporaryFolder()
            try disk.makeImage(after: events, manner, seed: UInt64(round), in: image.url)
            let fixture = try await AssetFixture(in: image)
            let result = try await fixture.store.verify { _ in }
            #expect(result.problems == [], "after \(events) calls, \(manner), round \(round)")
            for acknowledged in saved where acknowledged.events <= events {
                let entry = try await fixture.store.ledger.entry(of: acknowledged.checksum)
                #expect(entry?.useCount == 1, "after \(events) calls, \(manner), round \(round)")
            }
            // The store keeps working.
            try await fixture.save([UInt8].random(500, seed: 99), as: "new")
            _ = try await fixture.store.sweep(graceTime: .seconds(-7200), dryRun: false)
            #expect(try await fixture.store.verify { _ in }.problems == [])
            await fixture.close()
        }
    }

    private static func work(in folder: TemporaryFolder, on disk: WatchedFolder) async throws -> [Acknowledged] {
        let fixture = try await AssetFixture(in: folder)
        var saved: [Acknowledged] = []
        for number in 0..<24 {
            let bytes = number % 3 == 0 ? [UInt8].text(3000 + number) : .random(2000 * number, seed: UInt64(number))
            let name = Name("record \(number)")
            try await fixture.save(bytes, as: name)
            switch number % 4 {
            case 0: saved.append(Acknowledged(checksum: bytes.checksum, events: disk.events))
            case 1: try await fixture.database().delete(name)
            case 2: try await fixture.upload(bytes, for: "again")
            default: _ = try await fixture.store.sweep(graceTime: .seconds(-7200), dryRun: false)
            }
            if number % 4 == 3 { saved.append(Acknowledged(checksum: bytes.checksum, events: disk.events)) }
        }
        await fixture.store.compressor.finishWaiting()
        await fixture.close()
        return saved
    }
}
