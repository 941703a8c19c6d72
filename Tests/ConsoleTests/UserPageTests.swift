import Accounts
import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import JSON
import NIOCore
import RecordStore
import Records
import Testing

/// The pages of users and their data.
@Suite struct UserPageTests {
    private func add(_ stage: EditStage, _ handle: String) async throws {
        let answer = try await stage.client.execute(
            uri: "\(EditStage.there)/users/add", method: .post, body: ByteBuffer(string: "name=\(handle)")) { $0 }
        #expect(answer.status == .seeOther)
    }

    @Test func eachUserSaysWhatIsThere() async throws {
        try await EditStage.run { stage in
            try await add(stage, "grace")
            for number in 0..<3 { try await stage.save(Name("n\(number)"), ["rank": .int64(1)]) }
            for number in 0..<4 {
                let save = RecordOperation(.create, recordName: "t\(number)", recordType: Name("Type\(number)"))
                for result in try await stage.database().modify(ModifyRequest([save], zoneID: EditStage.notes)) { _ = try result.get() }
            }
            let page = try await stage.page("users")
            #expect(page.contains("<b>7 records</b></a> <span class=\"faint\">in 2 zones</span>"))
            #expect(page.contains("<p>Note 3, Type0 1, Type1 1, 2 more types 2</p>"))
            #expect(page.matches(of: /no data yet/).count == 3, "production, and both of grace")
            #expect(page.contains("first save <time") && page.contains("users/user?name=grace"))
            // Viewing a user does not add the user to a store.
            let container = try #require(ContainerID("iCloud.com.example.App"))
            _ = try await stage.page("users/user?name=grace")
            for environment in Records.Environment.allCases {
                #expect(try await !stage.engine.knows(User.recordName(ofHandle: "grace"), in: container, environment))
            }
        }
    }

    @Test func aUserIsMadeWithANameAndAnAddress() async throws {
        try await KeyStage.run { stage in
            for (name, email) in [("Grace Hopper", "grace@example.com"), ("ada", ""), ("Mary", "")] {
                #expect(try await stage.post("users/add", [("name", name), ("email", email)]).status == .seeOther)
            }
            // A lower-case word is a handle, as in the header of requests.
            #expect(stage.accounts.users().contains { $0.handle == "ada" && $0.displayName == "Ada" })
            let page = try await stage.page("users")
            #expect(page.contains("Grace Hopper") && page.contains("grace@example.com") && page.contains(">Mary</a>"))
            let grace = try #require(stage.accounts.user(emailAddress: "grace@example.com"))
            #expect(try await stage.page("users/user?name=\(grace.handle)").contains("<dt>e-mail</dt><dd>grace@example.com</dd>"))
            for fields in [[("name", " ")], [("name", "Other"), ("email", "grace@example.com")], [("name", "Other"), ("email", "none")]] {
                #expect([.badRequest, .conflict].contains(try await stage.post("users/add", fields).status), "\(fields)")
            }
        }
    }

    @Test func zonesThatWereNotLookedIntoAreNotSaidToBeEmpty() async throws {
        try await EditStage.run { stage in
            let zones = (0..<100).map { ZoneOperation.create(ZoneID(zoneName: Name("A\($0)"))) }
            for result in try await stage.database().modifyZones(zones) { _ = try result.get() }
            try await stage.save("n", ["rank": .int64(1)])
            let page = try await stage.page("users")
            #expect(page.contains("no records in the first 10 of 102 zones") && !page.contains("no records;"))
            let user = try await stage.page("users/user?name=developer")
            #expect(user.contains("no records in the first 100 of 102 zones") && user.contains("2 more zones"))
        }
    }

    @Test func aDateThatIsNotKnownIsNoLatestOne() async throws {
        try await EditStage.run { stage in
            let names = (0..<600).map { Name("n\($0)") }
            for kind in [RecordOperation.Kind.create, .forceDelete] {
                for start in stride(from: 0, to: names.count, by: 200) {
                    let operations = names[start..<(start + 200)].map { RecordOperation(kind, recordName: $0, recordType: "Note") }
                    for result in try await stage.database().modify(ModifyRequest(operations, zoneID: EditStage.notes)) { _ = try result.get() }
                }
            }
            try await stage.save("last", ["rank": .int64(1)])
            let page = try await stage.page("users/user?name=developer")
            #expect(page.contains("read every record") && !page.contains("no later than"))
        }
    }

    @Test func aUserHasAPageWithEveryZone() async throws {
        try await EditStage.run { stage in
            try await add(stage, "grace")
            for start in stride(from: 0, to: 1000, by: 200) {
                let saves = (start..<(start + 200)).map { RecordOperation(.create, recordName: Name("n\($0)"), recordType: "Note") }
                for result in try await stage.database().modify(ModifyRequest(saves, zoneID: EditStage.notes)) { _ = try result.get() }
            }
            try await stage.save("last", ["rank": .int64(1)])
            let page = try await stage.page("users/user?name=developer")
            #expect(page.contains("Private database, development") && page.contains(">1,001</td>") && page.contains(">Note</a> 1,001"))
            // With more records than the page reads, the time of the first save is an upper bound.
            let look = try #require(page.firstMatch(of: /<span class="faint">no later than<\/span>(?s:.*?)<a href="([^"]*)">read every record/)?.output.1)
            let exact = try await stage.page(String(look).replacing("&amp;", with: "&"))
            #expect(!exact.contains("read every record") && exact.contains(">1,001</td>"))
            #expect(try await stage.page("users/user?name=grace").contains("no data yet"))
            #expect(try await stage.get("users/user?name=nobody").status == .notFound)
        }
    }
}
