internal import Dispatch
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

/// The place of a container and environment. It exists as long as the engine. Its file is opened on demand and closed
/// when idle.
final class StorePlace: Sendable {
    let key: StoreKey
    let queries = QueryLog(since: Timestamp.now())
    let subscriptionIndex = LatestSubscriptionIndex()
    /// Sent after each commit. Survives closing and reopening.
    let signals = Signals()
    var clock: @Sendable () -> Timestamp { settings.clock }
    /// Maximum number of cascaded deletions in the transaction of a request.
    var cascadeLimit: Int { settings.cascadeLimits.recordsInRequest }

    let settings: StoreSettings
    let open: OpenStores
    let state = Mutex(State())
    let used = Atomic<Int64>(0)
    let messages = RecentMessages()

    enum Phase {
        case closed
        /// The store is being opened or closed.
        case changing(Task<Void, any Error>)
        case open(SQLStore)
        case readOnly(ReadOnlyStore)
        /// There is no file yet.
        case absent(StoreReader)
        case ended

        var reader: StoreReader? {
            switch self {
            case .open(let store): store.reader
            case .readOnly(let store): store.reader
            case .absent(let reader): reader
            case .closed, .changing, .ended: nil
            }
        }

        /// The users in the file; `nil` if unknown at present.
        var users: [Name: Int64]? {
            switch self {
            case .open(let store): store.users
            case .readOnly(let store): store.users
            case .absent: [:]
            case .closed, .changing, .ended: nil
            }
        }
    }

    struct State {
        var phase = Phase.closed
        /// The state of the file when it was closed.
        var last: StoreOpening?
        var users = UserNumbers()
        /// Time of the last attempt to reopen a read-only store, on the clock of ``StorePlace/now``.
        var lastRetry: Int64?
        /// The last reader. Its keys stay usable while the store is closed.
        var reader: StoreReader?
        /// The reason why the store could not be opened.
        var trouble: StoreTrouble?
        /// The amounts per zone when the store was closed, if they were ever requested.
        var amounts: [ZoneTypeAmount]?
    }

    init(_ key: StoreKey, _ settings: StoreSettings, _ open: OpenStores) {
        self.key = key
        self.settings = settings
        self.open = open
    }

    /// Monotonic time in nanoseconds, used to find the least recently used store.
    static var now: Int64 { Int64(DispatchTime.now().uptimeNanoseconds) }
    var lastUse: Int64 { used.load(ordering: .relaxed) }

    /// Starts opening or closing the store. Callers that arrive meanwhile wait for the task.
    func change(_ state: inout State, _ work: @escaping @Sendable (StorePlace) async throws -> Void) -> Task<Void, any Error> {
        let task = Task.detached { [self] in try await work(self) }
        state.phase = .changing(task)
        return task
    }
}
