internal import Foundation
internal import Records

/// Limits the rate of password attempts, without locking out those who know the password.
///
/// Each place (an address, or an IPv6 network) has a few attempts without waiting. Further ones queue and are checked
/// one per second in order of arrival; only a long queue refuses attempts. So a client with the correct password gets
/// in after some seconds, even if others guess from the same address. Two groups of places, those that tried before
/// and those that did not, have joint limits of the same kind. Places that recently sent the correct password wait
/// only in their own queue.
///
/// A place counts as having tried before for some minutes. Uses the monotonic clock and keeps its state in memory.
struct FailedTries {
    typealias Moment = ContinuousClock.Instant

    /// Attempts per place that are checked without waiting.
    static let free = 5
    /// Attempts per group of places that are checked without waiting.
    static let allFree = 60
    /// Time after which one more attempt is checked.
    static let interval = Duration.seconds(1)
    /// Maximum time in the queue.
    static let longestWait = Duration.seconds(16)
    /// Maximum number of places that are remembered.
    static let placeLimit = 1024
    /// Time for which a place counts as having tried before, and as having sent the correct password.
    private static let (memory, rightMemory) = (Duration.seconds(900), Duration.seconds(86_400))
    /// Maximum number of remembered places that sent the correct password.
    private static let rightLimit = 256

    /// Groups with joint limits: places trying for the first time, and others.
    enum Group { case first, repeated }

    private var places = Budget<String>(atOnce: free, interval: interval, keyLimit: placeLimit)
    private var groups = Budget<Group>(atOnce: allFree, interval: interval, keyLimit: 2)
    /// Budget for fast comparisons with the last correct password, for places that sent it before and would have to
    /// wait.
    private var comparisons = Budget<String>(atOnce: 20, interval: .milliseconds(500), keyLimit: rightLimit)
    /// Time of the last attempt by place.
    private var tried: [String: Moment] = [:]
    /// Time of the last correct password by place.
    private var right: [String: Moment] = [:]

    /// True if a password may be compared with the last correct one before its turn. A wrong password then waits for
    /// its turn.
    mutating func mayCompare(_ place: String, at now: Moment) -> Bool {
        if places.wait(of: place, at: now) == .zero { return true }
        guard isRight(place, at: now), case .after = comparisons.take(place, at: now) else { return false }
        return true
    }

    /// Records that the correct password was recognized before its turn.
    mutating func compared(_ place: String, at now: Moment) {
        right[place] = now
        if right.count > Self.rightLimit, let oldest = right.min(by: { $0.value < $1.value }) {
            right[oldest.key] = nil
        }
    }

    /// Counts an attempt before it is checked, so that concurrent attempts can't exceed the limit.
    /// - Returns: the time when it is checked.
    mutating func turn(of place: String, at now: Moment) -> BudgetDecision {
        let own = places.take(place, at: now, waiting: Self.longestWait)
        guard case .after(let wait) = own else { return own }
        if isRight(place, at: now) { return own }
        let all = groups.take(group(of: place, at: now), at: now, waiting: Self.longestWait)
        guard case .after(let longer) = all else {
            places.giveBack(place)
            return all
        }
        tried[place] = now
        if tried.count > Self.placeLimit, let oldest = tried.min(by: { $0.value < $1.value }) {
            tried[oldest.key] = nil
        }
        return .after(max(wait, longer))
    }

    /// Takes back the count after a correct password. The place starts again with all its attempts.
    mutating func succeeded(_ place: String, at now: Moment) {
        places.forget(place)
        tried[place] = nil
        compared(place, at: now)
    }

    private func isRight(_ place: String, at now: Moment) -> Bool {
        right[place].map { $0.duration(to: now) < Self.rightMemory } ?? false
    }

    private func group(of place: String, at now: Moment) -> Group {
        tried[place].map { $0.duration(to: now) < Self.memory } ?? false ? .repeated : .first
    }
}

// MARK: - Rate limits

/// The decision on whether and when something may happen.
enum BudgetDecision: Sendable, Hashable {
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
    mutating func take(_ key: Key, at now: ContinuousClock.Instant, waiting longest: Duration = .zero) -> BudgetDecision
    {
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

// MARK: - Addresses

/// The part of an address used to count attempts. For IPv6 it is the 64-bit network, because a host can use all its
/// addresses (RFC 4291, 2.5.4).
enum ClientNetwork {
    static func of(_ peer: String) -> String {
        guard peer.utf8.contains(UInt8(ascii: ":")) else { return peer }
        var address = in6_addr()
        // Removes an interface name (zone ID).
        let text = String(decoding: peer.utf8.prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self)
        guard inet_pton(AF_INET6, text, &address) == 1 else { return peer }
        let bytes = withUnsafeBytes(of: &address) { Array($0) }
        // An IPv4-mapped IPv6 address.
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isMapped
            ? bytes.suffix(4).map(String.init).joined(separator: ".") : Hexadecimal.text(of: bytes.prefix(8))
    }
}
