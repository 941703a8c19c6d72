import Foundation
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import AssetStore

/// Fails each disk call in turn: every fault gives a clear error, leaves no files, and the next attempt works.
@Suite(.serialized, .enabled(if: WatchedFolder.isPossible, "calls can't be made to fail here"))
struct DiskFaultTests {
    private static let calls: [WatchedFolder.Calls] = [.opens, .writes, .syncs, .renames, .newFolders, .folderSyncs]
    private static let errors = [ENOSPC, EIO]

    private static func code(of error: Int32) -> ServerErrorCode { error == ENOSPC ? .quotaExceeded : .internalError }

    @Test(arguments: calls, errors)
    func anUploadThatFailsLeavesNothing(calls: WatchedFolder.Calls, error: Int32) async throws {
        // The beginning of a JPEG file: it is not compressed afterwards, so every fault meets the upload.
        let bytes: [UInt8] = [0xFF, 0xD8, 0xFF] + .random(1_499_997)
        var places = 0
        while true {
            let ledger = DoctoredLedger()
            let fixture = try await DoctoredLedger.store(ledger)
            let disk = WatchedFolder(fixture.folder.url, below: true)
            disk.fail(calls, after: places, error: error)
            let refused = await refusal { try await fixture.upload(bytes) }
            let hasFailed = disk.failed > 0
            disk.heal()
            if !hasFailed {
                #expect(refused == nil)
                break
            }
            #expect(refused?.code == Self.code(of: error), "\(calls) \(places)")
            #expect(try await fixture.files() == [], "\(calls) \(places)")
            #expect(ledger.entries.isEmpty)
            try await fixture.upload(bytes)
            #expect(try await fixture.problems() == [])
            #expect(try await fixture.files().count == 1)
            places += 1
        }
        #expect(places > 0, "\(calls) can fail")
    }

    /// Uploads the same bytes again while records already use them.
    @Test(arguments: calls + [.reads], errors)
    func whatIsThereOutlivesAnUploadThatFails(calls: WatchedFolder.Calls, error: Int32) async throws {
        let bytes = [UInt8].random(600_000)
        let ledger = DoctoredLedger()
        let fixture = try await DoctoredLedger.store(ledger)
        let disk = WatchedFolder(fixture.folder.url, below: true)
        try await fixture.upload(bytes)
        var places = 0
        var hasFailed = true
        while hasFailed {
            disk.fail(calls, after: places, error: error)
            let refused = await refusal { try await fixture.upload(bytes) }
            hasFailed = disk.failed > 0
            disk.heal()
            if refused != nil { #expect(hasFailed && refused?.code == Self.code(of: error)) }
            #expect(try await fixture.problems() == [], "\(calls) \(places)")
            #expect(try await fixture.files().count == 1)
            places += 1
        }
    }

    @Test(arguments: [WatchedFolder.Calls.opens, .writes, .syncs, .renames, .truncates, .reads], errors)
    func aCompressionThatFailsLeavesNothing(calls: WatchedFolder.Calls, error: Int32) async throws {
        // Bytes that are worth compressing, and bytes that are not.
        for bytes in [[UInt8].text(400_000), .random(5000)] {
            let ledger = DoctoredLedger()
            let fixture = try await DoctoredLedger.store(ledger)
            try fixture.put(bytes)
            ledger.entries[bytes.checksum] = AssetEntry(
                checksum: bytes.checksum, size: Int64(bytes.count), useCount: 0,
                inUseUntil: Timestamp(milliseconds: .max))
            let ticket = DownloadTicket(
                checksum: bytes.checksum, size: Int64(bytes.count), expires: AssetTickets.downloadExpiry(.now()))
            let disk = WatchedFolder(fixture.folder.url, below: true)
            var places = 0
            var hasFailed = true
            while hasFailed {
                disk.fail(calls, after: places, error: error)
                var opened: AssetFile?
                do {
                    opened = try await fixture.store.open(ticket, coding: .gzip)
                } catch let refused as RecordError {
                    // The original file could not be opened.
                    #expect(refused.code == Self.code(of: error))
                }
                hasFailed = disk.failed > 0
                disk.heal()
                if let opened, opened.coding == .identity { #expect(try opened.bytes() == bytes) }
                #expect(try await fixture.files().filter { $0.contains("incoming") } == [], "\(calls) \(places)")
                let file = try await fixture.store.open(ticket, coding: .gzip)
                #expect((file.coding == .gzip) == (bytes.count > 5000), "\(calls) \(places)")
                let result = try await fixture.store.verify { _ in }
                #expect(result.problems == [])
                try FileManager.default.removeItem(atPath: fixture.store.folder.compressedPath(of: bytes.checksum))
                fixture.store.known.forget(bytes.checksum)
                places += 1
            }
        }
    }

    @Test func shortWritesAreGoneOnWith() async throws {
        let fixture = try await DoctoredLedger.store(DoctoredLedger())
        let disk = WatchedFolder(fixture.folder.url, below: true)
        disk.shortenWrites()
        for bytes in [[UInt8].random(300_000), .text(300_000)] {
            try await fixture.upload(bytes)
            await fixture.store.compressor.finishWaiting()
        }
        #expect(try await fixture.problems() == [])
    }

    @Test func aFileThatCannotBeRemovedIsReported() async throws {
        let ledger = DoctoredLedger()
        let fixture = try await DoctoredLedger.store(ledger)
        let disk = WatchedFolder(fixture.folder.url, below: true)
        for number in 1...3 { try await fixture.upload([UInt8].random(100 * number)) }
        // Files that are being compressed are not swept.
        #expect(try await fixture.files().count == 3)
        disk.fail(.removals, of: [UInt8].random(200).checksum.description, failing: nil)
        let refused = await refusal { _ = try await fixture.store.sweep(graceTime: .seconds(-7200), dryRun: false) }
        #expect(refused?.code == .internalError)
        #expect(try await fixture.files().count == 1)
        #expect(ledger.entries.isEmpty)
        disk.heal()
        // No record can refer to it any more. The next sweep removes it, including the automatic one.
        let sweep = try await fixture.store.sweepAgain(graceTime: .seconds(-7200))
        #expect(sweep.removed.map(\.checksum) == [[UInt8].random(200).checksum])
        #expect(try await fixture.files() == [])
    }

    // MARK: A ledger that refuses

    @Test func whatCanNotBeEnteredIsRemoved() async throws {
        let ledger = DoctoredLedger()
        let fixture = try await DoctoredLedger.store(ledger)
        ledger.refuse(RecordError(.quotaExceeded, "The disk is full"))
        let refused = await refusal { try await fixture.upload([1, 2, 3]) }
        #expect(refused?.code == .quotaExceeded)
        #expect(try await fixture.files() == [])
        // A file that was entered before stays.
        ledger.refuse(nil)
        try await fixture.upload([1, 2, 3])
        ledger.refuse(RecordError(.quotaExceeded, "The disk is full"))
        _ = await refusal { try await fixture.upload([1, 2, 3]) }
        #expect(try await fixture.files().count == 1)
        #expect(try await fixture.problems() == [])
    }

    /// After a failed sync it is unknown if the commit is durable, so the file must stay until that is known.
    @Test func whatMayBeEnteredStays() async throws {
        let ledger = DoctoredLedger()
        let fixture = try await DoctoredLedger.store(ledger)
        ledger.refuse(RecordError(.internalError, "The disk failed"))
        let refused = await refusal { try await fixture.upload([1, 2, 3]) }
        #expect(refused?.code == .internalError)
        #expect(try await fixture.files().count == 1)
        let sweeping = await refusal { _ = try await fixture.store.sweep(graceTime: .seconds(-60), dryRun: false) }
        #expect(sweeping?.code == .internalError)
        #expect(try await fixture.files().count == 1)
        ledger.refuse(nil)
        #expect(try await fixture.store.sweep(graceTime: .seconds(-60), dryRun: false).removed.count == 1)
        #expect(try await fixture.files() == [])
    }
}
