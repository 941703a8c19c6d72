public import CloudKitClient
public import Records

/// An operation on a database: a value with its parameters. It does nothing until it is added to a ``Database``, any number of times.
///
/// Callbacks of one operation are one event at a time, in order. The operation waits for each, so that nothing piles up.
public protocol DatabaseOperation: Sendable {
    /// A step that the operation tells of, such as a record that was saved.
    associatedtype Event: Sendable
    /// The result of the whole operation.
    associatedtype Output: Sendable

    /// Runs the operation. ``Database`` calls it.
    /// - Parameters:
    ///   - context: sends its requests.
    ///   - deliver: takes each event.
    /// - Throws: ``OperationError``: `partialFailure` with the errors of the items that failed, if the operation as a whole did not.
    func run(in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void) async throws(OperationError) -> Output
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
        operationID: String, _ scope: DatabaseScope, _ container: Container, _ rank: RequestScheduler.Rank, _ configuration: OperationConfiguration,
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
    /// - Throws: ``OperationError``; `operationCancelled` if the task is cancelled and nothing was under way that saves.
    public func request<Value: Sendable>(_ send: @Sendable (DatabaseClient) async throws -> Value) async throws(OperationError) -> Value {
        try await repeating { database in
            try await send(database.until(min(client.pacing.now() + requestTime, deadline)))
        }
    }

    /// Sends a file up or down. While it moves it may take the time of the whole operation.
    /// - Parameter send: takes the database for requests, and the one for the file.
    func transfer<Value: Sendable>(_ send: @Sendable (DatabaseClient, DatabaseClient) async throws -> Value) async throws(OperationError) -> Value {
        try await repeating { database in
            try await send(database.until(min(client.pacing.now() + requestTime, deadline)), database.until(deadline).withFilePatience(requestTime))
        }
    }

    private func repeating<Value: Sendable>(_ send: @Sendable (DatabaseClient) async throws -> Value) async throws(OperationError) -> Value {
        var pause = Self.firstPause
        while true {
            let failure: OperationError
            do {
                return try await scheduler.run(rank) { try await send(client.database(scope)) }
            } catch {
                failure = OperationError(any: error)
            }
            if Task.isCancelled, failure.code != .serverResponseLost { throw .cancelled }
            guard rank.qualityOfService.isDiscretionary, failure.isOfNetwork, !failure.isUntrusted, client.pacing.now() + pause < deadline else {
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
