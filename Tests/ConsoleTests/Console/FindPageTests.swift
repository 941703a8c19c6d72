import Accounts
import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

/// The search box: redirects, and the page that lists what a text may mean.
@Suite struct FindPageTests {
    private static let there = EditStage.there

    /// The text and the address of each result.
    private func found(_ page: String) -> [String: String] {
        let items = page.matches(of: /<li><a href="([^"]*)"><bdi>([^<]*)<\/bdi>/).map {
            (String($0.output.2), $0.output.1.replacing("&amp;", with: "&"))
        }
        return Dictionary(items.map { ($0.0, String($0.1)) }, uniquingKeysWith: { first, _ in first })
    }

    private func list(_ text: String, _ stage: EditStage) async throws -> [String: String] {
        found(try await stage.page("find/list?q=\(text)"))
    }

    @Test func anyPartInAnyCaseIsFound() async throws {
        try await EditStage.run { stage in
            try await stage.save("Milk-1", ["title": .string("Oats & Barley")])
            try await stage.save("bread", ["title": .string("Rye")], in: ZoneID(zoneName: "Other"))
            #expect(try await list("milk", stage)["Oats &amp; Barley"] == "\(Self.there)/record?zone=Notes&name=Milk-1")
            #expect(try await list("barley+OATS", stage)["Oats &amp; Barley"] != nil)
            #expect(try await list("ry", stage)["Rye"] == "\(Self.there)/record?zone=Other&name=bread")
            #expect(try await list("not", stage)["Note"] == "\(Self.there)/type?type=Note")
            #expect(try await list("oth", stage)["Other"] == "\(Self.there)/changes?zone=Other")
            #expect(try await list("index", stage)["Indexes"] == "\(Self.there)/indexes")
            #expect(try await list("new+rec", stage)["New record"] == "\(Self.there)/record/new")
            #expect(
                try await list("PRODUCTION", stage)["Switch to production"]
                    == "/c/iCloud.com.example.App/production/private/query")
            #expect(try await list("example.app", stage)["iCloud.com.example.App"] == "\(Self.there)/query")
            #expect(try await list("develop", stage)["Developer"] == "\(Self.there)/zones")
            #expect(try await list("zzz", stage).isEmpty)
            #expect(try await stage.page("find/list?q=%3Cx%3E").contains("Nothing in this database has"))
        }
    }

    @Test func fewRecordsOfATypeAreNotHiddenByManyOfAnother() async throws {
        try await EditStage.run { stage in
            func save(_ count: Int, _ type: Name, _ name: String, _ title: String) async throws {
                let operations = (0..<count).map {
                    RecordOperation(
                        .create, recordName: Name("\(name)\($0)"), recordType: type,
                        fields: ["title": FieldInput(.string("\(title) \($0)"))])
                }
                try await stage.database().apply(operations, in: EditStage.notes)
            }
            // In the order of their names, all of the first type come before the second.
            try await save(120, "Message", "m", "Let us have lunch")
            try await save(1, "Room", "r", "For lunch")
            try await save(1, "Message", "n", "Lunch")
            let all = try await list("lunch", stage)
            #expect(all.count == 8 && all["For lunch 0"] != nil && all["Lunch 0"] != nil)
            let page = try await stage.page("find/list?q=lunch")
            let order = page.matches(of: /<bdi>([^<]*)<\/bdi>/).map { String($0.output.1) }
            #expect(Array(order.prefix(2)) == ["Lunch 0", "For lunch 0"] && page.contains("and more"))
        }
    }

    @Test func clientsAreFound() async throws {
        try await RequestStage.with { stage in
            stage.note(stage.request("records/query", from: "Ada’s phone"))
            let page = try await stage.page("find/list?q=phone")
            #expect(page.contains(/href="[^"]*\/clients#client-[^"]*"><bdi>Ada’s phone<\/bdi> <small>Developer</))
        }
    }

    @Test func aTextThatNamesOneThingLeadsThere() async throws {
        try await EditStage.run { stage in
            try await stage.save("Milk-1", ["title": .string("Oats")])
            for (text, location) in [
                ("Milk-1", "record?zone=Notes&name=Milk-1"), ("Note", "type?type=Note"),
                ("Other", "changes?zone=Other"), ("developer", "zones"),
            ] {
                let answer = try await stage.get("find?q=\(text)")
                #expect(answer.status == .seeOther && answer.headers[.location] == "\(Self.there)/\(location)")
            }
            #expect(
                try await stage.get("/find?q=Milk-1").headers[.location]
                    == "\(Self.there)/record?zone=Notes&name=Milk-1")
            // The list stays on the page, with the exact match first.
            try await stage.save("Milk-10", [:])
            let page = try await stage.page("find/list?q=milk-1")
            let list = try #require(page.split(separator: "<main").last)
            let first = try #require(list.firstMatch(of: /<li><a href="([^"]*)"/)?.output.1)
            #expect(first.hasSuffix("name=Milk-1"))
            // Another case, or a part, is listed.
            #expect(found(try await stage.page("find?q=milk"))["Oats"] != nil)
        }
    }

    @Test func withoutATextPagesAndActionsAreListed() async throws {
        try await EditStage.run { stage in
            let all = found(try await stage.page("find"))
            #expect(
                all["Query"] == "\(Self.there)/query" && all["Decode"] == "\(Self.there)/token"
                    && all["New zone"] != nil && all["Notes"] != nil)
            #expect(all["Not sent"] == nil && all["Developer"] == nil)
            let start = found(try await stage.page("/find/list?q=app"))
            #expect(start == ["iCloud.com.example.App": "\(Self.there)/query"])
            #expect(found(try await stage.page("/find"))["iCloud.com.example.App"] != nil)
        }
    }

    @Test(arguments: ["54__54__AQIDBAUGBwgJCgsMDQ4P", "ckAPIToken=\(String(repeating: "0a", count: 32))"])
    func aCredentialIsLookedUpNowhereAndLeavesTheAddress(text: String) async throws {
        try await EditStage.run { stage in
            for path in ["find", "/find"] {
                let answer = try await stage.get("\(path)?q=\(text.replacing("=", with: "%3D"))")
                let location = try #require(answer.headers[.location])
                #expect(
                    answer.status == .seeOther && location.contains("/token?kind=") && !location.contains("0a0a")
                        && !location.contains("54__"))
            }
        }
    }

    @Test func tokensAndRequestsAreFoundByTheirWholeText() async throws {
        try await EditStage.run { stage in
            try await stage.save("a", [:])
            let token = try #require(try await stage.database().zones().compactMap(\.syncToken).first).text
            #expect(
                try await list(token, stage)["Explain this change token"]?.hasPrefix("\(Self.there)/token?token=")
                    == true)
        }
    }

    @Test func aTokenOfAnyPlaceOfThisServerIsExplainedThere() async throws {
        try await RequestStage.with { stage in
            let container = try #require(ContainerID("iCloud.com.example.Other"))
            for (environment, user) in [
                (Environment.development, Name?.none), (.production, nil),
                (.development, try stage.accounts.caller(named: "grace", deviceID: nil).userRecordName),
            ] {
                let address = DatabaseAddress(container: container, environment: environment, scope: .private)
                let database = try await stage.engine.database(
                    address, as: user.map { Caller(userRecordName: $0) } ?? stage.user)
                _ = try await database.modifyZones([.create(ZoneID(zoneName: "Z"))])
                let token = try #require(try await database.fetchZones([ZoneID(zoneName: "Z")])[0].get().syncToken).text
                let there =
                    "/c/iCloud.com.example.Other/\(environment.rawValue)/private/token?\(user == nil ? "" : "user=grace&")token=\(token)"
                for text in [token, "%22\(token)%22,"] {
                    for path in ["\(RequestStage.there)/find?q=\(text)", "/find?q=\(text)"] {
                        let location = try await stage.get(path).headers[.location]
                        // The start page begins in a place of the container itself, which explains the tokens of all
                        // its databases.
                        #expect(
                            location == there
                                || path.hasPrefix("/find") && location?.hasSuffix("token=\(token)") == true,
                            "\(path): \(location ?? "")")
                    }
                    #expect(
                        try await stage.page("find/list?q=\(text)").contains(
                            "Explain this change token, from iCloud.com.example.Other, \(environment.rawValue)"))
                }
                let cut = try await stage.page("find/list?q=\(token.prefix(30))")
                #expect(cut.contains("cut short: 22 of 36 bytes"))
            }
        }
    }

    @Test func manyRecordsAreNotAllRead() async throws {
        try await EditStage.run { stage in
            let database = try await stage.database()
            for start in stride(from: 0, to: 6000, by: 200) {
                let operations = (start..<(start + 200)).map {
                    RecordOperation(.create, recordName: Name("r\($0 + 10_000)"), recordType: "Note")
                }
                try await database.apply(operations, in: EditStage.notes)
            }
            let page = try await stage.page("find/list?q=r15999")
            #expect(found(page)["r15999"] != nil, "a whole name is found")
            let part = try await stage.page("find/list?q=15999")
            #expect(found(part).isEmpty && part.contains("Parts of names and titles were searched in "))
            let many = try await stage.page("find/list?q=r1000")
            #expect(found(many).count == 8 && many.contains("and more") && !many.contains("Parts of names"))
        }
    }
}
