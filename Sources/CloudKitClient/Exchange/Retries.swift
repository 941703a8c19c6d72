package import Records

/// The clocks and the chance that a client goes by. Tests have their own.
package struct Pacing: Sendable {
    package var now: @Sendable () -> ContinuousClock.Instant
    /// The time of day, for signatures and dates of answers.
    package var time: @Sendable () -> Timestamp
    package var pause: @Sendable (Duration) async throws -> Void
    /// From 0 to below 1.
    package var chance: @Sendable () -> Double

    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, time: @escaping @Sendable () -> Timestamp = Timestamp.now,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        chance: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        (self.now, self.time, self.pause, self.chance) = (now, time, pause, chance)
    }
}

/// The pauses between the attempts of one request.
///
/// Without a stated time they double from half a second to half a minute, and half of each is by chance, so that clients do not come back together.
/// A stated time is never shortened, except to the longest pause, and a quarter is added by chance.
struct Retries {
    /// The time without an answer after which no other attempt begins. Repetitions are for connections that broke, and for a server that starts again: one
    /// that keeps silent, or gives a byte now and then, would take this time of each attempt.
    static let longestSilence: Duration = .seconds(30)

    private static let shortest: Duration = .milliseconds(500)
    private static let longest: Duration = .seconds(30)
    /// The time that must be left for an attempt.
    private static let attempt: Duration = .seconds(1)

    private let longestPause: Duration
    private var backoff: Duration

    init(longestPause: Duration) {
        self.longestPause = longestPause
        backoff = min(Self.shortest, longestPause)
    }

    /// - Parameters:
    ///   - stated: the time that CloudKit asks to wait.
    ///   - left: the time until the deadline.
    /// - Returns: `nil` if another attempt does not fit before the deadline.
    mutating func pause(stated: Duration?, left: Duration, chance: Double) -> RequestEvent.Pause? {
        let asked = stated.map { min($0, longestPause) } ?? .zero
        let least = max(asked, backoff / 2)
        guard least + Self.attempt <= left else { return nil }
        let length = least + max(asked / 4, backoff / 2) * chance
        backoff = min(backoff * 2, Self.longest, longestPause)
        return RequestEvent.Pause(length: min(length, left - Self.attempt), stated: stated, isCapped: stated.map { $0 > longestPause } ?? false)
    }
}
