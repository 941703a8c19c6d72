internal import Console
internal import JSON
internal import Records
internal import Traffic

/// The way in which a client follows changes, where notifications could serve it better.
enum TellingHabit: Sendable, Hashable {
    /// It was told of changes in a number of zones, and has not fetched them since.
    case toldAndNotFetched(zones: Int, since: Timestamp)
    /// It fetches and was never told.
    case polls(pulls: Int)

    /// The number of pulls of a feed with which polling begins.
    static let pollingCount = 5

    /// A zone that the client was told of, and its latest pull.
    struct Zone: Sendable, Hashable {
        /// The latest delivery of a notification.
        var told: Timestamp
        /// `nil` if it never pulled the zone.
        var pulled: Timestamp?
    }

    /// - Parameters:
    ///   - told: the zones of notifications that were delivered to the client.
    ///   - pulls: the number of its pulls, feed by feed.
    static func habits(told: [Zone], pulls: [Int]) -> [TellingHabit] {
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
    static func habits(of history: ClientHistory, _ notifications: [LoggedNotification]) -> [TellingHabit] {
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
            if let known = told[place], known.told >= moment { continue }
            let part = history.parts.first { $0.address == notification.address }
            told[place] = Zone(told: moment, pulled: part?.feed(of: notification.zoneID)?.lastPulled)
        }
        return habits(told: Array(told.values), pulls: history.parts.flatMap { $0.feeds.map(\.pullCount) })
    }
}
