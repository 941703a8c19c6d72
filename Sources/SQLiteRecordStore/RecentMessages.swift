internal import Synchronization

/// What the log was told of late: whoever asks again and again for what fails must not fill it.
final class RecentMessages: Sendable {
    /// The same is told again after this, since it may be another incident.
    private static let pause = Duration.seconds(3600)
    /// Different messages in that time, beyond which none is told.
    private static let limit = 64

    private let told = Mutex<[String: ContinuousClock.Instant]>([:])

    /// Whether a message is to be told, which then counts as told.
    func isNew(_ message: String, at now: ContinuousClock.Instant = .now) -> Bool {
        told.withLock { told in
            if let last = told[message], now - last < Self.pause { return false }
            if told.count >= Self.limit { told = told.filter { now - $0.value < Self.pause } }
            guard told.count < Self.limit else { return false }
            told[message] = now
            return true
        }
    }
}
