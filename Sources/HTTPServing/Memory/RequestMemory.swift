internal import HTTPTypes
internal import Hummingbird
internal import Records
internal import Synchronization

/// What one request holds of a server's ``MemoryBudget``.
public final class RequestMemory: Sendable {
    /// There is no room for an answer that is to be made of what was read. The request can drop what it read, wait for room, and read again.
    public struct Shortage: Error {
        let count: Int
    }

    /// Of the request that this task answers; `nil` where nobody counts.
    @TaskLocal public static var current: RequestMemory?

    /// Bytes of a body or an answer that are not counted: a connection takes as much for itself.
    static let uncounted = 64 << 10
    /// How long a request waits for others to give back, before it is sent away.
    private static let patience = Duration.seconds(3)
    /// A waiting request looks for room this often. Waking it instead would need a list of waiting requests, for a rare case.
    private static let interval = Duration.milliseconds(20)
    /// Seconds.
    private static let retryAfter = 2
    private static let lacksRoom = "The server holds as many large requests and answers as it has memory for (skylight serve --transfer-memory); try again in a moment"

    private struct Held {
        var body = 0
        var answer = 0
    }

    private let budget: MemoryBudget
    private let held = Mutex(Held())

    init(of budget: MemoryBudget) {
        self.budget = budget
    }

    deinit {
        budget.giveBack(held.withLock { $0.body + $0.answer })
    }

    private func waitForRoom(_ count: Int) async throws -> Bool {
        let start = ContinuousClock.now
        while !budget.take(count) {
            if ContinuousClock.now - start >= Self.patience { return false }
            try await Task.sleep(for: Self.interval)
        }
        return true
    }

    // MARK: Bodies

    /// Makes room for bytes of a body, before they are read.
    /// - Throws: ``Refusal`` 503 when there is none for some seconds, which ends the connection; `CancellationError`.
    func collect(_ count: Int) async throws {
        guard try await waitForRoom(count) else {
            throw Refusal(.serviceUnavailable, .tryAgainLater, Self.lacksRoom, retryAfter: Self.retryAfter, endsConnection: true)
        }
        held.withLock { $0.body += count }
    }

    // MARK: Answers

    /// Makes room for an answer, once it is known how large it will be and before it is made.
    /// - Parameter count: bytes that it and what it is made of take.
    /// - Throws: ``Shortage`` when there is none.
    public func prepareAnswer(of count: Int) throws(Shortage) {
        let more = count - held.withLock { $0.answer }
        guard count > Self.uncounted, more > 0 else { return }
        guard budget.take(more) else { throw Shortage(count: count) }
        held.withLock { $0.answer += more }
    }

    /// Waits until there is room for an answer for which there was none. What it was to be made of must have been dropped.
    /// - Throws: `RecordError` TRY_AGAIN_LATER when there is none for some seconds; `CancellationError`.
    public func waitForRoom(after shortage: Shortage) async throws {
        let more = shortage.count - held.withLock { $0.answer }
        guard more > 0 else { return }
        guard try await waitForRoom(more) else { throw RecordError(.tryAgainLater, Self.lacksRoom, retryAfter: Self.retryAfter) }
        held.withLock { $0.answer += more }
    }

    /// The same answer, counted as what it is from now on until it is sent or dropped. The body of the request is not needed any more.
    func hold(_ response: Response) -> Response {
        let isFile = response.headers.contains(.acceptRanges)
        // Streams keep what they made room for.
        let length = isFile ? 0 : response.body.contentLength.map { $0 > Self.uncounted ? $0 : 0 }
        let answer = held.withLock { held in
            let change = (length ?? held.answer) - held.answer - held.body
            held = Held(body: 0, answer: length ?? held.answer)
            if change > 0 { budget.count(change) } else if change < 0 { budget.giveBack(-change) }
            return held.answer
        }
        guard answer > 0 else { return response }
        var response = response
        let body = response.body
        response.body = ResponseBody(contentLength: body.contentLength) { [self] writer in
            try await body.write(writer)
            budget.giveBack(held.withLock { held in
                defer { held.answer = 0 }
                return held.answer
            })
        }
        return response
    }
}
