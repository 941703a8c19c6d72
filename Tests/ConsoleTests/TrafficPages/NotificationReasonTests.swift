import Console
import RecordStore
import Records
import Testing

@testable import RequestLog
@testable import TrafficPages

/// The reasons why a client is not notified of a change, from the facts to the page.
@Suite struct NotificationReasonTests {
    private static let ada: Name = "_ada"
    private static let grace: Name = "_grace"
    private static let zone = ZoneID(zoneName: "Notes", ownerRecordName: ada)
    private static let saved = at(hour: 12)
    private static let now = at(hour: 20)

    private static func at(hour: Int64) -> Timestamp { Timestamp(milliseconds: hour * 3_600_000) }

    private static var schema: Schema {
        var type = RecordType(name: "Item", systemIndexes: [.recordID: .queryable])
        type.fields["price"] = FieldDefinition(type: .int64, indexes: [.queryable, .sortable])
        return Schema(types: [type])
    }

    /// The creation of an item with a price of 7 by the client `mac`.
    private static let change: CommittedChange? = {
        let signature = Signature(timestamp: saved, userRecordName: ada, deviceID: "mac")
        let record = StoredRecord(
            recordID: RecordID(recordName: "milk"), recordType: "Item", recordChangeTag: "9", created: signature,
            modified: signature,
            fields: FieldsText([Field(name: "price", value: .int64(7))]))
        let entry = RecordJournalEntry(
            kind: .created, position: 9, recordChangeTag: "9", recordType: "Item", signature: signature, requestID: nil,
            fields: record.fields, parent: nil)
        return CommittedChange.all(
            of: record, [entry], after: 8, in: CommittedChange(position: 9, zoneID: zone, owner: ada, guests: [])
        ).first
    }()

    private static let silent: NotificationInfo = {
        var info = NotificationInfo()
        info.shouldSendContentAvailable = true
        return info
    }()

    private static func owned(
        _ id: Name, _ filters: Query.Filter..., firesOn: Set<Subscription.Event> = [.create], after position: Int64 = 1,
        isHeld: Bool = false,
        info: NotificationInfo? = silent
    ) -> OwnedSubscription {
        let subject = Subscription.RecordSubject(Query(recordType: "Item", filters: filters), firesOn: firesOn)
        return OwnedSubscription(
            user: ada, scope: .private, position: position, isHeldToRoles: isHeld,
            subscription: Subscription(id, to: .query(subject), notificationInfo: info))
    }

    private static let cheap = Query.Filter("price", .lessThan, FieldInput(.int64(5)))
    private static let phone = NotificationFacts.Device(clientID: "phone", made: at(hour: 10), expires: at(hour: 22))

    /// The facts of the client `phone`, to which nothing was sent.
    private static func facts(_ change: (inout NotificationFacts) -> Void = { _ in }) -> NotificationFacts {
        var facts = NotificationFacts(
            user: ada, clientID: "phone", scope: .private, change: Self.change, subscriptions: [owned("all")],
            schema: schema, devices: [phone], now: now)
        change(&facts)
        return facts
    }

    private static let container =
        ContainerID("iCloud.com.example.App") ?? { preconditionFailure("a container identifier") }()

    private static func notification(
        _ outcome: LoggedNotification.Outcome, to client: String? = "phone", id: Int64 = 4, _ subscription: Name = "all"
    ) -> LoggedNotification {
        var notification = LoggedNotification(
            at: saved, in: DatabaseAddress(container: container, environment: .development, scope: .private), of: ada,
            subscriptionID: subscription, position: 9,
            zoneID: zone, recordName: "milk", event: .create, tokenID: "t", clientID: client, outcome: outcome)
        notification.id = id
        return notification
    }

    private static func sent(
        _ outcome: LoggedNotification.Outcome, _ carrier: LoggedNotification? = nil, fetched: Timestamp? = nil,
        delay: Duration? = nil
    ) -> NotificationFacts {
        facts { facts in
            facts.notifications = [notification(outcome)]
            facts.notifications[0].delay = delay
            if let carrier { facts.carriers = [7: carrier] }
            facts.lastFetch = fetched
        }
    }

    private static let summary = NotificationSummary(id: 4, subscriptionID: "all", moment: saved)
    private static let delivered = NotificationSummary(id: 4, subscriptionID: "all", moment: at(hour: 13))
    private static let carrier = NotificationSummary(id: 7, subscriptionID: "db", moment: at(hour: 14))
    private static let waitingCarrier = NotificationSummary(id: 7, subscriptionID: "db", moment: saved)

    private static func missed(_ id: Name, _ miss: SubscriptionMiss) -> NotificationReason {
        .missed([NotificationReason.Missed(subscriptionID: id, miss: miss)])
    }

    private static let table: [(NotificationFacts, NotificationReason)] = [
        // The user's subscriptions.
        (facts { $0.change = nil }, .notSeen),
        (facts { $0.subscriptions = [] }, .noSubscription(others: [])),
        (facts { ($0.subscriptions, $0.otherScopes) = ([], [.public]) }, .noSubscription(others: [.public])),
        (facts { $0.subscriptions = [owned("cheap", cheap)] }, missed("cheap", .filter(cheap, .int64(7)))),
        (facts { $0.subscriptions = [owned("gone", firesOn: [.delete])] }, missed("gone", .otherEvents([.delete]))),
        (facts { $0.subscriptions = [owned("late", after: 9)] }, missed("late", .tooEarly)),
        (
            facts { $0.subscriptions = [owned("cheap", cheap), owned("late", after: 9)] },
            .missed([
                .init(subscriptionID: "cheap", miss: .filter(cheap, .int64(7))),
                .init(subscriptionID: "late", miss: .tooEarly),
            ])
        ),
        (
            facts { facts in
                facts.subscriptions[0].subscription.subject = .zone(
                    ZoneID(zoneName: "Other", ownerRecordName: ada), recordType: nil)
            }, missed("all", .otherZone(ZoneID(zoneName: "Other", ownerRecordName: ada)))
        ),
        (facts { ($0.subscriptions, $0.isKeptByRoles) = ([owned("all", isHeld: true)], true) }, .keptByRoles),
        (facts { $0.subscriptions = [owned("mute", info: nil)] }, .withoutContent("mute")),
        // The devices.
        (facts { $0.devices = [] }, .noToken),
        (facts { $0.devices[0].isHere = false }, .tokenElsewhere),
        (facts { $0.devices[0].expires = at(hour: 11) }, .tokenExpired(at(hour: 11))),
        (facts { $0.devices[0].made = at(hour: 15) }, .tokenLater(at(hour: 15))),
        (facts { $0.devices[0].clientID = "watch" }, .tokenOfOthers),
        (
            facts {
                $0.clientID = "mac"; $0.devices[0].clientID = "mac"
            }, .ownChange
        ),
        (facts(), .notLogged),
        // A roles' answer does not matter to one who is not held to roles.
        (facts { $0.isKeptByRoles = true }, .notLogged),
        // The notification.
        (sent(.ownChange), .ownChange),
        (sent(.lost), .lost(summary)),
        (sent(.waiting), .waiting(summary)),
        (sent(.waiting, delay: .seconds(10 * 3600)), .heldBack(summary)),
        (sent(.waiting, delay: .seconds(10)), .waiting(summary)),
        (sent(.dropped), .dropped(summary)),
        (sent(.expired), .expiredWaiting(summary)),
        (
            sent(.coalesced(into: 7), notification(.delivered(at(hour: 14)), id: 7, "db")),
            .coalesced(summary, into: carrier, delivered: true)
        ),
        (
            sent(.coalesced(into: 7), notification(.waiting, id: 7, "db")),
            .coalesced(summary, into: waitingCarrier, delivered: false)
        ),
        (
            sent(.replaced(by: 7), notification(.delivered(at(hour: 14)), id: 7, "db")),
            .replaced(summary, by: carrier, delivered: true)
        ),
        (sent(.delivered(at(hour: 13))), .notFetched(delivered)),
        (sent(.delivered(at(hour: 13)), fetched: saved), .notFetched(delivered)),
        (sent(.delivered(at(hour: 13)), fetched: at(hour: 14)), .fetched(delivered, at(hour: 14))),
        // The notification of a subscription that was deleted since counts too. A delivered one counts more than one
        // that was lost.
        (
            facts {
                ($0.subscriptions, $0.notifications) = (
                    [owned("other", firesOn: [.update])], [notification(.delivered(at(hour: 13)))]
                )
            }, .notFetched(delivered)
        ),
        (
            facts { ($0.subscriptions, $0.notifications) = ([], [notification(.delivered(at(hour: 13)))]) },
            .notFetched(delivered)
        ),
        (
            facts { $0.notifications = [notification(.lost, id: 5), notification(.delivered(at(hour: 13)))] },
            .notFetched(delivered)
        ),
        // A client without a name may have any token but those of others.
        (facts { $0.clientID = nil }, .notLogged),
        (facts { ($0.clientID, $0.otherClients) = (nil, ["phone"]) }, .tokenOfOthers),
        (
            facts { facts in
                (facts.clientID, facts.otherClients, facts.notifications) = (
                    nil, ["phone"], [notification(.delivered(at(hour: 13)))]
                )
            }, .tokenOfOthers
        ),
        // A notification to another client is not this one's.
        (facts { $0.notifications = [notification(.delivered(at(hour: 13)), to: "watch")] }, .notLogged),
        (facts { $0.notifications = [notification(.delivered(at(hour: 13)), to: nil)] }, .notFetched(delivered)),
    ]

    @Test func theFactsDecide() {
        for (facts, reason) in Self.table {
            #expect(facts.change != nil || reason == .notSeen)
            #expect(NotificationReason(facts) == reason, "\(facts)")
        }
    }

    /// Each reason has a sentence of its own; those who were notified, or wait, are marked so.
    @Test func everyReasonHasItsWords() throws {
        let subject = NotificationReason.Subject(
            user: "Ada", client: "phone", recordType: "Item", event: .create, scope: .private,
            place: Place(
                address: DatabaseAddress(container: Self.container, environment: .development, scope: .private),
                user: nil, zone: .unspecified))
        let reasons = Set(Self.table.map(\.1))
        func sentence(_ reason: NotificationReason) -> String {
            let words = reason.explanation(subject)
            return ([words.text] + words.details).joined(separator: " ")
        }
        #expect(Set(reasons.map(sentence)).count == reasons.count)
        for reason in reasons {
            #expect(reason.isNotified == (reason.explanation(subject).verdict == "notified"), "\(reason)")
        }
        #expect(
            sentence(Self.missed("cheap", .filter(Self.cheap, .int64(7)))).contains(
                "cheap: its filter price LESS_THAN 5 does not match: price is 7."))
        #expect(
            sentence(Self.missed("gone", .otherEvents([.delete]))).contains("fires on delete, and this is a create"))
        #expect(sentence(.notFetched(Self.delivered)).contains("never fetched since"))
        #expect(
            NotificationReason.lost(Self.summary).explanation(subject).next?.href
                == "/c/iCloud.com.example.App/development/private/notifications?id=4")
    }
}

/// Clients that are notified and do not fetch, and those that poll.
@Suite struct NotificationHabitTests {
    private static func at(_ second: Int64) -> Timestamp { Timestamp(milliseconds: second * 1000) }

    @Test func habitsShowInPullsAndNotifications() {
        let (early, late) = (Self.at(1), Self.at(9))
        let fetched = NotificationHabit.Zone(notified: early, pulled: late)
        let table: [([NotificationHabit.Zone], [Int], [NotificationHabit])] = [
            ([], [], []), ([], [4, 4], []), ([], [5], [.polls(pulls: 5)]), ([], [7, 2, 6], [.polls(pulls: 13)]),
            ([fetched], [90], []),
            (
                [NotificationHabit.Zone(notified: late, pulled: early)], [1],
                [.notifiedButNotFetched(zones: 1, since: late)]
            ),
            (
                [NotificationHabit.Zone(notified: late), fetched, NotificationHabit.Zone(notified: early)], [9],
                [.notifiedButNotFetched(zones: 2, since: early)]
            ),
        ]
        for (notified, pulls, habits) in table {
            #expect(NotificationHabit.habits(notified: notified, pulls: pulls) == habits)
        }
    }
}

/// The files that simulators take.
@Suite struct SimulatorFileTests {
    @Test func theFileIsThePayloadWithItsApp() throws {
        let payload = Array(#"{"aps":{"content-available":1},"ck":{"ce":2,"nid":"n"}}"#.utf8)
        let plain = try #require(SimulatorFile.bytes(of: payload, bundle: nil))
        #expect(try JSONReader.value(of: plain) == JSONReader.value(of: payload))
        guard
            case .object(let named) = try JSONReader.value(
                of: #require(SimulatorFile.bytes(of: payload, bundle: "com.example.App")))
        else {
            Issue.record("no object")
            return
        }
        #expect(
            named["Simulator Target Bundle"] == .string("com.example.App") && named["aps"] != nil && named["ck"] != nil)
        // simctl refuses a file without aps.
        #expect(
            SimulatorFile.bytes(of: Array(#"{"ck":{}}"#.utf8), bundle: nil) == nil
                && SimulatorFile.bytes(of: [], bundle: nil) == nil)
    }
}
