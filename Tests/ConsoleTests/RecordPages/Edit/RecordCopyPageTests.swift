import InMemoryRecordStore
import Accounts
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

/// Records that are copied one by one to another place.
@Suite struct RecordCopyPageTests {
    private static let other = ZoneID(zoneName: "Other")
    private static let copy = (name: "do", value: "copy")

    private func preview(_ stage: EditStage, _ path: String, _ changes: [String: String?]) async throws -> String {
        try await preview(stage, of: try await stage.page(path), changes)
    }

    /// The preview, at the address that the form redirects to.
    private func preview(_ stage: EditStage, of form: String, _ changes: [String: String?]) async throws -> String {
        try await stage.page(
            try stage.location(try await stage.send("record/copy", of: form, changes, button: ("do", "preview"))))
    }

    /// The result for each record.
    private func outcomes(_ page: String) -> [String] {
        page.matches(
            of:
                /<th scope="row" class="name">(?:<a[^>]*>)?([^<]*)(?:<\/a>)?<\/th><td[^>]*><span class="kind [a-z]*">([^<]*)</
        ).map { "\($0.output.1): \($0.output.2)" }
    }

    private func sends(_ page: String) -> Bool { page.contains("name=\"do\" value=\"copy\"") }

    @Test func aRecordIsCopiedToAnotherEnvironmentAsItIs() async throws {
        try await EditStage.run { stage in
            try await stage.save("target", ["rank": .int64(0)])
            let original = try await stage.save(
                "note",
                [
                    "title": .string("a <b>"), "rank": .int64(7),
                    "room": .reference(Reference(recordName: "target", zoneID: EditStage.notes)),
                ])
            let shown = try await preview(stage, "record/copy?zone=Notes&name=note", ["environment": "production"])
            #expect(
                shown.contains("1 record is copied.") && shown.contains("Creates the zone.")
                    && shown.contains("This is production."))
            #expect(shown.contains("its target is missing there") && shown.contains(">target</td>"))
            let done = EditStage.text(try await stage.send("record/copy", of: shown, button: Self.copy))
            #expect(outcomes(done) == ["note: copied"])
            let there = try await stage.database(.production).fetch(
                [RecordID(recordName: "note", zoneID: EditStage.notes)], desiredKeys: nil)
            let copy = try #require(there.first).get()
            #expect(
                copy.fields == original.fields && copy.created == original.created && copy.modified == original.modified
            )
            #expect(try await stage.record("note") == original)
        }
    }

    @Test func aRecordIsCopiedWithItsFileToAnotherUser() async throws {
        try await EditStage.run { stage in
            let grace = try stage.accounts.caller(named: "grace", deviceID: nil)
            let asset = try await stage.upload("the papers", named: "papers.txt", to: "papers", "file")
            let original = try await stage.save("papers", ["file": .asset(asset)])
            let changes = ["to": "grace", "zoneName": "Copies"]
            let shown = try await preview(stage, "record/copy?zone=Notes&name=papers", changes)
            #expect(shown.contains("1 record is copied with its files.") && shown.contains("Creates the zone."))
            #expect(
                outcomes(EditStage.text(try await stage.send("record/copy", of: shown, button: Self.copy))) == [
                    "papers: copied"
                ])
            let theirs = try await stage.engine.database(try await stage.database().address, as: grace)
            let copies = RecordID(recordName: "papers", zoneID: ZoneID(zoneName: "Copies"))
            let copy = try #require(try await theirs.fetch([copies], desiredKeys: nil).first).get()
            #expect(copy.fields == original.fields)
        }
    }

    @Test func namesThatAreTakenAreLeftReplacedOrStopTheCopy() async throws {
        try await EditStage.run { stage in
            for name in ["a", "b"] as [Name] { try await stage.save(name, ["rank": .int64(1)]) }
            try await stage.save("b", ["rank": .int64(2)], in: Self.other)
            let path = "record/copy?zone=Notes&name=a&name=b"
            let refused = try await preview(stage, path, ["zoneName": "Other", "existing": "refuse"])
            #expect(
                refused.contains("1 record with the same name exists there, so nothing is copied.") && !sends(refused))
            let left = try await preview(stage, path, ["zoneName": "Other", "existing": "skip"])
            #expect(left.contains("1 record is copied. 1 is there already and is kept as it is."))
            #expect(left.contains("record/compare?zone=Notes&amp;name=b&amp;other=b"))
            #expect(
                outcomes(EditStage.text(try await stage.send("record/copy", of: left, button: Self.copy))) == [
                    "a: copied", "b: kept",
                ])
            #expect(try await stage.values("b", in: Self.other)["rank"] == .int64(2))
            let replaced = try await preview(stage, path, ["zoneName": "Other", "existing": "replace"])
            #expect(
                outcomes(EditStage.text(try await stage.send("record/copy", of: replaced, button: Self.copy))) == [
                    "a: replaced", "b: replaced",
                ])
            #expect(try await stage.values("b", in: Self.other)["rank"] == .int64(1))
        }
    }

    /// If a record was saved after the preview, the preview is shown again before anything is copied.
    @Test func aPreviewThatIsOutOfDateIsShownAnew() async throws {
        try await EditStage.run { stage in
            try await stage.save("a", ["rank": .int64(1)])
            let shown = try await preview(stage, "record/copy?zone=Notes&name=a", ["zoneName": "Other"])
            try await stage.save("a", ["rank": .int64(5)], in: Self.other)
            let again = EditStage.text(try await stage.send("record/copy", of: shown, button: Self.copy))
            #expect(
                again.contains("changed after the preview. This is the new preview.")
                    && again.contains("is there already"))
            #expect(try await stage.values("a", in: Self.other)["rank"] == .int64(5))
        }
    }

    /// Only previewed changes are made.
    @Test func aPreviewIsOfOnePlaceAndOneChoice() async throws {
        try await EditStage.run { stage in
            for name in ["a", "b"] as [Name] { try await stage.save(name, ["rank": .int64(1)]) }
            try await stage.save("b", ["rank": .int64(2)], in: Self.other)
            let shown = try await preview(stage, "record/copy?zone=Notes&name=a&name=b", ["zoneName": "Other"])
            for change in [
                ("existing", "replace"), ("environment", "production"), ("zoneName", "Third"), ("database", "public"),
            ] {
                let again = EditStage.text(
                    try await stage.send("record/copy", of: shown, [change.0: change.1], button: Self.copy))
                #expect(
                    again.contains("changed after the preview. This is the new preview.") && outcomes(again).isEmpty,
                    "\(change.0)")
            }
            #expect(try await stage.values("b", in: Self.other)["rank"] == .int64(2))
            #expect(try await stage.database().zones().count == 3)
            #expect(try await !stage.database(.production).zones().contains { $0.zoneID == Self.other })
            // Enter presses the preview button, and the preview has its own address.
            let first = try #require(shown.firstMatch(of: /<button[^>]*name="do"[^>]*>/))
            #expect(first.output.contains("value=\"preview\""))
            let answer = try await stage.send(
                "record/copy", of: shown, ["existing": "replace"], button: ("do", "preview"))
            let address = try stage.location(answer)
            #expect(
                address.hasPrefix("\(EditStage.there)/record/copy?") && !address.contains("shown")
                    && address.utf8.count <= 4096)
            #expect(try await stage.page(address).contains("is replaced"))
            // A preview that is too long for an address is shown without a redirect.
            let long = try await stage.send(
                "record/copy", of: shown, ["back": "/c/" + String(repeating: "x", count: 4096)],
                button: ("do", "preview"))
            #expect(EditStage.text(long).contains("1 record is copied. 1 is there already and is kept as it is."))
        }
    }

    @Test func whatCantBeCopiedTakesWhatNeedsItAlong() async throws {
        try await EditStage.run { stage in
            try await stage.database().save("room", as: .create, type: "Room", in: EditStage.notes, ["x": .int64(1)])
            func reference(_ name: Name, _ action: Reference.Action) -> FieldValue {
                .reference(Reference(recordName: name, action: action))
            }
            try await stage.save("firm", ["room": reference("room", .validate)])
            try await stage.save("next", ["room": reference("firm", .validate)])
            try await stage.save("loose", ["room": reference("room", .none)])
            let path = "record/copy?zone=Notes&name=next&name=firm&name=loose&name=room"
            let shown = try await preview(stage, path, ["environment": "production"])
            #expect(
                shown.contains("1 record is copied. 3 can’t be copied.")
                    && shown.contains("&#39;room&#39; is not copied and not there"))
            #expect(shown.contains("References to missing records") && shown.contains("its target is missing there"))
            let done = EditStage.text(try await stage.send("record/copy", of: shown, button: Self.copy))
            #expect(
                Set(outcomes(done)) == ["loose: copied", "next: not copied", "firm: not copied", "room: not copied"])
            // All of them are copied if the type may be added.
            let all = try await preview(stage, path, ["zoneName": "Other"])
            #expect(all.contains("4 records are copied.") && !all.contains("References to missing records"))
        }
    }

    @Test func defaultZonesTakeRecordsOneByOne() async throws {
        try await EditStage.run { stage in
            let circle = [("a", "b"), ("b", "a")].map { name, target in
                RecordOperation(
                    .create, recordName: Name(name), recordType: "Note",
                    fields: ["room": FieldInput(.reference(Reference(recordName: Name(target), action: .validate)))])
            }
            try await stage.database().apply(circle, in: EditStage.notes)
            let path = "record/copy?zone=Notes&name=a&name=b"
            let refused = try await preview(stage, path, ["database": "public", "existing": "refuse"])
            #expect(refused.contains("A default zone has no atomic batches") && !sends(refused))
            let open = try await preview(stage, path, ["database": "public"])
            #expect(
                open.contains("Nothing is copied. 2 can’t be copied.")
                    && open.contains("refer to each other with VALIDATE") && !sends(open))
            let together = try await preview(stage, path, ["zoneName": "Other"])
            #expect(together.contains("2 records are copied."))
            #expect(
                outcomes(EditStage.text(try await stage.send("record/copy", of: together, button: Self.copy))) == [
                    "a: copied", "b: copied",
                ])
        }
    }

    /// The preview follows a limited number of references. Beyond that, the result of the save counts.
    @Test func nothingCopiedIsCalledSo() async throws {
        try await EditStage.run { stage in
            try await stage.save("target", [:])
            let many = (0..<2000).map { FieldValue.reference(Reference(recordName: Name("nobody\($0)"))) }
            try await stage.save(
                "note",
                [
                    "many": .list(many, of: .reference),
                    "room": .reference(Reference(recordName: "target", action: .validate)),
                ])
            let shown = try await preview(stage, "record/copy?zone=Notes&name=note", ["zoneName": "Other"])
            #expect(shown.contains("There are more references than were checked."))
            let done = EditStage.text(try await stage.send("record/copy", of: shown, button: Self.copy))
            #expect(
                outcomes(done) == ["note: not copied"] && done.contains("<h1>Nothing was copied</h1>")
                    && !done.contains(">The copies<"))
        }
    }

    /// Skipped records add nothing to the target schema.
    @Test func onlyWhatIsCopiedAddsToTheSchema() async throws {
        try await EditStage.run { stage in
            let fields: [Name: FieldInput] = ["rank": FieldInput(.int64(1))]
            let production = try await stage.database(.production)
            _ = try await production.modifyZones([.create(EditStage.notes)])
            try await stage.save("a", ["rank": .int64(1)])
            try await stage.save("b", ["rank": .int64(1), "brand": .string("new")])
            let there = RecordOperation(.create, recordName: "b", recordType: "Note", fields: fields)
            try await production.apply([there], in: EditStage.notes)
            let path = "record/copy?zone=Notes&name=a&name=b"
            // The field that production lacks belongs to a skipped record.
            let left = try await preview(stage, path, ["environment": "production"])
            #expect(left.contains("1 record is copied. 1 is there already and is kept as it is.") && sends(left))
            let replaced = try await preview(stage, path, ["environment": "production", "existing": "replace"])
            #expect(
                replaced.contains("1 record is copied. 1 can’t be copied.")
                    && replaced.contains("Deploy the schema of development"))
        }
    }

    @Test func referencesFollowTheirRecordAndValidateNeedsTheTarget() async throws {
        try await EditStage.run { stage in
            try await stage.save("room", ["rank": .int64(1)])
            try await stage.save(
                "note", ["room": .reference(Reference(recordName: "room", zoneID: EditStage.notes, action: .validate))])
            let alone = try await preview(stage, "record/copy?zone=Notes&name=note", ["zoneName": "Other"])
            #expect(alone.contains("VALIDATE: the record is refused without it"))
            #expect(alone.contains("Nothing is copied. 1 can’t be copied.") && !sends(alone))
            // Together with its target, in any order.
            let both = try await preview(stage, "record/copy?zone=Notes&name=note&name=room", ["zoneName": "Other"])
            #expect(!both.contains("References to missing records"))
            #expect(
                outcomes(EditStage.text(try await stage.send("record/copy", of: both, button: Self.copy))) == [
                    "note: copied", "room: copied",
                ])
            guard case .reference(let reference)? = try await stage.values("note", in: Self.other)["room"] else {
                Issue.record("no reference")
                return
            }
            #expect(reference.zoneID?.zoneName == "Other" && reference.action == .validate)
        }
    }

    @Test func missingProductionTypesAreExplainedWithARemedy() async throws {
        try await EditStage.run { stage in
            let operations = [
                RecordOperation(
                    .create, recordName: "new", recordType: "Undeployed", fields: ["x": FieldInput(.int64(1))]),
                RecordOperation(
                    .create, recordName: "old", recordType: "Note", fields: ["rank": FieldInput(.int64(1))]),
            ]
            try await stage.database().apply(operations, in: EditStage.notes)
            let shown = try await preview(
                stage, "record/copy?zone=Notes&name=new&name=old", ["environment": "production"])
            #expect(
                shown.contains("Cannot create new type Undeployed in production schema")
                    && shown.contains("Deploy the schema of development"))
            #expect(shown.contains("1 record is copied. 1 can’t be copied."))
            let done = EditStage.text(try await stage.send("record/copy", of: shown, button: Self.copy))
            #expect(outcomes(done) == ["old: copied", "new: not copied"])
            let all = try await preview(
                stage, "record/copy?zone=Notes&name=new&name=old", ["environment": "production", "existing": "refuse"])
            #expect(!sends(all))
        }
    }

    @Test func pickedRecordsAreComparedCopiedAndFetched() async throws {
        try await EditStage.run { stage in
            for name in ["a", "b", "c"] as [Name] { try await stage.save(name, ["rank": .int64(1)]) }
            func press(_ button: String, _ names: [Name]) async throws -> TestResponse {
                var pairs = [
                    ("do", button), ("back", "\(EditStage.there)/fetch?zone=Notes&names=a&return=system&as=table"),
                ]
                for name in names {
                    pairs.append(("pick", "Notes\n\(name)\n\(try await stage.record(name).recordChangeTag)"))
                }
                return try await stage.post("picked?zone=Notes", pairs)
            }
            // In the same view as the selection.
            #expect(
                try stage.location(try await press("fetch", ["a", "b"])).hasSuffix(
                    "/fetch?zone=Notes&names=a%0Ab&return=system&as=table"))
            let compared = try stage.location(try await press("compare", ["a", "c"]))
            #expect(try await stage.page(compared).contains("The same values in all 1 field."))
            for names in [["a"], ["a", "b", "c"]] as [[Name]] {
                let refused = try await press("compare", names)
                #expect(refused.status == .badRequest && EditStage.text(refused).contains("Select exactly two records"))
            }
            let form = EditStage.text(try await press("copy", ["a", "b"]))
            #expect(form.contains("Copy 2 records"))
            let shown = try await preview(stage, of: form, ["zoneName": "Other"])
            #expect(
                outcomes(EditStage.text(try await stage.send("record/copy", of: shown, button: Self.copy))) == [
                    "a: copied", "b: copied",
                ])
        }
    }

    @Test func aCopyOntoItselfAndTooManyAreRefused() async throws {
        try await EditStage.run { stage in
            try await stage.save("a", [:])
            #expect(
                try await preview(stage, "record/copy?zone=Notes&name=a", [:]).contains(
                    "The records are in this place already"))
            #expect(
                try await preview(stage, "record/copy?zone=Notes&name=a", ["zoneName": "  "]).contains("Name the zone"))
            #expect(
                try await preview(stage, "record/copy?zone=Notes&name=a", ["zoneName": "_no"]).contains(
                    "names that start with _ belong to the system"))
            let many = (0...200).map { "name=r\($0)" }.joined(separator: "&")
            #expect(try await stage.get("record/copy?zone=Notes&\(many)").status == .badRequest)
            #expect(try await stage.get("record/copy?zone=Notes").status == .badRequest)
        }
    }
}
