internal import RecordStore
internal import Records
internal import Synchronization

/// Lets reads in until a store is closed, and lets whoever closes it wait for those that are inside.
///
/// The library's pool may be read by many threads at once, and closed only when nobody reads.
final class ReadGate: Sendable {
    private struct State {
        var isShut = false
        var inside = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// - Throws: `RecordError` TRY_AGAIN_LATER once the gate is shut.
    func enter() throws {
        try state.withLock { state in
            if state.isShut { throw RecordError(.tryAgainLater, "The store is closed", retryAfter: 1) }
            state.inside += 1
        }
    }

    func leave() {
        let waiting = state.withLock { state in
            state.inside -= 1
            guard state.isShut, state.inside == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Lets nobody in any more, and returns when nobody is inside. No thread waits for that.
    func shut() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                state.isShut = true
                if state.inside > 0 { state.waiting.append(continuation) }
                return state.inside == 0
            }
            if isEmpty { continuation.resume() }
        }
    }
}
