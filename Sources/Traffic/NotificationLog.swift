internal import Records
internal import Synchronization

/// The latest notifications of all devices, in memory. The oldest are dropped above ``limit`` and ``bytesLimit``.
public final class NotificationLog: Sendable {
    /// The maximum number of notifications.
    public static let limit = 2000
    /// The memory limit in bytes.
    public static let bytesLimit = 4 << 20

    private struct State {
        var kept: [LoggedNotification] = []
        /// The index of the oldest one that counts. The ones before it are removed many at a time.
        var start = 0
        var last: Int64 = 0
        var size = 0

        func index(of id: Int64) -> Int? {
            // The number may come from an address.
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
            while kept.count - start > NotificationLog.limit || size > NotificationLog.bytesLimit, start < kept.count - 1 {
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

    /// Notes what became of a notification. Ignores those that are no longer kept.
    public func note(_ fate: LoggedNotification.Fate, of id: Int64) {
        state.withLock { state in if let index = state.index(of: id) { state.kept[index].fate = fate } }
    }

    public func notification(_ id: Int64) -> LoggedNotification? {
        state.withLock { state in state.index(of: id).map { state.kept[$0] } }
    }

    /// The latest notifications, the newest first.
    /// - Parameter id: returns only those before this one; `nil` for all.
    public func latest(_ count: Int = .max, before id: Int64? = nil, where isWanted: (LoggedNotification) -> Bool = { _ in true }) -> [LoggedNotification] {
        // The copy shares its storage, so the lock is free while the caller looks.
        let (kept, start) = state.withLock { ($0.kept, $0.start) }
        var found: [LoggedNotification] = []
        for notification in kept[start...].reversed() where id.map({ notification.id < $0 }) ?? true && isWanted(notification) {
            if found.count >= count { break }
            found.append(notification)
        }
        return found
    }
}

/// Sends notifications of the log again.
public protocol NotificationSender: Sendable {
    /// Puts a copy of a notification into the queue of its device.
    /// - Returns: the number of the copy.
    /// - Throws: `RecordError` NOT_FOUND if the notification or the device's token is gone, BAD_REQUEST if it has no content.
    func sendAgain(_ id: Int64) throws -> Int64
}
