internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

/// Keeps the notifications for one device until it takes them: in order, each one once, and a limited number.
final class Courier: Sendable {
    /// Maximum number of notifications that wait. Above it, the oldest one is dropped.
    static let limit = 1000

    /// A notification that was handed out. It leaves the courier with ``confirm(_:)``.
    struct Parcel: Sendable {
        let number: Int
        let bytes: [UInt8]
    }

    /// Of several notifications with the same key, only one waits.
    enum CoalescingKey: Sendable, Hashable {
        /// Several changes in a zone are one notification: the device fetches all of them.
        case zone(DatabaseScope, subscriptionID: Name, ZoneID)
        /// The later one replaces the earlier one.
        case collapseID(String)
    }

    private struct Waiting {
        var parcel: Parcel
        let key: CoalescingKey?
        var isHanded = false
    }

    private struct State {
        var waiting: [Waiting] = []
        var lastNumber = 0
        var badge = 0
    }

    let user: Name
    /// The client that changes are not told to if it made them itself; `nil` if unknown.
    let clientID: String?
    /// Time after which the device must register again.
    let expires: Timestamp
    private let state = Mutex(State())
    private let arrivals = Signals()

    init(user: Name, clientID: String?, expires: Timestamp) {
        self.user = user
        self.clientID = clientID
        self.expires = expires
    }

    /// Number of notifications that wait.
    var count: Int { state.withLock { $0.waiting.count } }

    /// The number on the app's icon after one more notification that changes it.
    func nextBadge() -> Int {
        state.withLock { state in
            state.badge += 1
            return state.badge
        }
    }

    /// Adds a notification, unless it is coalesced into one that waits.
    func send(_ bytes: [UInt8], key: CoalescingKey?) {
        state.withLock { state in
            state.lastNumber += 1
            let parcel = Parcel(number: state.lastNumber, bytes: bytes)
            if let key, let index = state.waiting.firstIndex(where: { $0.key == key && !$0.isHanded }) {
                if case .collapseID = key { state.waiting[index].parcel = parcel }
                return
            }
            state.waiting.append(Waiting(parcel: parcel, key: key))
            if state.waiting.count > Self.limit, let oldest = state.waiting.firstIndex(where: { !$0.isHanded }) { state.waiting.remove(at: oldest) }
        }
        arrivals.send()
    }

    /// Hands out the first notification that nobody else has in hand. Waits for one.
    /// - Returns: `nil` after the time, or if the courier is closed.
    func next(within patience: Duration) async -> Parcel? {
        // Listens before the first look, so that nothing is missed in between.
        let news = arrivals.listen()
        if let parcel = takeFirst() { return parcel }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in news { return } }
            group.addTask { try? await Task.sleep(for: patience) }
            _ = await group.next()
            group.cancelAll()
        }
        return takeFirst()
    }

    private func takeFirst() -> Parcel? {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { !$0.isHanded }) else { return nil }
            state.waiting[index].isHanded = true
            return state.waiting[index].parcel
        }
    }

    /// Removes a notification that the device has.
    func confirm(_ parcel: Parcel) {
        state.withLock { state in state.waiting.removeAll { $0.parcel.number == parcel.number } }
    }

    /// Takes back a notification that did not arrive. It is the next one again.
    func takeBack(_ parcel: Parcel) {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.parcel.number == parcel.number }) else { return }
            state.waiting[index].isHanded = false
        }
        arrivals.send()
    }

    /// Ends all waiting.
    func close() { arrivals.finish() }
}
