import Accounts
import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

@testable import AdminPages

/// The pages of users and their data.
@Suite struct UserPageTests {
    private func add(_ stage: EditStage, _ handle: String) async throws {
        #expect(try await stage.post("users/add", "name=\(handle)").status == .seeOther)
    }

    @Test func eachUserSaysWhatIsThere() async throws {
        try await EditStage.run { stage in
            try await add(stage, "grace")
            for number in 0..<3 { try await stage.save(Name("n\(number)"), ["rank": .int64(1)]) }
            for number in 0..<4 {
                let save = RecordOperation(.create, recordName: "t\(number)", recordType: Name("Type\(number)"))
                try await stage.database().apply([save], in: EditStage.notes)
            }
            let page = try await stage.page("users")
            #expect(page.contains(">7 records</a> <span class=\"faint\">in 2 zones</span>"))
            #expect(page.contains("<p>Note 3, Type0 1, Type1 1, 2 of 2 more types</p>"))
            #expect(page.matches(of: /no data yet/).count == 3, "production, and both of grace")
            #expect(page.contains("first save <time") && page.contains("users/user?name=grace"))
            // Viewing a user does not add the user to a store.
            let container = try #require(ContainerID("iCloud.com.example.App"))
            _ = try await stage.page("users/user?name=grace")
            for environment in Records.Environment.allCases {
                #expect(
                    try await !stage.engine.require(.knowUsers).knows(
                        User.recordName(ofHandle: "grace"), in: container, environment))
            }
        }
    }

    @Test func theClientsOfAUserAreListed() async throws {
        try await RequestStage.with { stage in
            stage.note(stage.request("records/query", from: "Ada’s phone"))
            let page = try await stage.page("users/user?name=developer")
            #expect(page.contains(/>Ada’s phone<\/a> <span class="faint">1 request, last at<\/span>/))
        }
    }

    /// The question of an app that is new on a device.
    @Test func eachUserSaysIfThereIsDataAlready() async throws {
        try await EditStage.run { stage in
            #expect(try await !stage.page("users").contains("Has data"), "no data yet")
            try await stage.save("n", ["rank": .int64(1)])
            try await stage.save("default", ["rank": .int64(1)], in: .default)
            let some = try await stage.page("users")
            #expect(some.contains("Has data: <b>yes, in the default zone and Notes</b>"))
            for result in try await stage.database().modifyZones([.create(MirroredNaming.zoneID)]) {
                _ = try result.get()
            }
            try await stage.database().save("o", as: .create, type: "CD_Note", in: MirroredNaming.zoneID)
            for path in ["users", "users/user?name=developer"] {
                let page = try await stage.page(path)
                #expect(
                    page.contains(
                        "<b>yes, in the default zone, Notes and \(MirroredNaming.zoneID.zoneName), with Core Data objects</b>"
                    ), "\(path)")
                #expect(page.contains("/development/private/objects\">Objects</a>"), "\(path)")
            }
            // A zone whose records are deleted is not enough.
            for (name, zoneID) in [("n", EditStage.notes), ("default", .default), ("o", MirroredNaming.zoneID)]
                as [(Name, ZoneID)]
            {
                try await stage.database().delete(name, in: zoneID)
            }
            #expect(try await !stage.page("users").contains("Has data"))
        }
    }

    /// iCloud counts nothing. The beginning of each zone's feed tells, one request each.
    @Test func theUserOfAContainerInICloudIsAnsweredByTheFeeds() async throws {
        try await ConnectedStage.run { stage in
            var before = stage.requestCount
            let page = try await stage.page("users")
            #expect(page.contains("Has data: <b>yes, in Notes</b>") && !page.contains("production</th>"))
            // The zones, the feed of one, and the shared zones.
            #expect(stage.requestCount - before == 3)
            for result in try await stage.there().modifyZones([.create(MirroredNaming.zoneID)]) { _ = try result.get() }
            before = stage.requestCount
            let user = try await stage.page("users/user?name=\(stage.user)")
            #expect(
                user.contains("<b>yes, in Notes, without Core Data objects</b>") && stage.requestCount - before == 3)
            // Users of this server have nothing there.
            #expect(try await stage.get("\(ConnectedStage.there)/users/user?name=developer").status == .notFound)
            try await stage.there().save("o", as: .create, type: "CD_Note", in: MirroredNaming.zoneID)
            #expect(
                try await stage.page("users").contains(
                    "in Notes and \(MirroredNaming.zoneID.zoneName), with Core Data objects"))
            for (name, zoneID) in [("note", ConnectedStage.notes), ("o", MirroredNaming.zoneID)] as [(Name, ZoneID)] {
                try await stage.there().delete(name, in: zoneID)
            }
            #expect(
                try await stage.page("users").contains(
                    "<b>no, except perhaps in the default zone, which has no feed</b>"))
        }
    }

    /// A zone may be busy, or be deleted meanwhile.
    @Test func aFeedThatCantBeReadLeavesTheOthersToAnswer() async throws {
        struct RefusingDatabase: ForwardingDatabase {
            let base: any RecordDatabase
            let zoneID: ZoneID

            func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
                if request.zoneID.zoneName == zoneID.zoneName { throw RecordError(.zoneBusy, "The zone is busy") }
                return try await base.zoneChanges(request)
            }
        }
        try await EditStage.run { stage in
            let base = try await stage.database()
            for result in try await base.modifyZones([.create(MirroredNaming.zoneID)]) { _ = try result.get() }
            func words(_ database: any RecordDatabase) async throws -> String? {
                let answer = try await DataAnswer(byFeedsOf: database, limit: 10, mentionsObjects: false)
                return answer.words
            }
            let refusing = RefusingDatabase(base: base, zoneID: MirroredNaming.zoneID)
            let unknown = try await words(refusing)
            #expect(
                unknown == "not known: the feed of \(MirroredNaming.zoneID.zoneName) can't be read: The zone is busy")
            // The first page of Core Data's zone may hold nothing but pairs.
            try await base.save("pair", as: .create, type: MirroredLink.recordType, in: MirroredNaming.zoneID)
            let pairs = try await words(base)
            #expect(pairs == "yes, in \(MirroredNaming.zoneID.zoneName), with Core Data objects")
            try await stage.save("n", ["rank": .int64(1)])
            let some = try await words(refusing)
            #expect(some == "yes, in Notes, no Core Data objects in the zones read")
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
            #expect(
                try await stage.page("users/user?name=\(grace.handle)").contains(
                    "<dt>e-mail</dt><dd>grace@example.com</dd>"))
            for fields in [
                [("name", " ")], [("name", "Other"), ("email", "grace@example.com")],
                [("name", "Other"), ("email", "none")],
            ] {
                let answer = try await stage.post("users/add", fields)
                let page = EditStage.text(answer)
                #expect(answer.status == .badRequest && page.contains("role=\"alert\""), "\(fields)")
                #expect(fields.count == 1 || page.contains("value=\"Other\""), "\(fields)")
            }
            // The handle tells users of one name apart.
            #expect(try await stage.post("users/add", [("name", "Mary")]).status == .seeOther)
            #expect(try await stage.post("zones/create", [("zoneName", "Notes")]).status == .seeOther)
            let zone = try await stage.page("zone?zone=Notes")
            #expect(zone.matches(of: />Mary \([^)<]+\)</).count == 2 && zone.contains(">Grace Hopper<"))
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
                    let operations = names[start..<(start + 200)].map {
                        RecordOperation(kind, recordName: $0, recordType: "Note")
                    }
                    try await stage.database().apply(operations, in: EditStage.notes)
                }
            }
            try await stage.save("last", ["rank": .int64(1)])
            let page = try await stage.page("users/user?name=developer")
            #expect(page.contains("read every record") && !page.contains("or earlier"))
        }
    }

    @Test func aUserHasAPageWithEveryZone() async throws {
        try await EditStage.run { stage in
            try await add(stage, "grace")
            for start in stride(from: 0, to: 1000, by: 200) {
                let saves = (start..<(start + 200)).map {
                    RecordOperation(.create, recordName: Name("n\($0)"), recordType: "Note")
                }
                try await stage.database().apply(saves, in: EditStage.notes)
            }
            try await stage.save("last", ["rank": .int64(1)])
            let page = try await stage.page("users/user?name=developer")
            #expect(
                page.contains("Private database, development") && page.contains(">1,001</td>")
                    && page.contains(">Note</a> 1,001"))
            // With more records than the page reads, the time of the first save is an upper bound.
            let look = try #require(
                page.firstMatch(of: /<span class="faint"> or earlier<\/span> <a href="([^"]*)">read every record/)?
                    .output.1)
            let exact = try await stage.page(String(look).replacing("&amp;", with: "&"))
            #expect(!exact.contains("read every record") && exact.contains(">1,001</td>"))
            #expect(try await stage.page("users/user?name=grace").contains("no data yet"))
            #expect(try await stage.get("users/user?name=nobody").status == .notFound)
        }
    }
}
