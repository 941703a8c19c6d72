import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// Files with zones that were shared before shares were records.
@Suite struct FormerSharesTests {
    private static let seen = ZoneID(zoneName: notes.zoneName, ownerRecordName: ada.userRecordName)
    private static let shares: [Name] = ["r", Share.zoneWideName]
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func engine() throws -> SQLRecordEngine { try SQLRecordEngine(folder: folder.url.appending(path: "data")) }

    /// Makes a file with a record in Ada's zone `Notes`.
    private func fill() async throws {
        let engine = try engine()
        let database = try await engine.withZone()
        try await database.save("r", in: notes)
        for result in try await database.modifyZones([.create(ZoneID(zoneName: "Other"))]) { _ = try result.get() }
        // They are known to the file.
        for guest in [grace, mary] {
            for result in try await engine.full(.private, as: guest).modifyZones([.create(notes)]) {
                _ = try result.get()
            }
        }
        await engine.close()
    }

    private func write(_ body: (Database) throws -> Void) throws {
        let file = folder.url.appending(path: "data/iCloud.com.example.Test/development.sqlite")
        let queue = try DatabaseQueue(path: file.path(percentEncoded: false))
        try queue.write(body)
        try queue.close()
    }

    /// Makes the file as earlier versions left it.
    private func share(_ permissions: [(Caller, String)], live: Bool = true) throws {
        try write { db in
            try db.execute(sql: "DELETE FROM facts WHERE name = ?", arguments: [ShareMigration.fact])
            for (guest, permission) in permissions {
                try db.execute(
                    sql: """
                        INSERT INTO shares (zone, user, permission, live, position, moment)
                        SELECT z.number, g.number, ?, ?, (SELECT max(position) FROM zones), 0 FROM zones z JOIN users o ON o.number = z.owner, users g
                        WHERE z.name = 'Notes' AND o.name = ? AND g.name = ?
                        """, arguments: [permission, live, ada.userRecordName.string, guest.userRecordName.string])
            }
        }
    }

    private func epochs(of database: any RecordDatabase) async throws -> Int {
        let store = try #require(database as? SQLDatabase).store
        return try await store.read { db, _ in try Int.fetchOne(db, sql: "SELECT count(*) FROM incarnations") ?? 0 }
    }

    @Test("They get a share that its users have accepted, and on which everything works")
    func zonesGetShares() async throws {
        try await fill()
        try share([(grace, "READ_ONLY"), (mary, "READ_WRITE")])
        var engine = try engine()
        var owner = try await engine.full(.private)
        let record = try await owner.fetch([RecordID(recordName: Share.zoneWideName, zoneID: notes)], desiredKeys: nil)[
            0
        ].get()
        let found = try #require(record.sharing?.share)
        #expect(
            found.owner?.userRecordName == ada.userRecordName && found.rootName == nil
                && found.publicPermission == .none)
        #expect(found.participants.map(\.status) == [.accepted, .accepted, .accepted])
        #expect(record.created.userRecordName == ada.userRecordName && record.recordType == Share.recordType)
        #expect(try await owner.require(.showSchema).schema().types[Share.recordType]?.fields == Share.type.fields)
        let permissions = Dictionary(
            uniqueKeysWithValues: try await owner.participants(of: notes).map { ($0.userRecordName, $0.permission) })
        #expect(permissions == [grace.userRecordName: .readOnly, mary.userRecordName: .readWrite])
        #expect(try await owner.participants(of: ZoneID(zoneName: "Other")).isEmpty)
        #expect(try await StoreRecount.problems(of: owner) == [])
        let (graces, marys) = (try await engine.full(.shared, as: grace), try await engine.full(.shared, as: mary))
        #expect(try await graces.pull(Self.seen).changes.map(\.recordID.recordName) == Self.shares)
        #expect(await refusal { try await graces.save("r", in: Self.seen) }?.code == .accessDenied)
        try await marys.save("r", in: Self.seen)
        let token = try await graces.pull(Self.seen).token
        await engine.close()

        // Another opening changes nothing.
        engine = try self.engine()
        owner = try await engine.full(.private)
        #expect(
            try await owner.fetch([RecordID(recordName: Share.zoneWideName, zoneID: notes)], desiredKeys: nil) == [
                .success(record)
            ])
        #expect(try await engine.full(.shared, as: grace).pull(Self.seen, since: token).changes.isEmpty)
        // One leaves, one is removed.
        _ = try await engine.full(.shared, as: mary).modifyZones([.delete(Self.seen)])
        #expect(try await owner.participants(of: notes).map(\.userRecordName) == [grace.userRecordName])
        try await owner.stopSharing(notes, with: grace.userRecordName)
        for guest in [grace, mary] { #expect(try await engine.full(.shared, as: guest).zones().isEmpty) }
        #expect(try await owner.names(in: notes, of: Self.shares) == ["r"])
        await engine.close()
    }

    @Test("Tokens from before are good, and the share comes after them")
    func tokens() async throws {
        try await fill()
        var engine = try engine()
        let (own, zones) = (
            try await engine.full(.private).pull(notes).token,
            try await engine.full(.private).databaseChanges(DatabaseChangesRequest()).syncToken
        )
        await engine.close()
        try share([(grace, "READ_ONLY")])
        engine = try self.engine()
        let owner = try await engine.full(.private)
        #expect(try await owner.pull(notes, since: own).changes.map(\.recordID.recordName) == [Share.zoneWideName])
        #expect(
            try await owner.databaseChanges(DatabaseChangesRequest(since: zones)).changes.map(\.zoneID.zoneName) == [
                "Notes"
            ])
        await engine.close()
    }

    @Test(
        "A file without them is left as it is, and so are zones that are not shared any more and those of mirrors",
        arguments: [false, true])
    func nothingToDo(isMirror: Bool) async throws {
        try await fill()
        var engine = try engine()
        let before = try await epochs(of: engine.full(.private))
        await engine.close()
        try share([(grace, "READ_WRITE")], live: isMirror)
        if isMirror { try write { try $0.execute(sql: "UPDATE zones SET isMirror = 1") } }
        engine = try self.engine()
        let owner = try await engine.full(.private)
        #expect(try await owner.names(in: notes, of: Self.shares) == ["r"])
        #expect(try await epochs(of: owner) == before)
        #expect(try await engine.full(.shared, as: grace).zones().map(\.zoneID) == (isMirror ? [Self.seen] : []))
        await engine.close()
    }

    /// Guests whose entries gave no right: Grace of one share that lets everybody in, and of another one that does not,
    /// as Mary.
    private static let withoutRight = """
        UPDATE hierarchyGuests SET permission = 'NONE';
        UPDATE records SET sharing = CAST(replace(sharing, '"permission":"READ_ONLY"', '"permission":"NONE"') AS BLOB) WHERE name = 'diary share'
        """

    private func shareWithGuests(_ engine: SQLRecordEngine) async throws -> SharingStage {
        let stage = try await SharingStage(on: engine)
        try await stage.owner.save("page", in: notes, parent: .record("diary"))
        let list = try await stage.share(publicPermission: .readWrite, with: [SharingStage.invitation(grace, .none)])
        let diary = try await stage.share(
            "diary", as: "diary share", with: [grace, mary].map { SharingStage.invitation($0, .readOnly) })
        for (share, guest) in [(list, grace), (diary, grace), (diary, mary)] {
            try await stage.accept(share, as: guest)
        }
        return stage
    }

    private static let records: [Name] = ["list", "milk", "brand", "bread", "diary", "page", "share", "diary share"]

    /// Returns when no walk is left, and nothing of a view that one ended.
    private func settle(_ database: any RecordDatabase) async throws {
        let store = try #require(database as? SQLDatabase).store
        try await eventually { try await store.look { try HierarchyWalkRows.isEmpty($0) && !ZoneSweep.isDue($0) } }
    }

    @Test("Guests without a right get that of the link, or see nothing any more")
    func guestsWithoutRight() async throws {
        var engine = try engine()
        _ = try await shareWithGuests(engine)
        await engine.close()
        try write { try $0.execute(sql: Self.withoutRight) }
        engine = try self.engine()
        let owner = try await engine.full(.private)
        try await settle(owner)
        let graces = try await engine.full(.shared, as: grace)
        #expect(try await graces.names(in: Self.seen, of: Self.records) == ["list", "milk", "brand", "bread", "share"])
        try await graces.save("milk", in: Self.seen)
        #expect(try await engine.full(.shared, as: mary).zones().isEmpty)
        #expect(try await StoreRecount.problems(of: owner) == [])
        // That was all.
        let before = try await epochs(of: owner)
        await engine.close()
        engine = try self.engine()
        #expect(try await epochs(of: engine.full(.private)) == before)
        await engine.close()
    }

    @Test("Guests without a right can be removed, and leave")
    func guestsWithoutRightEnd() async throws {
        let engine = try engine()
        let stage = try await shareWithGuests(engine)
        let store = try #require(stage.owner as? SQLDatabase).store
        try await store.pool.write { try $0.execute(sql: Self.withoutRight) }
        #expect(
            try await stage.shared(mary).names(in: Self.seen, of: Self.records) == ["diary", "page", "diary share"])
        let share = try await stage.current("diary share")
        let participants = try #require(
            share.sharing?.share?.participants.filter { $0.userRecordName != mary.userRecordName })
        #expect(participants.map(\.permission) == [.readWrite, .none])
        try await stage.shared(grace).delete("diary share", in: Self.seen)
        #expect(
            try await stage.shared(grace).names(in: Self.seen, of: Self.records) == [
                "list", "milk", "brand", "bread", "share",
            ])
        let left = try await stage.current("diary share")
        #expect(left.sharing?.share?.participants.map(\.status) == [.accepted, .removed, .accepted])
        try await stage.save("diary share", tag: left.recordChangeTag, ShareInput(participants: participants))
        #expect(try await stage.shared(mary).zones().isEmpty)
        #expect(try await StoreRecount.problems(of: stage.owner) == [])
        await engine.close()
    }

    @Test("A zone with more guests than a share may have keeps them, takes no more, and lets each go")
    func manyGuests() async throws {
        try await fill()
        let zeros = String(repeating: "0", count: 29)
        let crowd = (0..<Share.participantLimit + 5).map { number in
            Caller(userRecordName: Name("_\(zeros)\(100 + number)"))
        }
        try write { db in
            for (index, guest) in crowd.enumerated() {
                try db.execute(
                    sql: "INSERT INTO users (number, name) VALUES (?, ?)",
                    arguments: [index + 1, guest.userRecordName.string])
            }
        }
        try share(crowd.map { ($0, "READ_WRITE") })
        let engine = try engine()
        let owner = try await engine.full(.private)
        #expect(try await owner.participants(of: notes).count == crowd.count)
        let more = await refusal {
            try await owner.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly), on: engine)
        }
        #expect(more?.code == .badRequest)
        try await owner.share(
            notes, with: ZoneParticipant(userRecordName: crowd[0].userRecordName, permission: .readOnly), on: engine)
        try await owner.stopSharing(notes, with: crowd[1].userRecordName)
        #expect(try await owner.participants(of: notes).count == crowd.count - 1)
        #expect(try await engine.full(.shared, as: crowd[1]).zones().isEmpty)
        await engine.close()
    }
}
