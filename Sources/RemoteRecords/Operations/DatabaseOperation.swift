public import CloudKitClient
public import Records
internal import Synchronization

/// An operation on a database: a struct with the parameters. It does nothing until it is added to a ``Database``. It
/// can be added any number of times.
///
/// An operation delivers one event at a time, in order. It waits until each callback returns, so that events do not
/// accumulate.
public protocol DatabaseOperation: Sendable {
    /// A step that the operation reports, such as a saved record.
    associatedtype Event: Sendable
    /// The result of the whole operation.
    associatedtype Output: Sendable

    /// Runs the operation. ``Database`` calls it.
    /// - Parameters:
    ///   - context: gives access to the database.
    ///   - deliver: receives each event.
    /// - Throws: ``OperationError``: `partialFailure` with the errors of the failed items, if the operation did not
    ///   fail as a whole.
    func run(in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void)
        async throws(OperationError) -> Output
}

/// An operation's access to its database.
public struct OperationContext: Sendable {
    /// The ID of the run, which is also the ID of its ``OperationHandle``.
    public let operationID: String
    /// The database of the operation.
    public let scope: DatabaseScope
    let client: ContainerClient
    private let scheduler: RequestScheduler
    private let rank: RequestScheduler.Rank
    private let requestTime: Duration
    private let deadline: ContinuousClock.Instant
    /// The stored steps of a long-lived operation; `nil` for other operations.
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

    /// Sends a request when it is its turn. With a discretionary quality of service, it waits while the connection is
    /// broken, and sends the request again.
    /// - Throws: ``OperationError``; `operationCancelled` if the task is cancelled and no save was under way.
    public func request<Value: Sendable>(_ send: @Sendable (DatabaseClient) async throws -> Value)
        async throws(OperationError) -> Value
    {
        try await repeating { database in
            try await send(database.until(min(client.pacing.now() + requestTime, deadline)))
        }
    }

    /// Uploads or downloads a file. The transfer can take as long as the whole operation, as long as bytes flow.
    /// - Parameter send: receives one database for requests, and one for the file.
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
    /// - Throws: ``OperationError``: `serverRejectedRequest` if the server's pages never end.
    mutating func followed(_ next: String, isEmpty: Bool) async throws(OperationError) {
        do { try await follow(next, isEmpty: isEmpty) } catch { throw OperationError(any: error) }
    }
}

// MARK: - Events

/// The events of an operation as an asynchronous sequence. Each iteration runs the operation.
///
/// The operation waits until its latest event is taken. It is cancelled when the iterating task is cancelled, or when
/// the loop ends early. A loop that continues after the cancellation receives every further event that the operation
/// delivers, without gaps, and then its error.
public struct OperationEvents<Operation: DatabaseOperation>: AsyncSequence, Sendable {
    /// An event of the operation.
    public typealias Element = Operation.Event

    private let start: @Sendable (@escaping @Sendable (Element) async -> Void) -> OperationHandle<Operation.Output>

    init(
        _ start: @escaping @Sendable (@escaping @Sendable (Element) async -> Void) -> OperationHandle<Operation.Output>
    ) {
        self.start = start
    }

    /// The iterator, which takes one event after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let running: Running<Operation.Event, Operation.Output>

        fileprivate init(_ running: Running<Operation.Event, Operation.Output>) {
            self.running = running
        }

        /// - Throws: the ``OperationError`` of the operation, after its last event.
        public mutating func next() async throws(OperationError) -> Operation.Event? {
            try await running.next()
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(OperationError)
            -> Operation.Event?
        {
            try await running.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(Running(start)) }
}

/// Cancels an operation when the last reference to this object is released.
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

    func next() async throws(OperationError) -> Event? {
        if let event = await withTaskCancellationHandler(
            operation: { await exchange.take() }, onCancel: { handle.cancel() })
        {
            return event
        }
        _ = try await handle.value
        return nil
    }
}

/// Hands over one event at a time from one task to another.
final class Exchange<Event: Sendable>: Sendable {
    private enum State {
        case idle
        case offered(Event, CheckedContinuation<Void, Never>)
        case wanted(CheckedContinuation<Event?, Never>)
        case finished
    }

    private let state = Mutex(State.idle)

    /// Returns when the event is taken, or when it can no longer be taken.
    ///
    /// A cancelled operation does not withdraw its event, because a later token or outcome would include it.
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
        // In one step, so that no task begins to wait in between.
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

/// Transfers a file, and reports the progress one value at a time. If new values arrive while one is being reported,
/// only the latest is kept.
/// - Parameters:
///   - total: the size of all files of the record, in bytes.
///   - before: the size of the files that were already transferred, in bytes.
///   - tell: receives the progress of the record, from 0 to 1.
///   - move: transfers the file. Its argument is a function to call with the number of bytes so far.
func withProgress<Value: Sendable>(
    of total: Int64, after before: Int64, _ tell: @escaping @Sendable (Double) async -> Void,
    _ move: (@escaping @Sendable (Int64) -> Void) async throws(OperationError) -> Value
) async throws(OperationError) -> Value {
    let (latest, continuation) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1))
    let telling = Task {
        for await bytes in latest {
            await tell(total > 0 ? min((Double(before) + Double(bytes)) / Double(total), 1) : 1)
        }
    }
    let result: Result<Value, OperationError>
    do throws(OperationError) {
        result = .success(try await move { continuation.yield($0) })
    } catch {
        result = .failure(error)
    }
    continuation.finish()
    // Otherwise a progress value could arrive after the event that ends the record.
    await telling.value
    return try result.get()
}
