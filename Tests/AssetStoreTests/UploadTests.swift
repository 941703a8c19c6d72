import Foundation
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import AssetStore

@Suite struct UploadTests {
    @Test
    func whatIsUploadedIsStoredAndCanBeSaved() async throws {
        let fixture = try await AssetFixture()
        let bytes = [UInt8].random(300_000)
        let asset = try await fixture.upload(bytes, named: "photo.raw", declaring: 300_000)
        #expect(asset.fileChecksum == bytes.checksum.description)
        #expect(asset.size == 300_000)
        #expect(asset.fileName == "photo.raw")
        #expect(
            asset.wrappingKey != nil && asset.referenceChecksum != nil && asset.wrappingKey != asset.referenceChecksum)
        #expect(try Array(Data(contentsOf: fixture.url(of: bytes))) == bytes)
        #expect(try await fixture.store.ledger.entry(of: bytes.checksum)?.size == 300_000)
        try await fixture.database().save("record", ["file": .asset(asset)])
        #expect(try await fixture.store.ledger.entry(of: bytes.checksum)?.useCount == 1)
        let file = try await fixture.open(bytes)
        #expect(try file.bytes() == bytes)
        #expect(abs(Double(file.modified) - Date().timeIntervalSince1970) < 60)
        await fixture.close()
    }

    @Test(arguments: [0, 1, 2, 4095, 4096, 65_535, 524_287, 524_288, 524_289, 1_048_576, 3_000_001, 9_000_000])
    func everySizeComesBack(size: Int) async throws {
        let fixture = try await AssetFixture()
        var random = SeededRandom(seed: UInt64(size))
        let bytes = [UInt8].random(size, seed: UInt64(size))
        for parts in [
            Int.random(in: 1000...10_000, using: &random), 65_536, Int.random(in: 400_000...2_000_000, using: &random),
        ] {
            let asset = try await fixture.upload(bytes, parts: parts, declaring: Int64(size))
            #expect(asset.size == Int64(size))
            #expect(asset.fileChecksum == bytes.checksum.description)
            #expect(try await fixture.open(bytes).bytes() == bytes)
        }
        #expect(try await fixture.files() == [AssetFolder.name(of: bytes.checksum)])
        await fixture.close()
    }

    @Test func aReceiptIsGoodForTheSlotOfTheTicket() async throws {
        let fixture = try await AssetFixture()
        let asset = try await fixture.upload([1, 2, 3], for: "mine")
        let receipt = try #require(fixture.store.ledger.tickets.openReceipt(asset.receipt ?? ""))
        #expect(receipt.checksum == [1, 2, 3].checksum)
        #expect(receipt.size == 3)
        let life = receipt.expires.milliseconds - fixture.clock.now().milliseconds
        #expect(life > AssetTickets.receiptLifetime - 60_000 && life <= AssetTickets.receiptLifetime)
        #expect(try await fixture.store.ledger.entry(of: [1, 2, 3].checksum)?.inUseUntil == receipt.expires)
        let elsewhere = await refusal { try await fixture.database().save("other", ["file": .asset(asset)]) }
        #expect(elsewhere != nil)
        await fixture.close()
    }

    @Test func theSameBytesAreStoredOnce() async throws {
        let fixture = try await AssetFixture()
        let bytes = [UInt8].random(100_000)
        try await fixture.upload(bytes, for: "first")
        let old = Date(timeIntervalSinceNow: -3600)
        try FileManager.default.setAttributes(
            [.modificationDate: old], ofItemAtPath: fixture.url(of: bytes).path(percentEncoded: false))
        try await fixture.upload(bytes, for: "second")
        #expect(try await fixture.files() == [AssetFolder.name(of: bytes.checksum)])
        #expect(
            abs(Double(try await fixture.open(bytes).modified) - old.timeIntervalSince1970) < 2,
            "the file that was there is kept")
        await fixture.close()
    }

    @Test(arguments: [[UInt8](), [9, 9, 9, 9], [1, 2, 3, 4, 5]])
    func anUploadMendsAFileThatWasDamaged(damage: [UInt8]) async throws {
        let fixture = try await AssetFixture()
        try await fixture.upload([1, 2, 3, 4])
        try Data(damage).write(to: fixture.url(of: [1, 2, 3, 4]))
        try await fixture.upload([1, 2, 3, 4])
        #expect(try await fixture.open([1, 2, 3, 4]).bytes() == [1, 2, 3, 4])
        #expect(try await fixture.files().count == 1)
        await fixture.close()
    }

    // MARK: Refusals

    @Test func aTicketThatIsNotOurs() async throws {
        let fixture = try await AssetFixture()
        let ticket = try await fixture.ticket()
        for wrong in ["", "nonsense", String(ticket.dropLast()), String(ticket.reversed())] {
            let error = await refusal {
                _ = try await fixture.store.receive(
                    AssetFixture.body([1]), ticket: wrong, fileName: nil, declaredSize: nil)
            }
            #expect(error?.code == .notFound, "\(wrong)")
        }
        await fixture.close()
    }

    @Test func aTicketWhoseTimeIsOver() async throws {
        let fixture = try await AssetFixture()
        let ticket = try await fixture.ticket()
        let body = CountedBody(parts: 10, of: 10)
        fixture.clock.advance(by: .seconds(15 * 60))
        await #expect(throws: AssetTicketExpired.self) {
            try await fixture.store.receive(body, ticket: ticket, fileName: nil, declaredSize: 100)
        }
        #expect(body.taken == 0)
        await fixture.close()
    }

    @Test func whatSaysThatItIsTooLargeIsNotRead() async throws {
        let fixture = try await AssetFixture(sizeLimit: 1000)
        let body = CountedBody(parts: 101, of: 10)
        let ticket = try await fixture.ticket()
        let error = await refusal {
            _ = try await fixture.store.receive(body, ticket: ticket, fileName: nil, declaredSize: 1001)
        }
        #expect(error?.code == .quotaExceeded)
        #expect(error?.reason.contains("1000 bytes") == true)
        #expect(body.taken == 0)
        #expect(try await fixture.files() == [])
        await fixture.close()
    }

    @Test func whatTurnsOutToBeTooLargeIsNotReadToItsEnd() async throws {
        let fixture = try await AssetFixture(sizeLimit: 5 << 20)
        let body = CountedBody(parts: 1_000_000, of: 64 << 10)
        let ticket = try await fixture.ticket()
        let error = await refusal {
            _ = try await fixture.store.receive(body, ticket: ticket, fileName: nil, declaredSize: nil)
        }
        #expect(error?.code == .quotaExceeded)
        #expect(body.taken <= 82)
        #expect(try await fixture.files() == [])
        let exact = try await fixture.upload([UInt8](repeating: 1, count: 5 << 20))
        #expect(exact.size == 5 << 20)
        await fixture.close()
    }

    @Test(arguments: [99, 101, 0])
    func aBodyOfAnotherSizeThanItSays(size: Int64) async throws {
        let fixture = try await AssetFixture()
        let error = await refusal { try await fixture.upload([UInt8](repeating: 1, count: 100), declaring: size) }
        #expect(error?.code == .badRequest)
        #expect(try await fixture.files() == [])
        await fixture.close()
    }

    struct Broken: Error {}

    @Test(arguments: [0, 1, 7, 8, 9, 40])
    func aBodyThatBreaksOffLeavesNothing(parts: Int) async throws {
        let fixture = try await AssetFixture()
        let ticket = try await fixture.ticket()
        let body = CountedBody(parts: parts, of: 64 << 10, then: Broken())
        await #expect(throws: Broken.self) {
            try await fixture.store.receive(body, ticket: ticket, fileName: nil, declaredSize: nil)
        }
        #expect(try await fixture.files() == [])
        // The ticket is valid.
        let asset = try await fixture.store.receive(
            AssetFixture.body([1]), ticket: ticket, fileName: nil, declaredSize: nil)
        #expect(asset.size == 1)
        await fixture.close()
    }

    @Test func anUploadThatIsCancelledLeavesNothing() async throws {
        let fixture = try await AssetFixture()
        let ticket = try await fixture.ticket()
        for parts in [0, 1, 20] {
            let asked = Mutex(0)
            let body = AsyncStream {
                let number = asked.withLock { asked in
                    asked += 1
                    return asked
                }
                if number <= parts { return ByteBuffer(repeating: 7, count: 64 << 10) }
                // Ends when it is cancelled.
                try? await Task.sleep(for: .seconds(600))
                return nil
            }
            let task = Task { [store = fixture.store] in
                try await store.receive(body, ticket: ticket, fileName: nil, declaredSize: nil)
            }
            try await eventually { asked.withLock { $0 } > parts }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await fixture.files() == [])
        }
        await fixture.close()
    }

    @Test func namesAreMadeSafe() async throws {
        let fixture = try await AssetFixture()
        #expect(try await fixture.upload([1], named: "../../etc/passwd").fileName == ".._.._etc_passwd")
        #expect(try await fixture.upload([1], named: "in\u{202E}gpj.exe\r\n").fileName == "ingpj.exe")
        #expect(try await fixture.upload([1], named: "").fileName == nil)
        #expect(try await fixture.upload([1], named: nil).fileName == nil)
        await fixture.close()
    }

    // MARK: Leftovers

    @Test
    func whatAKilledProcessLeftIsRemoved() async throws {
        let folder = try TemporaryFolder()
        let before = try await AssetFixture(in: folder)
        try await before.upload([1, 2, 3])
        await before.close()
        let incoming = before.assets.appending(path: "incoming")
        try Data([1, 2]).write(to: incoming.appending(path: "half"))
        try Data([1, 2]).write(to: incoming.appending(path: "other"))
        let after = try await AssetFixture(in: folder)
        #expect(try await after.files() == [AssetFolder.name(of: [1, 2, 3].checksum)])
        await after.close()
    }

    @Test func nothingIsMadeUntilSomethingIsUploaded() async throws {
        let fixture = try await AssetFixture()
        #expect(!FileManager.default.fileExists(atPath: fixture.assets.path(percentEncoded: false)))
        let unknown = try #require(ContainerID("iCloud.com.example.Unknown"))
        #expect(try await fixture.stores.existingStore(unknown, .development) == nil)
        #expect(try await fixture.engine.require(.listContainers).containers().isEmpty)
        #expect(try await fixture.stores.existingStore(address(.private).container, .development) === fixture.store)
        await fixture.close()
    }

    @Test func aClosedStoreSaysSo() async throws {
        let fixture = try await AssetFixture()
        try await fixture.upload([1])
        let ticket = try await fixture.ticket()
        await fixture.stores.close()
        let uploading = await refusal {
            _ = try await fixture.store.receive(
                AssetFixture.body([1]), ticket: ticket, fileName: nil, declaredSize: nil)
        }
        let opening = await refusal { _ = try await fixture.open([1]) }
        let address = try address(.private)
        let asking = await refusal { _ = try await fixture.stores.store(address.container, address.environment) }
        #expect([uploading, opening, asking].map(\.?.code) == [.tryAgainLater, .tryAgainLater, .tryAgainLater])
    }
}

/// A body that counts how much of it was read.
final class CountedBody: AsyncSequence, Sendable {
    private let count: Int
    private let part: ByteBuffer
    private let error: (any Error)?
    private let next = Mutex(0)
    var taken: Int { next.withLock { $0 } }

    init(parts count: Int, of size: Int, then error: (any Error)? = nil) {
        self.count = count
        self.error = error
        part = ByteBuffer(repeating: 7, count: size)
    }

    struct Iterator: AsyncIteratorProtocol {
        let body: CountedBody

        func next() async throws -> ByteBuffer? {
            let index = body.next.withLock { next in
                if next < body.count { next += 1 } else { return -1 }
                return next
            }
            if index < 0, let error = body.error { throw error }
            return index < 0 ? nil : body.part
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: self) }
}
