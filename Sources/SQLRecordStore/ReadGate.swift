internal import Synchronization

/// Admits requests until a store is closed, and lets the closing task wait for active ones.
///
/// GRDB's pool may be used concurrently, but must not be closed while it is in use.
final class ReadGate: Sendable {
    private struct State {
        var isShut = false
        var inside = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// - Returns: `false` if the gate is shut.
    func tryEnter() -> Bool {
        state.withLock { state in
            if !state.isShut { state.inside += 1 }
            return !state.isShut
        }
    }

    /// Shuts the gate unless it is in use.
    /// - Returns: `true` if it is shut now.
    func shutIfEmpty() -> Bool {
        state.withLock { state in
            if state.inside == 0 { state.isShut = true }
            return state.isShut
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

    /// Admits no further requests and returns when no one is inside. Does not block a thread.
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
