import ArgumentParser
import RecordStore
import Records

/// Shares a tree of records with a guest, and moves it out of the hierarchy, while others go on saving notes of another
/// zone.
struct Tree: AsyncParsableCommand {
    @OptionGroup var store: BenchmarkStore
    @OptionGroup var saves: SavesMeanwhile

    @Option(help: "How many records the tree has.")
    var size = 10_000

    private static let guest = Caller(userRecordName: "_be7c4000000000000000000000000000")

    func run() async throws {
        try await store.withEngine { engine, database in
            let zoneID = ZoneID(zoneName: Name("Tree \(Timestamp.now().milliseconds)"))
            _ = try await database.modifyZones([.create(zoneID)])
            let link = try await grow(in: database, zoneID)
            let before = try await saves.before(in: database)
            var address = database.address
            address.scope = .public
            let links = try await engine.database(address, as: Self.guest)
            address.scope = .shared
            let shared = try await engine.database(address, as: Self.guest)
            let owner = try await database.fetch([RecordID(recordName: "root", zoneID: zoneID)], desiredKeys: [])[0]
                .get().created.userRecordName
            var copy = Copy(zoneID: ZoneID(zoneName: zoneID.zoneName, ownerRecordName: owner))
            var (sharing, moving) = (Duration.zero, Duration.zero)
            let whileSharing = try await saves.during(in: database) {
                let start = ContinuousClock.now
                _ = try await links.require(.shareRecords).accept([link], by: LookupInfo())[0].get()
                try await copy.wait(for: size + 2, in: shared)
                sharing = .now - start
            }
            let whileMoving = try await saves.during(in: database) {
                let start = ContinuousClock.now
                var move = RecordOperation(
                    .forceUpdate, recordName: NoteRecords.name(0), recordType: NoteRecords.typeName)
                move.parent = .cleared
                try await BenchmarkStore.save([move], in: database, zoneID)
                try await copy.wait(for: 2, in: shared)
                moving = .now - start
            }
            _ = try await database.modifyZones([.delete(zoneID)])
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("quiet", before)
                writer.member("sharing", whileSharing)
                writer.member("moving", whileMoving)
                writer.member("sharingSeconds", seconds: sharing)
                writer.member("movingSeconds", seconds: moving)
            }
            print(String(decoding: writer.bytes, as: UTF8.self))
        }
    }

    /// Makes a root and below it the tree, in which each record has ten children, and shares the root.
    /// - Returns: the identifier of the link.
    private func grow(in database: any RecordDatabase, _ zoneID: ZoneID) async throws -> String {
        try await BenchmarkStore.save(
            [RecordOperation(.create, recordName: "root", recordType: NoteRecords.typeName)], in: database, zoneID)
        for first in stride(from: 0, to: size, by: 200) {
            let notes = try (first..<min(first + 200, size)).map { number in
                var note = try NoteRecords.save(UInt64(number), version: 1)
                note.parent = .record(number == 0 ? "root" : NoteRecords.name(UInt64((number - 1) / 10)))
                return note
            }
            try await BenchmarkStore.save(notes, in: database, zoneID)
        }
        var share = RecordOperation(.create, recordName: "share", recordType: Share.recordType)
        share.share = ShareInput(root: .init(recordName: "root", recordChangeTag: nil), publicPermission: .readOnly)
        guard case .saved(let record)? = try await database.modify(ModifyRequest([share], zoneID: zoneID)).first?.get(),
            let link = record.sharing?.shortGUID
        else {
            throw RecordError(.internalError, "The tree was not shared")
        }
        return link
    }

    /// The guest's copy.
    private struct Copy {
        let zoneID: ZoneID
        var names: Set<Name> = []
        var token: ChangeToken?

        init(zoneID: ZoneID) { self.zoneID = zoneID }

        /// Pulls until the guest sees a number of records.
        mutating func wait(for count: Int, in database: any RecordDatabase) async throws {
            while names.count != count {
                do {
                    let page = try await database.zoneChanges(ZoneChangesRequest(zoneID, since: token))
                    for change in page.changes {
                        if change.kind == .deleted {
                            names.remove(change.recordID.recordName)
                        } else {
                            names.insert(change.recordID.recordName)
                        }
                    }
                    token = page.syncToken
                    if page.moreComing { continue }
                } catch let error as RecordError where error.code == .zoneBusy {}
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
