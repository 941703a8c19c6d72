import AssetStore
import Foundation
import NIOCore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import AssetStore

@Suite struct CompressionTests {
    @Test func textIsCompressedAfterTheUpload() async throws {
        let fixture = try await AssetFixture()
        let bytes = [UInt8].text(10 << 20)
        try await fixture.upload(bytes)
        await fixture.store.compressor.finishWaiting()
        let file = try await fixture.open(bytes, .gzip)
        #expect(file.coding == .gzip)
        #expect(file.identitySize == Int64(bytes.count))
        #expect(file.size < file.identitySize / 2)
        #expect(try inflated(file.bytes()) == bytes)
        #expect(try await fixture.open(bytes).bytes() == bytes, "the file itself is still there")
        #expect(try await fixture.allFiles().count == 2)
        await fixture.close()
    }

    @Test func theSameBytesBecomeTheSameCompressedForm() async throws {
        var forms: Set<[UInt8]> = []
        for _ in 0..<2 {
            let fixture = try await AssetFixture()
            let bytes = [UInt8].text(1 << 20)
            try await fixture.upload(bytes)
            forms.insert(try await fixture.open(bytes, .gzip).bytes())
            await fixture.close()
        }
        let form = try #require(forms.first)
        #expect(forms.count == 1)
        #expect(Array(form.prefix(10)) == [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3], "no time, no name")
    }

    @Test func smallFilesAreCompressedOnDemand() async throws {
        let folder = try TemporaryFolder()
        let fixture = try await AssetFixture(in: folder)
        let bytes = [UInt8].text(1 << 20)
        try await fixture.upload(bytes)
        await fixture.store.compressor.finishWaiting()
        try FileManager.default.removeItem(at: fixture.compressedURL(of: bytes))
        let files = try await withThrowingTaskGroup(of: AssetFile.self) { group in
            for _ in 0..<20 { group.addTask { try await fixture.open(bytes, .gzip) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for file in files { #expect(try file.coding == .gzip && inflated(file.bytes()) == bytes) }
        #expect(try await fixture.allFiles().count == 2)
        await fixture.close()
    }

    @Test func largeFilesAreCompressedInTheBackground() async throws {
        let fixture = try await AssetFixture()
        let bytes = [UInt8].text(Int(Compressor.promptLimit) + 1)
        try await fixture.upload(bytes)
        await fixture.store.compressor.finishWaiting()
        try FileManager.default.removeItem(at: fixture.compressedURL(of: bytes))
        let first = try await fixture.open(bytes, .gzip)
        #expect(try first.coding == .identity && first.bytes() == bytes)
        await fixture.store.compressor.finishWaiting()
        #expect(try await fixture.open(bytes, .gzip).coding == .gzip)
        await fixture.close()
    }

    @Test func whatWouldHardlyBecomeSmallerIsNotCompressed() async throws {
        let fixture = try await AssetFixture()
        for size in [5000, 10 << 20] {
            let bytes = [UInt8].random(size)
            try await fixture.upload(bytes)
            await fixture.store.compressor.finishWaiting()
            let file = try await fixture.open(bytes, .gzip)
            #expect(try file.coding == .identity && file.bytes() == bytes)
            #expect(
                try Data(contentsOf: fixture.compressedURL(of: bytes)) == Data(), "the mark that it is not worth it")
            #expect(try await fixture.store.facts(of: bytes.checksum).compressedSize == nil)
        }
        await fixture.close()
    }

    @Test func typesThatAreCompressedAlreadyAreNotTried() async throws {
        let fixture = try await AssetFixture()
        let image = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 0, count: 100_000)
        let tiny = Array("{}".utf8)
        for bytes in [image, tiny, []] {
            try await fixture.upload(bytes)
            await fixture.store.compressor.finishWaiting()
            #expect(try await fixture.open(bytes, .gzip).coding == .identity)
            #expect(
                !FileManager.default.fileExists(atPath: fixture.compressedURL(of: bytes).path(percentEncoded: false)))
        }
        await fixture.close()
    }

    @Test func aCompressedFormThatIsNotWholeIsMadeAnew() async throws {
        let folder = try TemporaryFolder()
        let bytes = [UInt8].text(100_000)
        let before = try await AssetFixture(in: folder)
        try await before.save(bytes, as: "record")
        await before.store.compressor.finishWaiting()
        await before.close()
        let whole = try Data(contentsOf: before.compressedURL(of: bytes))
        try whole.dropLast(100).write(to: before.compressedURL(of: bytes))
        let after = try await AssetFixture(in: folder)
        #expect(try await after.open(bytes, .gzip).bytes() == Array(whole))
        // A complete compressed form is not made again.
        let made =
            try FileManager.default.attributesOfItem(
                atPath: after.compressedURL(of: bytes).path(percentEncoded: false))[.systemFileNumber] as? Int
        after.store.known.forget(bytes.checksum)
        try await after.upload(bytes)
        await after.store.compressor.finishWaiting()
        let kept =
            try FileManager.default.attributesOfItem(
                atPath: after.compressedURL(of: bytes).path(percentEncoded: false))[.systemFileNumber] as? Int
        #expect(made == kept)
        await after.close()
    }

    @Test func noFormIsKeptOfDamagedBytes() async throws {
        let fixture = try await AssetFixture()
        let bytes = [UInt8].text(100_000)
        var damaged = bytes
        damaged[50_000] ^= 1
        try await fixture.upload(bytes)
        await fixture.store.compressor.finishWaiting()
        try FileManager.default.removeItem(at: fixture.compressedURL(of: bytes))
        try Data(damaged).write(to: fixture.url(of: bytes))
        fixture.store.known.forget(bytes.checksum)
        #expect(try await fixture.open(bytes, .gzip).coding == .identity)
        #expect(try await fixture.allFiles().count == 1)
        try await fixture.upload(bytes)
        let file = try await fixture.open(bytes, .gzip)
        #expect(try file.coding == .gzip && inflated(file.bytes()) == bytes)
        await fixture.close()
    }

    @Test func theUploadThatMendsAFileMendsItsForm() async throws {
        let (fixture, other) = (try await AssetFixture(), try await AssetFixture())
        let bytes = [UInt8].text(100_000)
        var damaged = bytes
        damaged[50_000] ^= 1
        for (fixture, bytes) in [(fixture, bytes), (other, damaged)] {
            try await fixture.upload(bytes)
            await fixture.store.compressor.finishWaiting()
        }
        // As if the file had been damaged before it was compressed.
        try Data(contentsOf: other.compressedURL(of: damaged)).write(to: fixture.compressedURL(of: bytes))
        try Data(damaged).write(to: fixture.url(of: bytes))
        let before = try await fixture.open(bytes, .gzip)
        #expect(try inflated(before.bytes()) == damaged)
        try await fixture.upload(bytes)
        let after = try await fixture.open(bytes, .gzip)
        #expect(try after.coding == .gzip && inflated(after.bytes()) == bytes)
        #expect(try await fixture.store.verify { _ in }.problems == [])
        await other.close()
        await fixture.close()
    }

    @Test func closingEndsTheWork() async throws {
        let fixture = try await AssetFixture(sizeLimit: 1 << 30)
        for number in 1...5 { try await fixture.upload([UInt8].text(4 << 20, seed: UInt64(number)), for: "large") }
        await fixture.close()
        #expect(try await fixture.allFiles().filter { $0.hasPrefix("incoming") } == [])
    }

    private func inflated(_ bytes: [UInt8]) throws -> [UInt8] {
        let inflater = try Inflater()
        var (input, result) = (ByteBuffer(bytes: bytes), ByteBuffer())
        while try inflater.inflate(&input, into: &result, atMost: 1 << 20) == 1 << 20 {}
        return inflater.isComplete ? Array(result.readableBytesView) : []
    }
}
