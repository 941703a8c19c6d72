internal import Synchronization

/// Messages logged recently. Prevents repeated requests from filling the log with the same error.
final class RecentMessages: Sendable {
    /// A message is logged again after this time, since it may be a new incident.
    private static let pause = Duration.seconds(3600)
    /// Maximum number of different messages within ``pause``. Further ones are not logged.
    private static let limit = 64

    private let told = Mutex<[String: ContinuousClock.Instant]>([:])

    /// True if the message should be logged. It is then remembered as logged.
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
