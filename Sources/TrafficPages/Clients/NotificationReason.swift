internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The facts that decide if a client is notified of the latest change of a record.
struct NotificationFacts: Sendable {
    /// A token of the user.
    struct Device: Sendable, Hashable {
        /// The client that made the token; `nil` if unknown.
        var clientID: String?
        var made: Timestamp
        var expires: Timestamp
        /// False for a token that is registered in other environments only.
        var isHere = true
    }

    var user: Name
    /// The name that the client has in tokens; `nil` if unknown.
    var clientID: String?
    /// The names of the user's other clients.
    var otherClients: Set<String> = []
    /// The database in which the user sees the record.
    var scope: DatabaseScope
    /// `nil` if the user does not see the record.
    var change: CommittedChange?
    /// True if roles keep the record from the user's devices.
    var isKeptByRoles = false
    /// The user's subscriptions to the database.
    var subscriptions: [OwnedSubscription] = []
    /// Other databases of the container and environment with subscriptions of the user.
    var otherScopes: [DatabaseScope] = []
    var schema = Schema()
    var devices: [Device] = []
    /// The logged notifications of the change to the user, the latest first.
    var notifications: [LoggedNotification] = []
    /// The notifications into which others were coalesced, or which replaced them.
    var carriers: [Int64: LoggedNotification] = [:]
    /// The client's latest read of the zone, or of records in it.
    var lastFetch: Timestamp?
    var now: Timestamp
}

/// A notification and what the client did after it.
struct NotificationSummary: Sendable, Hashable {
    let id: Int64
    let subscriptionID: Name
    /// The time of delivery, or since when it waits.
    let moment: Timestamp
}

/// The reason why a client was not notified of a change, or the state of its notification.
enum NotificationReason: Sendable, Hashable {
    /// A subscription that the change does not fire.
    struct Missed: Sendable, Hashable {
        let subscriptionID: Name
        let miss: SubscriptionMiss
    }

    /// The user does not see the record.
    case notSeen
    case noSubscription(others: [DatabaseScope])
    /// The subscriptions of the database, none of which the change fires.
    case missed([Missed])
    case keptByRoles
    /// The subscriptions that fire have no `notificationInfo`.
    case withoutContent(Name)
    case noToken
    /// The user's tokens are for other environments or containers.
    case tokenElsewhere
    case tokenExpired(Timestamp)
    /// The token was made after the change.
    case tokenLater(Timestamp)
    /// Only other clients of the user have a token.
    case tokenOfOthers
    case ownChange
    /// A rehearsal lost it.
    case lost(NotificationSummary)
    /// A rehearsal holds it back.
    case heldBack(NotificationSummary)
    case coalesced(NotificationSummary, into: NotificationSummary, delivered: Bool)
    case replaced(NotificationSummary, by: NotificationSummary, delivered: Bool)
    case dropped(NotificationSummary)
    case expiredWaiting(NotificationSummary)
    case waiting(NotificationSummary)
    case notFetched(NotificationSummary)
    case fetched(NotificationSummary, Timestamp)
    /// The subscription fires and the client has a token, but the log does not have the notification.
    case notLogged

    init(_ facts: NotificationFacts) {
        guard let change = facts.change else {
            self = .notSeen
            return
        }
        // A notification counts more than the subscriptions: somebody may have changed or deleted them since.
        if let sent = facts.sent {
            self = NotificationReason(sent, facts)
            return
        }
        let looked = facts.subscriptions.map { ($0, SubscriptionMiss(of: $0, by: change, in: facts.schema)) }
        let fired = looked.filter { $0.1 == nil }.map(\.0)
        if looked.isEmpty {
            self = .noSubscription(others: facts.otherScopes)
        } else if fired.isEmpty {
            self = .missed(
                looked.compactMap { owned, miss in
                    miss.map { Missed(subscriptionID: owned.subscription.subscriptionID, miss: $0) }
                })
        } else if facts.isKeptByRoles, fired.allSatisfy(\.isHeldToRoles) {
            self = .keptByRoles
        } else if let mute = fired.first, fired.allSatisfy({ $0.subscription.notificationInfo == nil }) {
            self = .withoutContent(mute.subscription.subscriptionID)
        } else {
            self = Self.withoutNotification(of: change, facts)
        }
    }

    private static func withoutNotification(of change: CommittedChange, _ facts: NotificationFacts)
        -> NotificationReason
    {
        if facts.devices.isEmpty { return .noToken }
        let here = facts.devices.filter(\.isHere)
        if here.isEmpty { return .tokenElsewhere }
        let own = here.filter { facts.isOfClient($0.clientID) }
        if own.isEmpty { return .tokenOfOthers }
        let moment = change.record?.signature.timestamp
        if let client = facts.clientID, let signature = change.record?.signature,
            signature.userRecordName == facts.user, signature.deviceID == client
        {
            return .ownChange
        }
        let living = own.filter { $0.expires >= facts.now }
        if living.isEmpty, let latest = own.map(\.expires).max() { return .tokenExpired(latest) }
        if let moment, let earliest = living.map(\.made).min(), earliest > moment { return .tokenLater(earliest) }
        return .notLogged
    }

    private init(_ sent: LoggedNotification, _ facts: NotificationFacts) {
        func summary(_ notification: LoggedNotification, _ moment: Timestamp? = nil) -> NotificationSummary {
            NotificationSummary(
                id: notification.id, subscriptionID: notification.subscriptionID, moment: moment ?? notification.moment)
        }
        /// The notification that tells of the change in place of this one.
        func carrier(_ id: Int64) -> (NotificationSummary, isDelivered: Bool) {
            guard let carrier = facts.carriers[id] else {
                return (NotificationSummary(id: id, subscriptionID: sent.subscriptionID, moment: sent.moment), false)
            }
            if case .delivered(let moment) = carrier.outcome { return (summary(carrier, moment), true) }
            return (summary(carrier), false)
        }
        func arrived(_ delivered: NotificationSummary) -> NotificationReason {
            facts.lastFetch.flatMap { $0 >= delivered.moment ? .fetched(delivered, $0) : nil } ?? .notFetched(delivered)
        }
        switch sent.outcome {
        case .ownChange: self = .ownChange
        case .withoutContent: self = .withoutContent(sent.subscriptionID)
        case .lost: self = .lost(summary(sent))
        case .dropped: self = .dropped(summary(sent))
        case .expired: self = .expiredWaiting(summary(sent))
        case .delivered(let moment): self = arrived(summary(sent, moment))
        case .coalesced(let id):
            let (other, isDelivered) = carrier(id)
            self = .coalesced(summary(sent), into: other, delivered: isDelivered)
        case .replaced(let id):
            let (other, isDelivered) = carrier(id)
            self = .replaced(summary(sent), by: other, delivered: isDelivered)
        case .waiting:
            let ready = sent.delay.map { sent.moment.milliseconds + Int64($0 / .milliseconds(1)) } ?? 0
            self = ready > facts.now.milliseconds ? .heldBack(summary(sent)) : .waiting(summary(sent))
        }
    }

    /// True if the client was notified.
    var isNotified: Bool {
        switch self {
        case .fetched, .notFetched, .coalesced(_, _, delivered: true), .replaced(_, _, delivered: true): true
        default: false
        }
    }
}

extension NotificationFacts {
    /// True if a token with this name may be the client's. One without a name may be anybody's, and a client without
    /// one may have any token that is not another client's.
    fileprivate func isOfClient(_ name: String?) -> Bool {
        guard let name else { return true }
        return clientID.map { $0 == name } ?? !otherClients.contains(name)
    }

    /// The notification that went furthest.
    fileprivate var sent: LoggedNotification? {
        func rank(_ outcome: LoggedNotification.Outcome) -> Int {
            switch outcome {
            case .delivered: 0
            case .waiting: 1
            case .coalesced, .replaced: 2
            case .lost, .dropped, .expired: 3
            case .ownChange: 4
            case .withoutContent: 5
            }
        }
        return notifications.filter { isOfClient($0.clientID) }.min { rank($0.outcome) < rank($1.outcome) }
    }
}

// MARK: - Words

extension NotificationReason {
    /// The names that sentences and links use.
    struct Subject {
        let user: String
        let client: String
        let recordType: Name
        /// The change, such as `create`.
        let event: Subscription.Event?
        let scope: DatabaseScope
        /// The database of the user.
        let place: Place
    }

    func explanation(_ subject: Subject) -> Explanation {
        let (user, client) = (subject.user, subject.client)
        let subscriptions = Frame.Link(
            text: "\(user)’s subscriptions", href: subject.place.link(Tab.subscriptions.rawValue))
        func no(
            _ text: String, _ advice: String? = nil, next: Frame.Link? = nil, details: [String] = []
        ) -> Explanation {
            Explanation(
                verdict: "not notified", tone: "deleted", text: text, advice: advice, next: next, details: details)
        }
        func notified(
            _ text: String, _ advice: String? = nil, isFetched: Bool = true, next: Frame.Link
        ) -> Explanation {
            Explanation(
                verdict: "notified", tone: isFetched ? "created" : "recreated", text: text, advice: advice, next: next)
        }
        func waiting(_ text: String, _ advice: String? = nil, next: Frame.Link) -> Explanation {
            Explanation(verdict: "waiting", tone: "recreated", text: text, advice: advice, next: next)
        }
        func time(_ moment: Timestamp) -> String { Explanation.time(moment) }
        func link(to notification: NotificationSummary) -> Frame.Link {
            Frame.Link(
                text: "notification \(notification.id)",
                href: subject.place.link(Tab.notifications.rawValue, [("id", String(notification.id))]))
        }
        switch self {
        case .notSeen:
            return no(
                "\(user) does not see the record, so no subscription of \(user) is about it.",
                "The reason is above, in the table of the clients that never got it.")
        case .noSubscription(let others):
            let elsewhere =
                others.isEmpty
                ? ""
                : " There are some to the \(others.map(\.rawValue).joined(separator: " and ")) database, which is another one."
            return no(
                "\(user) has no subscription to the \(subject.scope.rawValue) database.\(elsewhere)",
                "Subscribe there.", next: subscriptions)
        case .missed(let missed):
            let lines = missed.prefix(Self.lineLimit).map {
                "\($0.subscriptionID): \($0.miss.words(subject.recordType, subject.event))"
            }
            let more = missed.count - lines.count
            return no(
                missed.count == 1
                    ? "The only subscription does not fire."
                    : "None of the \(Digits.grouped(missed.count)) subscriptions fires.", next: subscriptions,
                details: lines + (more > 0 ? ["\(Digits.grouped(more)) more do not fire either."] : []))
        case .keptByRoles:
            return no(
                "The roles of the type keep the record from \(user).", "Grant READ to a role of \(user).",
                next: Frame.Link(text: "Security roles", href: subject.place.link(Tab.roles.rawValue)))
        case .withoutContent(let id):
            return no(
                "Subscription \(id) has no notificationInfo, so nothing is sent.",
                "Save it with one. With shouldSendContentAvailable alone, the notification is silent.",
                next: subscriptions)
        case .noToken:
            return no(
                "\(user) has no token for notifications.",
                "The client must call tokens/create and poll the web courier, as registerForNotifications() of CloudKit JS does."
            )
        case .tokenElsewhere:
            return no(
                "The tokens of \(user) are registered for other containers or environments.",
                "The client must call tokens/register in this one.")
        case .tokenExpired(let moment):
            return no(
                "The token expired at \(time(moment)). A token is good for 12 hours.",
                "The client must ask tokens/create for another one.")
        case .tokenLater(let moment):
            return no(
                "The client registered at \(time(moment)), after the change.",
                "It must fetch changes when it starts, and not wait for a notification.")
        case .tokenOfOthers:
            return no(
                "Other clients of \(user) have a token, and \(client) has none.", "The client must call tokens/create.")
        case .ownChange:
            return no("\(client) saved it itself. No client is notified of its own change.")
        case .lost(let notification):
            return no(
                "A rehearsal lost it.", "Clients must cope without it: fetch at the start and from time to time.",
                next: link(to: notification))
        case .heldBack(let notification):
            return waiting("A rehearsal holds it back for some seconds.", next: link(to: notification))
        case .coalesced(let notification, let other, let delivered):
            let advice = "One notification covers all changes of the zone: fetch them all."
            let text = "It was coalesced into notification \(other.id) of subscription \(other.subscriptionID), which"
            return delivered
                ? notified("\(text) was delivered at \(time(other.moment)).", advice, next: link(to: notification))
                : waiting("\(text) waits.", advice, next: link(to: notification))
        case .replaced(let notification, let other, let delivered):
            let text = "Notification \(other.id), with the same collapseIDKey, took its place and"
            return delivered
                ? notified("\(text) was delivered at \(time(other.moment)).", next: link(to: notification))
                : waiting("\(text) waits.", next: link(to: notification))
        case .dropped(let notification):
            return no(
                "The queue was full, so this notification was discarded.",
                "The client must poll the web courier more often, and fetch changes when it starts.",
                next: link(to: notification))
        case .expiredWaiting(let notification):
            return no(
                "It waited until the token expired.",
                "The client must poll the web courier, and ask for another token within 12 hours.",
                next: link(to: notification))
        case .waiting(let notification):
            return waiting(
                "It has waited since \(time(notification.moment)): the client does not poll the web courier.",
                "The client must GET the webcourierURL again after each answer.", next: link(to: notification))
        case .notFetched(let notification):
            return notified(
                "Notified at \(time(notification.moment)) by subscription \(notification.subscriptionID), and never "
                    + "fetched since.", "A notification is a hint. The client must fetch the changes after it.",
                isFetched: false, next: link(to: notification))
        case .fetched(let notification, let moment):
            return notified(
                "Notified at \(time(notification.moment)) by subscription \(notification.subscriptionID); fetched at "
                    + "\(time(moment)).", next: link(to: notification))
        case .notLogged:
            return no(
                "A subscription fires and the client has a token, but no notification is in the log.",
                "The log starts with the server and keeps only the latest. An older one may have been sent.")
        }
    }

    /// The maximum number of subscriptions with a line.
    private static let lineLimit = 8
}

extension SubscriptionMiss {
    /// A sentence without the subscription, such as `its filter room EQUALS general does not match: room is home.`
    func words(_ recordType: Name, _ event: Subscription.Event?) -> String {
        switch self {
        case .otherDatabase: "it is to a database that does not have the record."
        case .otherZone(let zoneID): "it is about zone \(zoneID.zoneName) only."
        case .defaultZone: "it is about custom zones, and the record is in the default zone."
        case .notOfRecords: "it is about records."
        case .otherType(let type): "it is about \(type), and this is a \(recordType)."
        case .otherEvents(let events):
            "it fires on \(Subscription.Event.allCases.filter(events.contains).map(\.rawValue).joined(separator: " and ")), and this is a \(event?.rawValue ?? "change")."
        case .brokenQuery(let reason): "its query can’t be compared any more: \(reason)."
        case .filter(let filter, let value):
            "its filter \(filter.fieldName) \(filter.comparator.rawValue) \(filter.value.words) does not match: "
                + "\(filter.fieldName) is \(value.map(\.words) ?? "missing")."
        case .tooEarly: "it was saved after the change."
        case .firedBefore: "it fires once, and an earlier change fired it."
        }
    }
}

extension FieldInput {
    fileprivate var words: String {
        switch self {
        case .cleared: "nothing"
        case .tagged(let value, _, _), .untagged(let value, _): value.words
        }
    }
}

extension FieldValue {
    private static let wordsLimit = 80

    /// The value in a sentence, cut.
    fileprivate var words: String {
        let text =
            switch self {
            case .string(let string): "“\(string)”"
            case .int64(let integer): String(integer)
            case .double(let double): double.description
            case .bytes(let bytes): "\(Digits.bytes(Int64(bytes.count)))"
            case .timestamp(let timestamp): timestamp.utcText
            case .location(let location): "\(location.latitude), \(location.longitude)"
            case .reference(let reference): reference.recordName.string
            case .asset(let asset): asset.fileChecksum
            case .list(let elements, _): elements.prefix(10).map(\.words).joined(separator: ", ")
            }
        return text.count > Self.wordsLimit ? "\(text.prefix(Self.wordsLimit))…" : text
    }
}
