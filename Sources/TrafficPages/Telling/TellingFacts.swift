internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// The facts that decide if a client is told of the latest change of a record.
struct TellingFacts: Sendable {
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
    var subscriptions: [StandingSubscription] = []
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
struct Telling: Sendable, Hashable {
    let id: Int64
    let subscriptionID: Name
    /// The time of delivery, or since when it waits.
    let moment: Timestamp
}

/// The reason why a client was not told of a change, or the state of its notification.
enum TellingReason: Sendable, Hashable {
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
    case lost(Telling)
    /// A rehearsal holds it back.
    case heldBack(Telling)
    case coalesced(Telling, into: Telling, delivered: Bool)
    case replaced(Telling, by: Telling, delivered: Bool)
    case dropped(Telling)
    case expiredWaiting(Telling)
    case waiting(Telling)
    case notFetched(Telling)
    case fetched(Telling, Timestamp)
    /// The subscription fires and the client has a token, but the log does not have the notification.
    case notLogged

    init(_ facts: TellingFacts) {
        guard let change = facts.change else {
            self = .notSeen
            return
        }
        // A notification counts more than the subscriptions: somebody may have changed or deleted them since.
        if let sent = facts.sent {
            self = TellingReason(sent, facts)
            return
        }
        let looked = facts.subscriptions.map { ($0, SubscriptionMiss(of: $0, by: change, in: facts.schema)) }
        let fired = looked.filter { $0.1 == nil }.map(\.0)
        if looked.isEmpty {
            self = .noSubscription(others: facts.otherScopes)
        } else if fired.isEmpty {
            self = .missed(looked.compactMap { standing, miss in miss.map { Missed(subscriptionID: standing.subscription.subscriptionID, miss: $0) } })
        } else if facts.isKeptByRoles, fired.allSatisfy(\.isHeldToRoles) {
            self = .keptByRoles
        } else if let mute = fired.first, fired.allSatisfy({ $0.subscription.notificationInfo == nil }) {
            self = .withoutContent(mute.subscription.subscriptionID)
        } else {
            self = Self.withoutNotification(of: change, facts)
        }
    }

    private static func withoutNotification(of change: CommittedChange, _ facts: TellingFacts) -> TellingReason {
        if facts.devices.isEmpty { return .noToken }
        let here = facts.devices.filter(\.isHere)
        if here.isEmpty { return .tokenElsewhere }
        let own = here.filter { facts.isOfClient($0.clientID) }
        if own.isEmpty { return .tokenOfOthers }
        let moment = change.record?.signature.timestamp
        if let client = facts.clientID, let signature = change.record?.signature, signature.userRecordName == facts.user, signature.deviceID == client {
            return .ownChange
        }
        let living = own.filter { $0.expires >= facts.now }
        if living.isEmpty, let latest = own.map(\.expires).max() { return .tokenExpired(latest) }
        if let moment, let earliest = living.map(\.made).min(), earliest > moment { return .tokenLater(earliest) }
        return .notLogged
    }

    private init(_ sent: LoggedNotification, _ facts: TellingFacts) {
        func telling(_ notification: LoggedNotification, _ moment: Timestamp? = nil) -> Telling {
            Telling(id: notification.id, subscriptionID: notification.subscriptionID, moment: moment ?? notification.moment)
        }
        /// The notification that tells of the change in place of this one.
        func carrier(_ id: Int64) -> (Telling, isDelivered: Bool) {
            guard let carrier = facts.carriers[id] else { return (Telling(id: id, subscriptionID: sent.subscriptionID, moment: sent.moment), false) }
            if case .delivered(let moment) = carrier.fate { return (telling(carrier, moment), true) }
            return (telling(carrier), false)
        }
        func arrived(_ told: Telling) -> TellingReason {
            facts.lastFetch.flatMap { $0 >= told.moment ? .fetched(told, $0) : nil } ?? .notFetched(told)
        }
        switch sent.fate {
        case .ownChange: self = .ownChange
        case .withoutContent: self = .withoutContent(sent.subscriptionID)
        case .lost: self = .lost(telling(sent))
        case .dropped: self = .dropped(telling(sent))
        case .expired: self = .expiredWaiting(telling(sent))
        case .delivered(let moment): self = arrived(telling(sent, moment))
        case .coalesced(let id):
            let (other, isDelivered) = carrier(id)
            self = .coalesced(telling(sent), into: other, delivered: isDelivered)
        case .replaced(let id):
            let (other, isDelivered) = carrier(id)
            self = .replaced(telling(sent), by: other, delivered: isDelivered)
        case .waiting:
            let ready = sent.delay.map { sent.moment.milliseconds + Int64($0 / .milliseconds(1)) } ?? 0
            self = ready > facts.now.milliseconds ? .heldBack(telling(sent)) : .waiting(telling(sent))
        }
    }

    /// True if the client was told.
    var isTold: Bool {
        switch self {
        case .fetched, .notFetched, .coalesced(_, _, delivered: true), .replaced(_, _, delivered: true): true
        default: false
        }
    }
}

extension TellingFacts {
    /// True if a token with this name may be the client's. One without a name may be anybody's, and a client without one may have any token that is
    /// not another client's.
    fileprivate func isOfClient(_ name: String?) -> Bool {
        guard let name else { return true }
        return clientID.map { $0 == name } ?? !otherClients.contains(name)
    }

    /// The notification that went furthest.
    fileprivate var sent: LoggedNotification? {
        func rank(_ fate: LoggedNotification.Fate) -> Int {
            switch fate {
            case .delivered: 0
            case .waiting: 1
            case .coalesced, .replaced: 2
            case .lost, .dropped, .expired: 3
            case .ownChange: 4
            case .withoutContent: 5
            }
        }
        return notifications.filter { isOfClient($0.clientID) }.min { rank($0.fate) < rank($1.fate) }
    }
}
