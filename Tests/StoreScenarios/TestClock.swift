public import Records
internal import Synchronization

/// A clock that only moves when told to, so that two engines see the same time.
public final class TestClock: Sendable {
    private let time = Mutex<Int64>(1_700_000_000_000)

    public init() {}

    public func now() -> Timestamp { Timestamp(milliseconds: time.withLock { $0 }) }
    public func advance(_ milliseconds: Int64 = 1000) { time.withLock { $0 += milliseconds } }
}
