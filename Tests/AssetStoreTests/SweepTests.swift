import Foundation
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import AssetStore

@Suite struct SweepTests {
    @Test
    func whatNothingUsesIsRemovedAfterTheGraceTime() async throws {
        let fixture = try await AssetFixture()
        let (used, unused) = ([UInt8].text(5000, seed: 1), [UInt8].text(6000, seed: 2))
        try await fixture.save(used, as: "used")
        try await fixture.upload(unused, for: "unused")
        await fixture.store.compressor.finishWaiting()
        let bytes = try [unused].reduce(Int64(0)) {
            try $0 + Int64($1.count + Data(contentsOf: fixture.compressedURL(of: $1)).count)
        }
        // Within the hour of the receipt, and then within the grace time.
        for wait in [0, 3601, 80_000] {
            fixture.clock.advance(by: .seconds(wait))
            let sweep = try await fixture.store.sweep(graceTime: .seconds(86_400), dryRun: false)
            #expect(sweep.removed.isEmpty && sweep.waiting == 1)
        }
        fixture.clock.advance(by: .seconds(10_000))
        let dry = try await fixture.store.sweep(graceTime: .seconds(86_400), dryRun: true)
        #expect(dry.isDryRun && dry.waiting == 0)
        #expect(
            dry.removed == [
                AssetSweep.File(checksum: unused.checksum, name: AssetFolder.name(of: unused.checksum), bytes: bytes)
            ])
        #expect(try await fixture.allFiles().count == 4)
        let sweep = try await fixture.store.sweep(graceTime: .seconds(86_400), dryRun: false)
        #expect(sweep.removed == dry.removed && sweep.waiting == 0 && !sweep.isDryRun)
        #expect(try await fixture.allFiles().count == 2)
        #expect(try await fixture.store.ledger.entry(of: unused.checksum) == nil)
        #expect(try await fixture.open(used).bytes() == used)
        try await fixture.waitUntilFree(used)
        // The grace time of the other file begins when the record is deleted.
        try await fixture.database().delete("used")
        #expect(try await fixture.store.sweep(graceTime: .seconds(86_400), dryRun: false).waiting == 1)
        fixture.clock.advance(by: .seconds(90_000))
        #expect(try await fixture.store.sweep(graceTime: .seconds(86_400), dryRun: false).removed.count == 1)
        #expect(try await fixture.files() == [])
        await fixture.close()
    }

    @Test func whatIsBeingDownloadedStays() async throws {
        let fixture = try await AssetFixture()
        let bytes = [UInt8].text(5000)
        try await fixture.upload(bytes)
        var file: AssetFile? = try await fixture.open(bytes, .gzip)
        // A compression holds its file, too.
        await fixture.store.compressor.finishWaiting()
        fixture.clock.advance(by: .seconds(4000))
        for dryRun in [true, false] {
            let sweep = try await fixture.store.sweep(graceTime: .zero, dryRun: dryRun)
            #expect(sweep.removed.isEmpty && sweep.waiting == 1)
        }
        #expect(try file?.bytes().isEmpty == false)
        file = nil
        try await fixture.waitUntilFree(bytes)
        #expect(try await fixture.store.sweep(graceTime: .zero, dryRun: false).removed.count == 1)
        #expect(try await fixture.files() == [])
        await fixture.close()
    }

    @Test func straysAreRemovedAndForeignFilesAreNot() async throws {
        let fixture = try await AssetFixture()
        try await fixture.save([1], as: "record")
        let stray = [UInt8].random(100)
        let (path, compressed) = (fixture.url(of: stray), fixture.compressedURL(of: [5]))
        for file in [path, compressed, fixture.url(of: [1]).deletingLastPathComponent().appending(path: "notes.txt")] {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(stray).write(to: file)
        }
        let early = try await fixture.store.sweep(graceTime: .seconds(3600), dryRun: false)
        #expect(early.removed.isEmpty && early.waiting == 2)
        for dryRun in [true, false] {
            let sweep = try await fixture.store.sweep(graceTime: .seconds(-60), dryRun: dryRun)
            #expect(
                Set(sweep.removed.map(\.name)) == [
                    AssetFolder.name(of: stray.checksum), AssetFolder.name(of: [5].checksum),
                ])
            #expect(sweep.removedBytes == 200)
        }
        #expect(try await fixture.files().count == 2)
        await fixture.close()
    }

    @Test func aGraceTimeThatNoClockCanShow() async throws {
        let fixture = try await AssetFixture()
        try await fixture.upload([1, 2, 3])
        for seconds in [Int64.max, Int64.max / 1000, Int64.max / 1000 + 1] {
            let sweep = try await fixture.store.sweep(graceTime: .seconds(seconds), dryRun: false)
            #expect(sweep.removed.isEmpty && sweep.waiting == 1)
        }
        #expect(try await fixture.store.sweep(graceTime: .seconds(Int64.min), dryRun: false).removed.count == 1)
        await fixture.close()
    }

    /// A symbolic link to itself cannot be inspected.
    @Test func whatCanNotBeLookedAtKeepsNothingElse() async throws {
        let fixture = try await AssetFixture()
        let files = (0..<6).map { [UInt8].random(100, seed: UInt64($0)) }.sorted { $0.checksum < $1.checksum }
        for bytes in files { try await fixture.upload(bytes) }
        let stray = [UInt8].random(200)
        for bytes in [files[0], stray] {
            let url = fixture.url(of: bytes)
            try? FileManager.default.removeItem(at: url)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(at: url, withDestinationURL: url)
        }
        fixture.clock.advance(by: .seconds(4000))
        let verified = try await fixture.store.verify { _ in }
        #expect(
            Set(verified.problems.map { "\($0.kind) \($0.checksum)" }) == [
                "unreadable \(files[0].checksum)", "unreadable \(stray.checksum)",
            ])
        for dryRun in [true, false] {
            let error = await refusal { _ = try await fixture.store.sweep(graceTime: .zero, dryRun: dryRun) }
            #expect(
                error?.code == .internalError && error?.reason.contains("inspect") == true, "\(error?.reason ?? "")")
        }
        #expect(try await fixture.files() == [], "the others are gone")
        await fixture.close()
    }

    @Test func aFolderThatCanNotBeListedKeepsNothingElse() async throws {
        let fixture = try await AssetFixture()
        let bytes = [UInt8].random(100)
        try await fixture.upload(bytes)
        let free = AssetFolder.subfolder(bytes.checksum.bytes[0] ^ 1)
        try Data().write(to: fixture.assets.appending(path: free))
        fixture.clock.advance(by: .seconds(4000))
        let verified = try await fixture.store.verify { _ in }
        #expect(verified.problems.map { "\($0.kind) \($0.checksum)" } == ["unreadable \(free)"])
        let error = await refusal { _ = try await fixture.store.sweep(graceTime: .zero, dryRun: false) }
        #expect(
            error?.code == .internalError && error?.reason.contains("list the folder \(free)") == true,
            "\(error?.reason ?? "")")
        #expect(try await fixture.files() == [free])
        await fixture.close()
    }

    @Test func whatWasStruckOffByAnActThatFailedIsFoundAgain() async throws {
        let ledger = DoctoredLedger()
        let fixture = try await DoctoredLedger.store(ledger)
        _ = try await fixture.store.sweepAgain(graceTime: .zero)
        try await fixture.upload([1, 2, 3])
        ledger.refuse(RecordError(.internalError, "The answer was lost"), butEnter: true)
        #expect(
            await refusal { _ = try await fixture.store.sweepAgain(graceTime: .seconds(-7200)) }?.code == .internalError
        )
        #expect(ledger.entries.isEmpty)
        #expect(try await fixture.files().count == 1)
        ledger.refuse(nil)
        #expect(try await fixture.store.sweepAgain(graceTime: .seconds(-7200)).removed.count == 1)
        #expect(try await fixture.files() == [])
    }

    @Test func theServerSweepsNowAndThen() async throws {
        let fixture = try await AssetFixture()
        try await fixture.upload([1, 2, 3])
        fixture.clock.advance(by: .seconds(100_000))
        try await fixture.upload([4])
        let task = Task { [stores = fixture.stores] in await stores.sweepRegularly(every: .milliseconds(10)) }
        try await eventually { try await fixture.files().count < 2 }
        #expect(try await fixture.files().count == 1)
        fixture.clock.advance(by: .seconds(100_000))
        try await eventually { try await fixture.files().isEmpty }
        task.cancel()
        await task.value
        await fixture.close()
    }

    /// Uploads the same bytes during aggressive sweeps. Every acknowledged file exists, and a record can be saved with
    /// it.
    @Test(.timeLimit(.minutes(10)))
    func anUploadNeverLosesItsFileToASweep() async throws {
        let fixture = try await AssetFixture()
        let files = (0..<3).map { [UInt8].random(2000 + $0, seed: UInt64($0)) }
        let rounds = 600 / files.count * files.count
        let (removed, uploaded) = (Tally(), Tally())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while uploaded.count < rounds {
                    // A cutoff far in the future makes even new entries removable.
                    let sweep = try await fixture.store.sweepAgain(graceTime: .seconds(-7200))
                    removed.add(sweep.removed.count)
                    await Task.yield()
                }
            }
            for bytes in files {
                group.addTask {
                    for round in 0..<(rounds / files.count) {
                        try await Self.uploadAndOpen(bytes, round: round, fixture)
                        uploaded.add()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(removed.count > 20, "the sweep had something to do")
        #expect(try await fixture.files().filter { $0.hasPrefix("incoming") } == [])
        let result = try await fixture.store.verify { _ in }
        #expect(result.problems == [])
        await fixture.close()
    }

    private static func uploadAndOpen(_ bytes: [UInt8], round: Int, _ fixture: AssetFixture) async throws {
        try await fixture.upload(bytes)
        let entry = try await fixture.store.ledger.entry(of: bytes.checksum)
        do {
            let file = try await fixture.open(bytes)
            #expect(try file.bytes() == bytes, "round \(round)")
        } catch let error as RecordError where error.code == .notFound {
            // The sweep removed the file and its entry, because it saw no use.
        }
        // Checked while the file is held, so that no sweep intervenes. Every entry must have its file.
        let hold = await fixture.store.holds.hold(bytes.checksum)
        if try await fixture.store.ledger.entry(of: bytes.checksum) != nil {
            #expect(
                try fixture.store.folder.status(of: bytes.checksum)?.size == Int64(bytes.count),
                "round \(round), \(String(describing: entry))")
        }
        hold.release()
    }
}
