internal import Dispatch
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

/// Where a container's environment is kept. It lasts as long as the engine; the file behind it is opened when somebody asks for something, and
/// closed when nobody does.
final class StorePlace: Sendable {
    let key: StoreKey
    let queries = QueryLog(since: Timestamp.now())
    /// Sent after each commit, whichever opening it was in.
    let signals = CommitSignals()
    var clock: @Sendable () -> Timestamp { settings.clock }
    /// Records that fall with those that a request deletes in its own transaction.
    var cascadeLimit: Int { settings.cascadeLimits.recordsInRequest }

    let settings: StoreSettings
    let open: OpenStores
    let state = Mutex(State())
    let used = Atomic<Int64>(0)
    let messages = RecentMessages()

    enum Phase {
        case closed
        /// It is being opened or closed.
        case changing(Task<Void, any Error>)
        case open(SQLiteStore)
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

        /// The users that the file has; `nil` where that is not known now.
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
        /// Where the file stood when it was closed.
        var last: StoreOpening?
        var users = UserNumbers()
        /// When it was opened in vain for a save that it could not take, on the clock of ``StorePlace/now``.
        var lastRetry: Int64?
        /// What was last read through: its keys are good while the store is closed.
        var reader: StoreReader?
        /// Why it could not be opened.
        var trouble: StoreTrouble?
        /// What its zones held when it was closed, where somebody ever asked.
        var amounts: [ZoneTypeAmount]?
    }

    init(_ key: StoreKey, _ settings: StoreSettings, _ open: OpenStores) {
        self.key = key
        self.settings = settings
        self.open = open
    }

    /// Nanoseconds of a clock that only goes forward, for telling which store was used last.
    static var now: Int64 { Int64(DispatchTime.now().uptimeNanoseconds) }
    var lastUse: Int64 { used.load(ordering: .relaxed) }

    /// Begins to open or close the store; whoever comes meanwhile waits for that.
    func change(_ state: inout State, _ work: @escaping @Sendable (StorePlace) async throws -> Void) -> Task<Void, any Error> {
        let task = Task.detached { [self] in try await work(self) }
        state.phase = .changing(task)
        return task
    }
}
