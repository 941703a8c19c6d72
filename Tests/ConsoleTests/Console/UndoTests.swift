@testable import Console
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

/// What an action changed is as before after Undo, except for records that changed since.
@Suite struct UndoTests {
    private typealias Act = @Sendable (EditStage) async throws -> TestResponse

    /// An action of the console on the record `hall` and its child, a change by a client after it, and what Undo leaves.
    struct Scenario: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let act: @Sendable (EditStage) async throws -> TestResponse
        var since: @Sendable (EditStage) async throws -> Void = { _ in }
        /// The titles of the records; `nil` for one that is not there.
        let titles: [Name: String?]
        /// What the page of the job lists; `nil` if all is undone.
        var listed: String?
        /// The notice if all is undone.
        var told = "Undone: the records are as they were before."
    }

    private static let edit: Act = { stage in
        try await stage.send(
            "record/save", of: stage.page("record/edit?zone=Notes&name=hall"),
            ["text-\(try await field("title", stage))-1": "Lobby"], button: ("do", "save"))
    }
    private static let delete: Act = { stage in
        try await stage.send("record/delete", of: stage.page("record/delete?zone=Notes&name=hall"))
    }
    private static let pickedDeletion: Act = { stage in
        let picks = ["pick=\(try await pick("hall", stage))", "pick=\(try await pick("child", stage))"]
        return try await stage.post("picked?zone=Notes", (picks + ["do=delete"]).joined(separator: "&"))
    }
    private static let creation: Act = { stage in
        try await stage.send(
            "record/save", of: stage.page("record/new?type=Note&zone=Notes"),
            ["name": "fresh"], button: ("do", "save"))
    }

    static let scenarios = [
        Scenario(testDescription: "an edit", act: edit, titles: ["hall": "Hall"]),
        Scenario(
            testDescription: "an edit, saved again since", act: edit,
            since: { try await $0.save("hall", ["title": .string("Foyer")]) }, titles: ["hall": "Foyer"],
            listed: "saved again since"),
        Scenario(
            testDescription: "an edit, deleted since", act: edit, since: { try await $0.remove("hall") },
            titles: ["hall": nil], listed: "deleted since"),
        Scenario(testDescription: "a creation", act: creation, titles: ["fresh": nil, "hall": "Hall"]),
        Scenario(
            testDescription: "a creation, with a child since", act: creation,
            since: {
                try await $0.save("late", ["room": .reference(Reference(recordName: "fresh", action: .deleteSelf))])
            }, titles: ["fresh": "", "late": ""], listed: "would be deleted with it"),
        Scenario(
            testDescription: "a deletion with a child", act: delete, titles: ["hall": "Hall", "child": "Child"],
            told: back),
        Scenario(
            testDescription: "a deletion with a child that was made again since", act: delete,
            since: { try await $0.save("child", ["title": .string("Other")]) },
            titles: ["hall": "Hall", "child": "Other"], listed: "saved again since"),
        Scenario(
            testDescription: "a deletion of several", act: pickedDeletion,
            titles: ["hall": "Hall", "child": "Child"], told: back),
    ]
    private static let back = "Undone: the records are back, as new records with the same names and values."

    @Test(arguments: scenarios) func whatIsUndone(_ scenario: Scenario) async throws {
        try await EditStage.run { stage in
            try await stage.save("hall", ["title": .string("Hall")])
            try await stage.save(
                "child",
                ["title": .string("Child"), "room": .reference(Reference(recordName: "hall", action: .deleteSelf))])
            let page = try await stage.page(stage.location(scenario.act(stage)))
            #expect(page.contains(">Undo</button>"))
            try await scenario.since(stage)
            let answer = try await stage.send("undo", of: page)
            if let listed = scenario.listed {
                #expect(try await stage.end(answer).contains(listed))
            } else {
                let undone = try await stage.page(stage.location(answer))
                #expect(undone.contains(scenario.told))
            }
            for (name, title) in scenario.titles {
                #expect(try await stage.title(name) == title, "\(name)")
            }
        }
    }

    /// Undo is a change itself.
    @Test func undoIsUndone() async throws {
        try await EditStage.run { stage in
            try await stage.save("hall", ["title": .string("Hall")])
            let saved = try await stage.page(stage.location(Self.edit(stage)))
            #expect(saved.contains("Saved title."))
            let undone = try await stage.page(stage.location(stage.send("undo", of: saved)))
            #expect(try await stage.title("hall") == "Hall")
            _ = try await stage.send("undo", of: undone)
            #expect(try await stage.title("hall") == "Lobby")
            // The first change is not the latest one any more.
            let again = try await stage.send("undo", of: saved)
            #expect(again.status == .conflict && EditStage.text(again).contains("This change was undone already"))
            #expect(try await stage.title("hall") == "Lobby")
        }
    }

    /// It asks once, with the number, and the notice tells what went. The names are against the order of the references.
    @Test func aDeletionWithOthersAsksAndTells() async throws {
        try await EditStage.run { stage in
            try await stage.save("hall", ["title": .string("Hall")])
            try await stage.save("door", ["room": .reference(Reference(recordName: "hall", action: .deleteSelf))])
            try await stage.save("bell", ["room": .reference(Reference(recordName: "door", action: .deleteSelf))])
            #expect(try await stage.page("record?zone=Notes&name=hall").contains(">Delete…</a>"))
            #expect(try await stage.page("record?zone=Notes&name=bell").contains(">Delete</button>"))
            let warning =
                "2 records that refer to it (2 Note) are deleted too, because their references say DELETE_SELF."
            // The form of a page that was loaded before the others were there.
            let tag = try await stage.record("hall").recordChangeTag
            let asked = EditStage.text(try await stage.post("record/delete?zone=Notes", "name=hall&tag=\(tag)"))
            #expect(asked.contains(warning) && asked.contains(">Delete 3 records</button>"))
            let picked = "pick=\(try await Self.pick("hall", stage))&do=delete"
            let question = EditStage.text(try await stage.post("picked?zone=Notes", picked))
            #expect(question.contains(warning) && question.contains("Undo brings all of them back."))
            #expect(try await stage.title("bell") == "")
            let gone = try await stage.page(stage.location(stage.send("picked/delete", of: question)))
            #expect(gone.contains("Deleted hall, and 2 records that refer to it (2 Note)."))
            // The page of one that went has the record with which all of them come back.
            #expect(try await stage.page("record?zone=Notes&name=bell").contains(">hall</a>, in zone"))
            _ = try await stage.send("undo", of: gone)
            let journal = try await stage.database().require(.keepJournal)
            var positions: [Int64] = []
            for name: Name in ["hall", "door", "bell"] {
                let request = RecordJournalRequest(RecordID(recordName: name, zoneID: EditStage.notes))
                positions += try await journal.journal(request).entries.prefix(1).map(\.position)
            }
            #expect(positions.count == 3 && positions == positions.sorted())
            let few = "pick=\(try await Self.pick("bell", stage))&do=delete"
            let alone = try await stage.page(stage.location(stage.post("picked?zone=Notes", few)))
            #expect(alone.contains("Deleted bell."))
        }
    }

    /// Many records: in the background, children after the records that they refer to.
    @Test func aDeletionOfAllMatchesIsUndone() async throws {
        try await EditStage.run { stage in
            for start in [0, 200] {
                let operations = (start..<(start + 200)).map { number in
                    RecordOperation(
                        .forceUpdate, recordName: Name("note \(number)"), recordType: "Note",
                        fields: number == 0
                            ? [:]
                            : [
                                "room": FieldInput(
                                    .reference(Reference(recordName: Name("note \(number / 2)"), action: .validate)))
                            ])
                }
                try await stage.database().apply(operations, in: EditStage.notes)
            }
            let dry = try await stage.page("bulk?zone=Notes&type=Note&change=delete&dry=1")
            let over = try await stage.end(stage.send("bulk/run", of: dry))
            #expect(try await stage.title("note 399") == nil)
            let undone = try await stage.end(stage.send("undo", of: over))
            #expect(undone.contains(">done<") && undone.contains("<dt>undone</dt><dd>400</dd>"))
            #expect(try await [stage.title("note 399"), stage.title("note 0")] == ["", ""])
        }
    }

    @Test func anImportIsUndone() async throws {
        try await EditStage.run { stage in
            try await stage.save("hall", ["title": .string("Hall"), "rank": .int64(1)])
            let rows = "type=Note&zone=Notes&format=csv&text=recordName,title\nhall,Lobby\nnew,New\n"
            let preview = EditStage.text(try await stage.post("importing/preview", rows))
            // The button of the import sends the form of the preview.
            let form = try #require(HTMLForm(preview, sentTo: "importing/preview"))
            let begun = try await stage.post("importing/run?zone=Notes", form.fields.map { ($0.name, $0.value) })
            let over = try await stage.end(begun)
            #expect(over.contains(">Undo this import</button>"))
            #expect(try await stage.title("hall") == "Lobby")
            let undone = try await stage.page(stage.location(stage.send("undo", of: over)))
            #expect(undone.contains("Undone: ") && undone.contains("This import was undone."))
            #expect(undone.contains(">undone<") && !undone.contains(">done<"))
            #expect(!undone.contains("Undo this import") && !undone.contains("Show all Note records"))
            #expect(try await [stage.title("hall"), stage.title("new")] == ["Hall", nil])
            #expect(try await stage.values("hall")["rank"] == .int64(1))
        }
    }

    /// Where nothing can be undone, the notice says so, and deletions ask.
    @Test func withoutAJournalDeletionsAsk() async throws {
        try await EditStage.run(journal: JournalLimits(days: 0)) { stage in
            try await stage.save("hall", ["title": .string("Hall")])
            let page = try await stage.page(stage.location(Self.edit(stage)))
            #expect(page.contains("It can’t be undone: this server keeps no earlier versions."))
            #expect(!page.contains(">Undo</button>") && page.contains(">Delete…</a>"))
            let question = try await stage.page("record/delete?zone=Notes&name=hall")
            #expect(question.contains(">Save a snapshot first…</a>"))
            let picked = "pick=\(try await Self.pick("hall", stage))&do=delete"
            let asked = EditStage.text(try await stage.post("picked?zone=Notes", picked))
            #expect(asked.contains("Delete 1 record?") && asked.contains("hall."))
            #expect(try await stage.title("hall") == "Lobby")
        }
    }

    @Test func inProductionDeletionsAsk() async throws {
        try await EditStage.run { stage in
            let there = EditStage.there.replacing("development", with: "production")
            let saved = RecordOperation(.forceUpdate, recordName: "hall", recordType: "Note")
            _ = try await stage.database(.production).modify(ModifyRequest([saved]))
            let page = try await stage.page("\(there)/record?zone=_defaultZone&name=hall")
            #expect(page.contains(">Delete…</a>") && !page.contains(">Delete</button>"))
        }
    }

    @Test(arguments: ["public", "shared"]) func aChangeIsUndoneWhereItWasMade(database: String) async throws {
        try await EditStage.run { stage in
            try await stage.save("hall", ["title": .string("Hall")])
            let location = try await stage.location(Self.edit(stage))
            let id = try #require(location.split(separator: "undo=").last)
            let there = EditStage.there.replacing("private", with: database)
            let answer = try await stage.post("undo", "change=\(id)", in: there)
            #expect(answer.status == .notFound && EditStage.text(answer).contains("be undone here any more"))
            #expect(try await stage.title("hall") == "Lobby")
        }
    }

    private static func pick(_ name: Name, _ stage: EditStage) async throws -> String {
        PercentEncoding.encoded("Notes\n\(name)\n\(try await stage.record(name).recordChangeTag)")
    }

    /// The number of a field in the form of `hall`.
    private static func field(_ name: String, _ stage: EditStage) async throws -> Int {
        let page = try await stage.page("record/edit?zone=Notes&name=hall")
        let number = page.firstMatch(of: /name="field([0-9]+)" value="title"/)?.output.1
        return try #require(number.flatMap { Int($0) })
    }
}

extension EditStage {
    /// The title of a record, empty without one; `nil` if the record is not there.
    fileprivate func title(_ name: Name) async throws -> String? {
        do {
            guard case .string(let title)? = try await values(name)["title"] else { return "" }
            return title
        } catch let error as RecordError where error.code == .notFound {
            return nil
        }
    }

    fileprivate func remove(_ name: Name) async throws {
        try await database().delete(name, in: Self.notes)
    }
}
