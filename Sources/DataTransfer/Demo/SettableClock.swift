public import Records
internal import RecordStore
internal import Synchronization

/// A clock for an engine: the system time, unless another time is set. Demo data uses it to simulate saves over years.
public final class SettableClock: Sendable {
    private let moment = Mutex<Timestamp?>(nil)

    public init() {}

    /// The time that was set, or else the system time.
    public func now() -> Timestamp {
        moment.withLock { $0 } ?? Timestamp.now()
    }

    /// Sets a fixed time; `nil` returns to the system time.
    public func set(_ moment: Timestamp?) {
        self.moment.withLock { $0 = moment }
    }
}
