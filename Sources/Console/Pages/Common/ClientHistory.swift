package import JSON
package import Records
internal import Text
package import Traffic

/// All activity of one client as one user in a container, across databases.
package struct ClientHistory: Sendable {
    /// ``ClientIdentity/id``.
    package let id: String
    package let identity: ClientIdentity
    package let user: Name
    /// One part per database, the most recently used first.
    package let parts: [SeenClient]

    /// The anchor of the client on the page Clients. FNV-1a is enough to distinguish a few hundred clients.
    package var anchor: String {
        var hash = FNV1a()
        hash.add(text: id)
        hash.add(user.utf8)
        return "client-" + hash.text
    }

    /// The age in milliseconds from which a client is late that left pages or was notified. Before, it may be about to come.
    private static let patience: Int64 = 60_000
    /// The age in milliseconds of a client's last request up to which it counts. Later, nobody may use it any more.
    package static let attention: Int64 = 86_400_000

    /// True if someone should look at the client: its last pull of a feed failed, such as with an expired token, it left the other pages of a pull,
    /// or it was notified and did not come. To lack changes is no reason: it fetches them when it comes.
    /// - Parameter notifications: those of the client's user, the latest first.
    package func isStuck(at now: Timestamp, _ notifications: [LoggedNotification]) -> Bool {
        func isLate(since time: Timestamp) -> Bool { now.milliseconds - time.milliseconds >= Self.patience }
        guard parts.contains(where: { now.milliseconds - $0.lastSeen.milliseconds < Self.attention }) else { return false }
        func isStuck(_ feed: ClientFeed) -> Bool {
            feed.error != nil || feed.moreComing && (feed.warnings[.moreComingNotFollowed] != nil || isLate(since: feed.lastPulled))
        }
        let isAtAPull = parts.contains { $0.feeds.contains(where: isStuck) }
        if isAtAPull || notifications.isEmpty { return isAtAPull }
        return TellingHabit.habits(of: self, notifications).contains { habit in
            if case .toldAndNotFetched(_, let since) = habit { isLate(since: since) } else { false }
        }
    }
}

extension ClientBook {
    /// A client by its id, as all pages show it, also before its first request to a database.
    package func label(ofClient id: String) -> String {
        let identity = clients.first { $0.identity.clientID == id }?.identity ?? ClientIdentity(name: nil, deviceID: id, userAgent: nil)
        return identity.label
    }

    /// The device of a token for notifications: its client or, without one, the beginning of the token's hash.
    package func label(ofClient id: String?, token: String) -> String { id.map { label(ofClient: $0) } ?? "token \(token.prefix(8))" }

    /// The clients of a container, the most recently seen first. Skylight's own requests are excluded.
    /// - Parameter environment: `nil` for both.
    package func histories(in container: ContainerID, _ environment: Environment? = nil) -> [ClientHistory] {
        struct Key: Hashable {
            let id: String
            let user: Name
        }
        var order: [Key] = []
        var parts: [Key: [SeenClient]] = [:]
        for client in clients where client.address.container == container && !client.identity.isOfSkylight {
            if let environment, client.address.environment != environment { continue }
            guard let user = client.userRecordName else { continue }
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
