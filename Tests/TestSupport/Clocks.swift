public import Records
internal import Synchronization

/// The current time with an offset that a test can change.
public final class MovingClock: Sendable {
    private let ahead = Mutex(Duration.zero)

    public init() {}

    public func now() -> Timestamp {
        Timestamp(milliseconds: Timestamp.now().milliseconds + Int64(ahead.withLock { $0 } / .milliseconds(1)))
    }
    public func advance(by duration: Duration) { ahead.withLock { $0 += duration } }
}

/// A steady clock that only moves when told to.
public final class ManualClock: Sendable {
    private let begin = ContinuousClock.now
    private let passed = Mutex(Duration.zero)

    public init() {}

    public var now: ContinuousClock.Instant { begin + passed.withLock { $0 } }
    public func advance(by duration: Duration) { passed.withLock { $0 += duration } }
}
