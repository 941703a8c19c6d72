import Accounts
import RecordStore
import Records
import TestSupport
import Testing

@testable import WebServices

/// Random histories of saves, deletions, zones and subscriptions of three users. What the web
/// courier hands out is compared with ``NotificationModel``.
@Suite struct NotificationHistoryTests {
    private static let changes = 2000
    private static let kinds = ["private qry", "private fet", "private met", "public qry", "shared met"]

    @Test("The web courier hands out what the model says", arguments: Chance.seeds(4))
    func play(seed: UInt64) async throws {
        // An answer without a notification comes at once.
        try await TestServer.run(patience: .milliseconds(1)) { server in
            var history = try await NotificationHistory(server, seed)
            var isVaried: Bool { Self.kinds.allSatisfy { history.model.fired[$0, default: 0] > 5 } }
            var step = 0
            // A kind that is rare at this seed comes later.
            while history.changes < Self.changes || !isVaried && history.changes < 20 * Self.changes {
                let problem = try await history.step()
                #expect(problem == nil, "step \(step) of seed \(seed): \(problem ?? "")")
                if problem != nil { return }
                step += 1
            }
            let problem = try await history.problem()
            #expect(problem == nil, "the end of seed \(seed): \(problem ?? "")")
            #expect(isVaried && history.taken > Self.changes / 10, "\(history.model.fired)")
        }
    }
}

private struct NotificationHistory {
    private typealias Place = NotificationModel.Place
    private typealias Client = NotificationModel.Client

    private static let names = (0..<6).flatMap { ["A\($0)", "B\($0)"] }
    private static let texts = ["", "a", "ab", "b"]
    private static let ids = ["s0", "s1", "s2", "s3"]
    private static let visiting = Place(owner: "developer", zone: "X")
    private static let shared = Place(owner: "developer", zone: "Y")
    private static let listed = Place(owner: "developer", zone: "Z")
    private static let clients = [
        Client(user: "developer", id: "d1"), Client(user: "developer", id: "d2"), Client(user: "anna", id: "a1"),
        Client(user: "bert", id: "b1"),
    ]
    private static let databases: [(user: String, scope: DatabaseScope)] = [
        ("developer", .private), ("developer", .public), ("anna", .private), ("anna", .public), ("anna", .shared),
        ("bert", .public), ("bert", .shared),
    ]

    private let server: TestServer
    private let device = "/device/1/\(ScenarioRunner.container)/development"
    private var random: SeededRandom
    private var tokens: [Client: String] = [:]
    private(set) var model = NotificationModel(
        clients: clients, wholeGuests: [shared: "anna"], listGuests: [listed: "bert"])
    private(set) var changes = 0
    private(set) var taken = 0
    private var hasVisitor = false

    /// Makes the zones. Anna is the guest of one, and Bert of a list in another one.
    init(_ server: TestServer, _ seed: UInt64) async throws {
        self.server = server
        random = SeededRandom(seed: seed)
        for user in ["anna", "bert"] { _ = try await send("public/users/caller", "{}", as: user) }
        for (user, zones) in [("developer", ["Y", "Z"]), ("anna", ["Z"])] {
            for zone in zones {
                _ = try await send(
                    "private/zones/modify",
                    #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(zone)"}}}]}"#, as: user)
            }
        }
        let first = ["A", "B"].map { Self.saving($0, NotificationModel.Item(number: 0, text: ""), parent: "null") }
        _ = try await send(
            "private/records/modify", #"{"operations":[\#(first.joined(separator: ","))]}"#, as: "developer")
        let owner = try await server.engine.database(ScenarioRunner.address, as: ScenarioRunner.developer)
        try await owner.share(
            ZoneID(zoneName: "Y"),
            with: ZoneParticipant(userRecordName: User.recordName(ofHandle: "anna"), permission: .readWrite),
            on: server.engine)
        try await shareList()
        for client in model.clients {
            let answer = try await send("\(device)/tokens/create", #"{"clientId":"\#(client.id)"}"#, as: client.user)
            tokens[client] = Self.text(at: "apnsToken", in: answer)
        }
    }

    private func shareList() async throws {
        let list =
            #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"List","recordName":"list"}}]}"#
        let tag = Self.text(
            at: "records[0].recordChangeTag", in: try await send("private/records/modify", list, as: "developer"))
        let bert = User.recordName(ofHandle: "bert")
        let guest =
            #"{"type":"USER","permission":"READ_WRITE","acceptanceStatus":"INVITED","userIdentity":{"lookupInfo":{"userRecordName":"\#(bert)"}}}"#
        let share =
            #""recordType":"cloudkit.share","recordName":"share","forRecord":{"recordName":"list","recordChangeTag":"\#(tag)"},"publicPermission":"NONE","participants":[\#(guest)]"#
        let answer = try await send(
            "private/records/modify",
            #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{\#(share)}}]}"#,
            as: "developer")
        let accepted = try await send(
            "public/records/accept", #"{"shortGUIDs":["\#(Self.text(at: "records[0].shortGUID", in: answer))"]}"#,
            as: "bert")
        #expect(Self.text(at: "results[0].participantStatus", in: accepted) == "ACCEPTED")
    }

    /// - Returns: the first disagreement with the model.
    mutating func step() async throws -> String? {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<14: return try await save()
        case 14..<18: return try await settle { history in try await history.subscribe() }
        case 18: return try await settle { history in try await history.toggleZone() }
        default: return try await settle { history in try await history.list() }
        }
    }

    private mutating func pick<Value>(_ values: [Value]) throws -> Value {
        try #require(values.randomElement(using: &random))
    }

    /// True once in so many times.
    private mutating func once(in times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }

    // MARK: Requests

    private func send(_ path: String, _ body: String, as user: String) async throws -> JSONValue {
        let target = path.hasPrefix("/") ? path : "/database/1/\(ScenarioRunner.container)/development/\(path)"
        let more = user == "developer" ? [] : ["X-Skylight-User: \(user)"]
        let answers = try await server.client.exchange(
            NotedClient.head("POST", target, more, length: body.utf8.count) + body)
        let answer = try #require(answers.first)
        #expect(answer.status == 200, "\(path): \(answer.text)")
        return try answer.json()
    }

    private static func text(at place: String, in json: JSONValue) -> String {
        switch Subset.value(at: place, in: json) {
        case .string(let text)?: text
        case let value?: String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
        case nil: ""
        }
    }

    /// - Parameter parent: an object or `null`; nothing to leave it as it is.
    private static func saving(_ name: String, _ item: NotificationModel.Item, parent: String?) -> String {
        let fields = #"{"n":{"value":\#(item.number),"type":"INT64"},"s":{"value":"\#(item.text)","type":"STRING"}}"#
        let parent = parent.map { #","parent":\#($0)"# } ?? ""
        return
            #"{"operationType":"forceUpdate","record":{"recordType":"\#(NotificationModel.type(of: name))","recordName":"\#(name)","fields":\#(fields)\#(parent)}}"#
    }

    // MARK: Steps

    /// A client saves and deletes some records of a zone.
    private mutating func save() async throws -> String? {
        let client = try pick(model.clients)
        var places = [Place(owner: nil, zone: "_defaultZone")]
        switch client.user {
        case "developer":
            places +=
                ["Y", "Z", "_defaultZone"].map { Place(owner: "developer", zone: $0) }
                + (hasVisitor ? [Self.visiting] : [])
        case "anna": places += [Place(owner: "anna", zone: "Z"), Self.shared]
        default: places.append(Self.listed)
        }
        let place = try pick(places)
        let scope: DatabaseScope = place.owner == nil ? .public : place.owner == client.user ? .private : .shared
        // A guest of a list who changes a record at once after somebody else is not told of the first change.
        if scope == .shared, place == Self.listed { try await wait() }
        var (operations, items): ([String], [(key: NotificationModel.RecordKey, item: NotificationModel.Item?)]) = (
            [], []
        )
        for name in Self.names.shuffled(using: &random).prefix(Int.random(in: 1...12, using: &random)) {
            // In the public database, users may change only their own records.
            let key = NotificationModel.RecordKey(
                place: place, name: place.owner == nil ? "\(name)-\(client.user)" : name)
            let before = model.records[key]
            // The guest of the list sees only what is below it.
            if scope == .shared, place == Self.listed, before?.isListed != true { continue }
            if before != nil, scope != .shared || place == Self.shared, once(in: 4) {
                operations.append(#"{"operationType":"forceDelete","record":{"recordName":"\#(key.name)"}}"#)
                items.append((key, nil))
                continue
            }
            var item = NotificationModel.Item(number: Int.random(in: 0..<5, using: &random), text: try pick(Self.texts))
            var parent: String?
            if place == Self.listed {
                item.isListed = scope == .shared || once(in: 2)
                if scope == .private { parent = item.isListed ? #"{"recordName":"list"}"# : "null" }
            }
            operations.append(Self.saving(key.name, item, parent: parent))
            items.append((key, item))
        }
        if operations.isEmpty { return nil }
        let owner = scope == .shared ? #","ownerRecordName":"\#(ScenarioRunner.developer.userRecordName)""# : ""
        let zone = #"{"zoneName":"\#(place.zone)"\#(owner)}"#
        let saysName = !once(in: 4)
        let answer = try await send(
            "\(scope.rawValue)/records/modify\(saysName ? "?clientId=\(client.id)" : "")",
            #"{"zoneID":\#(zone),"operations":[\#(operations.joined(separator: ","))]}"#, as: client.user)
        for (index, (key, item)) in items.enumerated() {
            let refusal = Self.text(at: "records[\(index)].serverErrorCode", in: answer)
            if !refusal.isEmpty { return "\(client.user) saving \(key): \(refusal)" }
            model.change(key, to: item, by: saysName ? client : Client(user: client.user, id: ""))
            changes += 1
        }
        return once(in: 3) ? try await problem() : nil
    }

    /// A user saves or deletes a subscription.
    private mutating func subscribe() async throws -> String? {
        let (user, scope) = try pick(Self.databases)
        let subscriber = NotificationModel.Subscriber(user: user, scope: scope, id: try pick(Self.ids))
        let path = "\(scope.rawValue)/subscriptions/modify"
        if once(in: 4) {
            let answer = try await send(
                path,
                #"{"operations":[{"operationType":"delete","subscription":{"subscriptionID":"\#(subscriber.id)"}}]}"#,
                as: user)
            let isDeleted = Self.text(at: "subscriptions[0].deleted", in: answer) == "true"
            if isDeleted != (model.subscriptions[subscriber] != nil) { return "deleting \(subscriber): \(answer)" }
            model.subscriptions[subscriber] = nil
            return nil
        }
        let type: String? = once(in: 2) ? nil : try pick(["A", "B"])
        let zones = scope == .public ? [] : ["_defaultZone", "X", "Y", "Z"]
        let style = try pick([NotificationModel.Subscription.Style.silent, .silent, .collapsing, .mute])
        var subscription = NotificationModel.Subscription(subject: .database(type: type), style: style)
        switch Int.random(in: 0..<4, using: &random) {
        case _ where scope == .public, 0 where scope == .private, 1 where scope == .private:
            let zone = zones.isEmpty || once(in: 2) ? nil : try pick(zones)
            let events = Records.Subscription.Event.allCases.shuffled(using: &random).prefix(
                Int.random(in: 1...3, using: &random))
            let query = NotificationModel.Subscription.Query(
                type: try pick(["A", "B"]), filter: try filter(), firesOn: Set(events), zone: zone)
            subscription.subject = .query(query, firesOnce: once(in: 5))
        case 2 where scope == .private: subscription.subject = .zone(try pick(["X", "Y", "Z"]), type: type)
        default: break
        }
        if case .query = subscription.subject {} else if style == .collapsing { subscription.style = .silent }
        let isMissing =
            subscription.zone.map { $0 == "X" && !(hasVisitor && user == "developer") || $0 == "Y" && user == "anna" }
            ?? false
        let isRefused = isMissing || model.isDuplicate(subscription, of: subscriber)
        let answer = try await send(
            path,
            #"{"operations":[{"operationType":"create","subscription":\#(Self.json(subscription, subscriber.id))}]}"#,
            as: user)
        let refusal = Self.text(at: "subscriptions[0].serverErrorCode", in: answer)
        if refusal.isEmpty == isRefused { return "saving \(subscription) as \(subscriber): \(refusal)" }
        if !isRefused { model.subscriptions[subscriber] = subscription }
        return nil
    }

    private mutating func filter() throws -> NotificationModel.Filter {
        let number = Int.random(in: 0..<5, using: &random)
        return try pick([
            .none, .isNumber(number), .isBelow(number), .isAny([number, 2]), .isNotText(pick(Self.texts)), .begins("a"),
        ])
    }

    private static func json(_ subscription: NotificationModel.Subscription, _ id: String) -> String {
        func member(_ name: String, _ text: String?) -> String { text.map { #","\#(name)":"\#($0)""# } ?? "" }
        let zone = subscription.zone.map { #","zoneID":{"zoneName":"\#($0)"}"# } ?? ""
        let content = subscription.style == .mute ? "" : ",\(subscription.style.rawValue)"
        let subject =
            switch subscription.subject {
            case .query(let query, let firesOnce):
                #""query","query":{"recordType":"\#(query.type)","filterBy":\#(query.filter.json)},"firesOn":\#(query.firesOn.map(\.rawValue)),"firesOnce":\#(firesOnce)"#
            case .zone(_, let type): #""zone"\#(member("recordType", type))"#
            case .database(let type): #""database"\#(member("recordType", type))"#
            }
        return #"{"subscriptionID":"\#(id)","subscriptionType":\#(subject)\#(zone)\#(content)}"#
    }

    /// A zone comes or goes.
    private mutating func toggleZone() async throws -> String? {
        let kind = hasVisitor ? "delete" : "create"
        _ = try await send(
            "private/zones/modify",
            #"{"operations":[{"operationType":"\#(kind)","zone":{"zoneID":{"zoneName":"X"}}}]}"#, as: "developer")
        hasVisitor.toggle()
        model.comeOrGo(Self.visiting)
        return try await problem()
    }

    /// Compares a list of subscriptions, from which those are gone that have fired once.
    private mutating func list() async throws -> String? {
        let (user, scope) = try pick(Self.databases)
        guard
            case .array(let found)? = Subset.value(
                at: "subscriptions", in: try await send("\(scope.rawValue)/subscriptions/list", "{}", as: user))
        else { return "no list" }
        let ids = found.map { Self.text(at: "subscriptionID", in: $0) }
        let expected = model.subscriptions.keys.filter { $0.user == user && $0.scope == scope }.map(\.id).sorted()
        return ids == expected ? nil : "\(user)'s \(scope.rawValue) subscriptions are \(ids), not \(expected)"
    }

    // MARK: Comparison

    /// A step before which all changes are told, because it decides about them.
    private mutating func settle(_ step: (inout NotificationHistory) async throws -> String?) async throws -> String? {
        if let problem = try await problem() { return problem }
        return try await step(&self)
    }

    /// Waits until all changes were looked at.
    private func wait() async throws {
        let place = Notifier.Place(container: ScenarioRunner.address.container, environment: .development)
        let present = try await server.notifier.present(at: place, for: ScenarioRunner.developer.userRecordName)
        for token in tokens.values {
            let queue = try #require(server.notifier.queue(of: token))
            try await eventually { queue.read(at: place) ?? 0 >= present }
        }
    }

    /// Each client takes its notifications.
    /// - Returns: the first disagreement with the model.
    mutating func problem() async throws -> String? {
        try await wait()
        for (client, token) in tokens {
            let expected = model.take(of: client)
            if expected.isEmpty, server.notifier.queue(of: token)?.count == 0 { continue }
            // One more, for which there is nothing.
            let head = "GET /aps?tok=\(token) HTTP/1.1\r\nHost: localhost\r\n"
            let requests = String(repeating: head + "\r\n", count: expected.count) + head + "Connection: close\r\n\r\n"
            var found = try await server.client.exchange(requests).map { try Self.told(try $0.json()) }
            if found.popLast() != "" { return "\(client.id) has more than \(expected)" }
            // Notifications of zones are one for several changes, which the server may have seen in another order.
            let (queries, zones) = (found.filter { $0.hasPrefix("qry") }, found.filter { !$0.hasPrefix("qry") })
            if queries != expected.filter({ $0.hasPrefix("qry") })
                || zones.sorted() != expected.filter({ !$0.hasPrefix("qry") }).sorted()
            {
                return "\(client.id) was told \(found), not \(expected)"
            }
            taken += found.count
        }
        return nil
    }

    /// A notification as the model writes it; nothing for `null`.
    private static func told(_ json: JSONValue) throws -> String {
        if json == .null { return "" }
        for kind in ["qry", "fet", "met"] {
            guard let told = Subset.value(at: "ck.\(kind)", in: json) else { continue }
            func text(_ place: String) -> String { Self.text(at: place, in: told) }
            let scope = ["public", "private", "shared"][try #require(Int(text("dbs")))]
            let zone = "\(kind) \(scope) \(text("sid")) \(text("zid"))"
            return kind == "qry" ? "\(zone) \(text("rid")) \(text("fo"))" : zone
        }
        return "\(json)"
    }
}
