import HTTPTypes
import HummingbirdTesting
import RecordStore
import Records
import Testing

/// Two users save the same record: neither change is lost.
@Suite struct ConflictPageTests {
    /// Opens the form of a record, changes the record meanwhile, and sends the form. Returns the resulting page.
    private func conflict(
        _ stage: EditStage, typing: [String: String], saving: [Name: FieldValue]
    ) async throws -> String {
        try await stage.save("note", ["title": .string("before"), "rank": .int64(1), "weight": .double(0.5)])
        let page = try await stage.page("record/edit?zone=Notes&name=note")
        var changes: [String: String?] = [:]
        for (field, text) in typing {
            let number = try #require(
                page.firstMatch(of: try Regex("name=\"field(\\d+)\" value=\"\(field)\""))?.output[1].substring)
            changes["text-\(number)-1"] = text
        }
        try await stage.save("note", saving)
        let answer = try await stage.send("record/save", of: page, changes)
        return EditStage.text(answer)
    }

    private func row(_ field: String, _ page: String) throws -> String {
        String(
            try #require(page.firstMatch(of: try Regex("name=\"field(\\d+)\" value=\"\(field)\""))?.output[1].substring)
        )
    }

    @Test func changesOfDifferentFieldsFitTogether() async throws {
        try await EditStage.run { stage in
            let page = try await conflict(stage, typing: ["title": "mine"], saving: ["rank": .int64(2)])
            #expect(
                page.contains("The two saves changed different fields") && page.contains("changed by you")
                    && page.contains("changed on the server"))
            #expect(!page.contains("name=\"field3\""), "the field that nobody changed is not asked for")
            _ = try stage.location(try await stage.send("record/resolve", of: page, button: ("do", "save")))
            #expect(
                try await stage.values("note") == ["title": .string("mine"), "rank": .int64(2), "weight": .double(0.5)])
        }
    }

    @Test(arguments: [("mine", "mine"), ("was", "before"), ("theirs", "theirs")])
    func aFieldThatBothChangedIsChosen(pick: String, title: String) async throws {
        try await EditStage.run { stage in
            let page = try await conflict(
                stage, typing: ["title": "mine"], saving: ["title": .string("theirs"), "rank": .int64(2)])
            #expect(page.contains("1 field was changed on both sides"))
            let number = try row("title", page)
            let unchosen = try await stage.send("record/resolve", of: page, button: ("do", "save"))
            #expect(unchosen.status == .badRequest)
            #expect(try await stage.values("note")["title"] == .string("theirs"))
            _ = try stage.location(
                try await stage.send("record/resolve", of: page, ["pick\(number)": pick], button: ("do", "save")))
            #expect(try await stage.values("note")["title"] == .string(title))
            #expect(try await stage.values("note")["rank"] == .int64(2))
        }
    }

    @Test func oneButtonChoosesYours() async throws {
        try await EditStage.run { stage in
            let page = try await conflict(
                stage, typing: ["title": "mine", "weight": "2"],
                saving: ["title": .string("theirs"), "rank": .int64(2), "weight": .double(3)])
            #expect(page.contains("Save with mine where both changed"))
            // A field that has a choice keeps it.
            _ = try stage.location(
                try await stage.send(
                    "record/resolve", of: page, ["pick\(try row("weight", page))": "theirs"], button: ("do", "mine")))
            #expect(
                try await stage.values("note") == ["title": .string("mine"), "rank": .int64(2), "weight": .double(3)])
            let merged = try await conflict(stage, typing: ["title": "mine"], saving: ["rank": .int64(7)])
            #expect(!merged.contains("Save with mine where both changed"))
        }
    }

    @Test func aThirdSaveIsAConflictOfItsOwn() async throws {
        try await EditStage.run { stage in
            let page = try await conflict(stage, typing: ["title": "mine"], saving: ["title": .string("theirs")])
            try await stage.save("note", ["title": .string("third")])
            let again = try await stage.send(
                "record/resolve", of: page, ["pick\(try row("title", page))": "mine"], button: ("do", "save"))
            let second = EditStage.text(again)
            for text in ["mine", "theirs", "third"] { #expect(second.contains(text), "\(text)") }
            _ = try stage.location(
                try await stage.send(
                    "record/resolve", of: second, ["pick\(try row("title", second))": "mine"], button: ("do", "save")))
            #expect(try await stage.values("note")["title"] == .string("mine"))
        }
    }

    @Test func editingGoesOnWithWhatWasChosen() async throws {
        try await EditStage.run { stage in
            let page = try await conflict(
                stage, typing: ["title": "mine"], saving: ["title": .string("theirs"), "rank": .int64(9)])
            let form = EditStage.text(
                try await stage.send(
                    "record/resolve", of: page, ["pick\(try row("title", page))": "mine"], button: ("do", "edit")))
            #expect(form.contains("\nmine</textarea>"))
            #expect(try await stage.values("note")["title"] == .string("theirs"))
            _ = try stage.location(try await stage.send("record/save", of: form))
            #expect(
                try await stage.values("note") == ["title": .string("mine"), "rank": .int64(9), "weight": .double(0.5)])
        }
    }

    @Test func aFieldThatOneClearedIsAChange() async throws {
        try await EditStage.run { stage in
            let page = try await conflict(
                stage, typing: ["title": "", "rank": "3"], saving: ["weight": .double(2), "rank": .int64(2)])
            #expect(page.contains("changed by you") && page.contains("1 field was changed on both sides"))
            let rank = try row("rank", page)
            _ = try stage.location(
                try await stage.send("record/resolve", of: page, ["pick\(rank)": "mine"], button: ("do", "save")))
            #expect(try await stage.values("note") == ["rank": .int64(3), "weight": .double(2)])
        }
    }

    /// Values that inputs cannot represent are kept byte for byte: other line endings, white space, times after the
    /// year 9999.
    @Test func whatIsChosenIsSavedAsItIs() async throws {
        try await EditStage.run { stage in
            let was: [Name: FieldValue] = [
                "title": .string("  "), "secret": .string("a\r\nb"),
                "due": .timestamp(Timestamp(milliseconds: 300_000_000_000_000)),
            ]
            try await stage.save("odd", was)
            let form = try await stage.page("record/edit?zone=Notes&name=odd")
            let number = try row("rank", form)
            try await stage.save(
                "odd", ["title": .string("x"), "secret": .string("y"), "due": .timestamp(Timestamp(milliseconds: 0))])
            let page = EditStage.text(try await stage.send("record/save", of: form, ["text-\(number)-1": "1"]))
            var picks: [String: String?] = [:]
            for field in ["title", "secret", "due"] { picks["pick\(try row(field, page))"] = "was" }
            _ = try stage.location(try await stage.send("record/resolve", of: page, picks, button: ("do", "save")))
            let values = try await stage.values("odd")
            for (name, value) in was {
                #expect(values[name].map { EditStage.bytes(of: $0) } == EditStage.bytes(of: value), "\(name)")
            }
            #expect(values["rank"] == .int64(1))
        }
    }

    @Test func aParentThatBothChangedIsChosenToo() async throws {
        try await EditStage.run { stage in
            for name in ["a", "b"] { try await stage.save(Name(name), [:]) }
            try await stage.save("note", [:])
            let page = try await stage.page("record/edit?zone=Notes&name=note")
            let moved = RecordOperation(.forceUpdate, recordName: "note", recordType: "Note", parent: .record("a"))
            _ = try await stage.database().modify(ModifyRequest([moved], zoneID: EditStage.notes))
            let late = EditStage.text(try await stage.send("record/save", of: page, ["parent": "b"]))
            let number = try row("___parent", late)
            _ = try stage.location(
                try await stage.send("record/resolve", of: late, ["pick\(number)": "mine"], button: ("do", "save")))
            #expect(try await stage.record("note").parent == "b")
        }
    }
}
