import Accounts
import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

@testable import Console
@testable import RecordPages

/// The page Subscriptions, and the form that makes and changes one.
@Suite struct SubscriptionPageTests {
    private static let form =
        "kind=query&of=Note&type=Note&filter1=rank&is1=EQUALS&value1=1&zone=&sends=1&shouldSendContentAvailable=1"

    @Test func aSubscriptionIsMadeChangedAndDeleted() async throws {
        try await RequestStage.with { stage in
            try await stage.save("a")
            #expect(try await stage.page("subscriptions").contains("No subscriptions"))
            let made = try await stage.post(
                "subscription",
                "\(Self.form)&on=create&subscriptionID=mine&alertBody=Hello&additionalFields=title,+rank&do=save")
            #expect(made.status == .seeOther && made.headers[.location]?.contains("id=mine") == true)
            let saved = try #require(try await stage.database.require(.keepSubscriptions).subscriptions().first)
            guard case .query(let subject) = saved.subject else {
                Issue.record("not a query")
                return
            }
            #expect(
                saved.subscriptionID == "mine" && subject.firesOn == [.create]
                    && subject.query.filters.map(\.fieldName) == ["rank"] && subject.zoneID == nil)
            #expect(
                saved.notificationInfo?.alertBody == "Hello"
                    && saved.notificationInfo?.additionalFields == ["title", "rank"])
            let list = try await stage.page("subscriptions")
            #expect(
                list.contains(">mine</a>") && list.contains("Note where rank") && list.contains("1 subscription")
                    && list.contains("alert, with title, rank"))
            // The form has all of it again, and changes it.
            let page = try await stage.page("subscription?id=mine")
            #expect(
                page.contains("value=\"Hello\"") && page.contains("value=\"title, rank\"")
                    && page.contains("name=\"saved\" value=\"mine\""))
            _ = try await stage.post("subscription", "\(Self.form)&on=delete&once=1&saved=mine&do=save")
            guard
                case .query(let changed)? = try await stage.database.require(.keepSubscriptions).subscriptions().first?
                    .subject
            else {
                Issue.record("not a query")
                return
            }
            #expect(changed.firesOn == [.delete] && changed.firesOnce)
            #expect(try await stage.page("subscription/delete?id=mine").contains("Delete subscription mine?"))
            _ = try await stage.post("subscription/delete", "id=mine")
            #expect(try await stage.database.require(.keepSubscriptions).subscriptions().isEmpty)
        }
    }

    @Test func theFormShowsWhichChangesWouldHaveFiredIt() async throws {
        try await RequestStage.with { stage in
            for name in ["a", "b", "b"] as [Name] { try await stage.save(name) }
            let all = try await stage.page("subscription?\(Self.form)&on=create")
            #expect(
                all.contains("2 of the 3 changes of the database would have fired it.")
                    && all.contains("1 not, because of their kind"))
            let none = try await stage.page(
                "subscription?\(Self.form.replacing("value1=1", with: "value1=2"))&on=create&on=update")
            #expect(none.contains("0 of the 3 changes") && none.contains("3 not, because of the filter rank EQUALS"))
            let zone = try await stage.page("subscription?kind=zone&zone=Notes&sends=1")
            #expect(zone.contains("3 of the 3 changes"))
            // Nothing was saved.
            #expect(try await stage.database.require(.keepSubscriptions).subscriptions().isEmpty)
        }
    }

    /// A subscription that is held to roles is shown, and stays, with the rights of its user.
    @Test func rolesKeepChangesBack() async throws {
        try await RequestStage.with { stage in
            var there = stage.address
            there.scope = .public
            let path = RequestStage.there.replacing("private", with: "public")
            let owner = try await stage.engine.database(there, as: stage.user)
            try await owner.save("p")
            _ = try await owner.require(.editSchema).edit([
                .setGrants([Grant(role: "_creator", permissions: [.read, .write])], of: "Item")
            ])
            let grace = Caller(
                userRecordName: try stage.accounts.caller(named: "grace", deviceID: nil).userRecordName,
                access: .signedIn)
            let subject = Subscription.RecordSubject(Query(recordType: "Item"), firesOn: [.create])
            for result in try await stage.engine.database(there, as: grace).require(.keepSubscriptions)
                .modifySubscriptions([
                    .save(Subscription("hers", to: .query(subject)))
                ])
            { _ = try result.get() }
            let page = try await stage.page("subscription?user=grace&id=hers", in: path)
            #expect(page.contains("0 of the 1 change of the database") && page.contains("1 not, because of roles"))
            #expect(
                try await stage.page("subscription?kind=query&type=Item&on=create", in: path).contains(
                    "1 of the 1 change of the database"))
            let form = "kind=query&of=Item&type=Item&on=create&on=update&sends=1&saved=hers&do=save"
            let saved = try await stage.client.execute(
                uri: "\(path)/subscription?user=grace", method: .post, body: ByteBuffer(string: form)
            ) { $0 }
            #expect(saved.status == .seeOther)
            let owned = try #require(try await owner.require(.fireSubscriptions).ownedSubscriptions().first)
            #expect(owned.isHeldToRoles && owned.subscription.notificationInfo != nil)
        }
    }

    @Test func buttonsAddAndRemoveFilters() async throws {
        try await RequestStage.with { stage in
            try await stage.save("a")
            let more = String(buffer: try await stage.post("subscription", "\(Self.form)&on=create&add=filter").body)
            #expect(more.contains("Field of filter 2") && more.contains("value=\"1\""))
            let less = String(
                buffer: try await stage.post(
                    "subscription", "\(Self.form)&filter2=title&is2=EQUALS&value2=x&on=create&remove=filter1"
                ).body)
            #expect(!less.contains("Field of filter 2") && less.contains("value=\"x\""))
            // Another kind has other inputs.
            let database = String(
                buffer: try await stage.post("subscription", "kind=database&only=Note&sends=1&do=draft").body)
            #expect(
                !database.contains("Field of filter") && !database.contains("aria-label=\"Zone\"")
                    && database.contains("all record types"))
            #expect(try await stage.database.require(.keepSubscriptions).subscriptions().isEmpty)
        }
    }

    @Test func refusalsAreShownAboveTheForm() async throws {
        try await RequestStage.with { stage in
            try await stage.save("a")
            _ = try await stage.post("subscription", "\(Self.form)&on=create&subscriptionID=one&do=save")
            let twin = try await stage.post("subscription", "\(Self.form)&on=create&subscriptionID=two&do=save")
            #expect(
                twin.status == .ok && String(buffer: twin.body).contains("could not find subscription we just created"))
            let invalid = String(
                buffer: try await stage.post(
                    "subscription", "\(Self.form.replacing("value1=1", with: "value1=many"))&on=create&do=save"
                ).body)
            #expect(invalid.contains("Not saved:") && invalid.contains("value=\"many\""))
            #expect(
                try await stage.page("subscription?\(Self.form)").contains(
                    "It can’t be saved like this: BadRequestException: Unexpected input. Expected &#39;firesOn&#39;"))
            #expect(
                try await stage.database.require(.keepSubscriptions).subscriptions().map(\.subscriptionID) == ["one"])
            #expect(try await stage.page("subscription?id=none").contains("has no subscription none in this database"))
        }
    }

    @Test func aSubscriptionIsCode() async throws {
        try await RequestStage.with { stage in
            try await stage.save("a")
            let query = try await stage.page("subscription?\(Self.form)&on=create&on=delete&once=1")
            for part in [
                "CKQuerySubscription(", "options: [.firesOnRecordCreation, .firesOnRecordDeletion, .firesOnce]",
                "info.shouldSendContentAvailable = true",
                "CKModifySubscriptionsOperation", "database.saveSubscriptions([subscription])", "/subscriptions/modify",
            ] { #expect(query.contains(part), "\(part)") }
            let zone = try await stage.page("subscription?kind=zone&zone=Notes&only=Note&sends=1")
            #expect(
                zone.contains("CKRecordZoneSubscription(zoneID: zoneID")
                    && zone.contains("subscription.recordType = &quot;Note&quot;"))
            #expect(
                try await stage.page("subscription?kind=database").contains(
                    "CloudKit.framework refuses a subscription without notificationInfo"))
        }
    }

    /// Each database has its kinds, and the list has those of all users.
    @Test func theListHasAllUsersAndDatabases() async throws {
        try await RequestStage.with { stage in
            try await stage.save("a")
            var there = stage.address
            there.scope = .shared
            let grace = try stage.accounts.caller(named: "grace", deviceID: nil)
            for result in try await stage.engine.database(there, as: grace).require(.keepSubscriptions)
                .modifySubscriptions([
                    .save(Subscription("hers", to: .database(recordType: nil)))
                ])
            {
                _ = try result.get()
            }
            _ = try await stage.post("subscription", "\(Self.form)&on=create&subscriptionID=mine&do=save")
            let all = try await stage.page("subscriptions")
            #expect(
                all.contains(">mine</a>") && all.contains(">hers</a>")
                    && all.contains("shared database, 1 subscription") && all.contains("none: nothing is sent"))
            #expect(all.contains("/shared/subscription?user=grace&amp;id=hers"))
            let own = try await stage.page("subscriptions?in=user")
            #expect(own.contains(">mine</a>") && !own.contains(">hers</a>"))
            let hers = try await stage.page(
                "subscription?user=grace&id=hers", in: RequestStage.there.replacing("private", with: "shared"))
            #expect(hers.contains("<option value=\"database\" selected>") && !hers.contains("<option value=\"query\""))
            let publicKinds = try await stage.page(
                "subscription", in: RequestStage.there.replacing("private", with: "public"))
            #expect(
                publicKinds.contains("<option value=\"query\" selected>")
                    && !publicKinds.contains("<option value=\"zone\""))
        }
    }
}
