internal import Accounts
internal import HTTPServing
internal import Hummingbird
internal import Records
internal import Synchronization

/// Limits the rate of protocol requests per client. Requests above the limit are answered THROTTLED (Apple's reference
/// page "Error Codes").
///
/// A token bucket: each client has a bucket that holds one second's worth of requests and refills steadily, so bursts
/// are possible. Refused requests cost nothing, so a client that waits for the stated time is accepted.
public final class Throttle: Sendable {
    /// The clients whose requests are counted together.
    enum ClientKey: Hashable, Sendable {
        /// A user, with any credentials.
        case user(Name)
        /// An API token without a user.
        case apiToken(String)
        /// A server-to-server key from one address. The request is counted before its signature is
        /// verified, so a forged request must not use up the limit of the key's other addresses.
        case serverKey(String, peer: String)
        /// A client without known credentials.
        case address(String)
        /// Clients beyond the number that the throttle tracks.
        case others

        fileprivate var words: String {
            switch self {
            case .user: "from this user"
            case .apiToken: "with this API token"
            case .serverKey: "with this server-to-server key"
            case .address: "from this address"
            case .others: "from new clients"
            }
        }
    }

    fileprivate struct State {
        /// The time at which each bucket is full again. Full buckets may be dropped.
        var fullAt: [ClientKey: ContinuousClock.Instant] = [:]
        /// The time of the last removal of full buckets.
        var swept: ContinuousClock.Instant?
    }

    /// The maximum value of a limit.
    public static let highestLimit = 1_000_000
    /// The maximum number of clients to track.
    static let clientLimit = 10_000

    /// Requests per second.
    public let limit: Int
    private let interval: Duration
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: requests per second, from 1 to ``highestLimit``.
    ///   - clock: the clock for measuring seconds.
    public init(limit: Int, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.clock = clock
        self.limit = min(max(limit, 1), Self.highestLimit)
        interval = .seconds(1) / self.limit
    }

    /// Counts a request.
    /// - Throws: `RecordError` THROTTLED with `retryAfter` if the bucket is empty.
    func admit(_ client: ClientKey, at moment: ContinuousClock.Instant? = nil) throws(RecordError) {
        let now = moment ?? clock()
        let refused = state.withLock { state -> (ClientKey, Duration)? in
            let client = state.room(for: client, at: now)
            let fullAt = max(state.fullAt[client] ?? now, now)
            // An empty bucket is full again after one second. One more request would exceed that.
            let wait = now.duration(to: fullAt) + interval - .seconds(1)
            // Tolerates the rounding error of the interval, less than a nanosecond per request.
            if wait > .nanoseconds(1) { return (client, wait) }
            state.fullAt[client] = fullAt + interval
            return nil
        }
        guard let (client, wait) = refused else { return }
        let (seconds, rest) = wait.components
        throw RecordError(
            .throttled,
            "Request was throttled: more than \(limit) requests a second \(client.words) (skylight serve --throttle)",
            retryAfter: max(1, Int(seconds) + (rest > 0 ? 1 : 0)))
    }

    /// The number of tracked clients.
    var clientCount: Int { state.withLock { $0.fullAt.count } }
}

extension Throttle.State {
    /// Makes room for a client that is not tracked yet.
    /// - Returns: the client, or `others` if there is no room.
    fileprivate mutating func room(for client: Throttle.ClientKey, at now: ContinuousClock.Instant)
        -> Throttle.ClientKey
    {
        guard fullAt[client] == nil, fullAt.count >= Throttle.clientLimit else { return client }
        // Buckets refill within a second, so more frequent removals would find little.
        if swept.map({ now - $0 >= .seconds(1) }) ?? true {
            swept = now
            fullAt = fullAt.filter { $0.value > now }
        }
        return fullAt.count < Throttle.clientLimit ? client : .others
    }
}

// MARK: - Clients

extension Authenticator {
    /// The client that a signed request counts for, as far as it is known before the body is read: the key, or the
    /// address if the key is unknown.
    func client(of signature: Credentials.Signature, _ context: ServingRequestContext) -> Throttle.ClientKey {
        guard let key = access.accounts.serverKey(signature.keyID), key.isLive else { return .address(context.peer) }
        return .serverKey(key.keyID, peer: context.peer)
    }

    /// The client that another request counts for: the user of a web auth token, else the API token. Requests
    /// without valid credentials count for their address. On an open server, they count for the user they name.
    func client(of request: Request, _ result: AuthenticationResult, _ context: ServingRequestContext)
        -> Throttle.ClientKey
    {
        if result.refusal != nil { return .address(context.peer) }
        if let session = result.session { return .user(session.user) }
        if let token = result.apiToken { return .apiToken(token.id) }
        if access.mode == .open, let user = CallerResolver.userRecordName(in: request) { return .user(user) }
        return .address(context.peer)
    }
}
