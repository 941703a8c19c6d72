public import Records
internal import RecordStore
internal import Synchronization

/// A clock for an engine: the system's, until it is set. So demo data can be saved as if over years.
public final class SettableClock: Sendable {
    private let moment = Mutex<Timestamp?>(nil)

    public init() {}

    /// The moment that was set, or the system's.
    public func now() -> Timestamp {
        moment.withLock { $0 } ?? Timestamp.now()
    }

    /// Stops the clock at a moment; `nil` lets it run with the system's again.
    public func set(_ moment: Timestamp?) {
        self.moment.withLock { $0 = moment }
    }
}
