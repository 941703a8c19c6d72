import Foundation
import RecordStore
import Records
import RequestLog
import Testing

@testable import Console

/// The page Sync: the lanes of clients on the timelines of zones.
@Suite struct SyncPageTests {
    /// The lane of a client. There must be one.
    private static func lane(of name: String, in page: String) throws -> String {
        let lanes = page.components(separatedBy: "<li class=\"lane").dropFirst().filter {
            $0.contains(">\(name)</a> <span")
        }
        #expect(lanes.count == 1, "\(name)")
        return try #require(lanes.first)
    }

    private static func dots(_ kind: String, in lane: String) -> Int {
        lane.components(separatedBy: "<path class=\"\(kind)\"").count - 1
    }

    @Test func thePageSaysWhatThisIs() async throws {
        try await RequestStage.with { stage in
            let empty = try await stage.page("sync")
            #expect(
                empty.contains(
                    "A local CloudKit server. It answers CloudKit Web Services for <b>iCloud.com.example.App</b> at <code"
                ))
            #expect(empty.contains("No client has sent a request yet") && empty.contains(">Query the records</a>"))
            #expect(
                !empty.contains("class=\"lanes\"") && !empty.contains("a fetch of changes")
                    && empty.contains("0 clients"))
            try await stage.save("one")
            try await stage.pull()
            let page = try await stage.page("sync")
            #expect(page.contains("data-live=") && page.contains("All requests") && page.contains(">changes/zone</a>"))
            #expect(page.contains("from phone, to development, private"))
        }
    }

    @Test func eachClientIsAtItsTokenAndItsLaneNamesTheChangesThatItLacks() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            let token = try #require(try await stage.pull(from: "phone"))
            let old = try #require(try await stage.pull(from: "tablet"))
            #expect(try await stage.page("sync").contains("All clients have everything"))
            try await stage.save("two")
            try await stage.save("three")
            try await stage.pull(from: "phone", since: token)
            let page = try await stage.page("sync")
            #expect(
                page.contains(
                    "data-live-turn data-room hidden>Pause</button><noscript><a class=\"button\" href=\"\">Look again</a></noscript>"
                ))
            #expect(page.contains("<b class=\"faint\">1 client is behind (2 of 2 clients have pulled a zone)"))
            let (state, latest) = (
                try #require(page.firstRange(of: "1 client is behind (")),
                try #require(page.firstRange(of: "Latest requests"))
            )
            #expect(state.lowerBound < latest.lowerBound, "the verdict comes first")
            let phone = try Self.lane(of: "phone", in: page)
            #expect(
                phone.contains("up to date") && !phone.contains("class=\"lacks\"") && phone.contains("cx=\"100.00%\""))
            #expect((1...2).contains(Self.dots("pulled", in: phone)), "requests at the same time share a mark")
            let tablet = try Self.lane(of: "tablet", in: page)
            #expect(
                !tablet.hasPrefix(" stuck") && tablet.contains("2 changes behind")
                    && tablet.contains("class=\"lacks\""))
            let query = FormFields.url("", [("token", old.text)]).dropFirst()
            #expect(
                tablet.contains("/token?") && tablet.contains("\(query)\"")
                    && tablet.contains("/changes?zone=Notes&amp;since=1&amp;\(query)\">Missing changes</a>"))
            for name in ["two", "three"] {
                #expect(
                    tablet.contains("/record?zone=Notes&amp;name=\(name)\" title=\"\(name)\">t</a>"),
                    "the title of the record")
            }
            #expect(!tablet.contains("title=\"one\""))
        }
    }

    @Test func aPullThatLeftPagesNamesTheRest() async throws {
        try await RequestStage.with { stage in
            for name: Name in ["one", "two", "three"] { try await stage.save(name) }
            try await stage.pull(from: "hasty", limit: 1)
            let lane = try Self.lane(of: "hasty", in: try await stage.page("sync"))
            #expect(
                lane.contains("Stopped at position ") && lane.contains(": 2 changes not fetched, moreComing was true")
                    && lane.contains("Missing changes") && lane.contains("title=\"three\">t</a>"))
            // A warning counts as long as it is fresh.
            try await stage.pull(from: "hasty", limit: 1)
            #expect(
                try Self.lane(of: "hasty", in: try await stage.page("sync")).contains(">moreComing not followed</a>"))
        }
    }

    @Test func errorsAndExpiredTokensAreShown() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            let token = try #require(try await stage.pull(from: "phone"))
            try await stage.database.require(.expireTokens).expireTokens()
            try await stage.pull(from: "phone", since: token)
            let request = try #require(stage.log.latest(1).first)
            let lane = try Self.lane(of: "phone", in: try await stage.page("sync"))
            #expect(lane.hasPrefix(" stuck") && lane.contains("its token expired"))
            #expect(
                try await stage.page("sync").contains(
                    "1 client is stuck (1 of 1 client has pulled a zone)"))
            #expect(
                lane.contains("Its last fetch failed: BAD_REQUEST, client knowledge differs from server knowledge.")
                    && lane.contains("id=\(request.id)\">Request</a>"))
            #expect(Self.dots("failed", in: lane) >= 1)
        }
    }

    @Test func requestsAreOnTheLaneOfTheirZone() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            try await stage.pull(from: "phone")
            var save = stage.request("records/modify", from: "phone")
            save.zoneIDs = [RequestStage.zone]
            stage.note(save)
            // It names no zone, so it concerns each.
            stage.note(stage.request("zones/list", from: "phone"))
            var elsewhere = stage.request("records/modify", from: "phone")
            elsewhere.zoneIDs = [ZoneID(zoneName: "Other")]
            stage.note(elsewhere)
            var old = stage.request("records/lookup", from: "phone")
            old.started = Timestamp(milliseconds: old.started.milliseconds - 25 * 3_600_000)
            stage.note(old)
            stage.note(stage.request("records/query", from: "asker"))
            let page = try await stage.page("sync")
            let parts = page.components(separatedBy: "<h2 id=\"others\">")
            #expect(parts.count == 2)
            let phone = try Self.lane(of: "phone", in: parts[0])
            #expect(
                Self.dots("pulled", in: phone) == 1 && Self.dots("saved", in: phone) == 1
                    && Self.dots("other", in: phone) == 1)
            #expect(
                phone.contains("id=\(save.id)") && !phone.contains("id=\(elsewhere.id)")
                    && !page.contains("<a href=\"\(RequestStage.there)/requests?id=\(old.id)\" tabindex"))
            let rest = try Self.lane(of: "phone", in: parts[1])
            #expect(rest.contains("id=\(elsewhere.id)") && rest.contains("Requests about other zones and databases"))
            #expect(try Self.lane(of: "asker", in: parts[1]).contains("It never fetched the changes of a zone"))
        }
    }

    @Test func theConsoleAndOtherEnvironmentsAreLeftOut() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            try await stage.pull(from: ClientIdentity.consoleName)
            try await stage.pull(from: ClientIdentity.commandLineName)
            var production = stage.address
            production.environment = .production
            stage.note(stage.request("records/query", from: "deployed", in: production))
            let page = try await stage.page("sync")
            #expect(
                !page.contains("class=\"lane ") && !page.contains(ClientIdentity.consoleName)
                    && !page.contains("deployed</a>"))
            #expect(
                try await stage.page("sync", in: "/c/iCloud.com.example.App/production/private").contains(
                    ">deployed</a>"))
        }
    }

    @Test func theContainersNameLeadsHere() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            let home = try await stage.page("/")
            #expect(home.contains("<h3><a href=\"\(RequestStage.there)/sync\">iCloud.com.example.App</a>"))
        }
    }
}
