internal import Synchronization

/// Wakes any number of listeners, for example after each commit.
public final class Signals: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastNumber = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Signals that nobody listens to yet.
    public init() {}

    /// A stream of signals from now on. It buffers at most one.
    public func listen() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            if state.isFinished { return nil }
            state.lastNumber += 1
            state.listeners[state.lastNumber] = continuation
            return state.lastNumber
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[number] = nil }
        }
        return stream
    }

    /// Wakes all listeners. Signals that come before a listener has woken are one to it.
    public func send() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield() }
    }

    /// Ends all current and future streams.
    public func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
