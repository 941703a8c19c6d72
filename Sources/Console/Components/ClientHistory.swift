package import Records
package import RequestLog

/// All activity of one client as one user in a container, across databases.
package struct ClientHistory: Sendable {
    /// ``ClientIdentity/id``.
    package let id: String
    package let identity: ClientIdentity
    package let user: Name
    /// One part per database, the most recently used first.
    package let parts: [KnownClient]

    /// The user of a client whose requests are passed on to iCloud, which does not tell it: CloudKit's name for the user
    /// of a request.
    fileprivate static let unknownUser: Name = "_defaultOwner__"

    package static let anchorPrefix = "client-"

    /// The anchor of the client on the page Clients, and its name in addresses of what it has. FNV-1a is enough to distinguish a few hundred clients.
    package var anchor: String {
        var hash = FNV1a()
        hash.add(text: id)
        hash.add(user.utf8)
        return Self.anchorPrefix + hash.text
    }

    /// The age in milliseconds from which a client is late that left pages or was notified. Before, it may be about to
    /// come.
    private static let patience: Int64 = 60_000
    /// The age in milliseconds of a client's last request up to which it counts. Later, nobody may use it any more.
    package static let attention: Int64 = 86_400_000

    /// True if someone should look at the client: its last pull of a feed failed, such as with an expired token, it
    /// left the other pages of a pull, or it was notified and did not come. To lack changes is no reason: it fetches
    /// them when it comes.
    /// - Parameter notifications: those of the client's user, the latest first.
    package func isStuck(at now: Timestamp, _ notifications: [LoggedNotification]) -> Bool {
        guard parts.contains(where: { now.milliseconds - $0.lastSeen.milliseconds < Self.attention }) else {
            return false
        }
        let isAtAPull = parts.contains { $0.feeds.contains { Self.isStuck($0, at: now) } }
        if isAtAPull || notifications.isEmpty { return isAtAPull }
        return NotificationHabit.habits(of: self, notifications).contains { habit in
            if case .notifiedButNotFetched(_, let since) = habit { Self.isLate(since: since, at: now) } else { false }
        }
    }

    /// True if someone should look at the pulls of one feed.
    package static func isStuck(_ feed: ClientFeed, at now: Timestamp) -> Bool {
        feed.error != nil
            || feed.moreComing
                && (feed.warnings[.moreComingNotFollowed] != nil || isLate(since: feed.lastPulled, at: now))
    }

    private static func isLate(since time: Timestamp, at now: Timestamp) -> Bool {
        now.milliseconds - time.milliseconds >= patience
    }
}

extension ClientBook {
    /// A client by its id, as all pages show it, also before its first request to a database.
    package func label(ofClient id: String) -> String {
        let identity =
            clients.first { $0.identity.clientID == id }?.identity
            ?? ClientIdentity(name: nil, deviceID: id, userAgent: nil)
        return identity.label
    }

    /// The device of a token for notifications: its client or, without one, the beginning of the token's hash.
    package func label(ofClient id: String?, token: String) -> String {
        id.map { label(ofClient: $0) } ?? "token \(token.prefix(8))"
    }

    /// The clients of a container, the most recently seen first. Skylight's own requests are excluded.
    /// - Parameters:
    ///   - environment: `nil` for both.
    ///   - isPassedOn: true for those whose requests are passed on to iCloud. They see the container there, so what is
    ///     stored here tells nothing about them.
    package func histories(
        in container: ContainerID, _ environment: Environment? = nil, passedOn isPassedOn: Bool = false
    ) -> [ClientHistory] {
        struct Key: Hashable {
            let id: String
            let user: Name
        }
        var order: [Key] = []
        var parts: [Key: [KnownClient]] = [:]
        for client in clients where client.address.container == container && !client.identity.isOfSkylight {
            if let environment, client.address.environment != environment { continue }
            let unknown = isPassedOn ? ClientHistory.unknownUser : nil
            guard client.isPassedOn == isPassedOn, let user = client.userRecordName ?? unknown else { continue }
            let key = Key(id: client.id.client, user: user)
            if parts[key] == nil { order.append(key) }
            parts[key, default: []].append(client)
        }
        return order.compactMap { key in
            guard let all = parts[key], let first = all.first else { return nil }
            return ClientHistory(id: key.id, identity: first.identity, user: key.user, parts: all)
        }
    }
}

// MARK: - Notifications and pulls

/// The way in which a client follows changes, where notifications could serve it better.
package enum NotificationHabit: Sendable, Hashable {
    /// It was notified of changes in a number of zones, and has not fetched them since.
    case notifiedButNotFetched(zones: Int, since: Timestamp)
    /// It fetches and was never notified.
    case polls(pulls: Int)

    /// The number of pulls of a feed with which polling begins.
    package static let pollingCount = 5

    /// A zone that the client was notified of, and its latest pull.
    package struct Zone: Sendable, Hashable {
        /// The first delivery of a notification since the pull; the latest one if it has pulled since.
        package var notified: Timestamp
        /// `nil` if it never pulled the zone.
        package var pulled: Timestamp?

        package init(notified: Timestamp, pulled: Timestamp? = nil) {
            self.notified = notified
            self.pulled = pulled
        }
    }

    /// - Parameters:
    ///   - notified: the zones of notifications that were delivered to the client.
    ///   - pulls: the number of its pulls, feed by feed.
    package static func habits(notified: [Zone], pulls: [Int]) -> [NotificationHabit] {
        var habits: [NotificationHabit] = []
        let open = notified.filter { zone in zone.pulled.map { $0 < zone.notified } ?? true }
        if let since = open.map(\.notified).min() {
            habits.append(.notifiedButNotFetched(zones: open.count, since: since))
        }
        let polls = pulls.filter { $0 >= pollingCount }.reduce(0, +)
        if notified.isEmpty, polls > 0 { habits.append(.polls(pulls: polls)) }
        return habits
    }
}

extension NotificationHabit {
    /// - Parameter notifications: those of the client's user, the latest first.
    package static func habits(of history: ClientHistory, _ notifications: [LoggedNotification]) -> [NotificationHabit]
    {
        struct Place: Hashable {
            let address: DatabaseAddress
            let zoneID: ZoneID
        }
        var notified: [Place: Zone] = [:]
        // Records without a feed are fetched by queries, which tell no zone.
        for notification in notifications {
            guard case .delivered(let moment) = notification.outcome,
                notification.clientID.map({ $0 == history.identity.clientID }) ?? true,
                !notification.zoneID.isDefault, notification.address.scope != .public
            else { continue }
            let place = Place(address: notification.address, zoneID: notification.zoneID)
            let pulled = history.parts.first { $0.address == notification.address }?.feed(of: notification.zoneID)?
                .lastPulled
            if notified[place] != nil, let pulled, pulled >= moment { continue }
            // Deliveries need not come in the order of the notifications.
            notified[place] = Zone(notified: min(moment, notified[place]?.notified ?? moment), pulled: pulled)
        }
        return habits(notified: Array(notified.values), pulls: history.parts.flatMap { $0.feeds.map(\.pullCount) })
    }
}

// MARK: - Latest requests

/// The latest requests of clients, on the start page, which waits for the first one, and on the page of one container.
package struct LatestRequests: ViewModel {
    struct Row: ViewModel {
        let iso: String
        let time: String
        let operation: String
        /// The page of the request; `nil` if its container does not exist.
        let href: String?
        let status: String
        let tone: String
        let errors: String?
        let client: String
        let database: String
    }

    /// True until the first request.
    let isWaiting: Bool
    /// True if the rows are all requests so far.
    let areFirst: Bool
    let rows: [Row]
    /// The page of all requests; `nil` if there is no container yet.
    let all: String?

    private static let limit = 5
    /// The number of rows on the page of one container, which has more to show.
    private static let shortLimit = 3

    /// - Returns: `nil` if the log keeps no requests.
    init?(_ log: RequestLog, in containers: [ContainerID]) {
        guard log.isOn else { return nil }
        let found = log.latest(Self.limit + 1) { !$0.client.isOfSkylight }
        isWaiting = found.isEmpty
        areFirst = !found.isEmpty && found.count <= Self.limit
        let now = Timestamp.now()
        rows = found.prefix(Self.limit).map { Row($0, at: now, in: containers) }
        all = containers.first.map {
            Place(
                address: DatabaseAddress(container: $0, environment: .development, scope: .private), user: nil,
                zone: .unspecified)
        }?
        .link(Tab.requests.rawValue)
    }

    /// The latest requests to the container and the environment of a place.
    /// - Returns: `nil` if the log keeps no requests.
    package init?(_ log: RequestLog, at place: Place) {
        guard log.isOn else { return nil }
        let (container, environment) = (place.address.container, place.address.environment)
        let found = log.latest(Self.shortLimit) {
            !$0.client.isOfSkylight && $0.container == container && ($0.environment ?? environment) == environment
        }
        isWaiting = found.isEmpty
        areFirst = false
        let now = Timestamp.now()
        rows = found.map { Row($0, at: now, in: [container], isNamed: false) }
        all = place.link(Tab.requests.rawValue)
    }
}

extension LatestRequests.Row {
    /// - Parameter isNamed: true to name the container.
    fileprivate init(_ request: ServedRequest, at now: Timestamp, in containers: [ContainerID], isNamed: Bool = true) {
        let text = request.started.utcText
        iso = request.started.isoText
        time = text.prefix(10) == now.utcText.prefix(10) ? String(text.dropFirst(11)) : text
        operation = request.operation
        let address =
            request.address
            ?? request.container.map { DatabaseAddress(container: $0, environment: .development, scope: .private) }
        let known = address.flatMap { address in containers.contains(address.container) ? address : nil }
        href = known.map {
            Place(address: $0, user: nil, zone: .unspecified).link(Tab.requests.rawValue, [("id", request.id)])
        }
        status = request.statusWords
        tone = request.tone
        errors = request.errorWords
        client = request.client.label
        database =
            address.map { "\(isNamed ? "\($0.container), " : "")\($0.environment.rawValue), \($0.scope.rawValue)" }
            ?? ""
    }
}
