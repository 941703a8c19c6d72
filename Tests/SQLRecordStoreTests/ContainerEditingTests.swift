import Dispatch
import Foundation
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Deleting and renaming containers, with everything that belongs to them.
@Suite struct ContainerEditingTests {
    private static let caller = Caller(userRecordName: "_user")

    private func container(_ name: String) throws -> ContainerID {
        try #require(ContainerID("iCloud.com.example.\(name)"))
    }

    private func database(_ engine: any RecordEngine, _ name: String) async throws -> any RecordDatabase {
        let address = DatabaseAddress(container: try container(name), environment: .development, scope: .private)
        return try await engine.database(address, as: Self.caller)
    }

    private func fill(_ database: any RecordDatabase) async throws {
        _ = try await database.modifyZones([.create(ZoneID(zoneName: "Notes"))])
        try await database.save(
            "note", as: .create, type: "Note", in: ZoneID(zoneName: "Notes"), ["title": .string("kept")])
    }

    private func names(_ folder: URL) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)))
    }

    @Test func aDeletedContainerIsGoneWithItsFilesAndCanBeMadeAnew() async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let old = try await database(engine, "One")
        try await fill(old)
        try await fill(try await database(engine, "Two"))
        let beside = folder.url.appending(path: "iCloud.com.example.One/development.assets/aa")
        try FileManager.default.createDirectory(at: beside, withIntermediateDirectories: true)
        try await engine.require(.editContainers).deleteContainer(try container("One"))
        #expect(try await engine.require(.listContainers).containers() == [try container("Two")])
        await #expect(throws: (any Error).self) { _ = try await fill(old) }
        #expect(
            try await engine.require(.listContainers).containers() == [try container("Two")],
            "an old handle makes nothing")
        try await eventually { try !names(folder.url).contains { $0.hasPrefix(".deleted-") } }
        #expect(try names(folder.url) == ["iCloud.com.example.Two", ".lock"])
        let fresh = try await database(engine, "One")
        #expect(try await fresh.zones().map(\.zoneID.isDefault) == [true])
        await #expect(throws: RecordError.noContainer(try container("Three"))) {
            try await engine.require(.editContainers).deleteContainer(try container("Three"))
        }
        await engine.close()
    }

    @Test func aRenamedContainerKeepsEverythingAndItsTokens() async throws {
        let folder = try TemporaryFolder()
        var engine = try StoreUnderTest.engine(folder: folder.url)
        let old = try await database(engine, "One")
        try await fill(old)
        let zoneID = ZoneID(zoneName: "Notes")
        let token = try await old.zoneChanges(ZoneChangesRequest(zoneID)).syncToken
        try await fill(try await database(engine, "Two"))
        await #expect(throws: RecordError.containerExists(try container("Two"))) {
            try await engine.require(.editContainers).renameContainer(try container("One"), to: try container("Two"))
        }
        await #expect(throws: RecordError.containerExists(try container("Two"))) {
            try await engine.require(.editContainers).renameContainer(try container("One"), to: try container("two"))
        }
        try await engine.require(.editContainers).renameContainer(try container("One"), to: try container("Three"))
        #expect(
            try await engine.require(.listContainers).containers() == [try container("Three"), try container("Two")])
        for isAnew in [false, true] {
            if isAnew {
                await engine.close()
                engine = try StoreUnderTest.engine(folder: folder.url)
            }
            let renamed = try await database(engine, "Three")
            #expect(
                try await renamed.fetch([RecordID(recordName: "note", zoneID: zoneID)], desiredKeys: nil).first?.get()
                    .recordID.recordName == "note")
            #expect(try await renamed.zoneChanges(ZoneChangesRequest(zoneID, since: token)).changes.isEmpty)
        }
        await engine.close()
    }

    /// A server that was killed after it marked a container as deleted, before it removed the files.
    @Test func whatIsLeftOfADeletedContainerIsRemovedWhenTheFolderIsOpened() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: ".deleted-x/development.assets"), withIntermediateDirectories: true)
        let engine = try StoreUnderTest.engine(folder: folder.url)
        try await eventually { try !names(folder.url).contains(".deleted-x") }
        #expect(try names(folder.url) == [".lock"])
        await engine.close()
    }

    @Test func savesUnderWayEitherHoldOrFail() async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        try await fill(try await database(engine, "One"))
        let saved = await withTaskGroup(of: Name?.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let name = Name("n\(number)")
                    guard let database = try? await self.database(engine, "One") else { return nil }
                    let operation = RecordOperation(.create, recordName: name, recordType: "Note")
                    guard
                        case .success? = try? await database.modify(ModifyRequest([operation], zoneID: .default)).first
                    else { return nil }
                    return name
                }
            }
            group.addTask {
                try? await engine.require(.editContainers).renameContainer(
                    self.container("One"), to: self.container("Two"))
                return nil
            }
            return await group.reduce(into: [Name]()) { names, name in if let name { names.append(name) } }
        }
        #expect(try await engine.require(.listContainers).containers().contains(try container("Two")))
        let two = try await database(engine, "Two")
        let records = try await two.fetch(
            [RecordID(recordName: "note", zoneID: ZoneID(zoneName: "Notes"))], desiredKeys: nil)
        #expect(try records.first?.get().recordType == "Note")
        // Every acknowledged record exists: in the renamed container, or in a new one that a later save created under
        // the old name.
        let anew = try await database(engine, "One")
        for name in saved {
            var found = 0
            for place in [two, anew] {
                if case .success? = try await place.fetch(
                    [RecordID(recordName: name, zoneID: .default)], desiredKeys: nil
                ).first {
                    found += 1
                }
            }
            #expect(found == 1, "\(name)")
        }
        await engine.close()
    }

    /// A long read delays the renaming of its own container only. Requests to that container are refused meanwhile.
    @Test func readsUnderWayAreWaitedFor() async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let one = try await database(engine, "One")
        try await fill(one)
        let other = try await database(engine, "Other")
        try await fill(other)
        let store = try #require(one as? SQLDatabase).store
        let (begun, end) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        async let read = store.readLong(for: .scan) { _, catalog in
            begun.continuation.finish()
            end.wait()
            return catalog.schema.types["Note"] != nil
        }
        for await _ in begun.stream {}
        async let renaming: Void = engine.renameContainer(container("One"), to: container("Two"))
        var refusal: RecordError?
        try await eventually {
            do {
                _ = try await one.zones()
            } catch let error as RecordError {
                refusal = error
            }
            return refusal != nil
        }
        #expect(refusal?.code == .tryAgainLater)
        #expect(try await other.zones().count == 2)
        #expect(
            try await engine.require(.listContainers).containers().contains(try container("One")),
            "nothing is moved under a reader")
        end.signal()
        #expect(try await read)
        try await renaming
        #expect(try await database(engine, "Two").zones().count == 2)
        await engine.close()
    }
}
