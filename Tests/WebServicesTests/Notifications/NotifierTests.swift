import Accounts
import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import RequestLog
import Synchronization
import TestSupport
import Testing

@testable import WebServices

/// Devices are told of the changes that their users subscribe to.
@Suite struct NotifierTests {
    private static let patience = Duration.seconds(60)
    private static let zone = ZoneID(zoneName: "Z")
    private static let ada = Caller(userRecordName: "_a", deviceID: "phone")
    private static let mac = Caller(userRecordName: "_a", deviceID: "mac")
    private static let grace = Caller(userRecordName: "_b", deviceID: "pad")

    private let engine = InMemoryRecordEngine()
    private let accounts: Accounts
    private let place: Notifier.Place

    init() throws {
        accounts = try Accounts(file: nil)
        place = Notifier.Place(
            container: try #require(ContainerID("iCloud.com.example.Test")), environment: .development)
    }

    private func notifying(
        _ accounts: Accounts? = nil, with faults: FaultInjection = FaultInjection(), log: NotificationLog? = nil,
        at milliseconds: Int64 = 1,
        _ body: (Notifier) async throws -> Void
    ) async throws {
        let notifier = Notifier(
            engine: engine, accounts: accounts ?? self.accounts, faults: faults, log: log,
            now: { Timestamp(milliseconds: milliseconds) })
        defer { notifier.close() }
        try await body(notifier)
    }

    private func database(_ scope: DatabaseScope = .private, as caller: Caller = Self.ada) async throws
        -> any RecordDatabase
    {
        try await engine.database(place.address(scope), as: caller)
    }

    private func save(_ name: Name, as caller: Caller = Self.mac, _ scope: DatabaseScope = .private) async throws {
        let operation = RecordOperation(
            .forceUpdate, recordName: name, recordType: "Item", fields: ["n": FieldInput(.int64(1))])
        let zoneID = scope == .public ? .default : Self.zone
        for outcome in try await database(scope, as: caller).modify(ModifyRequest([operation], zoneID: zoneID)) {
            _ = try outcome.get()
        }
    }

    private func subscribe(
        _ subscriptions: [Subscription], _ scope: DatabaseScope = .private, as caller: Caller = Self.ada
    ) async throws {
        for result in try await database(scope, as: caller).require(.keepSubscriptions).modifySubscriptions(
            subscriptions.map { .save($0) })
        {
            _ = try result.get()
        }
    }

    private static func query(
        _ id: Name, firesOnce: Bool = false, _ info: NotificationInfo? = Self.silent,
        events: Set<Subscription.Event> = [.create, .update]
    ) -> Subscription {
        let subject = Subscription.RecordSubject(Query(recordType: "Item"), firesOn: events, firesOnce: firesOnce)
        return Subscription(id, to: .query(subject), notificationInfo: info)
    }

    private static let silent: NotificationInfo = {
        var info = NotificationInfo()
        info.shouldSendContentAvailable = true
        return info
    }()

    private func registered(_ notifier: Notifier, _ caller: Caller = Self.ada) async throws -> DeviceQueue {
        let token = try await notifier.makeToken(for: caller.userRecordName, clientID: caller.deviceID, at: place)
        return try #require(notifier.queue(of: token))
    }

    /// The subscription, and the record or zone, of the next notification.
    private static func next(_ queue: DeviceQueue) async throws -> String {
        let delivery = try #require(await queue.next(within: patience))
        queue.confirm(delivery)
        guard case .object(let payload) = try JSONReader.value(of: delivery.bytes),
            case .object(let ck)? = payload["ck"]
        else { return "" }
        for kind in ["qry", "fet", "met"] as [Name] {
            guard case .object(let told)? = ck[kind], case .string(let sid)? = told["sid"],
                case .string(let zid)? = told["zid"]
            else { continue }
            if case .string(let rid)? = told["rid"] { return "\(sid) \(rid)" }
            return "\(sid) \(zid)"
        }
        return ""
    }

    private func begin() async throws {
        _ = try await database().modifyZones([.create(Self.zone)])
        try await save("first")
    }

    @Test func changesAfterTheRegistrationAreNotified() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        try await notifying { notifier in
            try await save("before")
            let queue = try await registered(notifier)
            let other = try await registered(notifier, Self.grace)
            try await save("a")
            try await save("b")
            #expect(try await Self.next(queue) == "q a")
            #expect(try await Self.next(queue) == "q b")
            #expect(queue.count == 0 && other.count == 0)
        }
    }

    @Test func theDeviceThatSavedIsNotNotified() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        try await notifying { notifier in
            let (phone, mac) = (try await registered(notifier, Self.ada), try await registered(notifier, Self.mac))
            try await save("from phone", as: Self.ada)
            try await save("from mac", as: Self.mac)
            #expect(try await Self.next(phone) == "q from mac")
            #expect(try await Self.next(mac) == "q from phone")
            #expect(phone.count == 0 && mac.count == 0)
        }
    }

    /// Some people report it of iCloud.
    @Test func aRehearsalNotifiesTheDeviceThatSaved() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        let faults = FaultInjection()
        try faults.start(
            FaultSetting(.ownNotifications), in: FaultArea(container: place.container, zoneID: Self.zone, user: "_b"))
        try await notifying(with: faults) { notifier in
            let phone = try await registered(notifier, Self.ada)
            try await save("for another user", as: Self.ada)
            try await save("before", as: Self.mac)
            #expect(try await Self.next(phone) == "q before")
            try faults.start(
                FaultSetting(.ownNotifications),
                in: FaultArea(container: place.container, zoneID: Self.zone, user: "_a"))
            try await save("from phone", as: Self.ada)
            #expect(try await Self.next(phone) == "q from phone")
            faults.stop(.ownNotifications)
            try await save("again", as: Self.ada)
            try await save("from mac", as: Self.mac)
            #expect(try await Self.next(phone) == "q from mac")
        }
    }

    @Test func withoutContentNothingIsSent() async throws {
        try await begin()
        try await subscribe([Self.query("mute", nil)])
        try await subscribe([Self.query("once", firesOnce: true)], .public)
        try await notifying { notifier in
            let queue = try await registered(notifier)
            try await save("a")
            try await save("p", .public)
            try await save("p", .public)
            #expect(try await Self.next(queue) == "once p")
            #expect(queue.count == 0)
        }
        #expect(try await database(.public).require(.keepSubscriptions).subscriptions() == [])
        #expect(try await database().require(.keepSubscriptions).subscriptions().map(\.subscriptionID) == ["mute"])
    }

    @Test func tokensBelongToTheirUserAndEnvironment() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        try await notifying { notifier in
            let token = try await notifier.makeToken(for: "_a", clientID: nil, at: place)
            let production = Notifier.Place(container: place.container, environment: .production)
            #expect(try await !notifier.register(token, of: "_b", at: place))
            #expect(try await !notifier.register("none", of: "_a", at: place))
            let queue = try #require(notifier.queue(of: token))
            #expect(queue.user == "_a" && queue.places == [place] && notifier.queue(of: "none") == nil)
            // The same token in another environment is one more place that it is told of.
            #expect(try await notifier.register(token, of: "_a", at: production))
            #expect(try await notifier.register(token, of: "_a", at: place))
            #expect(Set(queue.places) == [place, production])
            try await save("a")
            #expect(try await Self.next(queue) == "q a")
            for _ in 0..<NotificationToken.limitOfUser {
                _ = try await notifier.makeToken(for: "_a", clientID: nil, at: place)
            }
            #expect(notifier.queue(of: token) == nil)
        }
    }

    /// The next server tells of changes that were committed while none ran, and of those that one had in hand when it
    /// failed. It does not tell again of one that was taken.
    @Test func changesAreNotifiedAfterARestart() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        try await subscribe([Self.query("once", firesOnce: true)], .public)
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "accounts.sqlite")
        let token = Mutex("")
        let first = try Accounts(file: file)
        try await notifying(first) { notifier in
            let made = try await notifier.makeToken(for: "_a", clientID: nil, at: place)
            token.withLock { $0 = made }
            let queue = try #require(notifier.queue(of: made))
            try await save("taken")
            let delivery = try #require(await queue.next(within: Self.patience))
            notifier.delivered(delivery, by: queue, of: made)
            try await eventually {
                first.notificationTokens(made, now: Timestamp(milliseconds: 1)).allSatisfy {
                    $0.deliveredPosition >= delivery.position
                }
            }
            try await first.writeUses()
            try await save("in hand")
            try await save("p", .public)
            // It fires before the server fails, and ends with that.
            try await eventually { try await database(.public).require(.keepSubscriptions).subscriptions().isEmpty }
            _ = await queue.next(within: Self.patience)
        }
        try await save("while nobody listened")
        try await save("late", .public)
        try await notifying(try Accounts(file: file)) { notifier in
            let queue = try #require(notifier.queue(of: token.withLock { $0 }))
            var told: [String] = []
            for _ in 0..<3 { told.append(try await Self.next(queue)) }
            #expect(told == ["q in hand", "once p", "q while nobody listened"])
            #expect(queue.count == 0)
        }
        // A token lasts for 12 hours.
        try await notifying(try Accounts(file: file), at: SubscriptionRules.deviceTokenLifetime * 1000 + 2) {
            notifier in
            #expect(notifier.queue(of: token.withLock { $0 }) == nil)
        }
    }

    /// A page of changes that is read for one device is not all that another one needs.
    @Test func aDeviceThatComesMeanwhileMissesNothing() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        let early = Mutex("")
        try await notifying { notifier in
            let token = try await notifier.makeToken(for: "_a", clientID: nil, at: place)
            early.withLock { $0 = token }
        }
        try await save("untold")
        let gate = Gate()
        let gated = Notifier(
            engine: GatedEngine(base: engine, gate: gate), accounts: accounts, now: { Timestamp(milliseconds: 1) })
        defer { gated.close() }
        let late = try #require(gated.queue(of: try await gated.makeToken(for: "_a", clientID: nil, at: place)))
        try await eventually { !gate.isIdle }
        let queue = try #require(gated.queue(of: early.withLock { $0 }))
        try await save("new")
        gate.open()
        #expect(try await Self.next(queue) == "q untold")
        #expect(try await Self.next(queue) == "q new")
        #expect(try await Self.next(late) == "q new")
    }

    /// A stream whose client is too slow ends with what waits. Its client goes on from there, and others are told
    /// meanwhile.
    @Test func aSlowStreamGoesOn() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        try await notifying { notifier in
            let device = try await registered(notifier)
            let begin = try await notifier.present(at: place, for: "_a")
            let slow = notifier.stream(to: "_a", of: place.address(.private), after: begin)
            let names = (0..<DeviceQueue.limit + 200).map { Name("n\($0)") }
            for start in stride(from: 0, to: names.count, by: 200) {
                let operations = names[start..<start + 200].map {
                    RecordOperation(.forceUpdate, recordName: $0, recordType: "Item")
                }
                for outcome in try await database(.private, as: Self.mac).modify(
                    ModifyRequest(operations, zoneID: Self.zone))
                { _ = try outcome.get() }
            }
            try await eventually { slow.isClosed }
            var told: [String] = []
            while slow.count > 0 { told.append(try await Self.next(slow)) }
            let position = try #require(slow.deliveredPosition(at: place))
            notifier.end(slow)
            let rest = notifier.stream(to: "_a", of: place.address(.private), after: position)
            while told.count < names.count { told.append(try await Self.next(rest)) }
            #expect(told == names.map { "q \($0)" })
            try await save("later")
            #expect(try await Self.next(rest) == "q later")
            try await eventually { device.count >= DeviceQueue.limit }
        }
    }

    /// A device that is far behind gets all that it missed, and keeps nobody else waiting.
    @Test func aLateDeviceCatchesUp() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        let accounts = self.accounts
        let old = try await accounts.makeNotificationToken(
            for: "_a", clientID: nil, container: place.container, environment: place.environment,
            at: engine.database(place.address(.public), as: Self.ada)
                .require(.fireSubscriptions).firings(after: nil).position, now: Timestamp(milliseconds: 1),
            expires: Timestamp(milliseconds: 1_000_000))
        try await save("missed")
        // Changes that nobody subscribes to.
        for start in 0..<FiringPage.recordLimit / 200 + 1 {
            let operations = (0..<200).map {
                RecordOperation(.forceUpdate, recordName: Name("x\(start * 200 + $0)"), recordType: "Other")
            }
            for outcome in try await database().modify(ModifyRequest(operations, zoneID: Self.zone)) {
                _ = try outcome.get()
            }
        }
        try await notifying { notifier in
            let timely = try await registered(notifier)
            let late = try #require(notifier.queue(of: old))
            try await save("new")
            #expect(try await Self.next(timely) == "q new")
            #expect(try await Self.next(late) == "q missed")
            #expect(try await Self.next(late) == "q new")
        }
    }

    /// Each rehearsal, and the notifications of three changes with it. The subscription to the zone tells when all of
    /// them were looked at.
    @Test(
        arguments: [
            (.lostNotifications, ["z Last"]), (.doubledNotifications, ["q a", "q a", "q b", "q b", "z Last"]),
            (.shuffledNotifications, ["q b", "q a", "z Last"]),
            (.coalescedNotifications, ["q a", "z Last"]), (.lateNotifications, ["z Last"]),
        ] as [(InjectedFault, [String])])
    func rehearsals(fault: InjectedFault, expected: [String]) async throws {
        try await begin()
        _ = try await database().modifyZones([.create(ZoneID(zoneName: "Last"))])
        try await subscribe([
            Self.query("q"),
            Subscription("z", to: .zone(ZoneID(zoneName: "Last"), recordType: nil), notificationInfo: Self.silent),
        ])
        let faults = FaultInjection()
        try faults.start(
            FaultSetting(fault), in: FaultArea(container: place.container, scope: .private, zoneID: Self.zone))
        try await notifying(with: faults) { notifier in
            let queue = try await registered(notifier)
            for name in ["a", "b"] as [Name] { try await save(name) }
            let operation = RecordOperation(.forceUpdate, recordName: "end", recordType: "Other")
            for outcome in try await database(.private, as: Self.mac).modify(
                ModifyRequest([operation], zoneID: ZoneID(zoneName: "Last")))
            { _ = try outcome.get() }
            let waiting = expected.count + (fault == .lateNotifications ? 2 : 0)
            try await eventually { queue.count >= waiting }
            var told: [String] = []
            for _ in expected { told.append(try await Self.next(queue)) }
            #expect(told == expected)
        }
    }

    /// The log has what became of each notification, and why there was none.
    @Test func everyNotificationIsLogged() async throws {
        try await begin()
        try await subscribe([
            Self.query("q"), Self.query("mute", nil, events: [.create]),
            Subscription("z", to: .zone(Self.zone, recordType: nil), notificationInfo: Self.silent),
        ])
        let log = NotificationLog()
        try await notifying(log: log) { notifier in
            let queue = try await registered(notifier, Self.ada)
            try await save("a")
            try await save("b")
            func outcomes(_ id: Name) -> [LoggedNotification.Outcome] {
                log.latest { $0.subscriptionID == id }.reversed().map(\.outcome)
            }
            // The zone's notification for the second change is the last one to be noted.
            try await eventually { outcomes("z").count >= 2 && outcomes("z").last != .waiting }
            func nextOfQuery() async throws -> String {
                while true {
                    let next = try await Self.next(queue)
                    if next.hasPrefix("q") { return next }
                }
            }
            let zones = log.latest { $0.subscriptionID == "z" }
            let first = try #require(zones.last)
            #expect(outcomes("q") == [.waiting, .waiting] && outcomes("mute") == [.withoutContent, .withoutContent])
            #expect(outcomes("z") == [.waiting, .coalesced(into: first.id)])
            #expect(
                first.user == "_a" && first.clientID == "phone" && first.recordName == "a" && first.event == .create
                    && first.address.scope == .private)
            let delivery = try #require(await queue.next(within: Self.patience))
            #expect(outcomes("q").first == .waiting && log.notification(delivery.logID ?? 0)?.payload == delivery.bytes)
            queue.takeBack(delivery)
            #expect(try await Self.next(queue) == "q a")
            guard case .delivered? = outcomes("q").first else {
                Issue.record("not delivered")
                return
            }
            // The client's own change is not told. The one after it is.
            try await save("own", as: Self.ada)
            try await save("c")
            #expect(try await [nextOfQuery(), nextOfQuery()] == ["q b", "q c"])
            #expect(outcomes("q").contains(.ownChange))
            // Sent again, it is another one with the same content.
            let delivered = try #require(log.latest { $0.recordName == "a" && $0.subscriptionID == "q" }.first)
            let copy = try notifier.sendAgain(delivered.id)
            #expect(try await nextOfQuery() == "q a")
            #expect(
                log.notification(copy)?.original == delivered.id && log.notification(copy)?.payload == delivered.payload
            )
            #expect(throws: RecordError.self) { try notifier.sendAgain(copy + 1) }
            let mute = try #require(log.latest { $0.subscriptionID == "mute" }.first)
            #expect(throws: RecordError.self) { try notifier.sendAgain(mute.id) }
            // Nothing is told twice, or left out, because of the copy.
            try await save("d")
            #expect(try await nextOfQuery() == "q d")
        }
    }

    @Test func aFiredSubscriptionSaysWhatIsQueued() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        try await save("a")
        let firing = try await database().require(.fireSubscriptions)
        let all = try await firing.ownedSubscriptions()
        let owned = try #require(all.first)
        let firings = try await firing.latestFirings(of: owned.subscription, limit: 10)
        let change = try #require(firings.first { !$0.subscriptions.isEmpty }?.change)
        let log = NotificationLog()
        try await notifying(log: log) { notifier in
            let address = place.address(.private)
            #expect(notifier.send(owned, about: change, in: address) == SentNotifications(devices: 0, queued: []))
            _ = try await registered(notifier)
            #expect(notifier.send(owned, about: change, in: address) == SentNotifications(devices: 1, queued: [1]))
            #expect(log.notification(1)?.outcome == .waiting)
        }
    }

    @Test func aLostNotificationIsLogged() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        let log = NotificationLog()
        let faults = FaultInjection()
        try faults.start(
            FaultSetting(.lostNotifications),
            in: FaultArea(container: place.container, scope: .private, zoneID: Self.zone))
        try await notifying(with: faults, log: log) { notifier in
            _ = try await registered(notifier)
            try await save("a")
            try await eventually { !log.latest().isEmpty }
            #expect(log.latest().map(\.outcome) == [.lost] && log.latest().first?.payload.isEmpty == false)
        }
    }
}

/// Holds the first look for changes until it is opened.
private final class Gate: Sendable {
    private let (opened, opening) = AsyncStream.makeStream(of: Void.self)
    private let waiting = Mutex(0)

    var isIdle: Bool { waiting.withLock { $0 == 0 } }

    func pass() async {
        waiting.withLock { $0 += 1 }
        for await _ in opened {}
    }

    func open() { opening.finish() }
}

private struct GatedEngine: ForwardingEngine {
    let base: any RecordEngine
    let gate: Gate

    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        GatedDatabase(base: try await base.database(address, as: caller), gate: gate)
    }
}

private struct GatedDatabase: ForwardingDatabase, SubscriptionFiring {
    let base: any RecordDatabase
    let gate: Gate

    func firings(after position: Int64?) async throws -> FiringPage {
        if position != nil { await gate.pass() }
        return try await base.require(.fireSubscriptions).firings(after: position)
    }

    func ownedSubscriptions() async throws -> [OwnedSubscription] {
        try await base.require(.fireSubscriptions).ownedSubscriptions()
    }

    func latestFirings(of subscription: Subscription, limit: Int) async throws -> [Firing] {
        try await base.require(.fireSubscriptions).latestFirings(of: subscription, limit: limit)
    }

    func noteFired(_ subscriptions: [OwnedSubscription], at position: Int64) async throws {
        try await base.require(.fireSubscriptions).noteFired(subscriptions, at: position)
    }
}
