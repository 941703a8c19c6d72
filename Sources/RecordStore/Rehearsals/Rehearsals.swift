public import Records
internal import Synchronization

/// What is rehearsed on a server now.
///
/// Kept in memory only: a server that starts rehearses nothing.
public final class Rehearsals: Sendable {
    /// Rehearsals that can be on at a time, each in its own area.
    public static let limit = 200

    private let state = Mutex<[RunningRehearsal]>([])
    let pulls = OrderedPulls()
    let saves = RecentSaves()
    let clock: @Sendable () -> Timestamp

    /// - Parameter clock: the clock that records are saved by.
    public init(clock: @escaping @Sendable () -> Timestamp = Timestamp.now) {
        self.clock = clock
    }

    /// All that is on, the oldest first.
    public var running: [RunningRehearsal] { state.withLock { $0 } }

    /// Switches a rehearsal on. One that is on in the same area counts anew.
    /// - Throws: `RecordError` BAD_REQUEST for an act, which is done and not switched on, and when ``limit`` is reached.
    public func start(_ cue: RehearsalCue, in area: RehearsalArea = .everywhere) throws {
        guard cue.rehearsal.kind != .act else {
            throw RecordError(.badRequest, "'\(cue.rehearsal.rawValue)' happens once and can't be switched on")
        }
        let running = RunningRehearsal(rehearsal: cue.rehearsal, area: area, remaining: cue.count, since: clock())
        try state.withLock { state in
            if let index = state.firstIndex(where: { $0.rehearsal == cue.rehearsal && $0.area == area }) {
                state[index] = running
                return
            }
            guard state.count < Self.limit else {
                throw RecordError(.badRequest, "\(Self.limit) rehearsals are on, and no more can be; stop some first")
            }
            state.append(running)
        }
    }

    /// Switches rehearsals off.
    /// - Parameters:
    ///   - rehearsal: `nil` for all.
    ///   - area: exactly this area; `nil` for every one.
    /// - Returns: how many were on.
    @discardableResult
    public func stop(_ rehearsal: Rehearsal? = nil, in area: RehearsalArea? = nil) -> Int {
        let count = state.withLock { state in
            let before = state.count
            state.removeAll { running in rehearsal.map { $0 == running.rehearsal } ?? true && area.map { $0 == running.area } ?? true }
            return before - state.count
        }
        if !isOn(.laggingIndex, where: { _ in true }) { saves.clear() }
        return count
    }

    /// Whether a rehearsal is on somewhere that an area covers.
    public func isOn(_ rehearsal: Rehearsal, where covers: (RehearsalArea) -> Bool) -> Bool {
        state.withLock { state in state.contains { $0.rehearsal == rehearsal && covers($0.area) } }
    }

    /// Counts one request that fails; with the last one the rehearsal is over.
    /// - Returns: whether the request is to fail.
    public func take(_ rehearsal: Rehearsal, where covers: (RehearsalArea) -> Bool) -> Bool {
        state.withLock { state in
            guard let index = state.firstIndex(where: { $0.rehearsal == rehearsal && covers($0.area) }) else { return false }
            guard let remaining = state[index].remaining else { return true }
            if remaining > 1 { state[index].remaining = remaining - 1 } else { state.remove(at: index) }
            return true
        }
    }
}
