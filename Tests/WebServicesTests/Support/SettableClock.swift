import RecordStore
import Records
import Synchronization

/// A clock that a test can advance.
final class SettableClock: Sendable {
    private let offset = Mutex<Int64>(0)

    /// The current time plus the offset.
    func now() -> Timestamp {
        Timestamp(milliseconds: Timestamp.now().milliseconds + offset.withLock { $0 })
    }

    func advance(by duration: Duration) {
        offset.withLock { $0 += duration.components.seconds * 1000 }
    }
}
