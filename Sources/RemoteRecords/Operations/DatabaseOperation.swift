public import CloudKitClient
public import Records
internal import Synchronization

/// An operation on a database: a value with its parameters. It does nothing until it is added to a ``Database``, any
/// number of times.
///
/// Callbacks of one operation are one event at a time, in order. The operation waits for each, so that nothing piles
/// up.
public protocol DatabaseOperation: Sendable {
    /// A step that the operation tells of, such as a record that was saved.
    associatedtype Event: Sendable
    /// The result of the whole operation.
    associatedtype Output: Sendable

    /// Runs the operation. ``Database`` calls it.
    /// - Parameters:
    ///   - context: sends its requests.
    ///   - deliver: takes each event.
    /// - Throws: ``OperationError``: `partialFailure` with the errors of the items that failed, if the operation as a
    ///   whole did not.
    func run(in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void)
        async throws(OperationError) -> Output
}

/// An operation's access to its database.
public struct OperationContext: Sendable {
    /// The ID of the run, as of its ``OperationHandle``.
    public let operationID: String
    /// The database of the operation.
    public let scope: DatabaseScope
    let client: ContainerClient
    private let scheduler: RequestScheduler
    private let rank: RequestScheduler.Rank
    private let requestTime: Duration
    private let deadline: ContinuousClock.Instant
    /// The steps of a long-lived operation; `nil` for others.
    let steps: OperationSteps?

    private static let firstPause: Duration = .seconds(1)
    private static let longestPause: Duration = .seconds(300)

    init(
        operationID: String, _ scope: DatabaseScope, _ container: Container, _ rank: RequestScheduler.Rank,
        _ configuration: OperationConfiguration,
        steps: OperationSteps?
    ) {
        self.operationID = operationID
        self.scope = scope
        client = container.client
        scheduler = container.scheduler
        self.rank = rank
        requestTime = configuration.timeoutIntervalForRequest ?? .seconds(60)
        deadline = client.pacing.now() + (configuration.timeoutIntervalForResource ?? .seconds(604_800))
        self.steps = steps
    }

    /// Sends a request when it is its turn. With a discretionary quality of service, broken connections are waited out.
    /// - Throws: ``OperationError``; `operationCancelled` if the task is cancelled and nothing was under way that
    ///   saves.
    public func request<Value: Sendable>(_ send: @Sendable (DatabaseClient) async throws -> Value)
        async throws(OperationError) -> Value
    {
        try await repeating { database in
            try await send(database.until(min(client.pacing.now() + requestTime, deadline)))
        }
    }

    /// Sends a file up or down. While it moves it may take the time of the whole operation.
    /// - Parameter send: takes the database for requests, and the one for the file.
    func transfer<Value: Sendable>(_ send: @Sendable (DatabaseClient, DatabaseClient) async throws -> Value)
        async throws(OperationError) -> Value
    {
        try await repeating { database in
            try await send(
                database.until(min(client.pacing.now() + requestTime, deadline)),
                database.until(deadline).withFilePatience(requestTime))
        }
    }

    private func repeating<Value: Sendable>(_ send: @Sendable (DatabaseClient) async throws -> Value)
        async throws(OperationError) -> Value
    {
        var pause = Self.firstPause
        while true {
            let failure: OperationError
            do {
                return try await scheduler.run(rank) { try await send(client.database(scope)) }
            } catch {
                failure = OperationError(any: error)
            }
            if Task.isCancelled, failure.code != .serverResponseLost { throw .cancelled }
            guard rank.qualityOfService.isDiscretionary, failure.isOfNetwork, !failure.isUntrusted,
                client.pacing.now() + pause < deadline
            else {
                throw failure
            }
            do { try await client.pacing.pause(pause) } catch { throw .cancelled }
            pause = min(pause * 2, Self.longestPause)
        }
    }
}

extension PageTrail {
    /// - Throws: ``OperationError``: `serverRejectedRequest` if the server does not come to an end.
    mutating func followed(_ next: String, isEmpty: Bool) async throws(OperationError) {
        do { try await follow(next, isEmpty: isEmpty) } catch { throw OperationError(any: error) }
    }
}

// MARK: - Events

/// The events of an operation, one after the other as they are asked for. Each iteration runs the operation.
///
/// The operation waits until its latest event is taken. It is cancelled with the task that iterates, and with the end
/// of a loop that is left early. A loop that goes on after that gets every event that the operation still tells, and
/// then its error: none is left out before a later one.
public struct OperationEvents<Operation: DatabaseOperation>: AsyncSequence, Sendable {
    /// An event of the operation.
    public typealias Element = Operation.Event

    private let start: @Sendable (@escaping @Sendable (Element) async -> Void) -> OperationHandle<Operation.Output>

    init(
        _ start: @escaping @Sendable (@escaping @Sendable (Element) async -> Void) -> OperationHandle<Operation.Output>
    ) {
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
        if let event = await withTaskCancellationHandler(
            operation: { await exchange.take() }, onCancel: { handle.cancel() })
        {
            return event
        }
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

// MARK: - Progress

/// Moves a file, and tells its progress one value at a time. Values that come while one is told are replaced by the
/// latest.
/// - Parameters:
///   - total: bytes of all files of the record.
///   - before: bytes of the files that were moved before.
///   - tell: takes numbers from 0 to 1.
///   - move: gets a function that takes the bytes of this file so far.
func withProgress<Value: Sendable>(
    of total: Int64, after before: Int64, _ tell: @escaping @Sendable (Double) async -> Void,
    _ move: (@escaping @Sendable (Int64) -> Void) async throws(OperationError) -> Value
) async throws(OperationError) -> Value {
    let (latest, continuation) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1))
    let telling = Task {
        for await bytes in latest { await tell(total > 0 ? min(Double(before + bytes) / Double(total), 1) : 1) }
    }
    let result: Result<Value, OperationError>
    do throws(OperationError) {
        result = .success(try await move { continuation.yield($0) })
    } catch {
        result = .failure(error)
    }
    continuation.finish()
    // Otherwise a value could come after the event that ends the record.
    await telling.value
    return try result.get()
}
