import CloudKitClient
import Foundation
import LoopbackServing
import Records
import Testing

@testable import RemoteRecords

/// Records of NSPersistentCloudKitContainer as objects.
@Suite struct MirroredObjectsTests {
    private static func record(_ type: Name, _ name: String, _ fields: [Name: String]) -> Record {
        var record = Record(recordType: type, recordID: RecordID(recordName: name, zoneID: MirroredObject.zoneID))
        for (key, value) in fields { record[key] = value }
        return record
    }

    private static let diary = record("CD_Journal", "J1", ["CD_entityName": "Journal", "CD_name": "Diary"])
    private static let entry = record(
        "CD_Entry", "E1", ["CD_entityName": "Entry", "CD_title": "Ice", "CD_journal": "J1"])
    private static let weather = record("CD_Tag", "T1", ["CD_entityName": "Tag", "CD_name": "weather"])
    private static let link = record(
        "CDMR", "L1", ["CD_entityNames": "Entry:Tag", "CD_recordNames": "E1:T1", "CD_relationships": "tags:entries"])

    @Test func recordsAreObjects() throws {
        var long = Self.entry
        long["CD_photo_ckAsset"] = AssetFile(fileURL: URL(filePath: "/tmp/photo"))
        long["CD_mood"] = 3
        let object = try #require(MirroredObject(long))
        #expect(object.entityName == "Entry" && object.names == ["journal", "mood", "photo", "title"])
        #expect(
            object["title"] as? String == "Ice" && object["mood"] == 3
                && (object["photo"] as? AssetFile)?.fileURL?.lastPathComponent == "photo")
        #expect(object.destination(of: "journal") == Self.diary.recordID && object.destination(of: "none") == nil)
        #expect(MirroredObject(Self.link) == nil && MirroredObject(Self.record("Item", "I1", [:])) == nil)
        // A record of an older app, without the entity's name.
        #expect(MirroredObject(Self.record("CD_Entry", "E2", [:]))?.entityName == "Entry")
    }

    /// Core Data clears the field of an attribute when its value becomes an asset, and keeps a field of its own for
    /// moves.
    @Test func aLongValueIsInTheFieldBeside() throws {
        var record = Self.entry
        record["CD_body"] = ""
        record["CD_body_ckAsset"] = AssetFile(fileURL: URL(filePath: "/tmp/body"))
        record["CD_moveReceipt"] = Data([1])
        record["CD_moveReceipt_ckAsset"] = AssetFile(fileURL: URL(filePath: "/tmp/receipt"))
        var object = try #require(MirroredObject(record))
        #expect(
            (object["body"] as? AssetFile)?.fileURL?.lastPathComponent == "body" && object["body"] as String? == nil)
        #expect(object.names == ["body", "journal", "title"])
        record["CD_body"] = "short again"
        object = try #require(MirroredObject(record))
        #expect(object["body"] == "short again")
    }

    /// Records come in the order of their changes, so that ends of relationships come after them.
    @Test(arguments: [false, true]) func relationshipsLeadBothWays(isReversed: Bool) throws {
        var objects = MirroredObjects()
        let records = [Self.diary, Self.entry, Self.weather, Self.link]
        for record in isReversed ? records.reversed() : records { objects.add(record) }
        #expect(objects.entityNames == ["Entry", "Journal", "Tag"] && objects.objects(of: "Entry").count == 1)
        let entry = try #require(objects.object(Self.entry.recordID))
        let diary = try #require(objects.object(entry, "journal"))
        let tag = try #require(objects.objects(entry, "tags").first)
        #expect(diary["name"] == "Diary" && tag["name"] == "weather")
        #expect(
            objects.objects(of: "Entry", whose: "journal", is: diary) == [entry]
                && objects.objects(tag, "entries") == [entry])
        objects.remove(Self.link.recordID)
        #expect(objects.objects(entry, "tags").isEmpty && objects.objects(tag, "entries").isEmpty)
        objects.remove(Self.diary.recordID)
        #expect(objects.object(entry, "journal") == nil && objects.entityNames == ["Entry", "Tag"])
    }

    /// Two devices may have linked the same objects. They are linked once, and until both records are gone.
    @Test func twoLinksOfAPairAreCounted() throws {
        var objects = MirroredObjects()
        let second = Self.record(
            "CDMR", "L2",
            ["CD_entityNames": "Entry:Tag", "CD_recordNames": "E1:T1", "CD_relationships": "tags:entries"])
        for record in [Self.entry, Self.weather, Self.link, second, Self.link] { objects.add(record) }
        let (entry, tag) = (
            try #require(objects.object(Self.entry.recordID)), try #require(objects.object(Self.weather.recordID))
        )
        #expect(objects.objects(entry, "tags") == [tag] && objects.objects(tag, "entries") == [entry])
        objects.remove(Self.link.recordID)
        #expect(objects.objects(entry, "tags") == [tag] && objects.objects(tag, "entries") == [entry])
        objects.remove(second.recordID)
        #expect(objects.objects(entry, "tags").isEmpty && objects.objects(tag, "entries").isEmpty)
    }

    /// The answer needs no sync, whatever was there before.
    @Test func aUserHasDataOrNot() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                let none = try await database.hasRecords(in: MirroredObject.zoneID)
                try await database.save(MirroredObject.zoneID)
                let empty = try await database.hasRecords(in: MirroredObject.zoneID)
                try await database.save(Self.entry)
                let some = try await database.hasRecords(in: MirroredObject.zoneID)
                try await database.deleteRecord(withID: Self.entry.recordID)
                let deleted = try await database.hasRecords(in: MirroredObject.zoneID)
                #expect([none, empty, some, deleted] == [false, false, true, false])
            }
        }
    }

    /// A zone that once had much. Pages of deletions are no empty ones, which end after a while.
    @Test func deletionsWithoutEndComeBeforeTheFirstRecord() async throws {
        let count = PageTrail.emptyLimit + 1
        try await withScript({ _, number in
            let change = number < count ? #""recordName":"r\#(number)","deleted":true"# : item("a", tag: "1")
            let page = #""records":[{\#(change)}],"syncToken":"t\#(number)","moreComing":\#(number < count)"#
            return .json(#"{"zones":[{"zoneID":{"zoneName":"Items"},\#(page)}]}"#)
        }) { container, _ in
            let some = try await container.privateCloudDatabase.hasRecords(in: zone)
            #expect(some)
        }
    }
}
