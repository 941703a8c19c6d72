import RecordStore
import Records
import RequestLog
import SQLRecordStore
import TestSupport
import Testing

@testable import Console
@testable import TestStores

/// Pages of an earlier state. Which states are right is told by AsOfLawTests.
@Suite struct AsOfPageTests {
    /// A zone of which the tablet has the first state: since then a record changed, one was deleted, and one was added.
    private struct Story {
        let stage: RequestStage
        /// The user of the tablet: the zone's owner or a guest.
        let reader: RequestStage
        /// The tablet, as addresses name it.
        let tablet: String
        let token: ChangeToken

        /// A query for all of the story's records.
        static let query = "type=Note&filter1=rank&is1=EQUALS&value1=1"

        var position: Int64 {
            get async throws { try await reader.database.require(.explainTokens).explain(token).position }
        }

        /// - Parameter guest: true for the tablet of a guest of the zone.
        static func with(
            journal: JournalLimits? = nil, guest: Bool = false, _ body: @Sendable (Story) async throws -> Void
        ) async throws {
            let folder = try TemporaryFolder()
            let engine = try StoreUnderTest.engine(folder: folder.url, journal: journal)
            try await RequestStage.with(engine: engine) { stage in
                try await stage.save("old", title: "the old text")
                try await stage.save("gone")
                try await stage.save("same")
                let reader = try await guest ? stage.guest("grace") : stage
                let token = try #require(try await reader.pull(from: "tablet", zone: reader.seenZone))
                try await stage.save("old", title: "the new text")
                _ = try await stage.database.modify(
                    ModifyRequest([RecordOperation(.forceDelete, recordName: "gone")], zoneID: RequestStage.zone))
                try await stage.save("new")
                let tablet = try #require(stage.log.clients.histories(in: stage.address.container).first).anchor
                try await body(Story(stage: stage, reader: reader, tablet: tablet, token: token))
            }
            await engine.close()
        }

        func page(_ path: String, asOf point: String? = nil) async throws -> String {
            try await page(path, [(EarlierState.parameter, point ?? tablet)])
        }

        func pageNow(_ path: String) async throws -> String { try await page(path, []) }

        private func page(_ path: String, _ more: [(name: String, value: String)]) async throws -> String {
            let place = Place(
                address: reader.address, user: reader.user == stage.user ? nil : "grace", zone: .one(reader.seenZone))
            let fields = FormFields.url("", place.parameters + more).dropFirst()
            return try await stage.page("\(path)\(fields)", in: place.path)
        }

        /// The cell with the name of a record in a table.
        func row(_ name: String, in page: String) -> Substring? {
            page.split(separator: "<th scope=\"row\" class=\"name\">").dropFirst().first {
                $0.contains("title=\"\(name)\"")
            }?
            .prefix { $0 != "\n" }
        }
    }

    @Test(arguments: [false, true]) func eachFormOfAPointShowsItsState(guest: Bool) async throws {
        try await Story.with(guest: guest) { story in
            let position = try await story.position
            for point in [story.tablet, story.token.text, String(position)] {
                let page = try await story.page("query?\(Story.query)&", asOf: point)
                #expect(page.contains("the old text") && !page.contains("the new text"))
                #expect(story.row("old", in: page)?.contains("older: title</span>") == true)
                #expect(story.row("gone", in: page)?.contains("deleted since</span>") == true)
                #expect(story.row("same", in: page)?.contains("pill") == false && story.row("new", in: page) == nil)
                #expect(page.contains("3 changes behind") && page.contains("1 added, 1 changed, 1 deleted since</a>"))
                #expect(page.contains("<span>position \(Digits.grouped(position))</span>"))
                #expect(page.contains("<b>3 records</b>"))
            }
            let now = try await story.pageNow("query?\(Story.query)&")
            #expect(now.contains("the new text") && !now.contains("Earlier state") && now.contains("Pick old"))
        }
    }

    /// What changes records is about the present, so an earlier state does not offer it.
    @Test func linksKeepThePointAndNothingChangesIt() async throws {
        try await Story.with { story in
            let page = try await story.page("query?type=Note&filter1=title&is1=EQUALS&value1=the+old+text&")
            #expect(story.row("old", in: page) != nil && story.row("gone", in: page) == nil)
            let point = "asOf=\(story.tablet)"
            for link in ["record?zone=Notes&amp;\(point)&amp;name=old", "query.csv?zone=Notes&amp;\(point)"] {
                #expect(page.contains(link))
            }
            // The forms, as rows and as text, and the menu that leads to another point.
            #expect(page.matches(of: /name="asOf" value="client-/).count >= 2)
            #expect(
                page.contains("clients?zone=Notes#\(story.tablet)") && page.contains("changes?zone=Notes&amp;since=1"))
            for change in ["New record", "Change all", "Pick old", "data-edit"] { #expect(!page.contains(change)) }
            // The sidebar has the pages of the present.
            #expect(page.contains("/private/notifications?zone=Notes\""))
            let record = try await story.page("record?name=old&")
            for change in ["record/edit", "record/delete", "record/copy", "Duplicate"] {
                #expect(!record.contains(change))
            }
            let changes = try await story.page("changes?")
            #expect(!changes.contains("Earlier state") && !changes.contains(point))
        }
    }

    @Test(arguments: [
        ("old", "1 field differs now."), ("gone", "It was deleted since."), ("same", "It is the same now."),
        ("new", "It was added since, so a client with this state lacks it."), ("never", "and has none now."),
    ])
    func aRecordIsComparedWithNow(name: String, said: String) async throws {
        try await Story.with { story in
            let page = try await story.page("record?name=\(name)&")
            #expect(
                page.contains(said)
                    && page.contains("href=\"\(RequestStage.there)/record?zone=Notes&amp;name=\(name)\""))
            #expect(page.contains("<ins>") == (name == "old"))
        }
    }

    @Test func fetchesAndFilesAreOfTheState() async throws {
        try await Story.with { story in
            for shape in ["", "as=table&"] {
                let page = try await story.page("fetch?names=old%0Agone%0Anew&\(shape)")
                #expect(
                    page.contains("the old text") && page.contains("older: title") && page.contains("deleted since"))
                #expect(page.contains("there now") && page.contains("2 records</b> found"))
            }
            for path in ["query.json?\(Story.query)&", "fetch.json?names=old&"] {
                let file = try await story.page(path)
                #expect(file.contains("the old text") && !file.contains("the new text"))
            }
        }
    }

    @Test func aPointThatCannotBeShownIsNoOtherState() async throws {
        try await Story.with { story in
            for (point, said) in [
                ("yesterday", "is no position, time or token"), ("99999", "later than the latest change"),
                ("client-0", "no pull of this client"),
            ] {
                let page = try await story.page("query?\(Story.query)&", asOf: point)
                let file = try await story.page("query.json?\(Story.query)&", asOf: point)
                #expect(page.contains(said) && !(page + file).contains(/the (old|new) text/))
            }
        }
    }

    /// What a client's requests say against the state being its own.
    @Test func doubtsAreSaidByTheLog() async throws {
        typealias Pulls = @Sendable (RequestStage) async throws -> Void
        let doubts: [(said: String, pulls: Pulls)] = [
            ("It did not fetch all pages", { try await $0.pull(from: "other", limit: 1) }),
            (
                "It left pages of an earlier pull",
                { stage in
                    try await stage.pull(from: "other", limit: 1)
                    let token = try await stage.database.currentToken(of: RequestStage.zone)
                    try await stage.pull(from: "other", since: token)
                }
            ),
            (
                "Its first pull in the log began with a token",
                { stage in
                    try await stage.pull(
                        from: "other", since: try await stage.database.currentToken(of: RequestStage.zone))
                }
            ),
            ("It asked for the fields title alone", { try await $0.pull(from: "other", keys: ["title"]) }),
            ("It asked for no fields", { try await $0.pull(from: "other", keys: []) }),
            ("It asked for Photo alone", { try await $0.pull(from: "other", types: ["Photo"]) }),
            ("it pulls from new to old", { try await $0.pull(from: "other", limit: 1, reverse: true) }),
            (
                "Since its last pull it sent records/query",
                { stage in
                    try await stage.pull(from: "other")
                    var request = stage.request("records/query", from: "other")
                    request.started.milliseconds += 60_000
                    request.records = 1
                    stage.note(request)
                }
            ),
        ]
        for (said, pulls) in doubts {
            try await Story.with { story in
                #expect(try await !story.page("query?\(Story.query)&").contains(said))
                try await pulls(story.stage)
                let histories = story.stage.log.clients.histories(in: story.stage.address.container)
                let other = try #require(histories.first { $0.identity.label == "other" })
                #expect(try await story.page("query?\(Story.query)&", asOf: other.anchor).contains(said), "\(said)")
            }
        }
    }

    @Test func whatIsNotKnownIsSaidOfEachRecord() async throws {
        try await Story.with(journal: JournalLimits(days: 0)) { story in
            let page = try await story.page("query?\(Story.query)&")
            #expect(page.contains("2 records not known.") && story.row("same", in: page) != nil)
            #expect(page.contains(">old</a>") && page.contains(">gone</a>") && !page.contains("the new text"))
            #expect(try await story.page("record?name=old&").contains("What the record was then is not known"))
        }
    }

    @Test func menusAndClientsLeadToTheStatesOfClients() async throws {
        try await Story.with { story in
            let point = "asOf=\(story.tablet)"
            for path in ["query?zone=Notes&\(Story.query)", "record?zone=Notes&name=old", "clients", "sync"] {
                #expect(try await story.stage.page(path).contains(point), "\(path)")
            }
            // Without a zone, the client's is shown.
            let page = try await story.stage.page("query?\(Story.query)&\(point)")
            #expect(page.contains("<span>zone Notes</span>") && page.contains("the old text"))
        }
        // A store without earlier states offers none.
        try await RequestStage.with { stage in
            try await stage.save("old")
            try await stage.pull(from: "tablet")
            #expect(try await !stage.page("query?zone=Notes&\(Story.query)").contains("asOf"))
            #expect(try await !stage.page("clients").contains("asOf"))
            #expect(try await stage.page("query?zone=Notes&asOf=1").contains("show an earlier state of its records"))
        }
    }
}
