import InMemoryRecordStore
import JSON
import Logging
import RecordStore
import Records
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
    private let place: Notifier.Place

    init() throws {
        place = Notifier.Place(container: try #require(ContainerID("iCloud.com.example.Test")), environment: .development)
    }

    private func notifying(_ body: (Notifier) async throws -> Void) async throws {
        let notifier = Notifier(engine: engine, logger: Logger(label: "test")) { Timestamp(milliseconds: 1) }
        defer { notifier.close() }
        try await body(notifier)
    }

    private func database(_ scope: DatabaseScope = .private, as caller: Caller = Self.ada) async throws -> any RecordDatabase {
        try await engine.database(place.address(scope), as: caller)
    }

    private func save(_ name: Name, as caller: Caller = Self.mac, _ scope: DatabaseScope = .private) async throws {
        let operation = RecordOperation(.forceUpdate, recordName: name, recordType: "Item", fields: ["n": FieldInput(.int64(1))])
        let zoneID = scope == .public ? .default : Self.zone
        for outcome in try await database(scope, as: caller).modify(ModifyRequest([operation], zoneID: zoneID)) { _ = try outcome.get() }
    }

    private func subscribe(_ subscriptions: [Subscription], _ scope: DatabaseScope = .private, as caller: Caller = Self.ada) async throws {
        for result in try await database(scope, as: caller).modifySubscriptions(subscriptions.map { .save($0) }) { _ = try result.get() }
    }

    private static func query(_ id: Name, firesOnce: Bool = false, _ info: NotificationInfo? = Self.silent) -> Subscription {
        let subject = Subscription.RecordSubject(Query(recordType: "Item"), firesOn: [.create, .update], firesOnce: firesOnce)
        return Subscription(id, to: .query(subject), notificationInfo: info)
    }

    private static let silent: NotificationInfo = {
        var info = NotificationInfo()
        info.shouldSendContentAvailable = true
        return info
    }()

    private func registered(_ notifier: Notifier, _ caller: Caller = Self.ada) async throws -> Courier {
        let token = notifier.makeToken(for: caller.userRecordName, clientID: caller.deviceID, at: place)
        #expect(try await notifier.register(token, of: caller.userRecordName, at: place))
        return try #require(notifier.courier(of: token))
    }

    /// The subscription, and the record or zone, of the next notification.
    private static func next(_ courier: Courier) async throws -> String {
        let parcel = try #require(await courier.next(within: patience))
        courier.confirm(parcel)
        guard case .object(let payload) = try JSONReader.value(of: parcel.bytes), case .object(let ck)? = payload["ck"] else { return "" }
        for kind in ["qry", "fet", "met"] as [Name] {
            guard case .object(let told)? = ck[kind], case .string(let sid)? = told["sid"], case .string(let zid)? = told["zid"] else { continue }
            if case .string(let rid)? = told["rid"] { return "\(sid) \(rid)" }
            return "\(sid) \(zid)"
        }
        return ""
    }

    private func begin() async throws {
        _ = try await database().modifyZones([.create(Self.zone)])
        try await save("first")
    }

    @Test func changesAfterTheRegistrationAreTold() async throws {
        try await begin()
        try await subscribe([Self.query("q")])
        try await notifying { notifier in
            try await save("before")
            let courier = try await registered(notifier)
            let other = try await registered(notifier, Self.grace)
            try await save("a")
            try await save("b")
            #expect(try await Self.next(courier) == "q a")
            #expect(try await Self.next(courier) == "q b")
            #expect(courier.count == 0 && other.count == 0)
        }
    }

    @Test func theDeviceThatSavedIsNotTold() async throws {
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

    @Test func withoutContentNothingIsSent() async throws {
        try await begin()
        try await subscribe([Self.query("mute", nil)])
        try await subscribe([Self.query("once", firesOnce: true)], .public)
        try await notifying { notifier in
            let courier = try await registered(notifier)
            try await save("a")
            try await save("p", .public)
            try await save("p", .public)
            #expect(try await Self.next(courier) == "once p")
            #expect(courier.count == 0)
        }
        #expect(try await database(.public).subscriptions() == [])
        #expect(try await database().subscriptions().map(\.subscriptionID) == ["mute"])
    }

    @Test func guestsAreTold() async throws {
        try await begin()
        try await database().share(Self.zone, with: ZoneParticipant(userRecordName: Self.grace.userRecordName, permission: .readOnly))
        try await subscribe([Subscription("d", to: .database(recordType: nil), notificationInfo: Self.silent)], .shared, as: Self.grace)
        try await notifying { notifier in
            let courier = try await registered(notifier, Self.grace)
            try await save("a")
            #expect(try await Self.next(courier) == "d Z")
        }
    }

    @Test func tokensBelongToTheirUserAndEnvironment() async throws {
        try await begin()
        try await notifying { notifier in
            let token = notifier.makeToken(for: "_a", clientID: nil, at: place)
            let production = Notifier.Place(container: place.container, environment: .production)
            #expect(try await !notifier.register(token, of: "_b", at: place))
            #expect(try await !notifier.register(token, of: "_a", at: production))
            #expect(try await !notifier.register("none", of: "_a", at: place))
            #expect(notifier.courier(of: token)?.user == "_a" && notifier.courier(of: "none") == nil)
            for _ in 0..<Notifier.tokensPerUser { _ = notifier.makeToken(for: "_a", clientID: nil, at: place) }
            #expect(notifier.courier(of: token) == nil)
        }
    }
}
