import Foundation
import RecordStore
import Records
import RequestLog
import StoreScenarios
import Testing

@testable import Console

/// The tab Changes between two tokens, and the timeline of a zone, over the in-memory engine.
@Suite struct FeedPageTests {
    private static func delete(_ name: Name, _ stage: RequestStage) async throws {
        try await stage.database.delete(name, in: RequestStage.zone)
    }

    private static func now(_ stage: RequestStage) async throws -> String {
        try #require(await stage.database.fetchZones([RequestStage.zone])[0].get().syncToken).text
    }

    /// The names in the table of changes, or in the table of records that changed again.
    private static func names(_ page: String, isAgain: Bool = false) -> [String] {
        let parts = page.components(separatedBy: "<section class=\"again\"")
        let part = isAgain ? (parts.count > 1 ? parts[1] : "") : parts[0]
        return part.matches(of: #/<th scope="row" class="name"><a href="[^"]*" title="([^"]*)"/#).map {
            String($0.output.1)
        }
    }

    private static func link(_ text: String, in page: String) -> String? {
        page.matches(of: #/<a [^>]*href="([^"]*)"[^>]*>([^<]*)</a>/#).first {
            $0.output.2.utf8.elementsEqual(text.utf8)
        }
        .map { String($0.output.1).replacing("&amp;", with: "&").replacing("\(RequestStage.there)/", with: "") }
    }

    /// Records whose modification is older than their place in the feed, as restored, mirrored and imported ones are.
    private static func restore(_ dates: [(name: Name, day: Int64)], _ stage: RequestStage) async throws {
        for (name, day) in dates {
            let signature = Signature(
                timestamp: Timestamp(milliseconds: day * 86_400_000), userRecordName: "_ada", deviceID: "old")
            let operation = RecordOperation(
                .forceUpdate, recordName: name, recordType: "Note", fields: ["rank": FieldInput(.int64(1))],
                provenance: Provenance(created: signature, modified: signature))
            try await stage.database.apply([operation], in: RequestStage.zone)
        }
    }

    @Test(arguments: [[19_000, 18_000, 17_000], [17_000, 18_000, 90_000]] as [[Int64]])
    func anAxisOfTimesThatRunBackwardsShowsPositions(days: [Int64]) async throws {
        try await RequestStage.with { stage in
            try await Self.restore(zip(["a", "b", "c"] as [Name], days).map { ($0, $1) }, stage)
            let first = try #require(
                await stage.database.require(.positionRecords).position(
                    of: RecordID(recordName: "a", zoneID: RequestStage.zone))
            ).latest
            for path in ["changes?zone=Notes", "token?token=\(try await Self.now(stage))"] {
                let page = try await stage.page(path)
                let figure = String(
                    try #require(page.split(separator: "<figure class=\"timeline\"").last).prefix { $0 != "\u{0}" })
                let drawing = try #require(figure.components(separatedBy: "</svg>").first)
                let ticks = drawing.matches(of: #/<text class="[a-z]+" x="[^"]*" y="82"[^>]*>([^<]*)</#).map {
                    String($0.output.1)
                }
                #expect(ticks == ["position \(first)", "\(first + 1)", "\(first + 2)"], "\(path)")
                #expect(!drawing.contains(" UTC"), "\(path)")
            }
        }
    }

    @Test func timesInTheOrderOfTheFeedAreShown() async throws {
        try await RequestStage.with { stage in
            try await Self.restore([("a", 17_000), ("b", 18_000), ("c", 19_000)], stage)
            let page = try await stage.page("changes?zone=Notes")
            #expect(
                page.contains(">2016-07-18</text>") && page.contains(">2019-04-14</text>")
                    && page.contains(", from 2016-07-18 "))
        }
    }

    @Test func aParentIsLaterByItsPositionNotByItsTime() async throws {
        try await RequestStage.with { stage in
            try await Self.restore([("parent", 19_000)], stage)
            try await stage.database.save(
                "child", as: .create, type: "Note", in: RequestStage.zone,
                ["of": .reference(Reference(recordName: "parent", action: .none))])
            #expect(try await !stage.page("changes?zone=Notes").contains("of comes later"))
            try await stage.save("between")
            try await Self.restore([("parent", 18_000)], stage)
            let position = try #require(
                await stage.database.require(.positionRecords).position(
                    of: RecordID(recordName: "parent", zoneID: RequestStage.zone))
            ).latest
            #expect(
                try await stage.page("changes?zone=Notes&limit=1").contains(
                    "parent, its of, was saved again later, at position \(position), further down the feed"))
        }
    }

    @Test func betweenTwoTokensAreTheRecordsLastChangedThere() async throws {
        try await RequestStage.with { stage in
            for name: Name in ["a", "b", "c", "f"] { try await stage.save(name) }
            let first = try await Self.now(stage)
            for name: Name in ["d", "a", "f", "c"] { try await stage.save(name) }
            let second = try await Self.now(stage)
            let question = "changes?zone=Notes&since=1&token=\(first)&upto=\(second)"
            let all = try await stage.page(question)
            #expect(Self.names(all) == ["d", "a", "f", "c"] && all.contains("Nothing changed after the second token"))
            #expect(
                all.contains("nothing more up to the token") && !all.contains("data-follow") && all.contains(second))
            for name: Name in ["a", "e"] { try await stage.save(name) }
            for name: Name in ["b", "f"] { try await Self.delete(name, stage) }
            let page = try await stage.page(question)
            #expect(Self.names(page) == ["d", "c"])
            #expect(page.contains("4 records changed after the second token"))
            // The journal tells which records changed between the tokens and again later. b was only deleted later, and
            // e was created later.
            #expect(Self.names(page, isAgain: true) == ["a", "f"])
            #expect(page.contains(/record\/history\?[^"]*name=a">History</))
            #expect(page.contains("From the journal: 2 also changed between the tokens, 2 only later."))
            let rest = try #require(Self.link("Fetch later changes", in: page))
            #expect(try await Set(Self.names(stage.page(rest))) == ["a", "e", "b", "f"])
            let nothing = try await stage.page("changes?zone=Notes&since=1&token=\(second)&upto=\(second)")
            #expect(nothing.contains("No changes between the two tokens.") && Self.names(nothing).isEmpty)
            // Without a first token: everything up to the second one that did not change later.
            let start = try await stage.page("changes?zone=Notes&upto=\(second)")
            #expect(Self.names(start) == ["d", "c"])
        }
    }

    /// To a pull without a token every record is new, but not everything was just created.
    @Test func aFirstPullSaysWhichRecordsWereModified() async throws {
        try await RequestStage.with { stage in
            try await stage.save("once")
            try await stage.save("twice")
            let token = try await Self.now(stage)
            try await RequestStage.nextMillisecond()
            for name: Name in ["twice", "new", "new"] {
                try await stage.save(name)
                try await RequestStage.nextMillisecond()
            }
            func kinds(_ page: String) -> [String] {
                page.matches(of: /<span class="kind change [a-z]*">([^<]*)</).map { String($0.output.1) }
            }
            #expect(try await kinds(stage.page("changes?zone=Notes")) == ["created", "modified", "modified"])
            let first = try await stage.page("changes?zone=Notes&limit=1")
            let next = try #require(Self.link("Next page ›", in: first))
            #expect(try await kinds(stage.page(next)) == ["modified"])
            // Following such a page starts at the present.
            let now = try await Self.now(stage)
            #expect(first.contains("data-start=\"\(now)\"") && first.contains(">Start from now</a>"))
            // Since a token, the kind is what happened after it.
            #expect(
                try await kinds(stage.page("changes?zone=Notes&since=1&token=\(token)")) == ["modified", "created"])
            try await Self.delete("once", stage)
            let since = try await stage.page("changes?zone=Notes&since=1&token=\(token)")
            #expect(kinds(since) == ["modified", "created", "deleted"] && since.contains("3 changes after it"))
            // The button beside the token leads to its explanation.
            #expect(since.contains("formaction=\"\(RequestStage.there)/token\""))
        }
    }

    @Test func pagesEndAtTheSecondToken() async throws {
        try await RequestStage.with { stage in
            for number in 0..<5 { try await stage.save(Name("early\(number)")) }
            let first = try await Self.now(stage)
            for number in 0..<7 { try await stage.save(Name("between\(number)")) }
            let second = try await Self.now(stage)
            for number in 0..<120 { try await stage.save(Name("later\(number)")) }
            for number in [2, 5] { try await stage.save(Name("between\(number)")) }
            for limit in [1, 2, 5, 200] {
                var names: [String] = []
                var next: String? = "changes?zone=Notes&since=1&token=\(first)&upto=\(second)&limit=\(limit)"
                var page = ""
                while let path = next {
                    page = try await stage.page(path)
                    names += Self.names(page)
                    next = Self.link("Next page ›", in: page)
                    #expect(page.contains("122 records changed after the second token"))
                }
                #expect(names == [0, 1, 3, 4, 6].map { "between\($0)" })
            }
            // That many records are looked up page by page.
            var page = try await stage.page("changes?zone=Notes&since=1&token=\(first)&upto=\(second)")
            var again: [String] = []
            var next = Self.link("List them", in: page)
            var count = 0
            while let path = next, count < 5 {
                page = try await stage.page(path)
                again += Self.names(page, isAgain: true)
                next = Self.link("Look up more ›", in: page)
                count += 1
            }
            #expect(again == ["between2", "between5"] && count == 2)
            #expect(try #require(Self.link("Back to the changes between the tokens", in: page)).contains("upto="))
        }
    }

    @Test func missingJournalEntriesAreExplained() async throws {
        try await RequestStage.with { stage in
            for name: Name in ["old", "gone"] { try await stage.save(name) }
            let first = try await Self.now(stage)
            try await stage.save("old")
            let second = try await Self.now(stage)
            for _ in 0..<(JournalLimits.standard.versions + 5) { try await stage.save("old") }
            try await stage.save("brief")
            try await Self.delete("brief", stage)
            let page = try await stage.page("changes?zone=Notes&since=1&token=\(first)&upto=\(second)")
            #expect(
                page.contains(
                    "0 also changed between the tokens, 1 only later, 1 have no journal entries from that time"))
            #expect(
                Self.names(page, isAgain: true) == ["old"] && page.contains("<span class=\"faint\">not kept</span>"))
        }
    }

    @Test func tokensThatDoNotGoTogetherAreRefusedWithARemedy() async throws {
        try await RequestStage.with { stage in
            _ = try await stage.database.modifyZones([.create(ZoneID(zoneName: "Other"))])
            for name: Name in ["a", "b"] { try await stage.save(name) }
            let first = try await Self.now(stage)
            for name: Name in ["c", "d"] { try await stage.save(name) }
            let second = try await Self.now(stage)
            try await stage.save("x", in: ZoneID(zoneName: "Other"))
            let other = try #require(await stage.database.fetchZones([ZoneID(zoneName: "Other")])[0].get().syncToken)
                .text
            let ofDatabase = try await stage.database.databaseChanges(DatabaseChangesRequest()).syncToken.text
            let reverse = try await stage.database.zoneChanges(
                ZoneChangesRequest(RequestStage.zone, limit: PageLimit(records: 1), reverse: true)
            ).syncToken.text
            func page(_ upto: String, since: String = first) async throws -> String {
                let page = try await stage.page("changes?zone=Notes&since=1&token=\(since)&upto=\(upto)")
                #expect(Self.names(page).isEmpty && page.contains("role=\"alert\""))
                return page
            }
            #expect(try await page(other).contains("belongs to the zone Other"))
            #expect(try await page(ofDatabase).contains("is a database token"))
            // These tokens have no position on the timeline of this zone, and as a first token they highlight nothing.
            for strange in [other, ofDatabase] {
                let ended = try await page(strange)
                #expect(ended.contains(">A</text>") && !ended.contains(">B</text>") && !ended.contains("the token B"))
                let begun = try await page(second, since: strange)
                #expect(
                    !begun.contains(">A</text>") && begun.contains(">B</text>") && !begun.contains("class=\"had\"")
                        && !begun.contains("the token A"))
            }
            #expect(try await page(String(second.prefix(20))).contains("is not from this server, or is damaged"))
            #expect(try await page(reverse).contains("The second token is from a page of a newest-first pull"))
            #expect(
                try await page(second, since: reverse).contains("The first token is from a page of a newest-first pull")
            )
            // With two invalid tokens, the error is about the first.
            #expect(try await page(second, since: other).contains("Unknown sync continuation type"))
            let swapped = try await page(first, since: second)
            #expect(swapped.contains("is older than the first"))
            #expect(try await Self.names(stage.page(#require(Self.link("Swap them", in: swapped)))) == ["c", "d"])
            let foreign = try await stage.page("changes?user=grace&zone=Notes&upto=\(second)")
            #expect(foreign.contains("role=\"alert\"") && !foreign.contains(">B</text>"))
            let broken = try await stage.page("changes?zone=Notes&upto=\(first)&again=garbage")
            #expect(broken.contains("Unknown sync continuation type") && broken.contains("role=\"alert\""))
            try await stage.database.require(.expireTokens).expireTokens()
            let expired = try await stage.page("changes?zone=Notes&upto=\(second)")
            #expect(
                expired.contains("has expired: all earlier tokens were expired")
                    && expired.contains("Show changes up to now"))
        }
    }

    @Test func aPageOfAnUnfinishedPullEndsWhereItStands() async throws {
        try await RequestStage.with { stage in
            for number in 0..<40 { try await stage.save(Name("r\(number)")) }
            let first = try await stage.database.zoneChanges(
                ZoneChangesRequest(RequestStage.zone, limit: PageLimit(records: 30)))
            let position = try #require(first.changes.last?.position)
            let page = try await stage.page("changes?zone=Notes&upto=\(first.syncToken.text)")
            #expect(Self.names(page) == (0..<30).map { "r\($0)" })
            #expect(
                page.contains("token B at \(position)") && page.contains("</b> up to \(position), ")
                    && page.contains("a page of an unfinished pull"))
            // A pull from there continues after the token, wherever it began.
            let since = try await stage.page("changes?zone=Notes&since=1&token=\(first.syncToken.text)")
            #expect(
                since.contains("token A at \(position)")
                    && since.contains("</b> your token: \(position) (page of a pull that began at 0)"))
            #expect(since.contains("changes after \(position)"))
            let told = try await stage.page("token?token=\(first.syncToken.text)")
            #expect(
                told.contains("This token is valid, but its pull is not finished")
                    && told.contains("class=\"verdict warn\""))
            #expect(told.contains("the first pull stopped between pages (moreComing was true)"))
        }
    }

    @Test func aQuestionAboutATypeSaysSo() async throws {
        try await RequestStage.with { stage in
            try await stage.save("a")
            let first = try await Self.now(stage)
            for name: Name in ["b", "c"] { try await stage.save(name) }
            let second = try await Self.now(stage)
            try await stage.save("room", type: "Room")
            try await stage.save("c")
            let question = "changes?zone=Notes&since=1&token=\(first)&upto=\(second)"
            let notes = try await stage.page("\(question)&type=Note")
            #expect(Self.names(notes) == ["b"] && Self.names(notes, isAgain: true) == ["c"])
            #expect(notes.contains("2 records, of any type, changed after the second token"))
            #expect(notes.contains("From the journal, for the 1 of type Note: 1 also changed between the tokens."))
            let rooms = try await stage.page("\(question)&type=Room")
            #expect(rooms.contains("No changes of type Room between the two tokens."))
            let empty = try await stage.page("changes?zone=Notes&type=Other")
            #expect(
                empty.contains("The zone has no records of type Other.")
                    && empty.contains("/record/new?zone=Notes&amp;type=Other\">New record</a>"))
            let late = try await Self.now(stage)
            #expect(
                try await stage.page("changes?zone=Notes&since=1&token=\(late)&type=Note").contains(
                    "No changes of type Note since the token."))
        }
    }

    @Test func moreThanAFewAreLookedUpWhenAsked() async throws {
        try await RequestStage.with { stage in
            for number in 0..<30 { try await stage.save(Name("r\(number)")) }
            let second = try await Self.now(stage)
            for number in 0..<30 { try await stage.save(Name("r\(number)")) }
            let page = try await stage.page("changes?zone=Notes&upto=\(second)")
            #expect(
                page.contains("30 records changed after the second token") && Self.names(page, isAgain: true).isEmpty)
            let list = try await stage.page(#require(Self.link("List them", in: page)))
            #expect(Self.names(list, isAgain: true).count == 30)
        }
    }

    @Test func theTimelineLeadsToWhatItShows() async throws {
        try await RequestStage.with { stage in
            for number in 0..<90 { try await stage.save(Name("r\(number % 70)")) }
            for name: Name in ["r69", "r3"] { try await Self.delete(name, stage) }
            let page = try await stage.page("changes?zone=Notes")
            #expect(page.contains("role=\"img\" aria-label=\"Timeline of the feed: 70 changes from position"))
            let links = page.matches(
                of: #/<li><a href="([^"]*)" data-stretch="\d+">[^<]*</a> <span>(\d+) changes?</span>/#)
            #expect(links.count > 10)
            var total = 0
            for link in links {
                let path = String(link.output.1).replacing("&amp;", with: "&").replacing(
                    "\(RequestStage.there)/", with: "")
                let count = try #require(Int(link.output.2))
                #expect(try await Self.names(stage.page(path)).count == count)
                total += count
            }
            #expect(total == 70)
        }
    }

    @Test func theTimelineShowsTokensAndClients() async throws {
        try await RequestStage.with { stage in
            for number in 0..<40 { try await stage.save(Name("a\(number)")) }
            _ = try await stage.pull(from: "Ada’s iPhone")
            let first = try await Self.now(stage)
            for number in 0..<5 { try await stage.save(Name("b\(number)")) }
            let second = try await Self.now(stage)
            for number in 0..<5 { try await stage.save(Name("c\(number)")) }
            _ = try await stage.pull(from: "Ada’s Mac")
            let page = try await stage.page("changes?zone=Notes&since=1&token=\(first)&upto=\(second)")
            #expect(page.contains(">A</text>") && page.contains(">B</text>"))
            #expect(page.contains("Ada’s iPhone</a>, at") && page.contains("10 changes behind"))
            #expect(page.contains("Ada’s Mac</a>, has everything"))
            let zoomed = try await stage.page(#require(Self.link("Zoom in", in: page)))
            #expect(
                zoomed.contains("Timeline of the feed: 5 changes") && Self.names(zoomed) == (0..<5).map { "b\($0)" })
            // Its pages keep the range.
            let half = try await stage.page("changes?zone=Notes&since=1&token=\(first)&upto=\(second)&zoom=1&limit=3")
            #expect(
                try await stage.page(#require(Self.link("Next page ›", in: half))).contains(
                    "Timeline of the feed: 5 changes"))
            let whole = try await stage.page(#require(Self.link("Show the whole zone", in: zoomed)))
            #expect(whole.contains("Timeline of the feed: 50 changes"))
            let empty = try await stage.page("changes?user=grace&zone=Notes")
            #expect(!empty.contains("data-timeline"))
        }
    }

    @Test func zonesSayWhatSetsThemApart() async throws {
        try await RequestStage.with { stage in
            try await stage.save("s", in: .default)
            for name: Name in ["Lost", "Purged", "Again"] {
                _ = try await stage.database.modifyZones([.create(ZoneID(zoneName: name))])
            }
            for name: Name in ["Lost", "Again"] {
                _ = try await stage.database.modifyZones([.delete(ZoneID(zoneName: name))])
            }
            _ = try await stage.database.modifyZones([.create(ZoneID(zoneName: "Again"))])
            try await stage.database.require(.purgeZones).purge(ZoneID(zoneName: "Purged"))
            let page = try await stage.page("zones")
            for word in ["no token", "hidden", "deleted", "purged"] {
                #expect(page.contains("<dt><span class=\"pill lacks\">\(word)</span></dt>"))
            }
            let parts = page.components(separatedBy: "<h2 id=\"gone\">")
            let gone = parts.count > 1 ? parts[1] : ""
            #expect(
                gone.contains("<th scope=\"row\">Lost</th>") && gone.contains("<th scope=\"row\">Purged</th>")
                    && !gone.contains("<th scope=\"row\">Again"))
            #expect(
                parts[0].contains("_defaultZone")
                    && parts[0].contains("title=\"The database’s changes never list the zone"))
            #expect(try await parts[0].contains(Self.now(stage)))
            let changes = try await stage.page("changes?zone=")
            #expect(changes.contains("/zones#gone\">2 zones were deleted</a>"))
            let others = try await stage.page("zones?user=grace")
            #expect(!others.contains("<h2 id=\"gone\">"))
        }
    }

    @Test func zonesThatChangedSinceATokenSayWhatAClientDoes() async throws {
        try await RequestStage.with { stage in
            _ = try await stage.database.modifyZones([.create(ZoneID(zoneName: "Lost"))])
            let token = try await stage.database.databaseChanges(DatabaseChangesRequest()).syncToken.text
            let question = "changes?since=1&token=\(token)"
            #expect(
                try await stage.page("changes").contains(
                    "since=1&amp;token=\(token)\">Fetch changes since this token</a>"))
            #expect(try await stage.page(question).contains("No zone has changed since the token."))
            try await stage.database.require(.purgeZones).purge(ZoneID(zoneName: "Lost"))
            let page = try await stage.page(question)
            #expect(page.contains(">purged</span>") && page.contains("don&#39;t upload it again"))
            #expect(!page.contains(">Notes</a></th>"))
        }
    }

    @Test func whereThereIsNoFeedThePageSaysWhy() async throws {
        try await RequestStage.with { stage in
            for (path, place, reason) in [
                ("changes", "public", "The public database has no changes feed"),
                ("changes?zone=_defaultZone", "private", "The default zone has no changes feed"),
            ] {
                let there = RequestStage.there.replacing("private", with: place)
                let page = try await stage.page(path, in: there)
                #expect(page.contains(reason) && page.contains("<a class=\"button\" href=\"\(there)/query"), "\(place)")
            }
        }
    }

    @Test func aTokenThatIsRefusedSaysWhatAClientDoes() async throws {
        try await RequestStage.with { stage in
            try await stage.save("a")
            let token = try await Self.now(stage)
            let garbage = try await stage.page("changes?zone=Notes&since=1&token=garbage")
            #expect(garbage.contains("Unknown sync continuation type") && garbage.contains("pull without a token"))
            #expect(garbage.contains("<details open>"), "the form is open")
            for operation in [ZoneOperation.delete(RequestStage.zone), .create(RequestStage.zone)] {
                _ = try await stage.database.modifyZones([operation])
            }
            let expired = try await stage.page("changes?zone=Notes&since=1&token=\(token)")
            #expect(
                expired.contains("client knowledge differs from server knowledge")
                    && expired.contains("delete local records that were not returned"))
        }
    }

    @Test func zonesThatWentLastAreListedFirst() async throws {
        try await RequestStage.with { stage in
            let names = (0..<120).map { Name("z\($0)") }
            _ = try await stage.database.modifyZones(names.map { .create(ZoneID(zoneName: $0)) })
            _ = try await stage.database.modifyZones(names.map { .delete(ZoneID(zoneName: $0)) })
            let page = try await stage.page("zones")
            let gone = page.matches(of: #/<th scope="row">(z\d+)</#).map { String($0.output.1) }
            #expect(gone == names.suffix(100).reversed().map(\.string))
            #expect(page.contains("20 more zones were deleted earlier."))
        }
    }
}
