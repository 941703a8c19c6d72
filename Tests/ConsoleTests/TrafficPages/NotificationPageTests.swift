import Accounts
import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import RequestLog
import StoreScenarios
import Synchronization
import Testing

@testable import Console
@testable import TrafficPages

/// The page Notifications, and the questions about them on the pages of records and clients.
@Suite struct NotificationPageTests {
    private final class Sender: NotificationSender {
        let sent = Mutex<[Int64]>([])
        let fired = Mutex<[OwnedSubscription]>([])

        func send(_ standing: OwnedSubscription, about change: CommittedChange, in address: DatabaseAddress)
            -> SentNotifications
        {
            fired.withLock {
                $0.append(standing)
                // The first time, the user has no device, and then one that gets nothing.
                return SentNotifications(devices: min($0.count - 1, 1), queued: $0.count < 3 ? [] : [1, 2])
            }
        }

        func sendAgain(_ id: Int64) throws -> Int64 {
            sent.withLock { $0.append(id) }
            return id
        }
    }

    private static let payload =
        #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.com.example.App","nid":"n","qry":{"sid":"q","rid":"a","fo":1}}}"#

    /// A notification about a record to the developer's phone.
    private static func notification(
        _ stage: RequestStage, of name: Name, at position: Int64, _ outcome: LoggedNotification.Outcome,
        zone: ZoneID = RequestStage.zone
    ) -> LoggedNotification {
        var notification = LoggedNotification(
            at: .now(), in: stage.address, of: stage.user.userRecordName, subscriptionID: "q", position: position,
            zoneID: ZoneID(zoneName: zone.zoneName, ownerRecordName: stage.user.userRecordName), recordName: name,
            event: .create, tokenID: "abcdef0123456789",
            clientID: "phone", outcome: outcome)
        notification.payload = Array(payload.utf8)
        return notification
    }

    @Test func aNotificationIsShownSentAgainAndSaved() async throws {
        let sender = Sender()
        try await RequestStage.with(sender: sender) { stage in
            #expect(try await stage.page("notifications").contains("No notifications"))
            let first = try #require(
                stage.log.notifications.add(Self.notification(stage, of: "a", at: 7, .delivered(.now()))))
            let second = try #require(
                stage.log.notifications.add(Self.notification(stage, of: "b", at: 8, .coalesced(into: first))))
            let list = try await stage.page("notifications")
            #expect(
                list.contains(">a</a>") && list.contains("delivered ") && list.contains("coalesced into")
                    && list.contains("2 notifications") && list.contains("phone"))
            #expect(try await !stage.page("notifications?in=user&user=grace").contains(">a</a>"))
            let page = try await stage.page("notifications?id=\(first)")
            #expect(
                page.contains("content-available") && page.contains("at position 7") && page.contains("It also covers")
                    && page.contains("Send again"))
            #expect(try await !stage.page("notifications?id=\(second)").contains("It also covers"))
            #expect(
                try await stage.post("notification/again", "id=\(first)").headers[.location]?.contains(
                    "notice=subscription-fired%20\(first)") == true)
            #expect(sender.sent.withLock { $0 } == [first])
            let file = try await stage.client.execute(
                uri: "\(RequestStage.there)/notification/file?id=\(first)&bundle=com.example.App", method: .get
            ) { $0 }
            #expect(file.headers[.contentDisposition] == "attachment; filename=\"notification-\(first).apns\"")
            guard case .object(let json) = try JSONReader.value(of: Array(file.body.readableBytesView)) else {
                Issue.record("no object")
                return
            }
            #expect(
                json["Simulator Target Bundle"] == .string("com.example.App") && json["aps"] != nil && json["ck"] != nil
            )
            // Another environment has others.
            let production = RequestStage.there.replacing("development", with: "production")
            #expect(try await !stage.page("notifications", in: production).contains(">a</a>"))
            #expect(try await stage.page("notifications?id=\(first)", in: production).contains("no such notification"))
            for number in ["99", "0", "\(Int64.min)", "\(Int64.max)", "none"] {
                #expect(try await stage.page("notifications?id=\(number)").contains("no such notification"))
            }
        }
    }

    @Test func aSubscriptionIsFiredWithItsLatestChange() async throws {
        let sender = Sender()
        try await RequestStage.with(sender: sender) { stage in
            #expect(try await stage.post("notification/fire", "id=all").status == .notFound)
            // A query of a type that does not exist is no subscription.
            _ = try await stage.database.require(.editSchema).edit([.addType(RecordType(name: "Note"))])
            let subject = Subscription.RecordSubject(
                Query(recordType: "Note"), firesOn: [.create, .update], firesOnce: false, zoneID: nil)
            let subscription = Subscription("all", to: .query(subject), notificationInfo: NotificationInfo())
            for result in try await stage.database.require(.keepSubscriptions).modifySubscriptions([.save(subscription)]
            ) { _ = try result.get() }
            let page = try await stage.page("notifications?in=user")
            #expect(page.contains("name=\"in\" value=\"user\""))
            #expect(page.contains("a Note is created or updated") && page.contains("Add a test device"))
            #expect(page.contains("A test device needs scripts"))
            let without = try await stage.post("notification/fire", "id=all")
            #expect(without.headers[.location]?.contains("fired-for-nothing") == true)
            try await stage.save("a")
            let alone = try await stage.post("notification/fire", "id=all")
            let nobody = try #require(alone.headers[.location])
            #expect(nobody.contains("fired-for-nobody"))
            let told = try await stage.page(nobody.replacing("\(RequestStage.there)/", with: ""))
            #expect(told.contains("Add a test device, then fire again"))
            // The choice of the user stays.
            let own = try await stage.post("notification/fire", "id=all&in=user")
            #expect(own.headers[.location]?.contains("notifications?in=user&notice=nothing-sent") == true)
            // The page says what became of them meanwhile.
            for _ in 1...2 { _ = stage.log.notifications.add(Self.notification(stage, of: "a", at: 7, .waiting)) }
            let fired = try #require(try await stage.post("notification/fire", "id=all").headers[.location])
            #expect(fired.contains("notice=subscription-fired%201%202"))
            let there = fired.replacing("\(RequestStage.there)/", with: "")
            #expect(try await stage.page(there).contains("Sent to 1 device, and delivered as soon as it asks."))
            stage.log.notifications.note(.delivered(.now()), of: 1)
            #expect(try await stage.page(there).contains("Delivered to phone. Sent to 1 device"))
            stage.log.notifications.note(.dropped, of: 2)
            let delivered = try await stage.page(there)
            #expect(delivered.contains("Delivered to phone.") && !delivered.contains("Sent to 1 device"))
            stage.log.notifications.note(.expired, of: 1)
            #expect(try await stage.page(there).contains("Not delivered. The list Sent says why."))
            #expect(sender.fired.withLock { $0.map(\.subscription.subscriptionID) } == ["all", "all", "all"])
        }
    }

    @Test func devicesAreListed() async throws {
        try await RequestStage.with { stage in
            let now = Timestamp.now()
            for (client, hours) in [("phone", 12), ("watch", -1)] as [(String, Int64)] {
                _ = try await stage.accounts.makeNotificationToken(
                    for: stage.user.userRecordName, clientID: client, container: stage.address.container,
                    environment: .development, at: 3,
                    now: Timestamp(milliseconds: now.milliseconds - 86_400_000),
                    expires: Timestamp(milliseconds: now.milliseconds + hours * 3_600_000))
            }
            let page = try await stage.page("notifications")
            let rows = page.matches(of: /<li><b>(phone|watch)<\/b>[\s\S]*?<\/li>/).map { String($0.output.0) }
            #expect(rows.count == 2 && rows.filter { $0.contains("expired") }.map { $0.contains("watch") } == [true])
        }
    }

    /// The row of a client in the section "Why was a client not notified?".
    private static func notified(_ stage: RequestStage, _ path: String = "record?zone=Notes&name=a") async throws
        -> String
    {
        let page = try await stage.page(path)
        return String(
            try #require(page.split(separator: "Why was a client not notified?").dropFirst().last).prefix(4000))
    }

    @Test func aClientThatOnlyAskedForATokenIsListedByItsID() async throws {
        try await RequestStage.with { stage in
            try await stage.save("before")
            var info = NotificationInfo()
            info.shouldSendContentAvailable = true
            let subject = Subscription.RecordSubject(Query(recordType: "Note"), firesOn: [.create])
            for result in try await stage.database.require(.keepSubscriptions).modifySubscriptions([
                .save(Subscription("q", to: .query(subject), notificationInfo: info))
            ]) { _ = try result.get() }
            var curl = stage.request("records/lookup", from: nil)
            curl.client.userAgent = "curl/7.88.1"
            stage.note(curl)
            let now = Timestamp.now()
            _ = try await stage.accounts.makeNotificationToken(
                for: stage.user.userRecordName, clientID: "TestPhone", container: stage.address.container,
                environment: .development, at: 0, now: now,
                expires: Timestamp(milliseconds: now.milliseconds + 60_000))
            try await stage.save("a")
            let before = try await Self.notified(stage)
            #expect(
                before.contains(">TestPhone</a>")
                    && before.contains("Other clients of Developer have a token, and curl/7.88.1 has none"))
            // Its first request to a database does not make it another client.
            var request = stage.request("records/lookup", from: "Notes")
            request.client.deviceID = "TestPhone"
            stage.note(request)
            let after = try await Self.notified(stage)
            #expect(after.contains(">Notes on TestPhone</a>") && !after.contains(">TestPhone</a>"))
            #expect(try await stage.page("notifications").contains("Notes on TestPhone"))
        }
    }

    @Test func theRecordsPageSaysWhyAClientWasNotNotified() async throws {
        try await RequestStage.with { stage in
            try await stage.save("before")
            stage.note(stage.request("records/lookup", from: "phone"))
            let begin = try await stage.database.require(.fireSubscriptions).firings(after: nil).position
            #expect(begin > 0)
            try await stage.save("a")
            #expect(try await Self.notified(stage).contains("has no subscription to the private database"))
            var info = NotificationInfo()
            info.shouldSendContentAvailable = true
            func subscribe(_ id: Name, _ filter: Query.Filter?) async throws {
                let subject = Subscription.RecordSubject(
                    Query(recordType: "Note", filters: filter.map { [$0] } ?? []), firesOn: [.create, .update])
                for result in try await stage.database.require(.keepSubscriptions).modifySubscriptions([
                    .save(Subscription(id, to: .query(subject), notificationInfo: info))
                ]) { _ = try result.get() }
            }
            try await subscribe("two", Query.Filter("rank", .equals, FieldInput(.int64(2))))
            #expect(try await Self.notified(stage).contains("two: its filter rank EQUALS 2 does not match: rank is 1."))
            try await subscribe("q", nil)
            #expect(try await Self.notified(stage).contains("q: it was saved after the change."))
            try await stage.save("a")
            #expect(try await Self.notified(stage).contains("has no token for notifications"))
            let now = Timestamp.now()
            _ = try await stage.accounts.makeNotificationToken(
                for: stage.user.userRecordName, clientID: "phone", container: stage.address.container,
                environment: .development, at: 0, now: now,
                expires: Timestamp(milliseconds: now.milliseconds + 60_000))
            #expect(try await Self.notified(stage).contains("no notification is in the log"))
            let position = try #require(
                await stage.database.require(.positionRecords).position(
                    of: RecordID(recordName: "a", zoneID: RequestStage.zone))
            ).latest
            _ = stage.log.notifications.add(Self.notification(stage, of: "a", at: position, .delivered(.now())))
            #expect(try await Self.notified(stage).contains("and never fetched since"))
            #expect(
                try await stage.page("clients").contains("It was notified of changes and has not fetched them since"))
            try await stage.pull(from: "phone")
            #expect(try await Self.notified(stage).contains("; fetched at"))
            #expect(try await !stage.page("clients").contains("It was notified of changes"))
            // A deletion is a change, too.
            let operation = RecordOperation(.forceDelete, recordName: "a")
            for result in try await stage.database.modify(ModifyRequest([operation], zoneID: RequestStage.zone)) {
                _ = try result.get()
            }
            #expect(try await Self.notified(stage).contains("q: it fires on create and update, and this is a delete."))
            #expect(try await !stage.page("record?zone=Notes&name=nobody").contains("Why was a client not notified?"))
        }
    }

    @Test func recordsOfThePublicDatabaseAreNotifiedToo() async throws {
        try await RequestStage.with { stage in
            var there = stage.address
            there.scope = .public
            let database = try await stage.engine.database(there, as: stage.user)
            try await database.save("p")
            let subject = Subscription.RecordSubject(Query(recordType: "Item"), firesOn: [.delete])
            let grace = try stage.accounts.caller(named: "grace", deviceID: nil)
            for result in try await stage.engine.database(there, as: grace).require(.keepSubscriptions)
                .modifySubscriptions([
                    .save(Subscription("hers", to: .query(subject)))
                ])
            { _ = try result.get() }
            let page = try await stage.page(
                "record?name=p&zone=_defaultZone", in: RequestStage.there.replacing("private", with: "public"))
            #expect(
                page.contains("Why was a client not notified?")
                    && page.contains("hers: it fires on delete, and this is a create."))
        }
    }

    @Test func clientsThatPollAreMarked() async throws {
        try await RequestStage.with { stage in
            try await stage.save("a")
            var token: ChangeToken?
            for count in 1...NotificationHabit.pollingCount {
                #expect(try await !stage.page("clients").contains("without ever having been notified"), "\(count)")
                token = try await stage.pull(from: "phone", since: token)
            }
            #expect(try await stage.page("clients").contains("without ever having been notified"))
        }
    }
}
