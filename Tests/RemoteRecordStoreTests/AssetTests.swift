import AssetStore
import Foundation
import LoopbackServing
import NIOCore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import RemoteRecordStore

/// Files over the network: uploads, downloads, and their properties.
@Suite struct AssetTests {
    /// A generated file that can end early with an error.
    private struct Pieces: AsyncSequence, Sendable {
        struct Lost: Error {}

        let count: Int
        var breaksAfter: Int?

        struct AsyncIterator: AsyncIteratorProtocol {
            let pieces: Pieces
            var number = 0

            mutating func next() async throws -> ByteBuffer? {
                if number == pieces.breaksAfter { throw Lost() }
                guard number < pieces.count else { return nil }
                defer { number += 1 }
                return ByteBuffer(bytes: Pieces.bytes(of: number))
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces: self) }

        static let length = 50_000
        private static let block = (0..<length).map { UInt8(truncatingIfNeeded: $0 / 7) }
        /// The standard block with the number in its first bytes.
        static func bytes(of number: Int) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian) { Array($0) } + block.dropFirst(8)
        }

        var size: Int64 { Int64(count * Self.length) }
        var bytes: [UInt8] { (0..<count).flatMap(Self.bytes) }
    }

    private static func container() throws -> ContainerID { try address(.private).container }

    /// Uploads a file for the field `file` of a record in the zone `Notes`.
    private static func upload(
        _ pieces: Pieces, for record: Name, to engine: RemoteRecordEngine, size: Int64?, fileName: String? = nil
    ) async throws -> Asset {
        let database = try await engine.full(.private)
        let request = UploadRequest(recordType: "Item", fieldName: "file", recordName: record)
        let grant = try await database.require(.uploadAssets).grantUploads([request], in: notes)[0].get()
        return try await engine.upload(
            pieces, size: size, with: grant, to: try container(), .development, fileName: fileName)
    }

    private static func read(_ checksum: FileChecksum, of engine: RemoteRecordEngine, from offset: Int64 = 0)
        async throws -> (bytes: [UInt8], size: Int64)
    {
        var bytes: [UInt8] = []
        let size = try await engine.download(checksum, in: try container(), .development, from: offset) {
            bytes += $0.readableBytesView
        }
        return (bytes, size)
    }

    @Test(arguments: [true, false])
    func aFileGoesThereAndComesBack(saysSize: Bool) async throws {
        try await LiveServer.runWithEngine { url, near in
            let engine = try RemoteRecordEngine(url: url)
            let database = try await engine.withZone()
            let pieces = Pieces(count: 60)
            let asset = try await Self.upload(
                pieces, for: "r", to: engine, size: saysSize ? pieces.size : nil, fileName: "ä/b \"c\".txt")
            #expect(asset.size == pieces.size && asset.receipt != nil && asset.fileName == "ä_b _c_.txt")
            let saved = try await database.save("r", in: notes, ["file": .asset(asset)])
            #expect(try saved.fields.assets().map(\.asset.fileName) == ["ä_b _c_.txt"])
            // The fields equal those in the store: they contain no download addresses, which expire.
            let there = try await near.full(.private).fetch(
                [RecordID(recordName: "r", zoneID: notes)], desiredKeys: nil)[0].get()
            #expect(saved.fields == there.fields)
            #expect(try await database.zoneChanges(ZoneChangesRequest(notes)).changes.map(\.record) == [there])
            let checksum = try #require(FileChecksum(asset.fileChecksum))
            let bytes = pieces.bytes
            let whole = try await Self.read(checksum, of: engine)
            #expect(whole.bytes == bytes && whole.size == pieces.size)
            let rest = try await Self.read(checksum, of: engine, from: 1_234_567)
            #expect(rest.bytes == Array(bytes[1_234_567...]) && rest.size == pieces.size)
            await engine.close()
        }
    }

    @Test func refusalsKeepTheServersWords() async throws {
        let clock = TestClock()
        try await LiveServer.run(clock: clock) { url in
            let engine = try RemoteRecordEngine(url: url)
            _ = try await engine.withZone()
            let tooLarge = Pieces(count: Int(AssetStores.defaultSizeLimit) / Pieces.length + 1)
            for size in [tooLarge.size, nil] {
                let refused = await refusal { _ = try await Self.upload(tooLarge, for: "r", to: engine, size: size) }
                #expect(refused?.code == .quotaExceeded, "\(refused?.reason ?? "taken")")
            }
            let database = try await engine.full(.private)
            let request = UploadRequest(recordType: "Item", fieldName: "file", recordName: "r")
            let grant = try await database.require(.uploadAssets).grantUploads([request], in: notes)[0].get()
            let forged = UploadGrant(recordName: "r", fieldName: "file", ticket: String(grant.ticket.reversed()))
            let container = try Self.container()
            let unknown = await refusal {
                _ = try await engine.upload(Pieces(count: 1), size: nil, with: forged, to: container, .development)
            }
            #expect(unknown?.code == .notFound)
            clock.advance(AssetTickets.uploadLifetime + 1)
            let late = await refusal {
                _ = try await engine.upload(Pieces(count: 1), size: nil, with: grant, to: container, .development)
            }
            #expect(late?.code == .badRequest && late?.reason.contains("expired") == true)
            let zeros = try #require(checksum(0))
            let missing = await refusal { _ = try await Self.read(zeros, of: engine) }
            #expect(missing?.code == .notFound)
            await engine.close()
        }
    }

    @Test func aServerMayHaveSeveralNames() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:20001"))
        let server = try ServerClient(url: url)
        for origin in ["", "http://skylight.example", "HTTP://127.0.0.1:80", "https://skylight.example:443"] {
            #expect(try server.ownAddress(of: "\(origin)/assets/a%20b") == "http://127.0.0.1:20001/assets/a%20b")
        }
        for address in ["http://example.com/x", "", url.absoluteString + ".example.com/x"] {
            let foreign = await refusal { _ = try server.ownAddress(of: address) }
            #expect(foreign?.code == .badRequest)
        }
        await server.close()
    }

    @Test func aDownloadGoesOnAfterABrokenConnection() async throws {
        let whole = ScriptedServer.Reply.raw("0123456789")
        try await ScriptedServer.run(
            .json(#"{"size":10,"downloadURL":"http://skylight.example/assets/x"}"#),
            whole.cut(after: whole.bytes.count - 6),
            .raw("456789", status: 206, ["Content-Range": "bytes 4-9/10"])
        ) { address, server in
            let engine = try RemoteRecordEngine(url: try #require(URL(string: address)))
            let file = try await Self.read(try #require(checksum(0)), of: engine)
            #expect(String(decoding: file.bytes, as: UTF8.self) == "0123456789" && file.size == 10)
            #expect(server.requests.map { $0.headers["range"] } == [nil, nil, "bytes=4-"])
            await engine.close()
        }
    }

    @Test func aBodyThatBreaksLeavesNothing() async throws {
        try await LiveServer.runWithEngine { url, near in
            let engine = try RemoteRecordEngine(url: url)
            _ = try await engine.withZone()
            await #expect(throws: (any Error).self) {
                _ = try await Self.upload(
                    Pieces(count: 9, breaksAfter: 5), for: "r", to: engine, size: Pieces(count: 9).size)
            }
            #expect(try await near.ledger().entries(after: nil, limit: 9).isEmpty)
            // The engine still works.
            _ = try await Self.upload(Pieces(count: 1), for: "r", to: engine, size: nil)
            await engine.close()
        }
    }

    @Test
    func verificationAndSweepAreTheServers() async throws {
        let clock = TestClock()
        try await LiveServer.run(clock: clock) { url in
            let engine = try RemoteRecordEngine(url: url)
            let container = try Self.container()
            let nowhere = await refusal { _ = try await engine.verifyAssets(container, .development) }
            #expect(nowhere?.code == .notFound)
            let database = try await engine.withZone()
            try await database.save(
                "r", in: notes,
                ["file": .asset(try await Self.upload(Pieces(count: 3), for: "r", to: engine, size: nil))])
            try await database.save(
                "s", in: notes,
                ["file": .asset(try await Self.upload(Pieces(count: 2), for: "s", to: engine, size: nil))])
            try await database.delete("s", in: notes)
            clock.advance(2 * 86_400_000)
            let verification = try await engine.verifyAssets(container, .development)
            #expect(
                verification.problems.isEmpty && verification.filesDone == 2 && verification.referencesDone == 1
                    && verification.unusedFiles == 1)
            #expect(verification.bytesDone == Pieces(count: 5).size)
            // A compression holds its file for a moment.
            try await eventually {
                try await engine.sweepAssets(container, .development, dryRun: true).removed.count == 1
            }
            let rehearsed = try await engine.sweepAssets(container, .development, dryRun: true)
            #expect(rehearsed.isDryRun)
            #expect(
                try await engine.sweepAssets(container, .development, graceTime: .seconds(3 * 86_400)).removed.isEmpty)
            let swept = try await engine.sweepAssets(container, .development)
            #expect(
                !swept.isDryRun && swept.removed == rehearsed.removed && swept.removedBytes >= Pieces(count: 2).size)
            #expect(try await engine.sweepAssets(container, .development).removed.isEmpty)
            await engine.close()
        }
    }
}
