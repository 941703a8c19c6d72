/// The decision on whether and when something may happen.
enum Turn: Sendable, Hashable {
    /// After this time; at once if it is zero.
    case after(Duration)
    /// Not now. Contains the seconds until the next attempt.
    case refused(retryAfter: Int)
}

/// A rate limiter per key: a burst at once, then one at a time.
///
/// Uses the monotonic clock. The state is in memory and is lost on restart.
struct Budget<Key: Hashable & Sendable>: Sendable {
    private let atOnce: Duration
    private let interval: Duration
    private let keyLimit: Int
    /// Time when each key has its full budget again.
    private var fullAt: [Key: ContinuousClock.Instant] = [:]
    /// Like ``fullAt`` for all keys that are not stored because of the limit.
    private var othersFullAt: ContinuousClock.Instant?

    /// - Parameters:
    /// - atOnce: size of the burst.
    /// - interval: time after which one more is allowed.
    /// - keyLimit: maximum number of keys. Further keys share one budget.
    init(atOnce: Int, interval: Duration, keyLimit: Int) {
        (self.atOnce, self.interval, self.keyLimit) = (interval * atOnce, interval, keyLimit)
    }

    /// Number of stored keys.
    var count: Int { fullAt.count }

    /// Time that a key must wait.
    func wait(of key: Key, at now: ContinuousClock.Instant) -> Duration {
        let full = fullAt[key] ?? (fullAt.count < keyLimit ? nil : othersFullAt) ?? now
        return max(.zero, now.duration(to: max(full, now)) + interval - atOnce)
    }

    /// Counts one use. Refused uses are not counted.
    /// - Parameter longest: maximum time that the key may wait for its turn.
    mutating func take(_ key: Key, at now: ContinuousClock.Instant, waiting longest: Duration = .zero) -> Turn {
        if fullAt[key] == nil, fullAt.count >= keyLimit { fullAt = fullAt.filter { $0.value > now } }
        let wait = wait(of: key, at: now)
        guard wait <= longest else { return .refused(retryAfter: max(1, (wait - longest).wholeSeconds)) }
        if fullAt[key] != nil || fullAt.count < keyLimit {
            fullAt[key] = max(fullAt[key] ?? now, now) + interval
        } else {
            othersFullAt = max(othersFullAt ?? now, now) + interval
        }
        return .after(wait)
    }

    /// Takes back one counted use.
    mutating func giveBack(_ key: Key) {
        if let full = fullAt[key] { fullAt[key] = full - interval }
    }

    /// Resets the budget of a key.
    mutating func forget(_ key: Key) {
        fullAt[key] = nil
    }
}

extension Duration {
    /// Whole seconds, rounded up.
    var wholeSeconds: Int {
        let (seconds, rest) = components
        return Int(clamping: seconds) + (rest > 0 ? 1 : 0)
    }
}
