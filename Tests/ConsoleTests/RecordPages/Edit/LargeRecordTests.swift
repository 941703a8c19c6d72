import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

/// Every form that can carry a record carries the largest one, and loses none of it.
@Suite struct LargeRecordTests {
    /// Characters that grow in JSON, in HTML and in the body of a form.
    enum Filling: String, CaseIterable, CustomTestStringConvertible {
        case letters = "あ"
        case quotes = "\""
        case lines = "\n"

        /// A record of a field with it has 1 MB, which ends within a few hundred bytes.
        var text: String { String(repeating: rawValue, count: self == .letters ? 349_000 : 523_000) }
        var testDescription: String { "1 MB of \(self)" }
    }

    /// The number of the field in a form.
    private func number(_ field: String, _ page: String, sentTo path: String) throws -> String {
        let name = try #require(
            HTMLForm(page, sentTo: path)?.fields.first { $0.name.hasPrefix("field") && $0.value == field }?.name)
        return String(name.dropFirst("field".count))
    }

    private func isHeld(_ text: String, by name: Name, _ stage: EditStage) async throws -> Bool {
        guard let value = try await stage.values(name)["title"] else { return false }
        return EditStage.bytes(of: value) == EditStage.bytes(of: .string(text))
    }

    @Test(arguments: Filling.allCases) func aRecordIsMadeEditedAndCopied(filling: Filling) async throws {
        let text = filling.text
        try await EditStage.run { stage in
            let new = try await stage.page("record/new?zone=Notes&type=Note")
            let title = "text-\(try number("title", new, sentTo: "record/save"))-1"
            _ = try stage.location(
                try await stage.send("record/save", of: new, [title: text, "name": "note"], button: ("do", "save")))
            #expect(try await isHeld(text, by: "note", stage))
            // The form carries it as it was, and as it is.
            let edit = try await stage.page("record/edit?zone=Notes&name=note")
            let other = String(text.dropLast()) + "x"
            _ = try stage.location(
                try await stage.send(
                    "record/save", of: edit, ["text-\(try number("title", edit, sentTo: "record/save"))-1": other],
                    button: ("do", "save")))
            #expect(try await isHeld(other, by: "note", stage))
            let duplicate = try await stage.page("record/duplicate?zone=Notes&name=note")
            _ = try stage.location(
                try await stage.send("record/save", of: duplicate, ["name": "copy"], button: ("do", "save")))
            #expect(try await isHeld(other, by: "copy", stage))
        }
    }

    @Test(arguments: Filling.allCases) func aConflictIsResolved(filling: Filling) async throws {
        let text = filling.text
        try await EditStage.run { stage in
            let (mine, theirs) = (String(text.dropLast()) + "m", String(text.dropLast()) + "t")
            try await stage.save("note", ["title": .string(text)])
            let edit = try await stage.page("record/edit?zone=Notes&name=note")
            try await stage.save("note", ["title": .string(theirs)])
            let conflict = EditStage.text(
                try await stage.send(
                    "record/save", of: edit, ["text-\(try number("title", edit, sentTo: "record/save"))-1": mine],
                    button: ("do", "save")))
            let pick = "pick\(try number("title", conflict, sentTo: "record/resolve"))"
            let again = EditStage.text(
                try await stage.send("record/resolve", of: conflict, [pick: "mine"], button: ("do", "edit")))
            #expect(again.holds("Edit "))
            _ = try stage.location(
                try await stage.send("record/resolve", of: conflict, [pick: "mine"], button: ("do", "save")))
            #expect(try await isHeld(mine, by: "note", stage))
        }
    }

    @Test(arguments: Filling.allCases) func allMatchesAreChanged(filling: Filling) async throws {
        let text = filling.text
        try await EditStage.run { stage in
            for name in ["a", "b"] as [Name] { try await stage.save(name, ["title": .string("before")]) }
            let form = try await stage.page("bulk?zone=Notes&type=Note&change=set&changed=title")
            let dry = EditStage.text(try await stage.send("bulk", of: form, ["text-1-1": text], button: ("dry", "1")))
            #expect(dry.holds("2 records would get another title"))
            _ = try await stage.end(try await stage.send("bulk/run", of: dry))
            for name in ["a", "b"] as [Name] { #expect(try await isHeld(text, by: name, stage)) }
            // What an address holds gets one, to keep and to send.
            let short = try stage.location(
                try await stage.send("bulk", of: form, ["text-1-1": "short"], button: ("dry", "1")))
            #expect(try await stage.page(short).contains("2 records would get another title"))
        }
    }

    @Test(arguments: [Filling.letters, .quotes]) func aShareHasATitle(filling: Filling) async throws {
        let text = filling.text
        try await EditStage.run { stage in
            try await stage.save("note", ["title": .string("x")])
            let form = try await stage.page("share?zone=Notes&name=note")
            _ = try stage.location(try await stage.send("share", of: form, ["title": text], button: ("do", "save")))
            let share = try #require(try await stage.record("note").sharing?.shareName)
            #expect(try await stage.values(share)[Share.titleField] == .string(text))
        }
    }
}
