package import CloudKitClient
internal import Synchronization

/// A clock that only pauses move. They take no time.
package final class VirtualClock: Sendable {
    private let start = ContinuousClock.now
    private let made = Mutex<(pauses: [Duration], time: Duration)>(([], .zero))

    package init() {}

    /// The pauses that were made, oldest first.
    package var pauses: [Duration] { made.withLock { $0.pauses } }

    package var pacing: Pacing {
        Pacing(
            now: { [self] in start + made.withLock { $0.time } },
            pause: { [self] pause in
                try Task.checkCancellation()
                made.withLock { made in
                    made.pauses.append(pause)
                    made.time += pause
                }
            },
            chance: { 0 })
    }
}
