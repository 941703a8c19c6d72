import InMemoryRecordStore
import Accounts
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import Testing

/// Copying zones to another environment, user or name.
@Suite struct ZoneCopyPageTests {
    @Test func aZoneIsCopiedToAnotherEnvironmentAndName() async throws {
        try await EditStage.run { stage in
            for number in 0..<3 {
                try await stage.save(
                    Name("note \(number)"), ["rank": .int64(Int64(number)), "title": .string("a <b>")])
            }
            try await stage.save("links", ["room": .reference(Reference(recordName: "note 0", action: .validate))])
            let form = try await stage.page("zone/copy?zone=Notes")
            #expect(form.contains("Copies 4 records with their files."))
            let over = try await stage.end(
                try await stage.send("zone/copy", of: form, ["environment": "production", "zoneName": "Copied"]))
            #expect(over.contains(">done<") && over.contains("<dt>copied</dt><dd>4</dd>"))
            let there = try await stage.database(.production)
            let page = try await there.zoneChanges(ZoneChangesRequest(ZoneID(zoneName: "Copied")))
            #expect(Set(page.changes.map(\.recordID.recordName)) == ["note 0", "note 1", "note 2", "links"])
            let original = try await stage.record("note 1")
            let copy = try #require(page.changes.compactMap(\.record).first { $0.recordID.recordName == "note 1" })
            #expect(
                copy.fields == original.fields && copy.created == original.created && copy.modified == original.modified
            )
            #expect(try await stage.record("note 1") == original)
        }
    }

    @Test func aZoneIsCopiedToAnotherUser() async throws {
        try await EditStage.run { stage in
            let grace = try stage.accounts.caller(named: "grace", deviceID: nil)
            try await stage.save("note", ["rank": .int64(1)])
            let form = try await stage.page("zone/copy?zone=Notes")
            let over = try await stage.end(
                try await stage.send("zone/copy", of: form, ["to": "grace", "zoneName": "Copied"]))
            #expect(over.contains("<dt>copied</dt><dd>1</dd>"))
            let theirs = try await stage.engine.database(try await stage.database().address, as: grace)
            let page = try await theirs.zoneChanges(ZoneChangesRequest(ZoneID(zoneName: "Copied")))
            #expect(page.changes.map(\.recordID.recordName) == ["note"])
        }
    }

    @Test func recordsThatAreThereAreReplacedOnlyWhenThatIsMeant() async throws {
        try await EditStage.run { stage in
            try await stage.save("note", ["rank": .int64(1)])
            try await stage.save("note", ["rank": .int64(2)], in: ZoneID(zoneName: "Other"))
            let form = try await stage.page("zone/copy?zone=Notes")
            let asked = EditStage.text(try await stage.send("zone/copy", of: form, ["zoneName": "Other"]))
            #expect(asked.contains("over existing records?") && asked.contains("has 1 record."))
            #expect(try await stage.values("note", in: ZoneID(zoneName: "Other"))["rank"] == .int64(2))
            let over = try await stage.end(try await stage.send("zone/copy", of: asked))
            #expect(over.contains(">done<"))
            #expect(try await stage.values("note", in: ZoneID(zoneName: "Other"))["rank"] == .int64(1))
        }
    }

    @Test func aCopyOntoItselfIsRefusedAndNothingTypedIsLost() async throws {
        try await EditStage.run { stage in
            let form = try await stage.page("zone/copy?zone=Notes")
            #expect(form.contains("value=\"Notes copy\""), "a name that works")
            #expect(
                EditStage.text(try await stage.send("zone/copy", of: form, ["zoneName": "Notes"])).contains(
                    "A zone can&#39;t be copied onto itself"))
            let refused = EditStage.text(
                try await stage.send("zone/copy", of: form, ["zoneName": "_no", "environment": "production"]))
            #expect(
                refused.contains("names that start with _ belong to the system") && refused.contains("value=\"_no\""))
            #expect(refused.contains("value=\"production\" selected"))
            for blank in ["", "  "] {
                #expect(
                    EditStage.text(try await stage.send("zone/copy", of: form, ["zoneName": blank])).contains(
                        "Name the zone"))
            }
            #expect(
                EditStage.text(try await stage.send("zone/copy", of: form, ["to": "nobody"])).contains(
                    "There is no user"))
            #expect(try await stage.get("zone/copy?zone=nowhere").status == .notFound)
        }
    }

    /// Types that production lacks are not created silently.
    @Test func aCopyThatNeedsAnotherSchemaSaysSo() async throws {
        try await EditStage.run { stage in
            let operation = RecordOperation(
                .create, recordName: "new", recordType: "Undeployed", fields: ["x": FieldInput(.int64(1))])
            _ = try await stage.database().modify(ModifyRequest([operation], zoneID: EditStage.notes))
            let form = try await stage.page("zone/copy?zone=Notes")
            let over = try await stage.end(try await stage.send("zone/copy", of: form, ["environment": "production"]))
            #expect(over.contains("failed") && over.contains("The production schema can&#39;t be edited"))
        }
    }
}
