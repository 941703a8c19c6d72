public import RecordStore
public import Records
internal import Synchronization

/// The latest notifications of all devices, in memory. The oldest are dropped above ``limit`` and ``bytesLimit``.
public final class NotificationLog: Sendable {
    /// The maximum number of notifications.
    public static let limit = 2000
    /// The memory limit in bytes.
    public static let bytesLimit = 4 << 20

    private struct State {
        var kept: [LoggedNotification] = []
        /// The index of the oldest notification that counts. Earlier ones are removed from the array many at a time.
        var start = 0
        var last: Int64 = 0
        var size = 0

        func index(of id: Int64) -> Int? {
            // The number may come from a URL.
            guard id > 0, id <= last else { return nil }
            let index = kept.count - 1 - Int(last - id)
            return index >= start ? index : nil
        }

        mutating func add(_ notification: LoggedNotification) -> Int64 {
            var notification = notification
            last += 1
            notification.id = last
            kept.append(notification)
            size += notification.size
            while kept.count - start > NotificationLog.limit || size > NotificationLog.bytesLimit,
                start < kept.count - 1
            {
                size -= kept[start].size
                kept[start].payload = []
                start += 1
            }
            if start > NotificationLog.limit {
                kept.removeFirst(start)
                start = 0
            }
            return last
        }
    }

    /// False for a log that keeps nothing.
    public let isOn: Bool
    private let state = Mutex(State())

    public init(isOn: Bool = true) { self.isOn = isOn }

    /// Adds a notification.
    /// - Returns: its number; `nil` if the log keeps nothing.
    public func add(_ notification: LoggedNotification) -> Int64? {
        isOn ? state.withLock { $0.add(notification) } : nil
    }

    /// Sets the outcome of a notification. Notifications that are no longer kept are ignored.
    public func note(_ outcome: LoggedNotification.Outcome, of id: Int64) {
        state.withLock { state in if let index = state.index(of: id) { state.kept[index].outcome = outcome } }
    }

    public func notification(_ id: Int64) -> LoggedNotification? {
        state.withLock { state in state.index(of: id).map { state.kept[$0] } }
    }

    /// The latest notifications, the newest first.
    /// - Parameter id: returns only those before this one; `nil` for all.
    public func latest(
        _ count: Int = .max, before id: Int64? = nil, where isWanted: (LoggedNotification) -> Bool = { _ in true }
    ) -> [LoggedNotification] {
        // The copy shares its storage, so the lock is released while the caller reads it.
        let (kept, start) = state.withLock { ($0.kept, $0.start) }
        var found: [LoggedNotification] = []
        for notification in kept[start...].reversed()
        where id.map({ notification.id < $0 }) ?? true && isWanted(notification) {
            if found.count >= count { break }
            found.append(notification)
        }
        return found
    }
}

/// Sends notifications on demand: those of the log again, and those of past changes.
public protocol NotificationSender: Sendable {
    /// Puts a copy of a notification into the queue of its device.
    /// - Returns: the number of the copy.
    /// - Throws: `RecordError` NOT_FOUND if the notification or the device's token no longer exists, BAD_REQUEST if it
    ///   has no content.
    func sendAgain(_ id: Int64) throws -> Int64

    /// Puts the notification of a change, as if the subscription had fired, into the queues of the user's devices that
    /// were here since the server started.
    func send(_ standing: OwnedSubscription, about change: CommittedChange, in address: DatabaseAddress)
        -> SentNotifications
}

/// The outcome of a notification that was sent on demand.
public struct SentNotifications: Sendable, Hashable {
    /// The number of devices that were here.
    public var devices: Int
    /// The numbers in the log of those that were put into queues. A device may get none, such as of its own change.
    public var queued: [Int64]

    public init(devices: Int, queued: [Int64]) {
        (self.devices, self.queued) = (devices, queued)
    }
}

// MARK: - Notifications

/// A notification for one device: its cause, its content, and its outcome.
public struct LoggedNotification: Sendable, Hashable, Identifiable {
    /// The state of the notification, or the reason why it was not delivered.
    public enum Outcome: Sendable, Hashable {
        /// It waits in the device's queue.
        case waiting
        case delivered(Timestamp)
        /// A waiting notification stands for this change too.
        case coalesced(into: Int64)
        /// A later notification with the same collapse ID replaced it.
        case replaced(by: Int64)
        /// It was dropped because too many notifications waited.
        case dropped
        /// The device's token expired while it waited.
        case expired
        /// An injected fault dropped it.
        case lost
        /// The client made the change itself.
        case ownChange
        /// The subscription has no `notificationInfo`.
        case withoutContent
    }

    /// The sequence number, from 1. The log sets it.
    public internal(set) var id: Int64 = 0
    public var moment: Timestamp
    /// The database of the subscription.
    public var address: DatabaseAddress
    public var user: Name
    public var subscriptionID: Name
    /// The position of the change.
    public var position: Int64
    public var zoneID: ZoneID
    /// The name of the changed record, and its change; both are `nil` if the zone itself was created or deleted.
    public var recordName: Name?
    public var event: Subscription.Event?
    /// The hash of the device's token.
    public var tokenID: String
    /// The client to which the token belongs; `nil` if unknown.
    public var clientID: String?
    /// The notification as the device receives it; empty if none was created.
    public var payload: [UInt8] = []
    /// The delay of an injected fault; `nil` for none.
    public var delay: Duration?
    /// The notification of which this one is a copy, if somebody sent it again.
    public var original: Int64?
    public internal(set) var outcome: Outcome

    public init(
        at moment: Timestamp, in address: DatabaseAddress, of user: Name, subscriptionID: Name, position: Int64,
        zoneID: ZoneID, recordName: Name?,
        event: Subscription.Event?, tokenID: String, clientID: String?, outcome: Outcome
    ) {
        (self.moment, self.address, self.user, self.subscriptionID) = (moment, address, user, subscriptionID)
        (self.position, self.zoneID, self.recordName, self.event) = (position, zoneID, recordName, event)
        (self.tokenID, self.clientID, self.outcome) = (tokenID, clientID, outcome)
    }

    /// The approximate memory use in bytes.
    var size: Int { 400 + payload.count }
}
