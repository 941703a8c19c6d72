import InMemoryRecordStore
import RecordStore
import Records
import RequestLog
import TestSupport
import Testing

@testable import Console

/// The entries of the sidebar, their tabs and their states.
@Suite struct NavigationTests {
    /// The texts and the addresses of the links in one of the navigations, and the texts of the current ones.
    private static func links(of navigation: String, in page: String) throws -> (
        texts: [String], addresses: [String], current: [String]
    ) {
        // A single page has no tabs.
        guard let start = page.firstRange(of: "<nav class=\"\(navigation)\"") else { return ([], [], []) }
        let rest = page[start.lowerBound...]
        let links = rest[..<(rest.firstRange(of: "</nav>")?.lowerBound ?? rest.endIndex)].matches(
            of: #/<a href="([^"]*)"( aria-current="[a-z]*")?>([^<]*)/#)
        // A state follows after a space.
        let texts = links.map { link in
            link.output.3.replacing("&amp;", with: "&").split(separator: " ").joined(separator: " ")
        }
        return (texts, links.map { String($0.output.1) }, zip(links, texts).filter { $0.0.output.2 != nil }.map(\.1))
    }

    private static func tabs(
        on path: String, in place: String = RequestStage.there, of stage: RequestStage
    ) async throws -> (texts: [String], addresses: [String], current: [String]) {
        try links(of: "tabs", in: try await stage.page(path, in: place))
    }

    private static func state(_ section: String, in page: String) throws -> String? {
        let entry = try Regex("<a href=\"[^\"]*\"(?: aria-current=\"true\")?>\(section)(.*?)</li>")
        let link = try #require(page.firstMatch(of: entry), "\(section)")
        return link.output[1].substring?.firstMatch(of: #/title="([^"]*)"/#).map { String($0.output.1) }
    }

    private static func state(_ section: String, on path: String, _ stage: RequestStage) async throws -> String? {
        try state(section, in: try await stage.page(path))
    }

    @Test func aQuestionIsUnderTheTabThatAsksIt() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            let questions = [
                "zone/delete?zone=Notes": ("tabs", "Zones"), "type/remove?type=Note": ("tabs", "Record types"),
                "record/delete?zone=Notes&name=one": ("ways-to-read", "Fetch"),
            ]
            for (path, (navigation, tab)) in questions {
                #expect(try Self.links(of: navigation, in: try await stage.page(path)).current == [tab], "\(path)")
            }
        }
    }

    @Test func everyPageHasItsNameInItsTabItsHeadingAndTheTitle() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            for tab in Tab.allCases {
                // A container of this machine has no mirror, and this one no objects of Core Data.
                guard tab != .home, ![.objects, .mirror, .unsent].contains(tab) else { continue }
                let escaped = tab.title.replacing("&", with: "&amp;")
                let page = try await stage.page(tab.rawValue)
                let tabs = try Self.links(of: "tabs", in: page)
                #expect(tabs.current == (tabs.texts.isEmpty ? [] : [tab.title]), "\(tab)")
                #expect(page.contains("<title>\(escaped)"), "\(tab)")
                #expect(page.contains(" · iCloud.com.example.App · development</title>"), "\(tab)")
                // The heading of a query is its type.
                let heading = try Regex("<h1[^>]*>\(tab == .query ? "Note" : escaped)")
                #expect(page.contains(heading), "\(tab)")
                let ways = try Self.links(of: "ways-to-read", in: page)
                #expect(ways.texts == ["Query", "Fetch", "Changes"], "one click away everywhere: \(tab)")
                #expect(ways.current == (tab.readsRecords ? [tab.title] : []), "\(tab)")
                // An entry has the name of the first of its pages, and leads there.
                let side = try Self.links(of: "side", in: page)
                #expect(side.texts.suffix(Self.entries.count) == Self.entries, "\(tab)")
                if tab.group != nil {
                    #expect(side.current == [tab.entry.title], "\(tab)")
                    let entry = try #require(side.texts.lastIndex(of: tab.entry.title))
                    #expect(tabs.addresses.isEmpty || side.addresses[entry] == tabs.addresses.first, "\(tab)")
                }
            }
        }
    }

    private static let entries = [
        "Zones", "Record types", "Key-value store", "Import", "Snapshots", "Sync", "Notifications", "Decode", "Start",
        "Requests", "Rehearsals", "Check", "Keys",
    ]

    @Test func theTypesStandInTheSidebarWithTheirCounts() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            let page = try await stage.page("query?type=Note")
            #expect(
                page.contains(
                    #/<a href="[^"]*/query\?type=Note" aria-current="page"><b>Note</b> <span class="faint">1</span></a>/#
                ))
            #expect(!page.contains("Filter record types"), "one type needs no filter")
        }
    }

    @Test func theTabsAreThoseThatThePlaceHas() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            #expect(try await Self.tabs(on: "zones", of: stage).texts == ["Zones", "Sharing"])
            #expect(
                try await Self.tabs(on: "zones", in: "/c/iCloud.com.example.App/development/public", of: stage).texts
                    .isEmpty, "a page without others needs no tab")
            // The other databases of a page about shares.
            let sharing = try await stage.page("sharing")
            #expect(
                sharing.contains("/development/shared/sharing\"") && sharing.contains("/development/public/zones\""))
            let schema = try await Self.tabs(on: "types", of: stage).texts
            #expect(
                schema == ["Record types", "Indexes", "Security roles", "Deploy", "History", "Schema file", "Reset"])
            let production = "/c/iCloud.com.example.App/production/private"
            #expect(try await Self.tabs(on: "types", in: production, of: stage).texts == schema.dropLast())
            // The page of a tab that the place does not offer says where it is.
            #expect(try await Self.tabs(on: "reset", in: production, of: stage).current == ["Reset"])
            #expect(
                try await stage.page("types", in: production).contains(" · iCloud.com.example.App · production</title>")
            )
        }
    }

    /// One click leads to another zone, user, database, environment and container.
    @Test func eachPartOfThePlaceHasAMenu() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            var other = stage.address
            other.container = try #require(ContainerID("iCloud.com.example.Other"))
            _ = try await stage.engine.database(other, as: stage.user).modifyZones([.create(RequestStage.zone)])
            let page = try await stage.page("query?type=Note&zone=Notes")
            let start = try #require(page.firstRange(of: "<nav class=\"where\""))
            let rest = page[start.lowerBound...]
            let menus = rest[..<(rest.firstRange(of: "</nav>")?.lowerBound ?? rest.endIndex)]
            for (label, text, address) in [
                ("zone", "_defaultZone", "zone=_defaultZone"),
                ("as", "Grace", "user=grace"),
                ("database", "public", "/development/public/"),
                ("environment", "production", "/production/private/"),
                ("container", "iCloud.com.example.Other", "/c/iCloud.com.example.Other/development/private/"),
            ] {
                let menu = try #require(
                    menus.split(separator: "<details ").first { $0.hasPrefix("class=\"at \(label)\"") })
                let links = menu.matches(of: #/<a href="([^"]*)"[^>]*>([^<]*)/#)
                #expect(
                    links.contains { $0.output.1.contains(address) && $0.output.2.contains(text) }, "\(label): \(menu)")
            }
        }
    }

    @Test func everyShortcutIsAnother() {
        let keys = Tab.allCases.compactMap(\.key)
        #expect(Set(keys).count == keys.count && keys.allSatisfy { $0.utf8.count == 1 })
    }

    @Test func errorsOfTheLastHourCount() async throws {
        try await RequestStage.with { stage in
            stage.note(stage.request("records/query"))
            let calm = try await Self.state("Requests", on: "zones", stage)
            #expect(calm == nil)
            var refused = stage.request("records/query")
            refused.status = 400
            stage.note(refused)
            #expect(try await Self.state("Requests", on: "zones", stage) == "1 failed in the last hour")
            refused.environment = .production
            stage.note(refused)
            refused.environment = .development
            #expect(
                try await Self.state("Requests", on: "zones", stage) == "1 failed in the last hour",
                "another environment")
            var partial = stage.request("records/modify")
            partial.itemErrors = [
                ServedRequest.ItemError(name: "a", code: .conflict, reason: "no"),
                ServedRequest.ItemError(name: "b", code: .conflict, reason: "no"),
            ]
            stage.note(partial)
            refused.started = Timestamp(milliseconds: refused.started.milliseconds - 2 * 3_600_000)
            stage.note(refused)
            // A replay is no request of an app.
            var replayed = stage.request("records/query", from: ClientIdentity.replayName)
            replayed.status = 400
            stage.note(replayed)
            let page = try await stage.page("zones")
            #expect(try Self.state("Requests", in: page) == "2 failed in the last hour")
            // The count leads to as many requests as it says.
            let link = try #require(page.firstMatch(of: #/<a class="bad" href="[^"]*\/(requests\?[^"]*)"/#))
            let list = try await stage.page(String(link.output.1).replacing("&amp;", with: "&"))
            #expect(list.matches(of: /<tr class="failed">/).count == 2)
            #expect(list.contains("value=\"recent\" checked data-submit> errors of apps in the last hour"))
        }
    }

    /// A client that lacks changes fetches them when it comes: only those that need someone count.
    @Test func clientsThatAreStuckCount() async throws {
        try await RequestStage.with { stage in
            func state(on path: String = "zones") async throws -> String? {
                try await Self.state("Sync", on: path, stage)
            }
            let now = Timestamp.now()
            func note(
                _ name: String, secondsAgo: Int64, moreComing: Bool = false, error: RecordError? = nil,
                in address: DatabaseAddress? = nil
            ) {
                var request = stage.request("changes/zone", from: name, in: address)
                request.started = Timestamp(milliseconds: now.milliseconds - secondsAgo * 1000)
                request.pulls = [
                    ServedRequest.Pull(
                        zoneID: RequestStage.zone, sent: nil,
                        given: error == nil ? ChangeToken(bytes: Array(name.utf8)) : nil, moreComing: moreComing,
                        changes: 1,
                        error: error.map { ServedRequest.ItemError($0, name: "Notes") })
                ]
                stage.note(request)
            }
            try await stage.save("one")
            let token = try await stage.pull(from: "phone")
            try await stage.save("two")
            #expect(try await state() == nil, "it lacks a change")
            // A page of a pull that goes on, and of one that was left a minute ago.
            note("tablet", secondsAgo: 1, moreComing: true)
            #expect(try await state() == nil)
            note("other", secondsAgo: 61, moreComing: true)
            #expect(try await state() == "1 stuck client", "the tablet came a second ago")
            note("phone", secondsAgo: 1, moreComing: true)
            note("phone", secondsAgo: 1, moreComing: true)
            #expect(try await state() == "2 stuck clients", "the phone began anew instead of going on")
            try await stage.pull(from: "phone")
            var elsewhere = stage.address
            elsewhere.environment = .production
            note("watch", secondsAgo: 1, error: TokenCodec.expired, in: elsewhere)
            #expect(try await state() == "1 stuck client", "another environment")
            note("watch", secondsAgo: 1, error: TokenCodec.expired)
            note("lost", secondsAgo: 86_401, error: TokenCodec.expired)
            #expect(try await state() == "2 stuck clients", "nobody has used the last one for a day")
            #expect(try await state(on: "zones?user=grace") == "2 stuck clients", "whoever looks")
            try await stage.pull(from: "watch")
            #expect(try await state() == "1 stuck client", "it has started over")
            // Notified, and not come.
            func tell(secondsAgo: Int64) {
                let moment = Timestamp(milliseconds: now.milliseconds - secondsAgo * 1000)
                _ = stage.log.notifications.add(
                    LoggedNotification(
                        at: moment, in: stage.address, of: stage.user.userRecordName, subscriptionID: "q", position: 2,
                        zoneID: ZoneID(zoneName: "Told"), recordName: "two",
                        event: .create, tokenID: "abcdef0123456789", clientID: "phone", outcome: .delivered(moment)))
            }
            tell(secondsAgo: 86_401)
            tell(secondsAgo: 5)
            #expect(try await state() == "1 stuck client", "it may be about to come")
            tell(secondsAgo: 90)
            tell(secondsAgo: 1)
            #expect(try await state() == "2 stuck clients")
            try await stage.pull(from: "phone", since: token, zone: ZoneID(zoneName: "Told"))
            #expect(try await state() == "2 stuck clients", "its fetch failed")
        }
    }

    @Test func theLatestCheckOfThePlaceCounts() async throws {
        try await RequestStage.with { stage in
            let field = FieldInput(.reference(Reference(recordName: "nobody")))
            _ = try await stage.database.modify(
                ModifyRequest(
                    [RecordOperation(.forceUpdate, recordName: "one", recordType: "Note", fields: ["other": field])],
                    zoneID: RequestStage.zone))
            #expect(try await Self.state("Check", on: "zones", stage) == nil)
            _ = try await stage.post("check/start", "")
            try await eventually {
                try await Self.state("Check", on: "zones", stage) == "1 problem found by the latest check"
            }
        }
    }

    @Test func theSizesAreThoseOfThePages() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            let page = try await stage.page("types")
            #expect(try Self.state("Zones", in: page) == "2 zones" && page.contains("<b>1 record type and Users</b>"))
            #expect(try Self.state("Record types", in: page) == "1 record type")
            #expect(try await stage.page("schema").contains("<b>1 record type</b>"))
            #expect(page.contains(">Record types <span>1</span></a>"))
        }
    }
}
