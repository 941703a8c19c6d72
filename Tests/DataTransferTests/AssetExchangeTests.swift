import AssetStore
import Crypto
import Foundation
import NIOCore
import RecordStore
import Records
import SQLRecordStore
import Synchronization
import TestSupport
import Testing
@testable import DataTransfer

/// Asset content in exports and imports.
@Suite struct AssetExchangeTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let zoneID = ZoneID(zoneName: "Notes")

    /// A data folder with assets.
    private struct Place {
        let engine: SQLRecordEngine
        let stores: AssetStores
        let container: ContainerID

        func database(as user: Name = "_ada") async throws -> any RecordDatabase {
            let address = DatabaseAddress(container: container, environment: .development, scope: .private)
            return try await engine.database(address, as: Caller(userRecordName: user, deviceID: "phone"))
        }

        func store() async throws -> AssetStore { try await stores.store(container, .development) }

        func close() async {
            await stores.close()
            await engine.close()
        }

        /// Saves a record with files, like a client.
        func save(
            _ name: Name, in zoneID: ZoneID = AssetExchangeTests.zoneID,
            files: [Name: [(name: String?, bytes: [UInt8])]]
        ) async throws {
            let database = try await database()
            var fields: [Name: FieldInput] = ["title": FieldInput(.string(name.string))]
            for (field, files) in files {
                var assets: [FieldValue] = []
                for file in files {
                    let request = UploadRequest(recordType: "Note", fieldName: field, recordName: name)
                    let grant = try await database.require(.uploadAssets).grantUploads([request], in: zoneID)[0].get()
                    let body = AsyncStream { continuation in
                        continuation.yield(ByteBuffer(bytes: file.bytes))
                        continuation.finish()
                    }
                    assets.append(
                        .asset(
                            try await store().receive(
                                body, ticket: grant.ticket, fileName: file.name, declaredSize: nil)))
                }
                fields[field] = FieldInput(field == "file" ? assets[0] : .list(assets, of: .asset))
            }
            let operation = RecordOperation(.forceReplace, recordName: name, recordType: "Note", fields: fields)
            for outcome in try await database.modify(ModifyRequest([operation], zoneID: zoneID)) {
                _ = try outcome.get()
            }
        }
    }

    private func place(_ name: String) throws -> Place {
        let url = folder.url.appending(path: name)
        let engine = try SQLRecordEngine(folder: url)
        return Place(
            engine: engine, stores: AssetStores(folder: url, engine: engine),
            container: try #require(ContainerID("iCloud.com.example.Files")))
    }

    private func exchange(_ place: Place, _ name: String = "files") async throws -> AssetExchange {
        AssetExchange(
            folder: AssetFileFolder(folder.url.appending(path: name)), transport: StoredAssets(try await place.store()))
    }

    private func exported(_ place: Place, _ assets: AssetExchange?) async throws -> (
        bytes: [UInt8], report: ExportReport
    ) {
        var bytes: [UInt8] = []
        let report = try await Exporter(place.database(), assets: assets).run { bytes += $0 }
        return (bytes, report)
    }

    private func file(_ bytes: [UInt8]) throws -> ExportFile {
        try #require(try ExportFile(folder.write(bytes, to: "export.ndjson")))
    }

    private func names(in name: String = "files") throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: folder.url.appending(path: name).path(percentEncoded: false)
        ).sorted()
    }

    private func checksum(_ bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
    }

    private static let large = [UInt8](repeating: 7, count: 3 << 20) + [1, 2, 3]
    private static let hostile = "a \u{202E}\"b\"/c.html"

    private func fill(_ place: Place) async throws {
        let zones = try await place.database().modifyZones([.create(Self.zoneID), .create(ZoneID(zoneName: "Other"))])
        for zone in zones { _ = try zone.get() }
        try await place.save("empty", files: ["file": [("", [])]])
        try await place.save(
            "large", files: ["file": [("größe.bin", Self.large)], "files": [(nil, [1]), ("two", [2]), ("again", [1])]])
        // The same bytes in another zone, under another name.
        try await place.save("same", in: ZoneID(zoneName: "Other"), files: ["file": [(Self.hostile, Self.large)]])
        try await place.save("none", files: [:])
    }

    private func stop(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    @Test func everyByteGoesAndComesBack() async throws {
        let (source, target) = (try place("source"), try place("target"))
        try await fill(source)
        let first = try await exported(source, exchange(source))
        #expect(
            first.report.assets == ExportReport.AssetCount(references: 6, files: 4, bytes: Int64(Self.large.count) + 2))
        #expect(try names() == [checksum([]), checksum([1]), checksum([2]), checksum(Self.large)].sorted())
        for name in try names() {
            let bytes = try Data(contentsOf: folder.url.appending(path: "files").appending(path: name))
            #expect(checksum(Array(bytes)) == name)
        }
        let report = try await Restorer(file(first.bytes), assets: exchange(target), into: target.database()).run()
        #expect(report.saved == 4)
        let second = try await exported(target, exchange(target, "others"))
        #expect(second.bytes == first.bytes)
        #expect(try names(in: "others") == names())
        let verification = try await target.store().verify { _ in }
        #expect(verification.problems.isEmpty && verification.referencesDone == 6 && verification.filesDone == 4)
        // Again, over the existing records.
        #expect(
            try await Restorer(file(first.bytes), assets: exchange(target), into: target.database()).run().saved == 4)
        #expect(try await exported(target, exchange(target, "others")).bytes == first.bytes)
        await source.close()
        await target.close()
    }

    @Test func withoutAFolderAssetsAreLeftOut() async throws {
        let (source, target) = (try place("source"), try place("target"))
        try await fill(source)
        let export = try await exported(source, nil)
        #expect(
            export.report.leftOut
                == ExportReport.AssetCount(references: 6, files: 4, bytes: Int64(Self.large.count) + 2))
        #expect(export.report.assets == ExportReport.AssetCount())
        #expect(!String(decoding: export.bytes, as: UTF8.self).contains("fileChecksum"))
        #expect(try await Restorer(file(export.bytes), into: target.database()).run().saved == 4)
        #expect(try await exported(target, nil).bytes == export.bytes)
        await source.close()
        await target.close()
    }

    @Test func missingFilesAreReportedBeforeAnyChange() async throws {
        let (source, target) = (try place("source"), try place("target"))
        try await fill(source)
        let bytes = try await exported(source, exchange(source)).bytes
        let noFolder = await stop { _ = try await Restorer(file(bytes), into: target.database()).run() }
        #expect(noFolder.contains("have 6 assets, whose bytes are not in the file: give the folder with --assets"))
        let files = folder.url.appending(path: "files")
        try FileManager.default.removeItem(at: files.appending(path: checksum([2])))
        try Data(repeating: 8, count: Self.large.count).write(to: files.appending(path: checksum(Self.large)))
        try Data([1, 1]).write(to: files.appending(path: checksum([1])))
        let refused = await stop {
            _ = try await Restorer(file(bytes), assets: exchange(target), into: target.database()).run()
        }
        #expect(refused.contains("export.ndjson:"))
        #expect(
            refused.contains("its bytes do not match its name")
                || refused.contains("it has 2 bytes, but the asset has 1"), "\(refused)")
        #expect(refused.contains("2 bad rows"))
        #expect(try await target.database().zones().allSatisfy { $0.zoneID.isDefault })
        // An export repairs damaged files in its folder, and leaves others alone.
        try Data("mine".utf8).write(to: files.appending(path: "notes.txt"))
        #expect(try await exported(source, exchange(source)).bytes == bytes)
        #expect(try await Restorer(file(bytes), assets: exchange(target), into: target.database()).run().saved == 4)
        #expect(try names().count == 5)
        await source.close()
        await target.close()
    }

    /// Sizes in a file are untrusted: they are checked, and do not overflow.
    @Test(arguments: ["9223372036854775807", "140737488355329", "3"]) func sizesThatAreNotTheFilesAreBadRows(
        size: String
    ) async throws {
        let (source, target) = (try place("source"), try place("target"))
        try await fill(source)
        let text = String(decoding: try await exported(source, exchange(source)).bytes, as: UTF8.self)
        // The list refers to the one-byte file twice. The first size is correct, so the second one is known to be
        // wrong.
        let parts = text.split(separator: "\"size\":1,", omittingEmptySubsequences: false)
        #expect(parts.count == 4)
        let doctored = "\(parts[0])\"size\":1,\(parts[1])\"size\":1,\(parts[2])\"size\":\(size),\(parts[3])"
        let refused = await stop {
            _ = try await Restorer(file(Array(doctored.utf8)), assets: exchange(target), into: target.database()).run()
        }
        #expect(refused.contains("1 bad row; nothing was imported"), "\(refused)")
        #expect(refused.contains("the asset in field 'files' has the size \(size)"), "\(refused)")
        #expect(try await target.database().zones().allSatisfy { $0.zoneID.isDefault })
        await source.close()
        await target.close()
    }

    @Test func sumsOfSizesStopAtTheLargestNumber() {
        var batch = SaveBatch(zoneID: Self.zoneID)
        for line in 0..<2 {
            batch.add(RecordOperation(.forceDelete, recordName: "a"), size: 1, assetBytes: .max, file: "a", line: line)
        }
        #expect(batch.isFull)
    }

    #if os(Linux)
        /// An unreadable file is not a bad row, because its content is unknown.
        @Test func aFileThatCannotBeReadEndsAnImport() async throws {
            let (source, target) = (try place("source"), try place("target"))
            try await fill(source)
            let bytes = try await exported(source, exchange(source)).bytes
            let empty = folder.url.appending(path: "files").appending(path: checksum([]))
            try FileManager.default.removeItem(at: empty)
            // It looks like an empty regular file, but reading from it fails.
            try FileManager.default.createSymbolicLink(
                atPath: empty.path(percentEncoded: false), withDestinationPath: "/proc/self/mem")
            let refused = await stop {
                _ = try await Restorer(file(bytes), assets: exchange(target), into: target.database()).run()
            }
            #expect(
                refused
                    == "Can't read '\(empty.path(percentEncoded: false))', the file of an asset: Input/output error; nothing was saved"
            )
            #expect(try await target.database().zones().allSatisfy { $0.zoneID.isDefault })
            await source.close()
            await target.close()
        }
    #endif

    /// A transport that loses a file which existed a moment before.
    private struct LosingTransport: AssetTransport {
        let transport: any AssetTransport
        let lost: URL

        func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset {
            try? FileManager.default.removeItem(at: lost)
            return try await transport.upload(file, with: grant, fileName: fileName)
        }

        func download(
            _ checksum: FileChecksum, size: Int64, from offset: Int64, _ take: (ByteBuffer) async throws -> Void
        ) async throws {
            try await transport.download(checksum, size: size, from: offset, take)
        }
    }

    @Test func aFileThatIsLostOnTheWayEndsAnImport() async throws {
        let (source, target) = (try place("source"), try place("target"))
        let zones = try await source.database().modifyZones([.create(Self.zoneID)])
        for zone in zones { _ = try zone.get() }
        try await source.save("a", files: ["file": [(nil, [1])]])
        try await source.save("b", files: ["file": [(nil, [2])]])
        let bytes = try await exported(source, exchange(source)).bytes
        let lost = folder.url.appending(path: "files").appending(path: checksum([2]))
        let assets = AssetExchange(
            folder: AssetFileFolder(folder.url.appending(path: "files")),
            transport: LosingTransport(transport: StoredAssets(try await target.store()), lost: lost))
        let refused = await stop { _ = try await Restorer(file(bytes), assets: assets, into: target.database()).run() }
        #expect(
            refused
                == "Can't read '\(lost.path(percentEncoded: false))', the file of an asset: there is no such file; nothing was saved"
        )
        await source.close()
        await target.close()
    }

    @Test func whatAKilledExportLeftIsRemovedAfterADay() async throws {
        let source = try place("source")
        try await fill(source)
        _ = try await exported(source, exchange(source))
        let files = folder.url.appending(path: "files")
        let name = checksum([1])
        let old = ["\(name).0A1B2C3D.part", "\(name).mine.part", "\(name).0A1B2C3D.part.txt", "notes.part"]
        for name in old + ["\(name).FFFFFFFF.part"] { try Data([1]).write(to: files.appending(path: name)) }
        for name in old {
            let path = files.appending(path: name).path(percentEncoded: false)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -100_000)], ofItemAtPath: path)
        }
        let before = try names()
        _ = try await exported(source, exchange(source))
        #expect(try names() == before.filter { $0 != old[0] })
        await source.close()
    }

    /// A transport that breaks off once, after its first part, and notes where each download begins.
    private final class BreakingTransport: AssetTransport {
        let transport: any AssetTransport
        let offsets = Mutex<[Int64]>([])

        init(_ transport: any AssetTransport) {
            self.transport = transport
        }

        func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset {
            try await transport.upload(file, with: grant, fileName: fileName)
        }

        func download(
            _ checksum: FileChecksum, size: Int64, from offset: Int64, _ take: (ByteBuffer) async throws -> Void
        ) async throws {
            let isFirst = offsets.withLock { offsets in
                offsets.append(offset)
                return offsets.count == 1
            }
            try await transport.download(checksum, size: size, from: offset) { part in
                try await take(part)
                if isFirst { throw RecordError(.tryAgainLater, "The connection broke") }
            }
        }
    }

    @Test func aBrokenDownloadIsContinuedIfItIsKept() async throws {
        let source = try place("source")
        try await fill(source)
        let file = try #require(FileChecksum(checksum(Self.large)))
        for (number, kind) in [AssetFileFolder.BrokenDownload.removed, .kept].enumerated() {
            let transport = BreakingTransport(StoredAssets(try await source.store()))
            let url = folder.url.appending(path: "files\(number)")
            let assets = AssetExchange(folder: AssetFileFolder(url, brokenDownload: kind), transport: transport)
            try assets.makeFolder()
            let size = Int64(Self.large.count)
            let broken = await stop { try await assets.download(file, size: size) { _ in } }
            #expect(broken.contains("The connection broke"))
            let left = try names(in: "files\(number)")
            #expect(left == (kind == .kept ? ["\(file).part"] : []))
            try await assets.download(file, size: size) { _ in }
            let offsets = transport.offsets.withLock { $0 }
            #expect(offsets.count == 2 && offsets[0] == 0 && (offsets[1] > 0) == (kind == .kept))
            #expect(try names(in: "files\(number)") == ["\(file)"])
            #expect(try Data(contentsOf: url.appending(path: "\(file)")) == Data(Self.large))
        }
        await source.close()
    }

    @Test func aDamagedFileEndsAnExportAndLeavesNothingHalfThere() async throws {
        let source = try place("source")
        try await fill(source)
        let stored = try #require(
            FileManager.default.enumerator(at: folder.url.appending(path: "source"), includingPropertiesForKeys: nil)?
                .compactMap { $0 as? URL }.first {
                    $0.lastPathComponent.contains(checksum(Self.large)) && $0.pathExtension.isEmpty
                })
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: stored.path(percentEncoded: false))
        try Data(repeating: 9, count: Self.large.count).write(to: stored)
        let refused = await stop { _ = try await exported(source, exchange(source)) }
        #expect(
            refused.contains("The asset in field 'file' of 'large' can't be exported")
                && refused.contains("assets verify"), "\(refused)")
        #expect(try !names().contains { $0.contains("part") || $0 == checksum(Self.large) })
        await source.close()
    }
}
