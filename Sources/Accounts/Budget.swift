/// Whether something may happen, and when.
enum Turn: Sendable, Hashable {
    /// So long from now; at once when it is zero.
    case after(Duration)
    /// Not now; whole seconds until it may be asked again.
    case refused(retryAfter: Int)
}

/// How often something may happen for each of many keys: some at once, and then one after the other.
///
/// Moments are of the clock that nobody can set, so that none of them lies ten days ahead. They are held in memory: a new start begins anew.
struct Budget<Key: Hashable & Sendable>: Sendable {
    private let atOnce: Duration
    private let interval: Duration
    private let keyLimit: Int
    /// When each key may do as much as one that was never here.
    private var fullAt: [Key: ContinuousClock.Instant] = [:]
    /// The same for all keys that come while there is no room for them.
    private var othersFullAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - atOnce: times that it may happen at once.
    ///   - interval: the time after which there is one more.
    ///   - keyLimit: most keys that are remembered; those that come while there are more share what one has.
    init(atOnce: Int, interval: Duration, keyLimit: Int) {
        (self.atOnce, self.interval, self.keyLimit) = (interval * atOnce, interval, keyLimit)
    }

    /// How many keys are remembered.
    var count: Int { fullAt.count }

    /// How long a key has to wait.
    func wait(of key: Key, at now: ContinuousClock.Instant) -> Duration {
        let full = fullAt[key] ?? (fullAt.count < keyLimit ? nil : othersFullAt) ?? now
        return max(.zero, now.duration(to: max(full, now)) + interval - atOnce)
    }

    /// Counts one time. What is refused is not counted.
    /// - Parameter longest: how long the key may be made to wait for its turn.
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

    /// Takes back one time that was counted.
    mutating func giveBack(_ key: Key) {
        if let full = fullAt[key] { fullAt[key] = full - interval }
    }

    /// Makes a key one that was never here.
    mutating func forget(_ key: Key) {
        fullAt[key] = nil
    }
}

extension Duration {
    /// In seconds, a part of one counted as one.
    var wholeSeconds: Int {
        let (seconds, rest) = components
        return Int(clamping: seconds) + (rest > 0 ? 1 : 0)
    }
}
