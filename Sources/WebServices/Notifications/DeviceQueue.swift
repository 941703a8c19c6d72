internal import NIOCore
internal import RecordStore
internal import Records
internal import RequestLog
internal import Synchronization

/// The queue of notifications for one device. Each one is delivered in order and once. The queue is limited.
final class DeviceQueue: Sendable {
    /// The maximum number of waiting notifications. If there are more, the oldest one is dropped.
    static let limit = 1000

    /// The bytes of the waiting notifications in all queues of a server.
    final class Room: Sendable {
        static let limit = 64 << 20
        fileprivate let used = Atomic<Int>(0)

        var isFull: Bool { used.load(ordering: .relaxed) > Self.limit }
    }

    /// A notification that was handed out. ``confirm(_:)`` removes it from the queue.
    struct Delivery: Sendable {
        let number: Int
        let bytes: [UInt8]
        /// The environment of the change that caused the notification. If one notification stands for several changes,
        /// it is that of the first.
        let place: Notifier.Place
        let position: Int64
        /// The notification's number in the log; `nil` if it is not logged.
        let logID: Int64?
    }

    struct Notification: Sendable {
        let bytes: [UInt8]
        var logID: Int64?
        var key: CoalescingKey?
        /// True to insert it before the waiting notifications.
        var isFirst = false
        /// The time to wait before the notification can be handed out.
        var delay: Duration?
    }

    /// Identifies notifications of which only one waits at a time.
    enum CoalescingKey: Sendable, Hashable {
        /// Several changes in a zone cause one notification, because the device fetches all of them.
        case zone(Notifier.Place, DatabaseScope, subscriptionID: Name, ZoneID)
        /// A later notification replaces an earlier one.
        case collapseID(Notifier.Place, String)
        /// One notification stands for all.
        case anything
    }

    private struct Waiting {
        var delivery: Delivery
        let key: CoalescingKey?
        /// The time from which the notification can be handed out; `nil` if it can be handed out now.
        var ready: ContinuousClock.Instant?
        var isHanded = false

        var isReady: Bool { !isHanded && ready.map { $0 <= .now } ?? true }
    }

    private struct State {
        /// A ring, because a full queue loses its first notification with each new one.
        var waiting = CircularBuffer<Waiting>()
        var lastNumber = 0
        /// The waiting calls, the latest last. The latest one gets the next notification, because the connection of an
        /// earlier one may be dead.
        var takers: [Int] = []
        var badge = 0
        /// The time of the latest call.
        var asked = ContinuousClock.now
        var isClosed = false
        /// The positions up to which changes were checked for this device.
        var read: [Notifier.Place: Int64] = [:]

        /// The position up to which the device has received all notifications; `nil` for an environment that it does
        /// not follow.
        func deliveredPosition(at place: Notifier.Place) -> Int64? {
            read[place].map { read in
                min(
                    read,
                    waiting.lazy.filter { $0.delivery.place == place }.map { $0.delivery.position - 1 }.min() ?? read)
            }
        }

        /// - Parameter outcomes: receives the outcomes of notifications in the log.
        /// - Returns: the growth of the queue in bytes.
        mutating func add(
            _ notification: Notification, of position: Int64, at place: Notifier.Place, isFull: Bool,
            _ outcomes: inout Outcomes
        ) -> Int {
            if let key = notification.key, let index = waiting.firstIndex(where: { $0.key == key && !$0.isHanded }) {
                let delivery = waiting[index].delivery
                guard case .collapseID = key else {
                    if let other = delivery.logID { outcomes.note(.coalesced(into: other), of: notification.logID) }
                    return 0
                }
                if let other = notification.logID { outcomes.note(.replaced(by: other), of: delivery.logID) }
                waiting[index].delivery = Delivery(
                    number: delivery.number, bytes: notification.bytes, place: place, position: delivery.position,
                    logID: notification.logID)
                return notification.bytes.count - delivery.bytes.count
            }
            lastNumber += 1
            let delivery = Delivery(
                number: lastNumber, bytes: notification.bytes, place: place, position: position,
                logID: notification.logID)
            let new = Waiting(delivery: delivery, key: notification.key, ready: notification.delay.map { .now + $0 })
            if notification.isFirst { waiting.prepend(new) } else { waiting.append(new) }
            var growth = notification.bytes.count
            while waiting.count > 1, waiting.count > DeviceQueue.limit || isFull && growth > 0,
                let gone = removeOldest()
            {
                growth -= gone.bytes.count
                outcomes.note(.dropped, of: gone.logID)
            }
            return growth
        }

        /// Removes the first notification that no call holds. Those that are held stand before it, and are few.
        private mutating func removeOldest() -> Delivery? {
            guard var index = waiting.firstIndex(where: { !$0.isHanded }) else { return nil }
            while index > waiting.startIndex {
                waiting.swapAt(index, waiting.index(before: index))
                index = waiting.index(before: index)
            }
            return waiting.removeFirst().delivery
        }
    }

    /// Outcomes for the log, which are written after the lock is released.
    private struct Outcomes {
        private(set) var notes: [(id: Int64, outcome: LoggedNotification.Outcome)] = []

        mutating func note(_ outcome: LoggedNotification.Outcome, of id: Int64?) {
            if let id { notes.append((id, outcome)) }
        }
    }

    let user: Name
    /// The ID of the client, which gets no notifications of its own changes; `nil` if it is unknown.
    let clientID: String?
    /// True for a stream. If its queue is full, the stream ends instead of losing a notification, because its client
    /// can continue after the last one.
    private let endsWhenFull: Bool
    private let room: Room
    /// The log of notifications; `nil` to log nothing.
    private let log: NotificationLog?
    private let state = Mutex(State())
    private let arrivals = Signals()

    init(user: Name, clientID: String?, endsWhenFull: Bool = false, room: Room, log: NotificationLog? = nil) {
        self.endsWhenFull = endsWhenFull
        self.user = user
        self.clientID = clientID
        self.room = room
        self.log = log
    }

    deinit {
        let bytes = state.withLock { $0.waiting.reduce(0) { $0 + $1.delivery.bytes.count } }
        room.used.subtract(bytes, ordering: .relaxed)
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The number of waiting calls.
    var takers: Int { state.withLock { $0.takers.count } }

    /// The number of waiting notifications.
    var count: Int { state.withLock { $0.waiting.count } }

    /// The time of the latest call, or of the creation.
    var asked: ContinuousClock.Instant { state.withLock { $0.asked } }

    // MARK: Environments

    /// Follows the changes of an environment after a position, unless it is already followed.
    func follow(_ place: Notifier.Place, after position: Int64) {
        state.withLock { state in if state.read[place] == nil { state.read[place] = position } }
    }

    func unfollow(_ place: Notifier.Place) { state.withLock { $0.read[place] = nil } }

    var places: [Notifier.Place] { state.withLock { Array($0.read.keys) } }

    /// The position up to which changes were checked for this device.
    func read(at place: Notifier.Place) -> Int64? { state.withLock { $0.read[place] } }

    /// Notes that all changes up to a position were checked.
    /// - Parameter isPresent: true if there are no later changes. The position of a store that was restored from a copy
    ///   may be lower than before.
    func noteRead(_ position: Int64, isPresent: Bool, at place: Notifier.Place) {
        state.withLock { state in
            // An ended stream did not receive notifications of later changes.
            guard !state.isClosed, let read = state.read[place] else { return }
            if position > read || isPresent { state.read[place] = position }
        }
    }

    /// The position up to which the device has received all notifications; `nil` for an environment that it does not
    /// follow.
    func deliveredPosition(at place: Notifier.Place) -> Int64? { state.withLock { $0.deliveredPosition(at: place) } }

    // MARK: Notifications

    /// The number on the app's icon after the next notification that changes it.
    func nextBadge() -> Int {
        state.withLock { state in
            state.badge += 1
            return state.badge
        }
    }

    /// Adds the notifications of all changes at a position. A notification is not added if it is coalesced with a
    /// waiting one.
    func add(_ notifications: [Notification], of position: Int64, at place: Notifier.Place) {
        if notifications.isEmpty { return }
        if endsWhenFull {
            if isClosed { return }
            if count + notifications.count > Self.limit || room.isFull && count > 0 { return close() }
        }
        let (growth, outcomes) = state.withLock { state in
            if let read = state.read[place], position > read { state.read[place] = position }
            var outcomes = Outcomes()
            let growth = notifications.reduce(0) {
                $0 + state.add($1, of: position, at: place, isFull: room.isFull, &outcomes)
            }
            return (growth, outcomes)
        }
        for note in outcomes.notes { log?.note(note.outcome, of: note.id) }
        room.used.add(growth, ordering: .relaxed)
        arrivals.send()
        for delay in Set(notifications.compactMap(\.delay)) { wake(after: delay) }
    }

    /// Wakes the waiting calls when notifications with this delay can be handed out. Each delay has its own task,
    /// because a later delay may end earlier.
    private func wake(after delay: Duration) {
        Task { [weak self] in
            try? await Task.sleep(for: delay, clock: .continuous)
            self?.arrivals.send()
        }
    }

    /// Hands out the first notification that no other call holds, and waits for one if necessary.
    /// - Returns: `nil` if the time is over, the queue is closed or the task is cancelled.
    func next(within patience: Duration) async -> Delivery? {
        let taker = state.withLock { state in
            state.asked = .now
            let taker = (state.takers.last ?? 0) + 1
            state.takers.append(taker)
            return taker
        }
        defer {
            state.withLock { state in state.takers.removeAll { $0 == taker } }
            // An earlier waiting call is the latest one now.
            arrivals.send()
        }
        // Listens before the first check, so that no notification is missed in between.
        let news = arrivals.listen()
        if let delivery = takeFirst(for: taker) { return delivery }
        return await withTaskGroup(of: Delivery?.self) { group in
            group.addTask { [self] in
                for await _ in news {
                    if let delivery = takeFirst(for: taker) { return delivery }
                }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: patience)
                return nil
            }
            // A notification that arrives at the last moment is not lost.
            var delivery: Delivery?
            for await result in group {
                delivery = delivery ?? result
                group.cancelAll()
            }
            return delivery
        }
    }

    private func takeFirst(for taker: Int) -> Delivery? {
        state.withLock { state in
            guard state.takers.last == taker, let index = state.waiting.firstIndex(where: \.isReady) else { return nil }
            state.waiting[index].isHanded = true
            return state.waiting[index].delivery
        }
    }

    /// Removes a notification that the device received.
    func confirm(_ delivery: Delivery) {
        let bytes = state.withLock { state -> Int in
            guard let index = state.waiting.firstIndex(where: { $0.delivery.number == delivery.number }) else {
                return 0
            }
            return state.waiting.remove(at: index).delivery.bytes.count
        }
        room.used.subtract(bytes, ordering: .relaxed)
        if let id = delivery.logID { log?.note(.delivered(.now()), of: id) }
    }

    /// Drops all waiting notifications, for a device that does not fetch them.
    func dropAll() {
        let gone = state.withLock { state in
            defer { state.waiting.removeAll { !$0.isHanded } }
            return state.waiting.filter { !$0.isHanded }.map(\.delivery)
        }
        room.used.subtract(gone.reduce(0) { $0 + $1.bytes.count }, ordering: .relaxed)
        for delivery in gone { if let id = delivery.logID { log?.note(.dropped, of: id) } }
    }

    /// Returns a notification that was not delivered to the queue. It is the next one again.
    func takeBack(_ delivery: Delivery) {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.delivery.number == delivery.number }) else { return }
            state.waiting[index].isHanded = false
        }
        arrivals.send()
    }

    /// Ends all waiting calls. Notifications in the queue can still be handed out.
    func close() {
        let left = state.withLock { state in
            state.isClosed = true
            return state.waiting.compactMap(\.delivery.logID)
        }
        for id in left { log?.note(.expired, of: id) }
        arrivals.finish()
    }
}
