import NIOCore
import HTTPTypes
import HummingbirdTesting
import RecordStore
import Records
import TestSupport
import Testing

/// The history of a record, restoring an earlier version, and the page Check, without scripts.
@Suite struct RecordHistoryPageTests {
    private func onStage(journal: JournalLimits = .standard, _ body: @Sendable (RequestStage) async throws -> Void)
        async throws
    {
        try await RequestStage.with(journal: journal, device: "Mac", body)
    }

    @Test func thePageOfARecordShowsWhatChanged() async throws {
        try await onStage { stage in
            try await stage.save("house", [:])
            try await stage.save("r", ["title": .string("<Walls>"), "cost": .int64(1200)])
            try await stage.save(
                "r", ["title": .string("Walls and a door"), "due": .int64(1)], parent: .record("house"))
            let page = try await stage.page("record?zone=Notes&name=r")
            #expect(page.contains("&lt;Walls&gt;") && !page.contains("<Walls>"))
            #expect(page.matches(of: /<del>[^<]*&lt;Walls&gt;[^<]*<\/del>/).count == 1)
            #expect(
                page.contains("class=\"field-changed\"") && page.contains("class=\"field-added\"")
                    && page.contains("class=\"field-removed\""))
            #expect(page.contains("<dt>parent</dt>") && page.contains("by</span> Developer on Mac"))
            #expect(page.contains("requests?zone=Notes&amp;id=0f1e2d3c-0000-4000-8000-a5b4c3d2e1f0"))
            // The current version cannot be restored.
            #expect(page.matches(of: /record\/restore\?/).count == 1)
            #expect(page.contains("kept for 30 days"))
        }
    }

    /// A page of the journal has a byte limit, so it may have few entries.
    @Test func largeVersionsHaveTheOnesBeforeThem() async throws {
        try await onStage { stage in
            for number in 0..<12 {
                try await stage.save(
                    "r",
                    ["rank": .int64(Int64(number)), "data": .bytes([UInt8](repeating: UInt8(number), count: 700_000))])
            }
            var path = "record/history?zone=Notes&name=r"
            var shown = 0
            for _ in 0..<4 {
                let page = try await stage.page(path)
                #expect(!page.contains("is not kept.") && !page.contains("is under Earlier"))
                let count = page.matches(of: /class="kind (?:modified|created)"/).count
                shown += count
                guard let earlier = page.firstMatch(of: /before=([0-9]+)" rel="next"/) else { break }
                #expect(count > 1)
                path = "record/history?zone=Notes&name=r&before=\(earlier.output.1)"
            }
            #expect(shown == 12)
        }
    }

    @Test func aLongHistoryHasPagesOfItsOwn() async throws {
        try await onStage { stage in
            for number in 0..<30 { try await stage.save("r", ["rank": .int64(Int64(number))]) }
            let record = try await stage.page("record?zone=Notes&name=r")
            #expect(record.matches(of: /class="kind modified"/).count == 4 && record.contains("Full history"))
            let first = try await stage.page("record/history?zone=Notes&name=r")
            #expect(first.matches(of: /class="kind modified"/).count == 25 && first.contains("rel=\"next\">Earlier"))
            let before = try await stage.entries("r")[24].position
            let second = try await stage.page("record/history?zone=Notes&name=r&before=\(before)")
            #expect(
                second.matches(of: /class="kind modified"/).count == 4
                    && second.matches(of: /class="kind created"/).count == 1)
            #expect(!second.contains("rel=\"next\"") && second.contains("« Latest"))
            // The last entry of a page is compared with the version before it, which is on the next page.
            #expect(!first.contains("The version before it is not kept"))
        }
    }

    @Test func aVersionIsRestoredOntoWhatWasSeen() async throws {
        try await onStage { stage in
            try await stage.save("r", ["title": .string("first"), "cost": .int64(1)])
            try await stage.save("r", ["title": .string("second")])
            let entries = try await stage.entries("r")
            let ask = try await stage.page("record/restore?zone=Notes&name=r&position=\(entries[1].position)")
            #expect(
                ask.contains("<h1>Restore first (r)?</h1>")
                    && ask.contains("name=\"tag\" value=\"\(entries[0].recordChangeTag)\""))
            #expect(
                ask.matches(of: /class="field-added"/).count == 1 && ask.matches(of: /class="field-changed"/).count == 1
            )
            let form = "name=r&position=\(entries[1].position)&tag=\(entries[0].recordChangeTag)"
            let answer = try await stage.post("record/restore?zone=Notes", form)
            #expect(answer.status == .seeOther)
            let location = try #require(answer.headers[.location])
            #expect(location.contains("/record?zone=Notes&name=r&notice=record-restored&undo="))
            #expect(try await stage.entries("r").first?.fields == entries[1].fields)
            // The same form again is outdated.
            let late = try await stage.post("record/restore?zone=Notes", form)
            #expect(late.status == .conflict)
            let words = String(buffer: late.body)
            #expect(words.contains("changed after you opened this page"))
            #expect(try await stage.entries("r").count == 3)
        }
    }

    @Test func whatIsGoneOffersItsLastVersion() async throws {
        try await onStage { stage in
            try await stage.save("r", ["title": .string("Cellar")])
            try await stage.modify(RecordOperation(.forceDelete, recordName: "r"))
            let page = try await stage.page("record?zone=Notes&name=r")
            #expect(
                page.contains("<p>Deleted <time") && page.contains(">See and restore its last version…</a>")
                    && page.contains("class=\"kind deleted\""))
            #expect(!page.contains("NOT_FOUND") && page.contains(">Undo the deletion</button>"))
            #expect(page.contains("Records that were deleted with it stay deleted.") && page.contains("name=\"from\""))
            let position = try await stage.entries("r")[1].position
            #expect(page.contains("<input type=\"hidden\" name=\"position\" value=\"\(position)\">"))
            let ask = try await stage.page("record/restore?zone=Notes&name=r&position=\(position)")
            #expect(ask.contains("restoring creates it again") && !ask.contains("name=\"tag\""))
            #expect(
                try await stage.post("record/restore?zone=Notes", "name=r&position=\(position)").status == .seeOther)
            let back = try await stage.page("record?zone=Notes&name=r&notice=record-restored")
            #expect(back.contains("The record is restored with a new save."))
            let never = try await stage.page("record?zone=Notes&name=never")
            #expect(
                !never.contains("Restore") && !never.contains("Undo") && never.contains("NOT_FOUND")
                    && !never.contains("<h2 id=\"past\">"))
        }
    }

    @Test(arguments: [
        ("record/restore?zone=Notes&name=r&position=99", 404), ("record/restore?zone=Notes&name=r&position=x", 400),
        ("record/restore?zone=Notes", 400),
        ("record/restore?zone=Nowhere&name=r&position=1", 404), ("record/history?zone=Notes&name=r&before=x", 400),
        ("record/history?zone=Notes", 400),
        ("record/history?zone=Notes&name=never", 200),
    ])
    func invalidRequestsAreExplained(path: String, status: Int) async throws {
        try await onStage { stage in
            try await stage.save("r", [:])
            let answer = try await stage.get("\(path)")
            #expect(answer.status.code == status)
            #expect(String(buffer: answer.body).contains("<main id=\"main\""))
        }
    }

    @Test func withoutAJournalThePageExplainsIt() async throws {
        try await onStage(journal: JournalLimits(days: 0)) { stage in
            try await stage.save("r", ["a": .int64(1)])
            try await stage.save("r", ["a": .int64(2)])
            let page = try await stage.page("record?zone=Notes&name=r")
            #expect(page.contains("keeps no earlier versions") && !page.contains("record/restore?"))
        }
    }

    @Test func aCheckIsStartedAndShowsWhatItFound() async throws {
        try await onStage { stage in
            try await stage.save("a", ["link": .reference(Reference(recordName: "<nobody>"))])
            try await stage.save("m", ["CD_entityName": .string("note")], type: "CD_Note")
            let first = try await stage.page("check?zone=Notes")
            #expect(first.contains("Problems that it finds") && first.contains("Check now"))
            #expect(first.contains("<code>skylight check --container iCloud.com.example.App --zone Notes</code>"))
            let answer = try await stage.post("check/start?zone=Notes", "")
            #expect(answer.status == .seeOther && answer.headers[.location]?.hasSuffix("/check?zone=Notes") == true)
            try await eventually {
                let page = try await stage.page("check?zone=Notes")
                // While it goes on, the page is looked at again, also without scripts.
                #expect(page.contains("<noscript><meta http-equiv=\"refresh\"") == page.contains("data-live"))
                return !page.contains("data-live")
            }
            let page = try await stage.page("check?zone=Notes")
            #expect(
                page.contains("References without a target") && page.contains("&lt;nobody&gt;")
                    && page.contains("Core Data entities"))
            #expect(page.contains("<dt>found</dt><dd class=\"warn\">2</dd>") && page.contains("Check again"))
            // Each zone has its own check.
            #expect(try await stage.page("check?zone=_defaultZone").contains("Problems that it finds"))
            #expect(try await stage.post("check/cancel?zone=Notes", "").status == .seeOther)
        }
    }

    @Test func aCheckThatFindsNothingSaysSo() async throws {
        try await onStage { stage in
            try await stage.save("a", ["title": .string("x")])
            _ = try await stage.post("check/start", "")
            try await eventually { try await stage.page("check").contains("No problems found.") }
            #expect(try await stage.page("check").contains("all zones of the private database"))
        }
    }
}

extension RequestStage {
    fileprivate func save(
        _ name: Name, _ fields: [Name: FieldValue], type: Name = "Note", parent: RecordOperation.Parent = .unchanged
    ) async throws {
        try await modify(
            RecordOperation(
                .forceReplace, recordName: name, recordType: type, fields: fields.mapValues { FieldInput($0) },
                parent: parent))
    }

    fileprivate func modify(_ operation: RecordOperation) async throws {
        let request = ModifyRequest([operation], zoneID: Self.zone, requestID: "0f1e2d3c-0000-4000-8000-a5b4c3d2e1f0")
        for result in try await database.modify(request) { _ = try result.get() }
    }

    fileprivate func entries(_ name: Name) async throws -> [RecordJournalEntry] {
        try await database.require(.keepJournal).journal(
            RecordJournalRequest(RecordID(recordName: name, zoneID: Self.zone))
        ).entries
    }
}
