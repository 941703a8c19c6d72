import Records
import Synchronization

@testable import CloudKitClient

/// A clock that only pauses and tests move. Chance and time of day are given.
final class TestTime: Sendable {
    private let state = Mutex<(elapsed: Duration, pauses: [Duration])>((.zero, []))
    private let chance: Double
    private let day: Timestamp?
    private let tick: Duration
    let start = ContinuousClock.now

    /// - Parameters:
    ///   - day: the time at the start; `nil` for the real one, as servers have it.
    ///   - tick: the time that passes whenever somebody looks at the clock.
    init(chance: Double = 0, day: Timestamp? = nil, tick: Duration = .zero) {
        self.chance = chance
        self.day = day
        self.tick = tick
    }

    var pauses: [Duration] { state.withLock { $0.pauses } }

    func advance(by duration: Duration) { state.withLock { $0.elapsed += duration } }

    var pacing: Pacing {
        Pacing(
            now: { [self] in
                start
                    + state.withLock { state in
                        state.elapsed += tick
                        return state.elapsed
                    }
            },
            time: { [self] in
                guard let day else { return .now() }
                return Timestamp(milliseconds: day.milliseconds + state.withLock { $0.elapsed.nanoseconds } / 1_000_000)
            },
            pause: { [self] pause in
                state.withLock { state in
                    state.elapsed += pause
                    state.pauses.append(pause)
                }
            },
            chance: { [chance] in chance })
    }
}
