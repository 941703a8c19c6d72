import CloudKitClient
import Foundation
import LoopbackServing
import Records
import SkylightTesting
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// Files that go up with a save, and come down with a fetch.
@Suite struct FileTests {
    private static let record = Record(recordType: "Item", recordID: RecordID(recordName: "a", zoneID: zone))

    @Test func filesGoUpWithProgress() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write([UInt8](repeating: 7, count: 300_000), to: "photo")
        try await withScript({ request, _ in
            if request.path.hasSuffix("assets/upload") {
                return .json(
                    #"{"tokens":[{"recordName":"a","fieldName":"file","url":"http://\#(request.headers["host"] ?? "")/up"}]}"#
                )
            }
            if request.path == "/up" {
                return .json(#"{"singleFile":{"fileChecksum":"c1","size":300000,"receipt":"r1"}}"#)
            }
            return records(item("a", tag: "1"))
        }) { container, server in
            var record = Self.record
            record["file"] = AssetFile(fileURL: file)
            let callbacks = CallbackLog()
            try await container.privateCloudDatabase.perform(ModifyRecords(saving: [record])) { event in
                callbacks.note(event.words)
                if case .saved(_, .success(let saved)) = event {
                    let file: AssetFile? = saved["file"]
                    #expect(file?.asset?.fileChecksum == "c1")
                }
            }
            #expect(
                callbacks.all.suffix(2) == ["progress a 1.0", "saved a"]
                    && callbacks.all.dropLast().allSatisfy { $0.hasPrefix("progress a ") })
            #expect(try #require(server.requests.last).body.contains(#""receipt":"r1""#))
        }
    }

    /// A server for a record with a file, whose uploads fail some times.
    private static func withUploads(
        failing failures: Int, clock: VirtualClock = VirtualClock(),
        _ body: (Container, ScriptedServer, Record) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        var record = Self.record
        record["file"] = AssetFile(fileURL: try folder.write([1, 2, 3], to: "photo"))
        let uploads = Mutex(0)
        try await withScript(
            clock: clock,
            { request, _ in
                if request.path.hasSuffix("assets/upload") {
                    return .json(
                        #"{"tokens":[{"recordName":"a","fieldName":"file","url":"http://\#(request.headers["host"] ?? "")/up"}]}"#
                    )
                }
                if request.path != "/up" { return records(item("a", tag: "1")) }
                let number = uploads.withLock { uploads in
                    uploads += 1
                    return uploads
                }
                return number <= failures
                    ? .close : .json(#"{"singleFile":{"fileChecksum":"c1","size":3,"receipt":"r1"}}"#)
            }
        ) { container, server in try await body(container, server, record) }
    }

    /// Another part of the program writes to the file between the beginning of its upload and the end. The size may
    /// stay.
    @Test(arguments: [2, 3, 4, 300_000]) func aFileThatChangesIsNotUploaded(size: Int) async throws {
        let folder = try TemporaryFolder()
        let photo = try folder.write([1, 2, 3], to: "photo")
        // The write must have another time, on any file system.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)],
            ofItemAtPath: photo.path(percentEncoded: false))
        var record = Self.record
        record["file"] = AssetFile(fileURL: photo)
        try await withScript({ request, _ in
            if request.path == "/up" { return .json(#"{"singleFile":{"fileChecksum":"c1","size":3,"receipt":"r1"}}"#) }
            try? Data(count: size).write(to: photo)
            return .json(
                #"{"tokens":[{"recordName":"a","fieldName":"file","url":"http://\#(request.headers["host"] ?? "")/up"}]}"#
            )
        }) { container, server in
            let error = await operationError { try await container.privateCloudDatabase.save(record) }
            #expect(error?.code == .assetFileModified && error?.code.rawValue == 17)
            #expect(server.requests.map { $0.path.hasSuffix("assets/upload") } == [true])
        }
    }

    /// Somebody waits for it.
    @Test func aFileThatDoesNotMoveIsGivenUp() async throws {
        let clock = VirtualClock()
        try await Self.withUploads(failing: .max, clock: clock) { container, server, record in
            #expect(
                await operationError { try await container.privateCloudDatabase.save(record) }?.code == .networkFailure)
            #expect(
                clock.pauses.reduce(.zero, +) <= .seconds(60) && server.requests.filter { $0.path == "/up" }.count > 2)
            #expect(server.requests.filter { $0.path.hasSuffix("assets/upload") }.count == 1)
        }
    }

    /// A slot is good for some minutes only.
    @Test func aFileThatIsWaitedForGetsNewSlots() async throws {
        try await Self.withUploads(failing: 40) { container, server, record in
            try await container.privateCloudDatabase.perform(ModifyRecords(saving: [record]))
            #expect(server.requests.filter { $0.path == "/up" }.count == 41)
            #expect(server.requests.filter { $0.path.hasSuffix("assets/upload") }.count > 1)
        }
    }

    /// The sizes are the server's word. All files of a record are there, or none.
    @Test func aRecordComesWithAllItsFilesOrNone() async throws {
        let folder = try TemporaryFolder()
        try await withScript({ request, _ in
            if request.path == "/one" { return .raw("one") }
            if request.path == "/two" { return .raw("", status: 404) }
            let files = [("one", "3"), ("two", "9223372036854775807")].map { name, size in
                #"{"fileChecksum":"c","size":\#(size),"downloadURL":"http://\#(request.headers["host"] ?? "")/\#(name)"}"#
            }
            return records(
                #""recordName":"a","recordType":"Item","recordChangeTag":"1","fields":{"files":{"type":"ASSETID_LIST","value":[\#(files.joined(separator: ","))]}}"#
            )
        }) { container, server in
            let fetch = FetchRecords([Self.record.recordID], assetFolder: folder.url)
            let error = await operationError { try await container.privateCloudDatabase.perform(fetch) }
            #expect(error?.partialErrors[.record(Self.record.recordID)]?.code == .assetNotAvailable)
            #expect(server.requests.map(\.path).suffix(2) == ["/one", "/two"])
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false))
            #expect(left.isEmpty)
        }
    }
}
