internal import JSON
internal import Records
internal import Synchronization

/// How many requests a second whoever asks may make of the protocol's services; more are answered THROTTLED (Apple's reference page "Error
/// Codes").
///
/// Each spender has a bucket that holds a second's worth of requests and is refilled steadily, so requests may come all at once and then no
/// faster than the limit. What is refused costs nothing: a client that waits as long as it is told gets through.
public final class Throttle: Sendable {
    /// Whose requests are counted together.
    enum Spender: Hashable, Sendable {
        /// A user, whatever the user comes with.
        case user(Name)
        /// An API token without a user.
        case apiToken(String)
        /// A server-to-server key as it is used from one address. The bucket is spent before the signature is looked at, and who only knows the
        /// key's ID is not to spend it for everybody.
        case serverKey(String, peer: String)
        /// Who brings nothing that is known.
        case address(String)
        /// Those that come while more are remembered than there is room for.
        case others

        fileprivate var words: String {
            switch self {
            case .user: "from this user"
            case .apiToken: "with this API token"
            case .serverKey: "with this server-to-server key"
            case .address: "from this address"
            case .others: "from clients that were not here before"
            }
        }
    }

    fileprivate struct State {
        /// When each bucket is full again. Those that are full are as good as forgotten.
        var fullAt: [Spender: ContinuousClock.Instant] = [:]
        /// When those that were full were last removed.
        var swept: ContinuousClock.Instant?
    }

    /// Most that a limit may be.
    public static let highestLimit = 1_000_000
    /// Spenders that are remembered.
    static let spenderLimit = 10_000

    /// Requests a second.
    public let limit: Int
    private let interval: Duration
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: requests a second, from 1 to ``highestLimit``.
    ///   - clock: what a second is measured by.
    public init(limit: Int, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.clock = clock
        self.limit = min(max(limit, 1), Self.highestLimit)
        interval = .seconds(1) / self.limit
    }

    /// Counts a request.
    /// - Throws: `RecordError` THROTTLED with `retryAfter` when the bucket is empty.
    func admit(_ spender: Spender, at moment: ContinuousClock.Instant? = nil) throws(RecordError) {
        let now = moment ?? clock()
        let refused = state.withLock { state -> (Spender, Duration)? in
            let spender = state.room(for: spender, at: now)
            let fullAt = max(state.fullAt[spender] ?? now, now)
            // An empty bucket is full in a second; one more request would make it later than that.
            let wait = now.duration(to: fullAt) + interval - .seconds(1)
            // Dividing a second leaves less than a nanosecond for each request.
            if wait > .nanoseconds(1) { return (spender, wait) }
            state.fullAt[spender] = fullAt + interval
            return nil
        }
        guard let (spender, wait) = refused else { return }
        let (seconds, rest) = wait.components
        throw RecordError(
            .throttled, "Request was throttled: more than \(limit) requests a second \(spender.words) (skylight serve --throttle)",
            retryAfter: max(1, Int(seconds) + (rest > 0 ? 1 : 0)))
    }

    /// How many spenders are remembered.
    var spenderCount: Int { state.withLock { $0.fullAt.count } }
}

extension Throttle.State {
    /// Makes room for a spender that is not remembered.
    /// - Returns: the spender, or `others` when there is none.
    fileprivate mutating func room(for spender: Throttle.Spender, at now: ContinuousClock.Instant) -> Throttle.Spender {
        guard fullAt[spender] == nil, fullAt.count >= Throttle.spenderLimit else { return spender }
        // A bucket is full again after a second, so a sweep removes nothing that the one before it in the same second would not have.
        if swept.map({ now - $0 >= .seconds(1) }) ?? true {
            swept = now
            fullAt = fullAt.filter { $0.value > now }
        }
        return fullAt.count < Throttle.spenderLimit ? spender : .others
    }
}
