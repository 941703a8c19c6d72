import AssetStore
import DataTransfer
import RecordStore
import Records
import SQLRecordStore
import TestSupport
import Testing

@Suite struct DemoDataTests {
    private static let people = DemoData.People(developer: "_developer", ada: "_ada", grace: "_grace")

    private struct Filled: Sendable {
        let folder: TemporaryFolder
        let engine: SQLRecordEngine
        let assets: AssetStores
        let containers: [ContainerID]

        func database(_ container: String, _ scope: DatabaseScope = .private, as user: Name = "_developer") async throws
            -> any RecordDatabase
        {
            let container = try #require(ContainerID("iCloud.com.example.\(container)"))
            return try await engine.database(
                DatabaseAddress(container: container, environment: .development, scope: scope),
                as: Caller(userRecordName: user))
        }

        func records(of zoneID: ZoneID, in database: any RecordDatabase) async throws -> [RecordChange] {
            var changes: [RecordChange] = []
            var token: ChangeToken?
            while true {
                let page = try await database.zoneChanges(ZoneChangesRequest(zoneID, since: token))
                changes += page.changes
                token = page.syncToken
                if !page.moreComing { return changes }
            }
        }
    }

    private func filled() async throws -> Filled {
        let clock = SettableClock()
        let folder = try TemporaryFolder()
        let engine = try SQLRecordEngine(folder: folder.url, clock: { clock.now() })
        let assets = AssetStores(folder: folder.url, engine: engine, clock: { clock.now() })
        let containers = try await DemoData(engine: engine, assets: assets, clock: clock, people: Self.people).fill()
        // A second run adds nothing.
        #expect(try await DemoData(engine: engine, assets: assets, clock: clock, people: Self.people).fill().isEmpty)
        // The clock runs again.
        #expect(abs(clock.now().milliseconds - Timestamp.now().milliseconds) < 60_000)
        return Filled(folder: folder, engine: engine, assets: assets, containers: containers)
    }

    @Test func theDataIsTheSameEachTimeAndEveryTabHasSomethingToShow() async throws {
        async let filledFirst = filled()
        async let filledSecond = filled()
        let (first, second) = try await (filledFirst, filledSecond)
        #expect(first.containers.count == 3)
        for container in ["Chat", "Shopping", "Journal"] {
            let (one, other) = (try await first.database(container), try await second.database(container))
            #expect(try await one.require(.showSchema).schema() == other.require(.showSchema).schema())
            let zones = try await one.zones().map(\.zoneID)
            #expect(try await other.zones().map(\.zoneID) == zones)
            for zoneID in zones where !zoneID.isDefault {
                let records = try await first.records(of: zoneID, in: one)
                #expect(
                    try await second.records(of: zoneID, in: other).map(\.record).map(withoutRandomIdentifiers)
                        == records.map(\.record).map(withoutRandomIdentifiers))
                #expect(!records.isEmpty)
            }
        }
        try await checkChat(first)
        try await checkShopping(first)
        try await checkJournal(first)
        try await checkFiles(first)
        for filled in [first, second] {
            await filled.assets.close()
            await filled.engine.close()
        }
    }

    /// The record without the link of its share and the identifier of the owner's part, which are random.
    private func withoutRandomIdentifiers(_ record: StoredRecord?) -> StoredRecord? {
        guard var record, let sharing = record.sharing else { return record }
        var share = sharing.share
        share?.shortGUID = ""
        if share?.participants.first?.role == .owner { share?.participants[0].participantID = "" }
        record.sharing = RecordSharing(shareName: sharing.shareName, share: share, hierarchy: sharing.hierarchy)
        return record
    }

    private func checkChat(_ filled: Filled) async throws {
        let database = try await filled.database("Chat")
        let chats = try await filled.records(of: ZoneID(zoneName: "Chats"), in: database)
        #expect(chats.count > 1200)
        // The times span years, in order.
        let records = chats.compactMap(\.record)
        #expect(zip(records, records.dropFirst()).allSatisfy { $0.modified.timestamp <= $1.modified.timestamp })
        #expect(
            records.last.map {
                $0.modified.timestamp.milliseconds - records[0].created.timestamp.milliseconds > 7 * 31_000_000_000
            } == true)
        #expect(Set(records.map(\.modified.deviceID)).count >= 3)
        // A parent comes after its child.
        let positions = Dictionary(uniqueKeysWithValues: chats.map { ($0.recordID.recordName, $0.position ?? 0) })
        #expect(
            records.contains { record in
                record.parent.flatMap { positions[$0] }.map { $0 > positions[record.recordID.recordName] ?? 0 } ?? false
            })
        // Deleting the room deleted its messages too.
        #expect(positions["Room/drafts"] == nil && positions["Room/general"] != nil)
        if database.can(.countRecords) {
            #expect(try await database.require(.countRecords).counts(in: ZoneID(zoneName: "Chats")).deletions > 80)
        }
        // The author has no index, the text has.
        let query = Query(recordType: "Message", filters: [.init("author", .equals, FieldInput(.string("Person/ada")))])
        await #expect(throws: RecordError(.badRequest, "Field 'author' is not marked queryable")) {
            _ = try await database.query(QueryRequest(query, in: .zone(ZoneID(zoneName: "Chats"))))
        }
        let search = Query(
            recordType: "Message", filters: [.init("text", .containsAllTokens, FieldInput(.string("token")))])
        #expect(try await !database.query(QueryRequest(search, in: .zone(ZoneID(zoneName: "Chats")))).records.isEmpty)
        let kinds = try await database.databaseChanges(DatabaseChangesRequest(includesGoneZones: true)).changes.map(
            \.kind)
        #expect(kinds.contains(.deleted) && kinds.contains(.purged))
        let announcements = try await filled.database("Chat", .public).query(
            QueryRequest(Query(recordType: "Announcement")))
        #expect(announcements.records.count == 8)
        let types = Set(chats.flatMap { (try? $0.record?.fields.decoded().map(\.value.typeName)) ?? [] })
        #expect(
            types.isSuperset(of: [
                "STRING", "INT64", "DOUBLE", "BYTES", "TIMESTAMP", "LOCATION", "REFERENCE", "STRING_LIST", "INT64_LIST",
                "DOUBLE_LIST", "BYTES_LIST",
                "TIMESTAMP_LIST", "LOCATION_LIST", "REFERENCE_LIST", "ASSETID", "ASSETID_LIST",
            ]))
    }

    private func checkFiles(_ filled: Filled) async throws {
        var (types, sizes, references) = (Set<String>(), [Int64](), 0)
        for container in filled.containers {
            let store = try await filled.assets.store(container, .development)
            let verification = try await store.verify { _ in }
            #expect(verification.problems.isEmpty)
            // Nothing is left to sweep.
            #expect(verification.unusedFiles == 0)
            references += verification.referencesDone
            for entry in try await store.ledger.entries(after: nil, limit: 1000) {
                let facts = try await store.facts(of: entry.checksum)
                types.insert(facts.type.mediaType)
                sizes.append(facts.size)
            }
        }
        #expect(references > sizes.count, "the same bytes in several records are stored once")
        #expect(types.isSuperset(of: ["image/png", "application/pdf"]), "\(types)")
        #expect(types.count >= 6, "\(types)")
        let large = try #require(sizes.max())
        #expect(large == 12 << 20)
        #expect(sizes.contains { (7 << 20..<10 << 20).contains($0) })
        #expect(sizes.contains { $0 < 2048 })
        let entry = RecordID(
            recordName: "SVG-WITH-A-SCRIPT-INSIDE", zoneID: ZoneID(zoneName: "com.apple.coredata.cloudkit.zone"))
        let journal = try await filled.database("Journal").fetch([entry], desiredKeys: nil)
        #expect(try journal[0].get().fields.assets().map(\.asset.fileName) == ["drawing with a script.svg"])
    }

    private func checkShopping(_ filled: Filled) async throws {
        let shared = try await filled.database("Shopping", .shared)
        #expect(Set(try await shared.zones().map(\.zoneID.ownerRecordName)) == ["_ada", "_grace"])
        let changes = try await shared.databaseChanges(DatabaseChangesRequest(includesGoneZones: true)).changes
        #expect(changes.contains { $0.kind == .deleted && $0.zoneID.zoneName == "Camping" })
        let flat = try await filled.records(of: ZoneID(zoneName: "Household", ownerRecordName: "_ada"), in: shared)
            .compactMap(\.record)
        #expect(Set(flat.map(\.created.userRecordName)) == ["_ada", "_developer"])
        #expect(Set(flat.map(\.recordType)) == ["ShoppingList", "Item", Share.recordType])
        // Ada shares one of her two lists.
        #expect(flat.filter { $0.recordType == "ShoppingList" }.map(\.recordID.recordName) == ["List/Flat"])
        try await checkWeeklyList(filled)
    }

    /// Ada sees the list with what went and came back, and not what has no parent. Grace has left.
    private func checkWeeklyList(_ filled: Filled) async throws {
        let household = ZoneID(zoneName: "Household", ownerRecordName: "_developer")
        let adas = try await filled.database("Shopping", .shared, as: "_ada")
        let seen = try await filled.records(of: household, in: adas).map(\.recordID.recordName)
        #expect(Set(seen).isSuperset(of: ["Share/Weekly", "List/Weekly", "Weekly-candles"]))
        #expect(!seen.contains("Weekly-cake") && !seen.contains("List/Hardware store"))
        let own = try await filled.records(of: ZoneID(zoneName: "Household"), in: filled.database("Shopping"))
            .compactMap(\.record)
        #expect(own.contains { $0.recordID.recordName == "Weekly-cake" && $0.parent == nil })
        let share = try #require(own.first { $0.recordID.recordName == "Share/Weekly" }?.sharing?.share)
        #expect(share.participants.map(\.userRecordName) == ["_developer", "_ada", "_grace"])
        #expect(share.participants.map(\.status) == [.accepted, .accepted, .removed])
        #expect(share.participants.map(\.permission) == [.readWrite, .readWrite, .readOnly])
        let graces = try await filled.database("Shopping", .shared, as: "_grace")
        #expect(try await graces.zones().isEmpty)
        let changes = try await graces.databaseChanges(DatabaseChangesRequest(includesGoneZones: true)).changes
        #expect(changes.map(\.kind) == [.deleted] && changes.map(\.zoneID) == [household])
        let flats = try await filled.records(
            of: ZoneID(zoneName: "Household"), in: filled.database("Shopping", as: "_ada")
        ).compactMap(\.record?.sharing?.share)
        #expect(flats.contains { $0.rootName == "List/Cleaning" && $0.participants.last?.status == .invited })
    }

    private func checkJournal(_ filled: Filled) async throws {
        let database = try await filled.database("Journal")
        let keys = try await database.require(.keepKeyValues).keyValues(since: nil).changes
        #expect(keys.count == 5 && Set(keys.compactMap { $0.value?.kind }).count == 5)
        let zone = QueryRequest.Area.zone(ZoneID(zoneName: "com.apple.coredata.cloudkit.zone"))
        await #expect(throws: RecordError(.badRequest, "Field 'recordName' is not marked queryable")) {
            _ = try await database.query(QueryRequest(Query(recordType: "CD_Entry"), in: zone))
        }
        let byName = Query(
            recordType: "CD_Entry", filters: [.init("CD_entityName", .equals, FieldInput(.string("Entry")))])
        #expect(try await database.query(QueryRequest(byName, in: zone)).records.count == 200)
    }
}
