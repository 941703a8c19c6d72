import RecordStore
import Records
import StoreScenarios
import Testing

@testable import Console

/// The referrers on the page of a record.
@Suite struct ReferrerPageTests {
    /// The page of `target`, to which each record refers by two fields.
    private static func page(_ stage: RequestStage, count: Int) async throws -> String {
        try await stage.save("target", type: "Room")
        let fields: [Name: FieldInput] = [
            "room": FieldInput(.reference(Reference(recordName: "target"))),
            "home": FieldInput(.reference(Reference(recordName: "target", action: .deleteSelf))),
        ]
        let operations = (0..<count).map { number in
            RecordOperation(.forceUpdate, recordName: Name("r\(number)"), recordType: "Note", fields: fields)
        }
        try await stage.database.apply(operations, in: RequestStage.zone)
        return try await stage.page("record?zone=Notes&name=target")
    }

    @Test func eachWayIsALineWithWhatBecomesOfIt() async throws {
        try await RequestStage.with { stage in
            let page = try await Self.page(stage, count: 3)
            #expect(page.contains("<h2 id=\"references\">Referred to by 3 records</h2>"))
            #expect(page.contains("stays; its reference is left without a target <code class=\"faint\">NONE</code>"))
            #expect(page.contains("is deleted with it <code class=\"faint\">DELETE_SELF</code>"))
            #expect(page.contains("aria-label=\"Query Note by room\"") && !page.contains("referring-rest"))
            // Many are listed once each, and at first only a part of them.
            let many = try await Self.page(stage, count: 20)
            let list = try #require(
                many.firstMatch(of: /(?s)<ul class="referrers" aria-label="Note records that.*?<\/ul>/)
            ).output
            #expect(list.matches(of: /<li>/).count == 12 && many.contains("<summary>8 more</summary>"))
        }
    }

    @Test func theConfirmationSaysWhatKeepsARecord() async throws {
        try await RequestStage.with { stage in
            _ = try await Self.page(stage, count: 3)
            let operations = [("r1", "target"), ("child", "target"), ("loner", nil)].map { name, parent in
                RecordOperation(
                    .forceUpdate, recordName: Name(name), recordType: "Note",
                    parent: parent.map { .record(Name($0)) } ?? .unchanged)
            }
            try await stage.database.apply(operations, in: RequestStage.zone)
            let page = try await stage.page("record/delete?zone=Notes&name=target")
            #expect(
                page.contains(
                    "3 records that refer to it (3 Note) are deleted too, because their references say DELETE_SELF."))
            #expect(page.contains("1 record with it as parent will keep it from being deleted."))
            let free = try await stage.page("record/delete?zone=Notes&name=loner")
            #expect(!free.contains("keep it"))
        }
    }

    @Test func moreReferencesThanAreListedAreCounted() async throws {
        try await RequestStage.with { stage in
            let page = try await Self.page(stage, count: 51)
            #expect(page.contains("<h2 id=\"references\">Referred to by 51 records</h2>"))
            #expect(page.contains("Listed are the records of the first 100 references, by name."))
        }
    }

    @Test func moreReferencesThanAreCountedAreNoNumberOfRecords() async throws {
        try await RequestStage.with { stage in
            try await stage.save("target", type: "Room")
            let target = FieldInput(.reference(Reference(recordName: "target")))
            let ways = (0..<20).map { (Name("way\($0)"), target) }
            let operations = (0..<101).map { number in
                RecordOperation(
                    .forceUpdate, recordName: Name("r\(number)"), recordType: "Note",
                    fields: Dictionary(uniqueKeysWithValues: ways))
            }
            try await stage.database.apply(operations, in: RequestStage.zone)
            let page = try await stage.page("record?zone=Notes&name=target")
            #expect(page.contains("<h2 id=\"references\">More than 2,000 references to this record</h2>"))
            #expect(page.contains("<a href=\"#references\">References <span>2,000+</span></a>"))
            #expect(page.contains(", or more</text>"))
        }
    }

    /// The boxes of the drawing: their styles, names and notes.
    private static func boxes(_ page: String) -> [String] {
        let boxes = page.matches(
            of:
                #/<a class="([a-z]+)" href="[^"]*" aria-label="[^"]*"><title>[^<]*</title><svg x="(\d+)"[^>]*><rect[^>]*/><text[^>]*>([^<]*)</text><text[^>]*>([^<]*)</text>/#
        )
        return boxes.map { "\($0.output.1) \($0.output.2) \($0.output.3): \($0.output.4)" }
    }

    @Test func theDrawingHasBothSides() async throws {
        try await RequestStage.with { stage in
            #expect(try await !Self.page(stage, count: 0).contains("id=\"around\""), "a record without references")
            _ = try await Self.page(stage, count: 2)
            let names: [Name] = ["r0", "gone", "r0"]
            let fields: [Name: FieldInput] = [
                "notes": FieldInput(.list(names.map { .reference(Reference(recordName: $0)) }, of: .reference)),
                "own": FieldInput(.reference(Reference(recordName: "r1"))),
            ]
            let operations = [
                RecordOperation(
                    .forceUpdate, recordName: "target", recordType: "Room", fields: fields, parent: .record("r1")),
                RecordOperation(
                    .forceUpdate, recordName: "child", recordType: "Note",
                    fields: ["title": FieldInput(.string("Attic"))], parent: .record("target")),
            ]
            try await stage.database.apply(operations, in: RequestStage.zone)
            let page = try await stage.page("record?zone=Notes&name=target")
            let boxes = Self.boxes(page)
            // Children come first at the left, and the parent at the right.
            #expect(boxes.first == "parent 0 Attic: parent · Note" && boxes.last == "itself 325 t: Room")
            #expect(boxes.contains("field 0 r0: home, room · Note") || boxes.contains("field 0 r0: room, home · Note"))
            #expect(
                Set(boxes.filter { $0.contains(" 650 ") }) == [
                    "parent 650 r1: parent, own · Note", "field 650 r0: notes · Note",
                    "missing 650 gone: notes · missing",
                ])
            #expect(page.contains("gone: this record refers to it (NONE), notes, but it is missing"))
            #expect(page.contains("Attic, child: a child of this record, parent"))
            #expect(page.contains("References: from 3 records, to 3 records"))
        }
    }

    @Test func theDrawingSaysHowManyMoreThereAre() async throws {
        try await RequestStage.with { stage in
            let page = try await Self.page(stage, count: 20)
            #expect(Self.boxes(page).count == 9 && page.contains("and 12 more records</text>"))
            #expect(try await Self.page(stage, count: 51).contains("and 43 more records</text>"))
        }
    }
}
