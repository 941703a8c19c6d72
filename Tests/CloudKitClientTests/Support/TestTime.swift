import Synchronization

@testable import CloudKitClient

/// A clock that only pauses move. The chance is given.
final class TestTime: Sendable {
    private let state = Mutex<(elapsed: Duration, pauses: [Duration])>((.zero, []))
    private let chance: Double
    let start = ContinuousClock.now

    init(chance: Double = 0) {
        self.chance = chance
    }

    var pauses: [Duration] { state.withLock { $0.pauses } }

    var pacing: Pacing {
        Pacing(
            now: { [self] in start + state.withLock { $0.elapsed } },
            pause: { [self] pause in
                state.withLock { state in
                    state.elapsed += pause
                    state.pauses.append(pause)
                }
            },
            chance: { [chance] in chance })
    }
}
