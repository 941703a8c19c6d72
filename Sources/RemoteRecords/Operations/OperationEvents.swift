internal import Synchronization

/// The events of an operation, one after the other as they are asked for. Each iteration runs the operation.
///
/// The operation waits until its latest event is taken. It is cancelled with the task that iterates, and with the end of a loop that is left early.
/// A loop that goes on after that gets every event that the operation still tells, and then its error: none is left out before a later one.
public struct OperationEvents<Operation: DatabaseOperation>: AsyncSequence, Sendable {
    /// An event of the operation.
    public typealias Element = Operation.Event

    private let start: @Sendable (@escaping @Sendable (Element) async -> Void) -> OperationHandle<Operation.Output>

    init(_ start: @escaping @Sendable (@escaping @Sendable (Element) async -> Void) -> OperationHandle<Operation.Output>) {
        self.start = start
    }

    /// Takes one event after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let running: Running<Operation.Event, Operation.Output>

        fileprivate init(_ running: Running<Operation.Event, Operation.Output>) {
            self.running = running
        }

        /// - Throws: ``OperationError`` of the operation, after its last event.
        public mutating func next() async throws -> Operation.Event? {
            try await running.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(Running(start)) }
}

/// An operation that is cancelled with its last reference.
private final class Running<Event: Sendable, Output: Sendable>: Sendable {
    private let exchange = Exchange<Event>()
    private let handle: OperationHandle<Output>

    init(_ start: (@escaping @Sendable (Event) async -> Void) -> OperationHandle<Output>) {
        let exchange = exchange
        let handle = start { await exchange.offer($0) }
        self.handle = handle
        Task {
            await handle.finished()
            exchange.finish()
        }
    }

    deinit {
        handle.cancel()
        exchange.finish()
    }

    func next() async throws -> Event? {
        if let event = await withTaskCancellationHandler(operation: { await exchange.take() }, onCancel: { handle.cancel() }) { return event }
        _ = try await handle.value
        return nil
    }
}

/// Hands one event at a time from one task to another.
final class Exchange<Event: Sendable>: Sendable {
    private enum State {
        case idle
        case offered(Event, CheckedContinuation<Void, Never>)
        case wanted(CheckedContinuation<Event?, Never>)
        case finished
    }

    private let state = Mutex(State.idle)

    /// Returns when the event is taken, or nobody will take it.
    ///
    /// Cancelling the operation takes no event back. A token or an outcome that comes later would stand for it, too.
    func offer(_ event: Event) async {
        await withCheckedContinuation { (taken: CheckedContinuation<Void, Never>) in
            let (wanted, isHeld): (CheckedContinuation<Event?, Never>?, Bool) = state.withLock { state in
                switch state {
                case .wanted(let wanted):
                    state = .idle
                    return (wanted, false)
                case .idle:
                    state = .offered(event, taken)
                    return (nil, true)
                case .offered, .finished: return (nil, false)
                }
            }
            wanted?.resume(returning: event)
            if !isHeld { taken.resume() }
        }
    }

    func take() async -> Event? {
        await withCheckedContinuation { (wanted: CheckedContinuation<Event?, Never>) in
            let outcome: (event: Event?, taken: CheckedContinuation<Void, Never>?)? = state.withLock { state in
                switch state {
                case .offered(let event, let taken):
                    state = .idle
                    return (event, taken)
                case .idle:
                    state = .wanted(wanted)
                    return nil
                case .wanted, .finished: return (nil, nil)
                }
            }
            guard let outcome else { return }
            outcome.taken?.resume()
            wanted.resume(returning: outcome.event)
        }
    }

    func finish() {
        // At once: nobody may begin to wait in between.
        let waiting = state.withLock { state in
            defer { state = .finished }
            return state
        }
        switch waiting {
        case .wanted(let wanted): wanted.resume(returning: nil)
        case .offered(_, let taken): taken.resume()
        case .idle, .finished: break
        }
    }
}
