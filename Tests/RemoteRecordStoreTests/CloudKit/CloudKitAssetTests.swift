import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

@testable import RemoteRecordStore

/// Files of records in a container in iCloud.
@Suite struct CloudKitAssetTests {
    private static let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

    private static func parts() -> AsyncStream<ByteBuffer> {
        AsyncStream { continuation in
            for start in stride(from: 0, to: bytes.count, by: 65_536) {
                continuation.yield(ByteBuffer(bytes: bytes[start..<min(start + 65_536, bytes.count)]))
            }
            continuation.finish()
        }
    }

    /// Saves a record with a file.
    private static func save(_ name: Name, in database: CloudKitDatabase) async throws {
        let grant = try await database.require(.uploadAssets).grantUploads(
            [UploadRequest(recordType: "Photo", fieldName: "file", recordName: name)], in: notes)[0].get()
        let asset = try await database.upload(size: Int64(bytes.count), with: grant) { parts() }
        let operation = RecordOperation(
            .create, recordName: grant.recordName, recordType: "Photo",
            fields: [grant.fieldName: FieldInput(.asset(asset))])
        _ = try await database.modify(ModifyRequest([operation], zoneID: notes))[0].get()
    }

    @Test func filesGoUpAndComeBack() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                let database = try engine.database(.private)
                _ = try await database.modifyZones([.create(notes)])
                try await Self.save("p", in: database)
                let recordID = RecordID(recordName: "p", zoneID: notes)
                let record = try await database.fetch([recordID], desiredKeys: nil)[0].get()
                #expect(try record.fields.assets().map(\.asset.size) == [3_000_000])
                #expect(!String(decoding: record.fields.bytes, as: UTF8.self).contains("downloadURL"))
                for offset in [0, 2_999_990] {
                    var found: [UInt8] = []
                    let size = try await database.download("file", of: recordID, from: Int64(offset)) {
                        found += Array($0.readableBytesView)
                    }
                    #expect(size == 3_000_000 && found.elementsEqual(Self.bytes[offset...]))
                }
                let missing = await refusal { try await database.download("none", of: recordID) { _ in } }
                #expect(missing?.code == .notFound)
                let nowhere = await refusal {
                    try await database.download("file", of: RecordID(recordName: "q", zoneID: notes)) { _ in }
                }
                #expect(nowhere == .recordNotFound)
            }
        }
    }

    @Test func aFileIsUsedAgainInAnotherRecord() async throws {
        try await StandIn.run { standIn in
            try await standIn.withEngine(standIn.connection()) { engine in
                let database = try engine.database(.private)
                _ = try await database.modifyZones([.create(notes)])
                try await Self.save("p", in: database)
                let sources = [
                    AssetSource(recordName: "p", fieldName: "file"), AssetSource(recordName: "none", fieldName: "file"),
                ]
                let assets = try await database.require(.uploadAssets).rereference(sources, from: notes, to: notes)
                #expect((try? assets[1].get()) == nil)
                let copy = RecordOperation(
                    .create, recordName: "q", recordType: "Photo",
                    fields: ["file": FieldInput(.asset(try assets[0].get()))])
                _ = try await database.modify(ModifyRequest([copy], zoneID: notes))[0].get()
                #expect(
                    try await database.download("file", of: RecordID(recordName: "q", zoneID: notes)) { _ in }
                        == 3_000_000)
                let one = await refusal {
                    _ = try await database.require(.uploadAssets).rereference(
                        [AssetSource(recordName: "p", fieldName: "file", index: 0)], from: notes, to: notes)
                }
                #expect(one?.code == .badRequest)
            }
        }
    }
}
