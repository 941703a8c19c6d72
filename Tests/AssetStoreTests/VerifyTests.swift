import Foundation
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import AssetStore

@Suite struct VerifyTests {
    @Test
    func aSoundStoreHasNoProblems() async throws {
        let fixture = try await AssetFixture()
        for number in 0..<20 {
            try await fixture.save([UInt8].text(1000 * number, seed: UInt64(number)), as: Name("record \(number)"))
        }
        try await fixture.upload([1, 2, 3])
        fixture.clock.advance(by: .seconds(4000))
        await fixture.store.compressor.finishWaiting()
        let result = try await fixture.store.verify { _ in }
        #expect(result.problems == [])
        #expect(result.filesDone == 21 && result.filesTotal == 21 && result.referencesDone == 20)
        #expect(result.bytesDone == 190_003 && result.bytesTotal == 190_003)
        #expect(result.unusedFiles == 1 && result.unusedBytes == 3)
        await fixture.close()
    }

    @Test func everyDamageIsFound() async throws {
        let fixture = try await AssetFixture()
        let files = (0..<6).map { [UInt8].text(50_000, seed: UInt64($0)) }
        for (number, bytes) in files.enumerated() { try await fixture.save(bytes, as: Name("record \(number)")) }
        await fixture.store.compressor.finishWaiting()
        try FileManager.default.removeItem(at: fixture.url(of: files[0]))
        var changed = files[1]
        changed[25_000] ^= 1
        try Data(changed).write(to: fixture.url(of: files[1]))
        try Data(files[2].dropLast()).write(to: fixture.url(of: files[2]))
        var form = try Data(contentsOf: fixture.compressedURL(of: files[3]))
        form[form.count / 2] ^= 1
        try form.write(to: fixture.compressedURL(of: files[3]))
        try Data(contentsOf: fixture.compressedURL(of: files[5])).write(to: fixture.compressedURL(of: files[4]))
        let result = try await fixture.store.verify { _ in }
        let found = Set(result.problems.map { "\($0.kind) \($0.checksum)" })
        #expect(
            found == [
                "missing \(files[0].checksum)", "changed \(files[1].checksum)", "changed \(files[2].checksum)",
                "compressedFormChanged \(files[3].checksum)", "compressedFormChanged \(files[4].checksum)",
            ])
        #expect(result.problems.allSatisfy { $0.explanation.contains($0.checksum) })
        #expect(result.filesDone == 6 && result.bytesDone == 300_000)
        // The recommended repairs work.
        for bytes in files.prefix(3) { try await fixture.upload(bytes) }
        for bytes in files[3...4] { try FileManager.default.removeItem(at: fixture.compressedURL(of: bytes)) }
        let mended = try await fixture.store.verify { _ in }
        #expect(mended.problems == [])
        await fixture.close()
    }

    @Test(.enabled(if: WatchedFolder.isPossible))
    func aFileThatCanNotBeRead() async throws {
        let fixture = try await AssetFixture()
        let disk = WatchedFolder(fixture.assets, below: true)
        let (sound, broken) = ([UInt8].random(1000, seed: 1), [UInt8].random(1000, seed: 2))
        try await fixture.save(sound, as: "sound")
        try await fixture.save(broken, as: "broken")
        disk.fail(.reads, of: AssetFolder.name(of: broken.checksum), failing: nil)
        let result = try await fixture.store.verify { _ in }
        #expect(result.problems.map(\.kind) == [.unreadable])
        #expect(result.problems.map(\.checksum) == [broken.checksum.description])
        await fixture.close()
    }

    @Test func straysAreCounted() async throws {
        let fixture = try await AssetFixture()
        try await fixture.save([1], as: "record")
        let stray = [UInt8].random(100)
        try FileManager.default.createDirectory(
            at: fixture.url(of: stray).deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(stray).write(to: fixture.url(of: stray))
        let result = try await fixture.store.verify { _ in }
        #expect(result.problems == [] && result.unusedFiles == 1 && result.unusedBytes == 100)
        await fixture.close()
    }

    @Test func recordsAreHeldAgainstTheEntries() async throws {
        let ledger = DoctoredLedger()
        let fixture = try await DoctoredLedger.store(ledger)
        let use = AssetUse(
            isPublic: false, zoneID: .default, recordName: "record", recordType: "Item", fieldName: "file")
        let (sound, other) = ([UInt8].random(10).checksum, [UInt8].random(11).checksum)
        func recorded(_ text: String, size: Int64 = 10, counted: Bool = true) -> RecordedAsset {
            RecordedAsset(use: use, asset: Asset(fileChecksum: text, size: size), isCounted: counted)
        }
        ledger.entries[sound] = AssetEntry(
            checksum: sound, size: 10, useCount: 1, inUseUntil: Timestamp(milliseconds: 0))
        try fixture.put([UInt8].random(10))
        ledger.recorded = [recorded(sound.description)]
        #expect(try await fixture.problems() == [])
        ledger.recorded = [recorded("not ours"), recorded(other.description), recorded(sound.description)]
        #expect(try await fixture.problems() == [.notEntered, .notEntered])
        ledger.recorded = [recorded(sound.description, size: 9)]
        #expect(try await fixture.problems() == [.changed])
        ledger.recorded = [recorded(sound.description), recorded(sound.description, counted: false)]
        #expect(try await fixture.problems() == [.miscounted])
        ledger.recorded = []
        #expect(try await fixture.problems() == [.miscounted])
        // Two references in one field count as one use.
        ledger.recorded = [recorded(sound.description), recorded(sound.description)]
        #expect(try await fixture.problems() == [])
    }

    @Test func progressIsReportedNowAndThen() async throws {
        let fixture = try await AssetFixture()
        for number in 0..<4 {
            try await fixture.save([UInt8](repeating: UInt8(number), count: 16 << 20), as: Name("record \(number)"))
        }
        let told = Mutex<[AssetVerification]>([])
        let start = ContinuousClock.now
        let result = try await fixture.store.verify { progress in told.withLock { $0.append(progress) } }
        let time = (ContinuousClock.now - start) / .seconds(1)
        let all = told.withLock { $0 }
        #expect(all.last == result)
        #expect(all.count <= Int(time * 10) + 2)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.bytesDone <= $1.bytesDone && $0.filesDone <= $1.filesDone })
        #expect(all.allSatisfy { $0.bytesDone <= $0.bytesTotal && $0.filesDone <= $0.filesTotal })
        await fixture.close()
    }

    @Test func savesAndUploadsMayGoOn() async throws {
        let fixture = try await AssetFixture()
        let saved = Tally()
        let rounds = 150
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 0..<rounds {
                    try await fixture.save(
                        [UInt8].text(3000, seed: UInt64(number % 40)), as: Name("record \(number % 30)"))
                    if number % 7 == 0 { try await fixture.database().delete(Name("record \(number % 30)")) }
                    saved.add()
                }
            }
            group.addTask {
                while saved.count < rounds {
                    let result = try await fixture.store.verify { _ in }
                    #expect(result.problems == [])
                }
            }
            try await group.waitForAll()
        }
        await fixture.close()
    }

    @Test func noSweepMeanwhile() async throws {
        let fixture = try await AssetFixture()
        try await fixture.save([UInt8](repeating: 1, count: 32 << 20), as: "record")
        let told = Tally()
        _ = try await fixture.store.verify { [store = fixture.store] _ in
            told.add()
            if told.count > 1 { return }
            let error = await refusal { _ = try await store.sweep(graceTime: .zero, dryRun: false) }
            #expect(error?.code == .tryAgainLater)
            #expect(await refusal { _ = try await store.sweep(graceTime: .zero, dryRun: true) } == nil)
        }
        #expect(await refusal { _ = try await fixture.store.sweep(graceTime: .zero, dryRun: false) } == nil)
        await fixture.close()
    }
}
