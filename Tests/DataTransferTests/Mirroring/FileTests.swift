import AssetStore
import CloudKitClient
import InMemoryRecordStore
import LoopbackServing
import NIOCore
import RecordStore
import Records
import SQLRecordStore
import TestSupport
import Testing

@testable import DataTransfer

/// Files of assets in a mirror.
@Suite struct FileTests {
    private static let zone = ZoneID(zoneName: "A")

    /// Bytes as an upload sends them.
    private struct Parts: AsyncSequence, Sendable {
        let bytes: [UInt8]

        struct AsyncIterator: AsyncIteratorProtocol {
            var rest: ByteBuffer?

            mutating func next() async -> ByteBuffer? {
                defer { rest = nil }
                return rest
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: ByteBuffer(bytes: bytes)) }
    }

    private static func bytes(_ seed: UInt64, _ count: Int = 70_000) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return random.bytes(count)
    }

    /// Saves a record with a file.
    private static func save(_ name: Name, _ bytes: [UInt8], in database: any RecordDatabase, _ store: AssetStore)
        async throws
    {
        let grant = try await database.require(.uploadAssets).grantUploads(
            [UploadRequest(recordType: "Photo", fieldName: "file", recordName: name)], in: zone)[0].get()
        let asset = try await store.receive(Parts(bytes: bytes), ticket: grant.ticket, fileName: nil, declaredSize: nil)
        try await database.save(name, in: zone, type: "Photo", ["file": .asset(asset), "text": .string("\(name)")])
    }

    /// The bytes of a record's file; `nil` if the store does not have them.
    private static func file(of name: Name, in database: any RecordDatabase, _ store: AssetStore) async throws
        -> [UInt8]?
    {
        guard case .asset(let asset)? = try await database.value(of: "file", of: name, in: zone),
            let checksum = FileChecksum(asset.fileChecksum),
            try await store.ledger.entry(of: checksum) != nil
        else { return nil }
        let ticket = DownloadTicket(checksum: checksum, size: asset.size, expires: Timestamp(milliseconds: .max))
        var bytes: [UInt8] = []
        for try await part in StoredFile(file: try await store.open(ticket, coding: .identity)) {
            bytes += part.readableBytesView
        }
        return bytes
    }

    private static func run(
        _ files: MirrorOptions.Files, sizeLimit: Int64 = AssetStores.defaultSizeLimit, isEncrypted: Bool = false,
        _ body: @Sendable (Origin, Copy, AssetStore, AssetStore) async throws -> Void
    ) async throws {
        try await Origin.run(isEncrypted: isEncrypted) { origin in
            let folder = try TemporaryFolder()
            let engine = try SQLRecordEngine(folder: folder.url)
            let assets = AssetStores(folder: folder.url, engine: engine, sizeLimit: sizeLimit)
            var copy = try Copy(of: origin, in: engine, pageSize: 2)
            copy.assets = assets
            copy.options.files = files
            try await origin.database().make(zone)
            let (there, here) = (
                try await origin.assets.store(origin.container, .development),
                try await assets.store(copy.container, .development)
            )
            for number in 1...5 {
                try await save(Name("f\(number)"), bytes(UInt64(number)), in: origin.database(), there)
            }
            try await body(origin, copy, there, here)
            await assets.close()
            await engine.close()
        }
    }

    @Test func allFilesComeWithTheirRecords() async throws {
        try await Self.run(.all) { origin, copy, _, here in
            try await copy.pull()
            try await copy.expectEqual()
            let mirror = try await copy.database()
            for number in 1...5 {
                let file = try await Self.file(of: Name("f\(number)"), in: mirror, here)
                #expect(file == Self.bytes(UInt64(number)))
            }
            // A file that is there is not fetched again.
            try await origin.database().save("f1", in: Self.zone, type: "Photo", ["text": .string("again")])
            let fetched = try await copy.mirror { mirror in
                let progress = mirror.progress
                _ = try await mirror.pull()
                return await progress.first { _ in true }?.files
            }
            #expect(fetched == 0)
            #expect(try await Self.file(of: "f1", in: mirror, here) == Self.bytes(1))
        }
    }

    @Test func aFileThatIsTooLargeDoesNotStopItsZone() async throws {
        try await Self.run(.all, sizeLimit: 60_000) { _, copy, _, here in
            let report = try await copy.pull()
            #expect(report.outcome.saved == 5 && report.problems.count == 5)
            try await copy.expectEqual()
            #expect(try await Self.file(of: "f1", in: copy.database(), here) == nil)
            await #expect(throws: RecordError.self) {
                try await copy.mirror {
                    try await $0.fetchFiles(of: RecordID(recordName: "f1", zoneID: Self.zone), in: .private)
                }
            }
        }
    }

    @Test func filesComeOnDemand() async throws {
        try await Self.run(.onDemand) { _, copy, _, here in
            try await copy.pull()
            try await copy.expectEqual()
            let mirror = try await copy.database()
            #expect(try await Self.file(of: "f2", in: mirror, here) == nil)
            let recordID = RecordID(recordName: "f2", zoneID: Self.zone)
            #expect(try await copy.mirror { try await $0.fetchFiles(of: recordID, in: .private) } != nil)
            #expect(try await Self.file(of: "f2", in: mirror, here) == Self.bytes(2))
            #expect(try await Self.file(of: "f3", in: mirror, here) == nil)
            try await copy.expectEqual()
            #expect(try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 1).isEmpty)
        }
    }

    @Test func aMirrorWithoutFilesFetchesNone() async throws {
        try await Self.run(.none) { _, copy, _, _ in
            try await copy.pull()
            try await copy.expectEqual()
            await #expect(throws: RecordError.self) {
                try await copy.mirror {
                    try await $0.fetchFiles(of: RecordID(recordName: "f2", zoneID: Self.zone), in: .private)
                }
            }
        }
    }

    @Test func aFileThatWasAddedHereIsSent() async throws {
        try await Self.run(.all) { origin, copy, there, here in
            try await copy.pull()
            let mirror = try await copy.database()
            try await Self.save("mine", Self.bytes(77), in: mirror, here)
            try await Self.save("f4", Self.bytes(78), in: mirror, here)
            let report = try await copy.push()
            #expect(report.items.map(\.recordID.recordName) == ["mine", "f4"] && report.refused.isEmpty)
            let database = try await origin.database()
            #expect(try await Self.file(of: "mine", in: database, there) == Self.bytes(77))
            #expect(try await Self.file(of: "f4", in: database, there) == Self.bytes(78))
            #expect(try await Self.file(of: "f4", in: mirror, here) == Self.bytes(78))
            #expect(try await copy.push().items.isEmpty)
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    @Test(arguments: [100, 3000, 60_000, 100_000])
    func aBrokenDownloadGoesOn(bytes: Int) async throws {
        try await Self.run(.all) { origin, copy, _, here in
            _ = try await BreakingProxy.run(to: origin.port, .breakOnce(afterBytes: bytes)) { port, _ in
                try await copy.pull(through: port)
            }
            let mirror = try await copy.database()
            for number in 1...5 {
                #expect(try await Self.file(of: Name("f\(number)"), in: mirror, here) == Self.bytes(UInt64(number)))
            }
            try await copy.expectEqual()
        }
    }
    @Test(arguments: BreakingProxy.Message.allCases, BreakingProxy.Part.allCases)
    func filesComeAndGoThroughConnectionsThatBreak(message: BreakingProxy.Message, part: BreakingProxy.Part)
        async throws
    {
        try await Self.run(.all) { origin, copy, there, here in
            try await BreakingProxy.run(to: origin.port, .breakEvery(3, message, part)) { port, proxy in
                try await Self.comeAndGo(origin, copy, there, here, through: port)
                #expect(proxy.breaks >= 3)
            }
        }
    }

    /// No system trusts the certificate, only the client does.
    @Test func recordsAndFilesComeAndGoOverTLS() async throws {
        try await Self.run(.all, isEncrypted: true) { origin, copy, there, here in
            try await Self.comeAndGo(origin, copy, there, here, through: origin.port)
        }
    }

    private static func comeAndGo(
        _ origin: Origin, _ copy: Copy, _ there: AssetStore, _ here: AssetStore, through port: Int
    ) async throws {
        #expect(try await copy.pull(through: port).outcome.saved == 5)
        let (database, mirror) = (try await origin.database(), try await copy.database())
        for number in 1...5 {
            #expect(try await file(of: Name("f\(number)"), in: mirror, here) == bytes(UInt64(number)))
        }
        for number in 6...8 { try await save(Name("f\(number)"), bytes(UInt64(number)), in: mirror, here) }
        let report = try await copy.push(through: port)
        #expect(report.items.count == 3 && report.refused.isEmpty && report.conflicts.isEmpty)
        for number in 6...8 {
            #expect(try await file(of: Name("f\(number)"), in: database, there) == bytes(UInt64(number)))
        }
        try await copy.pull(through: port)
        try await copy.expectEqual()
    }
}
