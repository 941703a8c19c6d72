import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import SQLRecordStore
import TestSupport
import Testing
@testable import DataTransfer

/// Shares in exports, imports and copies.
@Suite struct SharedExportTests {
    private static let zoneID = ZoneID(zoneName: "Lists")
    private static let users: [Name] = ["_grace", "_mary", "_lin"]

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func database(_ engine: any RecordEngine, _ scope: DatabaseScope = .private, as user: Name = "_ada")
        async throws -> any RecordDatabase
    {
        let container = try #require(ContainerID("iCloud.com.example.Shared"))
        return try await engine.database(
            DatabaseAddress(container: container, environment: .development, scope: scope),
            as: Caller(userRecordName: user, deviceID: "phone"))
    }

    private func exported(_ database: any RecordDatabase) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try await Exporter(database).run { bytes += $0 }
        return bytes
    }

    private func restore(
        _ bytes: [UInt8], into database: any RecordDatabase, _ zoneID: ZoneID? = nil, keepsLinks: Bool = true
    ) async throws -> RestoreReport {
        let file = try #require(try ExportFile(folder.write(bytes, to: "export.ndjson")))
        return try await Restorer(file, zoneID: zoneID, keepsLinks: keepsLinks, into: database).run()
    }

    private func lines(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// - Returns: the code of the error; `nil` if the operation succeeded.
    @discardableResult
    private func send(_ operation: RecordOperation, to database: any RecordDatabase, _ zoneID: ZoneID = zoneID)
        async throws -> ServerErrorCode?
    {
        do {
            _ = try await database.modify(ModifyRequest([operation], zoneID: zoneID))[0].get()
            return nil
        } catch let error as RecordError {
            return error.code
        }
    }

    private func record(_ name: Name, in database: any RecordDatabase, _ zoneID: ZoneID = zoneID) async throws
        -> StoredRecord
    {
        try await database.fetch([RecordID(recordName: name, zoneID: zoneID)], desiredKeys: nil)[0].get()
    }

    private func share(
        _ name: Name, of root: Name?, _ permission: SharePermission, with participants: [ShareParticipant]
    ) -> RecordOperation {
        var operation = RecordOperation(
            .create, recordName: name, recordType: Share.recordType,
            fields: ["cloudkit.title": FieldInput(.string(name.string))])
        operation.share = ShareInput(
            root: root.map { .init(recordName: $0, recordChangeTag: nil) }, publicPermission: permission,
            participants: participants)
        return operation
    }

    private func invitation(
        _ user: Name, _ permission: SharePermission = .readWrite, _ role: ShareParticipant.Role = .user
    ) -> ShareParticipant {
        ShareParticipant(
            participantID: "for \(user)", lookupInfo: LookupInfo(userRecordName: user), role: role,
            permission: permission)
    }

    private func accept(_ name: Name, as user: Name, _ engine: any RecordEngine, _ zoneID: ZoneID = zoneID) async throws
        -> Bool
    {
        let link = try await record(name, in: database(engine), zoneID).sharing?.shortGUID ?? ""
        let answer = try await database(engine, .public, as: user).require(.shareRecords).accept(
            [link], by: LookupInfo(userRecordName: user))
        return (try? answer[0].get()) != nil
    }

    private static let names: [Name] = (0..<8).map { Name("r\($0)") }

    /// A zone with some trees of records and some shares, after users came and went.
    private func fill(_ engine: any RecordEngine, _ random: inout SeededRandom) async throws {
        let owner = try await database(engine)
        for zone in try await owner.modifyZones([.create(Self.zoneID)]) { _ = try zone.get() }
        for (index, name) in Self.names.enumerated() {
            let parent =
                index == 0 || Int.random(in: 0..<3, using: &random) == 0
                ? nil : Self.names[..<index].randomElement(using: &random)
            var operation = RecordOperation(
                .create, recordName: name, recordType: "Item", fields: ["text": FieldInput(.string("\(name)"))],
                parent: parent.map { .record($0) } ?? .unchanged)
            operation.createsShortGUID = Int.random(in: 0..<4, using: &random) == 0
            #expect(try await send(operation, to: owner) == nil)
        }
        let isWhole = Int.random(in: 0..<5, using: &random) == 0
        let roots: [Name?] =
            isWhole ? [nil] : Array(Self.names.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
        var shares: [Name] = []
        for root in roots {
            let name = root.map { Name("share of \($0)") } ?? Share.zoneWideName
            var invited: [ShareParticipant] = []
            for user in Self.users where Bool.random(using: &random) {
                invited.append(
                    invitation(
                        user, Bool.random(using: &random) ? .readOnly : .readWrite,
                        Int.random(in: 0..<4, using: &random) == 0 ? .administrator : .user))
            }
            let permission = SharePermission.allCases.randomElement(using: &random) ?? .none
            var operation = share(name, of: root, permission, with: invited)
            // Earlier versions accepted a share within another one.
            let signature = Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_ada", deviceID: "")
            operation.provenance = Provenance(created: signature, modified: signature)
            #expect(try await send(operation, to: owner) == nil)
            shares.append(name)
        }
        for _ in 0..<8 {
            let (name, user) = (
                shares.randomElement(using: &random) ?? "", Self.users.randomElement(using: &random) ?? ""
            )
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let guest = ZoneID(zoneName: Self.zoneID.zoneName, ownerRecordName: "_ada")
                try await send(
                    RecordOperation(.forceDelete, recordName: name), to: database(engine, .shared, as: user), guest)
            default: _ = try await accept(name, as: user, engine)
            }
        }
        // A record that moves takes what is below it along.
        try await send(
            RecordOperation(
                .forceUpdate, recordName: "r7", recordType: "Item",
                parent: .record(Self.names[Int.random(in: 0..<7, using: &random)])), to: owner)
    }

    /// The outcomes of changes of all records by all users, which changes the records of those who may.
    private func rights(_ engine: any RecordEngine) async throws -> [[ServerErrorCode?]] {
        var rights: [[ServerErrorCode?]] = []
        for user in Self.users {
            let (guest, zoneID) = (
                try await database(engine, .shared, as: user),
                ZoneID(zoneName: Self.zoneID.zoneName, ownerRecordName: "_ada")
            )
            var codes: [ServerErrorCode?] = []
            for name in Self.names {
                codes.append(
                    try await send(
                        RecordOperation(.forceUpdate, recordName: name, recordType: "Item"), to: guest, zoneID))
            }
            rights.append(codes)
        }
        return rights
    }

    /// A guest is a guest again, with the same records and rights, and the links are the same.
    @Test(arguments: 1...12) func sharesComeBack(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let (memory, file): (any RecordEngine, any RecordEngine) = (
            InMemoryRecordEngine(), try SQLRecordEngine(folder: folder.url.appending(path: "data"))
        )
        let (source, target) = Bool.random(using: &random) ? (memory, file) : (file, memory)
        try await fill(source, &random)
        let first = try await exported(database(source))
        let report = try await restore(first, into: database(target))
        #expect(report.unshared.isEmpty && report.relinked.isEmpty && report.sharesLeftOut == 0)
        #expect(report.records[Share.recordType] == lines(first).count { $0.contains("\"participants\"") })
        #expect(try await lines(exported(database(target))) == lines(first))
        for user in Self.users {
            let (before, after) = (
                try await database(source, .shared, as: user), try await database(target, .shared, as: user)
            )
            #expect(try await lines(exported(after)) == lines(exported(before)), "\(user)")
        }
        #expect(try await rights(target) == rights(source))
        // Over what is there, the shares are as in the export again, with their guests.
        _ = try await restore(first, into: database(target))
        #expect(try await lines(exported(database(target))) == lines(first))
        for engine in [source, target] { await engine.close() }
    }

    /// A zone with a shared list and a record that is not shared.
    private func listed(_ engine: any RecordEngine) async throws -> any RecordDatabase {
        let owner = try await database(engine)
        for zone in try await owner.modifyZones([.create(Self.zoneID)]) { _ = try zone.get() }
        for (name, parent) in [("list", nil), ("milk", "list"), ("diary", nil)] as [(Name, Name?)] {
            let operation = RecordOperation(
                .create, recordName: name, recordType: "Item", parent: parent.map { .record($0) } ?? .unchanged)
            #expect(try await send(operation, to: owner) == nil)
        }
        #expect(
            try await send(
                share("a share", of: "list", .none, with: [invitation("_grace"), invitation("_mary", .readOnly)]),
                to: owner) == nil)
        #expect(try await accept("a share", as: "_grace", engine))
        return owner
    }

    private func visible(to user: Name, of owner: Name, _ zoneName: Name, _ engine: any RecordEngine) async throws
        -> [Name]
    {
        let candidates: [Name] = ["a share", "diary", "list", "milk"]
        let zoneID = ZoneID(zoneName: zoneName, ownerRecordName: owner)
        let found = try await database(engine, .shared, as: user).fetch(
            candidates.map { RecordID(recordName: $0, zoneID: zoneID) }, desiredKeys: [])
        return found.compactMap { try? $0.get().recordID.recordName }
    }

    @Test func aTakenLinkIsReplacedAndSaid() async throws {
        let engine = InMemoryRecordEngine()
        let owner = try await listed(engine)
        let link = try #require(try await record("a share", in: owner).sharing?.shortGUID)
        // Grace imports it as her own. She was a guest, and is the owner.
        let graces = try await database(engine, as: "_grace")
        let report = try await restore(exported(owner), into: graces)
        let share = try #require(try await record("a share", in: graces).sharing?.share)
        #expect(
            share.shortGUID != link && share.participants.map(\.userRecordName) == ["_grace", nil]
                && share.owner?.userRecordName == "_grace")
        #expect(
            report.relinkedCount == 1
                && report.relinked.map(\.reason) == [
                    "the share 'a share' has the new link \(share.shortGUID), because \(link) leads to another share"
                ])
        #expect(try await record("list", in: graces).sharing?.shortGUID == share.shortGUID)
        #expect(try await record("a share", in: owner).sharing?.shortGUID == link)
        // Its own link is free again once the first share has ended.
        let bytes = try await exported(owner)
        #expect(try await send(RecordOperation(.forceDelete, recordName: "a share"), to: owner) == nil)
        let marys = try await database(engine, as: "_mary")
        #expect(try await restore(bytes, into: marys).relinkedCount == 0)
        #expect(try await record("a share", in: marys).sharing?.shortGUID == link)
        #expect(try await visible(to: "_grace", of: "_mary", "Lists", engine) == ["a share", "list", "milk"])
        await engine.close()
    }

    @Test func unshareableRecordsAreReported() async throws {
        let engine = InMemoryRecordEngine()
        let bytes = try await exported(listed(engine))
        let other = InMemoryRecordEngine()
        let intoDefault = try await restore(bytes, into: database(other), .default)
        #expect(
            intoDefault.sharesLeftOut == 1 && intoDefault.saved == 3 && intoDefault.records[Share.recordType] == nil)
        #expect(try await restore(bytes, into: database(other, .public), .default).sharesLeftOut == 1)
        // Without its root, a share is refused, and the others are saved.
        let rootless =
            lines(bytes).filter { !$0.contains("\"recordName\":\"list\",\"recordType\"") }.joined(separator: "\n")
            + "\n"
        let report = try await restore(Array(rootless.utf8), into: database(other))
        #expect(
            report.unsharedCount == 1
                && report.unshared.map(\.reason) == ["Cannot share - no such record exists to share"]
                && report.saved == 2)
        // A guest's export has none of the owner's shares.
        let guests = try await exported(database(engine, .shared, as: "_grace"))
        #expect(lines(guests).count == 3 && !lines(guests).contains { $0.contains("participants") })
        // A share says who takes part.
        let headless =
            lines(bytes).map { $0.replacingOccurrences(of: "\"participants\"", with: "\"share\"") }.joined(
                separator: "\n") + "\n"
        await #expect(throws: ImportError.self) { _ = try await restore(Array(headless.utf8), into: database(other)) }
        for engine in [engine, other] { await engine.close() }
    }

    /// An origin in iCloud does not tell the roots of shares. The roots tell their shares.
    @Test func aRootNamesItsShare() async throws {
        let (engine, other) = (InMemoryRecordEngine(), InMemoryRecordEngine())
        let told = try await lines(exported(listed(engine))).map {
            $0.replacingOccurrences(of: ",\"rootRecordName\":\"list\"", with: "")
        }
        #expect(!told.contains { $0.contains("rootRecordName") })
        let report = try await restore(Array((told.joined(separator: "\n") + "\n").utf8), into: database(other))
        #expect(report.records[Share.recordType] == 1 && report.unshared.isEmpty)
        #expect(try await visible(to: "_grace", of: "_ada", "Lists", other) == ["a share", "list", "milk"])
        for engine in [engine, other] { await engine.close() }
    }

    @Test func copiesHaveTheSameGuestsAndNewLinks() async throws {
        let engine = InMemoryRecordEngine()
        let owner = try await listed(engine)
        let original = try await record("a share", in: owner)
        let participants = original.sharing?.share?.participants
        // A copy of a zone is a restored export with new links, also where the old ones are free.
        let other = InMemoryRecordEngine()
        #expect(
            try await restore(exported(owner), into: database(other), ZoneID(zoneName: "Copy"), keepsLinks: false)
                .relinkedCount == 0)
        let copies = ZoneID(zoneName: "Copies")
        let picked = try await ["a share", "milk", "list"].asyncMap { try await record($0, in: owner) }
        let results = try await RecordCopier(from: owner, Self.zoneID, to: owner, copies, existing: .refuse).copy(
            picked, files: nil)
        #expect(results.map { try? $0.get() } == [.copied, .copied, .copied])
        for (engine, zoneID) in [(other, ZoneID(zoneName: "Copy")), (engine, copies)] {
            let copy = try await record("a share", in: database(engine), zoneID)
            #expect(
                copy.sharing?.share?.participants == participants
                    && copy.sharing?.shortGUID != original.sharing?.shortGUID)
            #expect(
                try await visible(to: "_grace", of: "_ada", zoneID.zoneName, engine) == ["a share", "list", "milk"])
            #expect(try await accept("a share", as: "_mary", engine, zoneID))
        }
        #expect(try await record("a share", in: owner).sharing?.share?.participants == participants)
        let refused = try await RecordCopier(from: owner, Self.zoneID, to: owner, .default, existing: .skip).copy(
            picked, files: nil)
        #expect(refused.map { (try? $0.get()) == nil } == [true, false, false])
        for engine in [engine, other] { await engine.close() }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
