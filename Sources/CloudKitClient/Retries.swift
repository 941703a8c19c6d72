internal import Records

/// The pauses between the attempts of one request.
///
/// If the server states no time, the pauses double from half a second to half a minute. Half of each is random, so that
/// clients do not all return at the same moment. If the server states a time, the pause is at least that long, but not
/// longer than the longest pause. Up to a quarter is added at random.
package struct Retries {
    /// The failures after which a request is sent again.
    package enum Rule: Sendable {
        /// All that may pass, until the deadline.
        case untilDeadline
        /// A broken connection of a read, once and at once: most likely the server had just closed it as idle. The
        /// caller decides about all others.
        case brokenReadOnce
    }

    /// The time without an answer after which no other attempt begins. Repetitions help against broken connections and
    /// restarting servers. A server that stays silent, or sends a byte now and then, would take this long for each
    /// attempt.
    static let longestSilence: Duration = .seconds(30)

    private static let shortest: Duration = .milliseconds(500)
    private static let longest: Duration = .seconds(30)
    /// The minimum time that must be left for an attempt.
    private static let attempt: Duration = .seconds(1)

    private let rule: Rule
    private let longestPause: Duration
    private var backoff: Duration
    private var hasRepeated = false

    init(longestPause: Duration, _ rule: Rule = .untilDeadline) {
        self.rule = rule
        self.longestPause = longestPause
        backoff = min(Self.shortest, longestPause)
    }

    init(_ configuration: ClientConfiguration) {
        self.init(longestPause: configuration.longestPause, configuration.repetition)
    }

    /// The pause after a failure that may pass.
    /// - Parameter left: the time left until the deadline.
    /// - Returns: `nil` if there must be no other attempt.
    mutating func pause(after failure: CloudKitFailure.Kind, left: Duration, chance: Double) -> RequestEvent.Pause? {
        switch (rule, failure) {
        case (.untilDeadline, .throttled(let error)):
            return pause(stated: error.retryAfter, left: left, chance: chance)
        case (.untilDeadline, _): return pause(stated: nil, left: left, chance: chance)
        case (.brokenReadOnce, .connectionLost) where !hasRepeated:
            hasRepeated = true
            return RequestEvent.Pause(length: .zero, stated: nil, isCapped: false)
        case (.brokenReadOnce, _): return nil
        }
    }

    /// - Parameters:
    ///   - stated: the waiting time that CloudKit requests.
    ///   - left: the time left until the deadline.
    /// - Returns: `nil` if another attempt does not fit before the deadline.
    mutating func pause(stated: Duration?, left: Duration, chance: Double) -> RequestEvent.Pause? {
        let asked = stated.map { min($0, longestPause) } ?? .zero
        let least = max(asked, backoff / 2)
        guard least + Self.attempt <= left else { return nil }
        let length = least + max(asked / 4, backoff / 2) * chance
        backoff = min(backoff * 2, Self.longest, longestPause)
        return RequestEvent.Pause(
            length: min(length, left - Self.attempt), stated: stated,
            isCapped: stated.map { $0 > longestPause } ?? false)
    }
}
