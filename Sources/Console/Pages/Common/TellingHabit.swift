internal import JSON
package import Records
package import Traffic

/// The way in which a client follows changes, where notifications could serve it better.
package enum TellingHabit: Sendable, Hashable {
    /// It was told of changes in a number of zones, and has not fetched them since.
    case toldAndNotFetched(zones: Int, since: Timestamp)
    /// It fetches and was never told.
    case polls(pulls: Int)

    /// The number of pulls of a feed with which polling begins.
    package static let pollingCount = 5

    /// A zone that the client was told of, and its latest pull.
    package struct Zone: Sendable, Hashable {
        /// The first delivery of a notification since the pull; the latest one if it has pulled since.
        package var told: Timestamp
        /// `nil` if it never pulled the zone.
        package var pulled: Timestamp?

        package init(told: Timestamp, pulled: Timestamp? = nil) {
            self.told = told
            self.pulled = pulled
        }
    }

    /// - Parameters:
    ///   - told: the zones of notifications that were delivered to the client.
    ///   - pulls: the number of its pulls, feed by feed.
    package static func habits(told: [Zone], pulls: [Int]) -> [TellingHabit] {
        var habits: [TellingHabit] = []
        let open = told.filter { zone in zone.pulled.map { $0 < zone.told } ?? true }
        if let since = open.map(\.told).min() { habits.append(.toldAndNotFetched(zones: open.count, since: since)) }
        let polls = pulls.filter { $0 >= pollingCount }.reduce(0, +)
        if told.isEmpty, polls > 0 { habits.append(.polls(pulls: polls)) }
        return habits
    }
}

extension TellingHabit {
    /// - Parameter notifications: those of the client's user, the latest first.
    package static func habits(of history: ClientHistory, _ notifications: [LoggedNotification]) -> [TellingHabit] {
        struct Place: Hashable {
            let address: DatabaseAddress
            let zoneID: ZoneID
        }
        var told: [Place: Zone] = [:]
        // Records without a feed are fetched by queries, which tell no zone.
        for notification in notifications {
            guard case .delivered(let moment) = notification.fate, notification.clientID.map({ $0 == history.identity.clientID }) ?? true,
                !notification.zoneID.isDefault, notification.address.scope != .public
            else { continue }
            let place = Place(address: notification.address, zoneID: notification.zoneID)
            let pulled = history.parts.first { $0.address == notification.address }?.feed(of: notification.zoneID)?.lastPulled
            if told[place] != nil, let pulled, pulled >= moment { continue }
            // Deliveries need not come in the order of the notifications.
            told[place] = Zone(told: min(moment, told[place]?.told ?? moment), pulled: pulled)
        }
        return habits(told: Array(told.values), pulls: history.parts.flatMap { $0.feeds.map(\.pullCount) })
    }
}
