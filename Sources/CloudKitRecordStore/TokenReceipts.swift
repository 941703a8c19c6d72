public import Records
internal import Synchronization

/// The tokens that came from CloudKit, with the moment when each came. CloudKit itself does not tell anything about a token.
///
/// In memory, and for the latest ``limit`` tokens only.
public final class TokenReceipts: Sendable {
    public static let limit = 1000
    /// Longer tokens are not remembered. CloudKit's have some 50 bytes.
    static let bytesLimit = 4096

    enum Feed: Sendable, Hashable {
        case database(DatabaseScope)
        case zone(ZoneID, DatabaseScope)
    }

    public struct Receipt: Sendable, Hashable {
        /// The first time that the token came.
        public let received: Timestamp
        /// The number of pulls of the feed that began since then. A pull is all its pages.
        public let pullsSince: Int
    }

    private struct Key: Hashable {
        let feed: Feed
        let token: ChangeToken
    }

    private struct Entry {
        let received: Timestamp
        let pullsBefore: Int
        /// True for the token of a page that is not the last one of its pull.
        var isWithinPull: Bool
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// The keys from the oldest on, in a ring.
        var order: [Key] = []
        var oldest = 0
        var pulls: [Feed: Int] = [:]
    }

    private let clock: @Sendable () -> Timestamp
    private let state = Mutex(State())

    init(clock: @escaping @Sendable () -> Timestamp) {
        self.clock = clock
    }

    /// - Returns: `nil` for a token that did not come, or not lately.
    func receipt(of token: ChangeToken, in feed: Feed) -> Receipt? {
        state.withLock { state in
            state.entries[Key(feed: feed, token: token)].map {
                Receipt(received: $0.received, pullsSince: state.pulls[feed, default: 0] - $0.pullsBefore)
            }
        }
    }

    /// Counts a request as a new pull, unless it goes on with one.
    func noteRequest(since token: ChangeToken?, in feed: Feed) {
        state.withLock { state in
            if let token, state.entries[Key(feed: feed, token: token)]?.isWithinPull == true { return }
            state.pulls[feed, default: 0] += 1
        }
    }

    func note(_ token: ChangeToken, in feed: Feed, moreComing: Bool = false) {
        guard token.text.utf8.count <= Self.bytesLimit else { return }
        let (key, now) = (Key(feed: feed, token: token), clock())
        state.withLock { state in
            if state.entries[key] != nil {
                state.entries[key]?.isWithinPull = moreComing
                return
            }
            state.entries[key] = Entry(received: now, pullsBefore: state.pulls[feed, default: 0], isWithinPull: moreComing)
            if state.order.count < Self.limit { return state.order.append(key) }
            state.entries[state.order[state.oldest]] = nil
            state.order[state.oldest] = key
            state.oldest = (state.oldest + 1) % Self.limit
            // A zone without tokens needs no count.
            guard state.pulls.count > Self.limit * 2 else { return }
            let feeds = Set(state.order.map(\.feed))
            state.pulls = state.pulls.filter { feeds.contains($0.key) }
        }
    }
}
