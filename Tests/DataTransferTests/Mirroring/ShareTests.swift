import InMemoryRecordStore
import RecordStore
import Records
import SQLRecordStore
import TestSupport
import Testing

@testable import DataTransfer

/// Shares of the origin, in a mirror.
@Suite struct ShareTests {
    private static let zone = ZoneID(zoneName: "A")
    private static let grace: Name = "_9ace0000000000000000000000000000"

    private static func send(_ operation: RecordOperation, to database: any RecordDatabase) async throws -> StoredRecord
    {
        guard case .saved(let record) = try await database.modify(ModifyRequest([operation], zoneID: zone))[0].get()
        else {
            throw RecordError(.internalError, "not a save")
        }
        return record
    }

    private static func record(_ name: Name, in database: any RecordDatabase) async throws -> StoredRecord {
        try await database.fetch([RecordID(recordName: name, zoneID: zone)], desiredKeys: nil)[0].get()
    }

    private static func share(_ kind: RecordOperation.Kind, tag: String? = nil, _ input: ShareInput) -> RecordOperation
    {
        var operation = RecordOperation(kind, recordName: "share", recordType: Share.recordType, recordChangeTag: tag)
        operation.share = input
        return operation
    }

    private static func refusal(_ body: () async throws -> Void) async -> RecordError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? RecordError
        }
    }

    @Test(arguments: [false, true]) func sharesAreDataInAMirrorAndTheirEditsAreSent(onDisk: Bool) async throws {
        try await Origin.run { origin in
            let folder = try TemporaryFolder()
            let engine: any RecordEngine = onDisk ? try SQLRecordEngine(folder: folder.url) : InMemoryRecordEngine()
            let owner = try await origin.database()
            try await owner.make(Self.zone)
            try await owner.save("list", in: Self.zone)
            try await owner.save("milk", in: Self.zone, parent: .record("list"))
            let invitation = ShareParticipant(
                participantID: "p", lookupInfo: LookupInfo(userRecordName: Self.grace), permission: .readWrite)
            let root = ShareInput.Root(recordName: "list", recordChangeTag: nil)
            let made = try await Self.send(
                Self.share(.create, ShareInput(root: root, participants: [invitation])), to: owner)
            let link = try #require(made.sharing?.shortGUID)
            _ = try await origin.database(.public, as: Self.grace).require(.shareRecords).accept(
                [link], by: LookupInfo(userRecordName: Self.grace))[0].get()
            var copy = try Copy(of: origin, in: engine)
            copy.options.scopes = [.private]
            try await copy.pull()
            try await copy.expectEqual()
            let mirror = try await copy.database()
            let (there, here) = (try await Self.record("share", in: owner), try await Self.record("share", in: mirror))
            #expect(
                here.sharing?.share?.participants == there.sharing?.share?.participants
                    && here.sharing?.shortGUID == link)
            #expect(
                try await Self.record("list", in: mirror).sharing == RecordSharing(shortGUID: link, shareName: "share"))
            // It gives no rights here, and its link leads nowhere.
            var address = mirror.address
            address.scope = .shared
            let guest = Caller(userRecordName: Self.grace)
            #expect(try await engine.database(address, as: guest).zones().isEmpty)
            let answer = try await mirror.require(.shareRecords).resolve([link], by: LookupInfo())
            #expect(answer.map { (try? $0.get()) == nil } == [true])
            let another = ShareInput.Root(recordName: "milk", recordChangeTag: nil)
            var second = Self.share(.create, ShareInput(root: another))
            second.recordName = "second"
            #expect(await Self.refusal { _ = try await Self.send(second, to: mirror) } == Hierarchy.inMirror)
            // An edit of its participants waits for a push, as every edit does.
            var reader = try #require(here.sharing?.share?.participants[1])
            reader.permission = .readOnly
            let edit = Self.share(
                .update, tag: here.recordChangeTag, ShareInput(publicPermission: .readOnly, participants: [reader]))
            _ = try await Self.send(edit, to: mirror)
            #expect(
                try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).map(\.base?.sharing?.share)
                    == [here.sharing?.share]
            )
            #expect(try await copy.push(isDryRun: true).items.map(\.fields) == [["participants", "publicPermission"]])
            let report = try await copy.push()
            #expect(report.refused.isEmpty && report.items.count == 1)
            let after = try #require(try await Self.record("share", in: owner).sharing?.share)
            #expect(
                after.publicPermission == .readOnly && after.permission(of: Self.grace) == .readOnly
                    && after.participants.count == 2)
            #expect(try await Self.record("share", in: mirror).sharing?.share?.participants == after.participants)
            #expect(try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).isEmpty)
            // So does its end.
            try await mirror.remove("share", in: Self.zone)
            #expect(try await copy.push().refused.isEmpty)
            #expect(await Self.refusal { _ = try await Self.record("share", in: owner) }?.code == .notFound)
            try await copy.pull()
            #expect(try await Self.record("list", in: mirror).sharing == RecordSharing(shortGUID: link))
            await engine.close()
        }
    }
}
