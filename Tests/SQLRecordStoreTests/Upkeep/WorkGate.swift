import Synchronization
import TestSupport

/// Holds background work before each step, so that a test can inspect it halfway.
final class WorkGate: Sendable {
    private struct State {
        /// The number of steps that may still run; `nil` for no limit.
        var allowed: Int? = 0
        var isHeld = false
    }

    private let state = Mutex(State())

    /// Waits for permission. Returns when its task is cancelled.
    func wait() async {
        while !Task.isCancelled {
            let mayGo = state.withLock { state in
                state.isHeld = state.allowed == 0
                if let allowed = state.allowed, allowed > 0 { state.allowed = allowed - 1 }
                return !state.isHeld
            }
            if mayGo { return }
            try? await Task.sleep(for: .milliseconds(1))
        }
        state.withLock { $0.isHeld = false }
    }

    /// Allows some steps, and returns when they are done or no work is left.
    func allow(_ steps: Int, unless isOver: () async throws -> Bool = { false }) async throws {
        state.withLock { ($0.allowed, $0.isHeld) = (steps, false) }
        try await eventually {
            if state.withLock({ $0.isHeld }) { return true }
            return try await isOver()
        }
    }

    func open() { state.withLock { $0.allowed = nil } }

    func close() { state.withLock { ($0.allowed, $0.isHeld) = (0, false) } }
}
