import Accounts
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

@testable import Console

/// The titles of records: in tables, references, feeds, searches and on the page of the type.
@Suite struct TitlePageTests {
    /// A record with a title, and one that refers to it.
    private static func fill(_ stage: EditStage) async throws {
        try await stage.save("hall", ["title": .string("The <hall>")])
        try await stage.save(
            "chair", ["title": .string("Chair"), "rank": .int64(7), "room": .reference(Reference(recordName: "hall"))])
    }

    private static let hall = "The &lt;hall&gt;</bdi> <small>hall</small></a>"
    private static let chair = "Chair</bdi> <small>chair</small></a>"

    @Test func recordsHaveTheirTitleWithTheNameBesideIt() async throws {
        try await EditStage.run { stage in
            try await Self.fill(stage)
            try await stage.save("bare", ["rank": .int64(1)])
            let table = try await stage.page("query?type=Note&zone=Notes")
            // The column of the titles leads to the records, whose names have a column of their own.
            #expect(
                table.contains("title=\"hall\"><bdi>The &lt;hall&gt;</bdi></a></th><td data-label=\"recordName\">")
                    && table.contains("title=\"bare\">bare</a>"))
            #expect(table.matches(of: /The &lt;hall&gt;/).count == 2, "the record, and the reference to it")
            #expect(table.matches(of: /<th scope="col"[^>]*>(?:<a [^>]*>)?title</).count == 1)
            // Where it is not asked for, the title stands beside the name, and where it is, it has its column.
            let some = try await stage.page("query?type=Note&zone=Notes&key=rank")
            #expect(some.contains(Self.chair) && !some.contains("data-titled"))
            #expect(try await stage.page("query?type=Note&zone=Notes&key=rank&key=title").contains("data-titled"))
            for page in [
                "changes?zone=Notes", "fetch?zone=Notes&names=hall%0Achair",
                "fetch?zone=Notes&names=hall%0Achair&as=table",
            ] {
                let text = try await stage.page(page)
                #expect(text.contains(Self.hall) && text.contains(Self.chair), "\(page)")
            }
            let record = try await stage.page("record?zone=Notes&name=hall")
            #expect(
                record.contains("<h1><bdi>The &lt;hall&gt;</bdi></h1>")
                    && record.contains("<code data-copy-source>hall</code>"))
            #expect(record.contains(Self.chair), "the referrer")
            #expect(try await stage.page("record?zone=Notes&name=chair").contains(Self.hall), "the reference")
            #expect(
                try await stage.page("record?zone=Notes&name=bare").contains(
                    "<h1 class=\"mono\"><span data-copy-source>bare</span></h1>"))
        }
    }

    @Test func aQueryInWordsNamesTheRecordOfAReferenceByItsTitle() async throws {
        try await EditStage.run { stage in
            try await Self.fill(stage)
            _ = try await stage.database().require(.editSchema).edit([
                .addIndexes([.queryable], of: .custom("room"), in: "Note")
            ])
            let filter = "type=Note&filter1=room&is1=EQUALS&value1="
            #expect(
                try await stage.page("query?zone=Notes&\(filter)hall").contains(
                    ">room is <b>The &lt;hall&gt;</b><"))
            #expect(
                try await stage.page("query?zone=Notes&\(filter)nowhere").contains(
                    ">room is <b>nowhere</b><"))
        }
    }

    @Test func aReferenceToAnotherPageAndToNothingIsShown() async throws {
        try await EditStage.run { stage in
            try await Self.fill(stage)
            try await stage.save("lost", ["room": .reference(Reference(recordName: "nowhere"))])
            try await stage.save(
                "far", ["room": .reference(Reference(recordName: "hall", zoneID: EditStage.notes))],
                in: ZoneID(zoneName: "Other"))
            for page in ["query?type=Note&zone=Other", "fetch?zone=Other&names=far", "record?zone=Other&name=far"] {
                let text = try await stage.page(page)
                #expect(text.contains("\(Self.hall) <span class=\"faint\">in zone Notes</span>"), "\(page)")
            }
            // The title of the target is not on this page, which asks for one field of records with a rank.
            let some = try await stage.page("query?type=Note&zone=Notes&filter1=rank&is1=EQUALS&value1=7&key=room")
            #expect(some.contains(Self.chair) && some.contains(Self.hall))
            #expect(try await stage.page("query?type=Note&zone=Notes").contains(">nowhere</a>"))
            // Without fields there are no titles.
            let system = try await stage.page("query?type=Note&zone=Notes&return=system")
            #expect(system.contains("title=\"hall\">hall</a>"))
        }
    }

    @Test func theFieldIsChosenOnThePageOfTheType() async throws {
        try await EditStage.run { stage in
            try await Self.fill(stage)
            let type = try await stage.page("type?type=Note")
            #expect(
                type.contains("<option value=\"rank\">rank</option>")
                    && !type.contains("<option value=\"tags\">tags</option>"))
            let there = try stage.location(try await stage.send("type/title", of: type, ["field": "rank"]))
            #expect(try await stage.page(there).contains("<option value=\"rank\" selected>"))
            let table = try await stage.page("query?type=Note&zone=Notes")
            #expect(
                table.contains("title=\"chair\"><bdi>7</bdi></a>")
                    && table.contains("title=\"hall\">hall</a>"))
            // The setting is the container's.
            #expect(
                stage.accounts.titleFields(of: try #require(ContainerID("iCloud.com.example.App"))) == ["Note": "rank"])
            _ = try stage.location(try await stage.send("type/title", of: type, ["field": "-"]))
            #expect(try await !stage.page("query?type=Note&zone=Notes").contains("<small>hall</small>"))
            _ = try stage.location(try await stage.send("type/title", of: type, ["field": ""]))
            #expect(try await stage.page("query?type=Note&zone=Notes").contains(Self.hall))
            for field in ["tags", "nothing", "room"] {
                let refused = try await stage.send("type/title", of: type, ["field": field])
                #expect(refused.status == .badRequest, "\(field)")
                #expect(
                    EditStage.text(refused).contains(
                        field == "nothing" ? "choose another title" : "can&#39;t be a title"), "\(field)")
            }
        }
    }

    @Test func aReferenceIsFoundByTheTitleOfItsTarget() async throws {
        try await EditStage.run { stage in
            try await Self.fill(stage)
            let json = String(buffer: try await stage.get("record/names?zone=Notes&q=the").body)
            #expect(json == #"{"names":[{"recordName":"hall","recordType":"Note","title":"The <hall>"}]}"#)
            let everywhere = String(buffer: try await stage.get("record/names?q=chair").body)
            #expect(everywhere == #"{"names":[{"recordName":"chair","recordType":"Note","title":"Chair"}]}"#)
            // The editor, without scripts.
            let page = try await stage.page("record/edit?zone=Notes&name=chair")
            let field = try #require(page.firstMatch(of: /name="field(\d+)" value="room"/)?.output.1)
            let found = EditStage.text(
                try await stage.send(
                    "record/save", of: page, ["text-\(field)-1": "THE"], button: ("do", "find-\(field)-1")))
            #expect(
                found.contains("name=\"pick-\(field)-1\" value=\"hall\"")
                    && found.contains("The &lt;hall&gt;</bdi> <small>hall</small>"))
            // The form of a query.
            let form = try await stage.page("query?type=Note&zone=Notes&filter1=room&is1=EQUALS&value1=the&edit=1")
            #expect(form.contains("name=\"find\" value=\"filter1\"") && form.contains("data-names="))
            let asked = EditStage.text(try await stage.send("query", of: form, button: ("find", "filter1")))
            #expect(
                asked.contains("Not run yet.") && asked.contains("Records found for filter 1")
                    && asked.contains("The &lt;hall&gt;</bdi> <small>hall</small>"))
            #expect(asked.contains("filter1=room&amp;is1=EQUALS&amp;value1=hall&amp;draft=1\""))
            #expect(
                form.contains("<option value=\"\" selected>record name (server’s order)</option>"), "the usual order")
            let nothing = EditStage.text(
                try await stage.send("query", of: form, ["value1": "zzz"], button: ("find", "filter1")))
            #expect(nothing.contains("No record has this text in its name or title."))
            let all = try await stage.page("query?type=Note&filter1=room&is1=EQUALS&value1=zzz&edit=1")
            let blank = EditStage.text(
                try await stage.send("query", of: all, ["value1": ""], button: ("find", "filter1")))
            #expect(
                blank.contains(
                    "The &lt;hall&gt;</bdi> <small>hall</small></span> <small class=\"faint\">Note</small></a>"),
                "the field refers to notes")
            let unused = try await stage.page("query?type=Note&zone=Other&filter1=room&is1=EQUALS&value1=&edit=1")
            let none = EditStage.text(try await stage.send("query", of: unused, button: ("find", "filter1")))
            #expect(none.contains("Type a part of a name or title, then press Find."))
            // A list of names is no name, and the page Explain has no such button.
            #expect(
                try await !stage.page("query?type=Note&filter1=room&is1=IN&value1=a&edit=1").contains("name=\"find\""))
            let explain = try await stage.page("explain?type=Note&filter1=room&is1=EQUALS&value1=a&edit=1")
            #expect(explain.contains("data-names=") && !explain.contains("name=\"find\""))
        }
    }

    /// Records of the types to which the field refers come first, then those that begin with the text, and only some
    /// are seen at once.
    @Test func aReferenceOffersTheTypesItRefersTo() async throws {
        try await EditStage.run { stage in
            let database = try await stage.database()
            var operations = (1...9).map {
                RecordOperation(
                    .create, recordName: Name("a\($0)"), recordType: "Other",
                    fields: ["title": FieldInput(.string("hall \($0)"))])
            }
            operations += [
                RecordOperation(
                    .create, recordName: "r1", recordType: "Room", fields: ["title": FieldInput(.string("The hall"))]),
                RecordOperation(
                    .create, recordName: "r2", recordType: "Room",
                    fields: ["title": FieldInput(.string("Hall of fame"))]),
                RecordOperation(
                    .create, recordName: "note", recordType: "Note",
                    fields: ["room": FieldInput(.reference(Reference(recordName: "r1")))]),
            ]
            try await database.apply(operations, in: EditStage.notes)
            let form = try await stage.page("query?type=Note&zone=Notes&filter1=room&is1=EQUALS&value1=hall&edit=1")
            let asked = EditStage.text(try await stage.send("query", of: form, button: ("find", "filter1")))
            #expect(
                asked.matches(of: /data-found="([^"]*)"/).map(\.output.1) == ["r2", "r1"] + (1...9).map { "a\($0)" })
            let (seen, folded) = try #require(
                asked.ranges(of: "<summary>6 more</summary>").first.map {
                    (asked[..<$0.lowerBound], asked[$0.upperBound...])
                })
            #expect(seen.contains("data-found=\"a3\"") && folded.contains("data-found=\"a4\""))
        }
    }

    @Test func manyReferencesAreReadAtOnceUpToALimit() async throws {
        try await EditStage.run { stage in
            let database = try await stage.database()
            for start in [0, 200] {
                let operations = (start..<(start + 150)).map { number in
                    RecordOperation(
                        .create, recordName: Name("t\(number)"), recordType: "Note",
                        fields: ["title": FieldInput(.string("Title \(number)"))])
                }
                try await database.apply(operations, in: EditStage.notes)
            }
            let references = ((0..<150).map { $0 } + (200..<350).map { $0 }).map {
                FieldValue.reference(Reference(recordName: Name("t\($0)")))
            }
            try await database.save(
                "all", as: .create, type: "Note", in: EditStage.notes, ["rooms": .list(references, of: .reference)])
            let page = try await stage.page("record?zone=Notes&name=all")
            #expect(
                page.contains("Title 0</bdi> <small>t0</small>")
                    && page.matches(of: /Title \d+<\/bdi> <small>/).count == 200)
        }
    }
}
