import HTTPTypes
import HummingbirdTesting
import RecordStore
import Records
import Testing

/// Changes of all records that match a query: dry run, background work, and limits.
@Suite struct BulkPageTests {
    private static let all = "bulk?zone=Notes&type=Note"

    private func fill(_ stage: EditStage, _ count: Int) async throws {
        for start in stride(from: 0, to: count, by: 200) {
            let operations = (start..<min(count, start + 200)).map { number in
                RecordOperation(
                    .forceUpdate, recordName: Name("note \(String(number + 1000))"), recordType: "Note",
                    fields: [
                        "rank": FieldInput(.int64(Int64(number % 2))), "title": FieldInput(.string("title \(number)")),
                    ])
            }
            for result in try await stage.database().modify(ModifyRequest(operations, zoneID: EditStage.notes)) {
                _ = try result.get()
            }
        }
    }

    private func count(_ stage: EditStage, where isCounted: ([Name: FieldValue]) -> Bool) async throws -> Int {
        let page = try await stage.database().zoneChanges(
            ZoneChangesRequest(EditStage.notes, limit: PageLimit(records: 5000)))
        return try page.changes.count { change in
            let fields = try (change.record?.fields.decoded() ?? []).map { ($0.name, $0.value) }
            return change.kind != .deleted && isCounted(Dictionary(fields, uniquingKeysWith: { first, _ in first }))
        }
    }

    @Test func aFieldIsSetInAllThatMatch() async throws {
        try await EditStage.run { stage in
            try await fill(stage, 450)
            try await stage.save("has it", ["rank": .int64(1), "title": .string("new")])
            // An invalid query has no dry run and no button.
            let refused = try await stage.page(
                "\(Self.all)&filter1=rank&is1=EQUALS&value1=1&sort1=modifiedTimestamp&change=set&changed=title&text-1-1=new&dry=1"
            )
            #expect(
                refused.contains("BAD_REQUEST") && !refused.contains("would get another")
                    && !refused.contains("bulk/run"))
            let dry = try await stage.page(
                "\(Self.all)&filter1=rank&is1=EQUALS&value1=1&change=set&changed=title&text-1-1=new&dry=1")
            #expect(dry.contains("225 records would get another title") && dry.contains("and 205 more"))
            #expect(dry.contains("<h1>Change all matching Note records</h1>"))
            #expect(try await stage.page(Self.all).contains("<h1>Change all 451 Note records</h1>"))
            #expect(dry.contains("1 record already has this value"))
            #expect(dry.contains("title 1<") && dry.contains(/<td[^>]*>new<\/td>/))
            #expect(try await count(stage) { $0["title"] == .string("new") } == 1, "a dry run changes nothing")
            let over = try await stage.end(try await stage.send("bulk/run", of: dry))
            #expect(over.contains(">done<") && over.contains("<dd>225</dd>"))
            #expect(try await count(stage) { $0["title"] == .string("new") } == 226)
            #expect(try await count(stage) { $0["rank"] == .int64(1) } == 226, "the other fields stay")
        }
    }

    /// Changed records no longer match the query. All are changed nevertheless, and the run ends.
    @Test func aChangeThatTakesRecordsOutOfTheQueryReachesAll() async throws {
        try await EditStage.run { stage in
            try await fill(stage, 450)
            let dry = try await stage.page(
                "\(Self.all)&filter1=rank&is1=EQUALS&value1=1&sort1=rank&change=set&changed=rank&text-1-1=0&dry=1")
            _ = try await stage.end(try await stage.send("bulk/run", of: dry))
            #expect(try await count(stage) { $0["rank"] == .int64(0) } == 450)
        }
    }

    @Test func aFieldIsClearedAndRecordsAreDeleted() async throws {
        try await EditStage.run { stage in
            try await fill(stage, 30)
            let clearing = try await stage.page(
                "\(Self.all)&filter1=rank&is1=EQUALS&value1=0&change=clear&changed=title&dry=1")
            #expect(clearing.contains("15 records would lose the value of title"))
            _ = try await stage.end(try await stage.send("bulk/run", of: clearing))
            #expect(try await count(stage) { $0["title"] == nil } == 15)
            let deleting = try await stage.page("\(Self.all)&filter1=rank&is1=EQUALS&value1=0&change=delete&dry=1")
            #expect(
                deleting.contains("15 records would be deleted") && deleting.contains(">Delete 15 records</button>"))
            let over = try await stage.end(try await stage.send("bulk/run", of: deleting))
            #expect(over.contains("<dt>deleted</dt><dd>15</dd>"))
            #expect(try await count(stage) { _ in true } == 15)
        }
    }

    @Test func whatChangedSinceTheDryRunIsShownAgain() async throws {
        try await EditStage.run { stage in
            try await fill(stage, 10)
            let dry = try await stage.page("\(Self.all)&change=delete&dry=1")
            try await stage.save("another", [:])
            let stale = try await stage.send("bulk/run", of: dry)
            #expect(stale.status == .ok)
            let page = EditStage.text(stale)
            #expect(
                page.contains("Nothing was changed: other records match since the dry run")
                    && page.contains("11 records would be deleted"))
            #expect(try await count(stage) { _ in true } == 11)
        }
    }

    @Test func whatIsNotDoneIsListedRecordByRecord() async throws {
        try await EditStage.run { stage in
            try await stage.save("kept", [:])
            try await stage.save(
                "keeper",
                ["room": .reference(Reference(recordName: "kept", action: .validate)), "title": .string("keeper")])
            let dry = try await stage.page("\(Self.all)&filter1=title&is1=NOT_EQUALS&value1=keeper&change=delete&dry=1")
            let over = try await stage.end(try await stage.send("bulk/run", of: dry))
            #expect(
                over.contains("done, with errors") && over.contains("1 error")
                    && over.contains("VALIDATING_REFERENCE_ERROR"))
            #expect(over.contains("record?zone=Notes&amp;name=kept"))
            #expect(try await count(stage) { _ in true } == 2)
        }
    }

    /// Parents come in earlier requests than the records below them, whatever the order.
    @Test func recordsAreDeletedBeforeTheirParents() async throws {
        try await EditStage.run { stage in
            try await fill(stage, 450)
            func note(_ number: Int) -> Name { Name("note \(number + 1000)") }
            try await stage.save("a", [:])
            try await stage.save("b", [:])
            let pairs = (0..<200).map { (note($0 + 200), note($0)) } + (0..<50).map { (note($0), note($0 + 400)) }
            for (name, parent) in [("a", "b"), ("b", "a")] as [(Name, Name)] {
                try await stage.restore(name, below: parent)
            }
            for start in [0, 200] {
                let operations = pairs.dropFirst(start).prefix(200).map {
                    RecordOperation(.forceUpdate, recordName: $0, recordType: "Note", parent: .record($1))
                }
                for result in try await stage.database().modify(ModifyRequest(operations, zoneID: EditStage.notes)) {
                    _ = try result.get()
                }
            }
            let dry = try await stage.page("\(Self.all)&change=delete&dry=1")
            #expect(dry.contains("are deleted only together with the records that refer to them"))
            let over = try await stage.end(try await stage.send("bulk/run", of: dry))
            #expect(over.contains("<dt>deleted</dt><dd>450</dd>"))
            // Nothing comes before its parent in a circle.
            #expect(over.contains("2 errors") && over.contains("VALIDATING_REFERENCE_ERROR"))
            #expect(try await count(stage) { _ in true } == 2)
        }
    }

    @Test func valuesAreTypedInTheirOwnInputs() async throws {
        try await EditStage.run { stage in
            try await fill(stage, 4)
            let asked = try await stage.page("\(Self.all)&change=set&changed=place")
            #expect(asked.contains("name=\"latitude-1-1\"") && !asked.contains("would get"))
            let wrong = try await stage.page("\(Self.all)&change=set&changed=rank&text-1-1=one&dry=1")
            #expect(
                wrong.contains("not a whole number") && wrong.contains("value=\"one\"") && !wrong.contains("would get"))
            let nothing = try await stage.page("\(Self.all)&change=set&changed=rank&dry=1")
            #expect(nothing.contains("To clear it, choose"))
            let lists = try await stage.page("\(Self.all)&change=set&changed=tags&count1=2&text-1-1=a&text-1-2=b&dry=1")
            #expect(lists.contains("4 records would get another tags"))
            _ = try await stage.end(try await stage.send("bulk/run", of: lists))
            #expect(try await count(stage) { $0["tags"] == .list([.string("a"), .string("b")], of: .string) } == 4)
        }
    }

    @Test func worksAreFoundWhereTheyWereBegunOnly() async throws {
        try await EditStage.run { stage in
            try await fill(stage, 4)
            let dry = try await stage.page("\(Self.all)&change=delete&dry=1")
            let location = try stage.location(try await stage.send("bulk/run", of: dry))
            let id = try #require(location.split(separator: "id=").last)
            #expect(try await stage.get("run?id=nothing").status == .notFound)
            #expect(
                try await stage.get("\(EditStage.there.replacing("private", with: "public"))/run?id=\(id)").status
                    == .notFound)
            #expect(try await stage.get("bulk?type=Nothing").status == .notFound)
            #expect(try await stage.get("bulk").status == .badRequest)
        }
    }
}
