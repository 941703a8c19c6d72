internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
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
        /// The bytes of the body, where they can be read again.
        var kept: KeptBody?

        var total: Int { body + answer }
    }

    private let budget: MemoryBudget
    private let held = Mutex(Held())

    init(of budget: MemoryBudget) {
        self.budget = budget
    }

    deinit {
        budget.giveBack(held.withLock { $0.total })
    }

    private func take(_ count: Int) -> Bool { budget.take(count, beside: held.withLock { $0.total }) }

    private func waitForRoom(_ count: Int) async throws -> Bool {
        let start = ContinuousClock.now
        while !take(count) {
            if ContinuousClock.now - start >= Self.patience { return false }
            try await Task.sleep(for: Self.interval)
        }
        return true
    }

    // MARK: Bodies

    /// Makes room for a body, before its bytes are read. One that is read again needs none but what it takes more than the first time.
    /// - Parameter count: bytes of all that is held of it.
    /// - Throws: ``Refusal`` 503 when there is none for some seconds, which ends the connection; `CancellationError`.
    func makeRoom(forBodyOf count: Int) async throws {
        let more = count - held.withLock { $0.body }
        guard more > 0 else { return }
        guard try await waitForRoom(more) else {
            throw Refusal(.serviceUnavailable, .tryAgainLater, Self.lacksRoom, retryAfter: Self.retryAfter, endsConnection: true)
        }
        held.withLock { $0.body += more }
    }

    /// The body of a request that was read as these bytes, to be read again.
    static func keep(_ bytes: [UInt8]) -> RequestBody {
        let kept = KeptBody(bytes)
        current?.held.withLock { $0.kept = kept }
        return RequestBody(asyncSequence: kept)
    }

    /// The body, if it was read and can be read again. To share it takes no memory.
    var keptBody: [UInt8]? { held.withLock { $0.kept }?.all }

    /// Gives back the room of the body, and drops what is kept of it. It can't be read again. To be called by who needs its bytes no more and
    /// will not answer for long.
    public func dropBody() {
        let (kept, count) = held.withLock { held in
            defer { (held.kept, held.body) = (nil, 0) }
            return (held.kept, held.body)
        }
        kept?.drop()
        budget.giveBack(count)
    }

    // MARK: Answers

    /// Makes room for an answer, once it is known how large it will be and before it is made.
    /// - Parameter count: bytes that it and what it is made of take.
    /// - Throws: ``Shortage`` when there is none.
    public func prepareAnswer(of count: Int) throws(Shortage) {
        let more = count - held.withLock { $0.answer }
        guard count > Self.uncounted, more > 0 else { return }
        guard take(more) else { throw Shortage(count: count) }
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

    /// Makes room for an answer before anything is read for it.
    /// - Throws: `RecordError` TRY_AGAIN_LATER when there is none for some seconds; `CancellationError`.
    public func makeRoom(forAnswerOf count: Int) async throws {
        do { try prepareAnswer(of: count) } catch { try await waitForRoom(after: error) }
    }

    /// Makes an answer of what is read for it. Where there is no room for it, what was read is dropped, and read again when there is.
    /// - Parameter make: changes nothing, and calls ``prepareAnswer(of:)`` when it has read.
    /// - Throws: what it throws; `RecordError` TRY_AGAIN_LATER when there is no room for some seconds, or too little for what is read by then;
    ///   `CancellationError`.
    public static func makeAnswer<Value>(_ make: () async throws -> Value) async throws -> Value {
        do {
            return try await make()
        } catch let shortage as Shortage {
            try await current?.waitForRoom(after: shortage)
        }
        do {
            return try await make()
        } catch is Shortage {
            throw RecordError(.tryAgainLater, "The records that were asked for grow faster than they can be answered", retryAfter: 1)
        }
    }

    /// Gives back the room of an answer that is sent, or of the part of a stream that is.
    public func giveBackAnswer() {
        budget.giveBack(held.withLock { held in
            defer { held.answer = 0 }
            return held.answer
        })
    }

    /// The same answer, counted as what it is from now on until it is sent or dropped. The body of the request is not needed any more.
    /// - Parameter loop: of the connection.
    func hold(_ response: Response, on loop: any EventLoop) -> Response {
        let isFile = response.headers.contains(.acceptRanges)
        // Streams keep what they made room for.
        let length = isFile ? 0 : response.body.contentLength.map { $0 > Self.uncounted ? $0 : 0 }
        let answer = held.withLock { held in
            let change = (length ?? held.answer) - held.total
            held = Held(answer: length ?? held.answer)
            if change > 0 { budget.count(change) } else if change < 0 { budget.giveBack(-change) }
            return held.answer
        }
        guard answer > 0 else { return response }
        var response = response
        let body = response.body
        response.body = ResponseBody(contentLength: body.contentLength) { [self] writer in
            try await body.write(PacedWriter(writer, on: loop))
            giveBackAnswer()
        }
        return response
    }
}
