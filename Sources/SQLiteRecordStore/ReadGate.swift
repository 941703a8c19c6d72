internal import Synchronization

/// Lets requests in until a store is closed, and lets whoever closes it wait for those that are inside.
///
/// The library's pool may be used by many threads at once, and closed only when nobody does.
final class ReadGate: Sendable {
    private struct State {
        var isShut = false
        var inside = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// - Returns: `false` once the gate is shut.
    func tryEnter() -> Bool {
        state.withLock { state in
            if !state.isShut { state.inside += 1 }
            return !state.isShut
        }
    }

    /// Shuts the gate unless somebody is inside.
    /// - Returns: whether it is shut now.
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
