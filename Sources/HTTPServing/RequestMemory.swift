internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Records
internal import Synchronization

/// The share of one request in the server's ``MemoryBudget``.
public final class RequestMemory: Sendable {
    /// The error if there is no memory for an answer to the data that was read. The request can drop the data, wait for
    /// memory, and read again.
    public struct Shortage: Error {
        let count: Int
    }

    /// The memory of the request that this task answers; `nil` if memory is not counted.
    @TaskLocal public static var current: RequestMemory?

    /// Bodies and answers up to this size in bytes are not counted. A connection needs as much anyway.
    static let uncounted = 64 << 10
    /// The maximum time that a request waits for memory before it is refused.
    private static let patience = Duration.seconds(3)
    /// The polling interval of waiting requests. Polling is simpler than a list of waiting requests to wake, and
    /// waiting is rare.
    private static let interval = Duration.milliseconds(20)
    /// The time after which clients may try again, in seconds.
    private static let retryAfter = 2
    private static let lacksRoom =
        "The server has no memory for more large requests and responses (skylight serve --transfer-memory); try again in a moment"

    private struct Reservation {
        var body = 0
        var answer = 0
        /// The body, if it was kept for a second read.
        var kept: BufferedBody?

        var total: Int { body + answer }
    }

    private let budget: MemoryBudget
    private let held = Mutex(Reservation())

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

    /// Reserves memory for a body before it is read. For a body that is read again, only the additional size counts.
    /// - Parameter count: the total size of the memory for the body, in bytes.
    /// - Throws: ``Refusal`` 503 if there is not enough memory for some seconds, which ends the connection;
    ///   `CancellationError`.
    func makeRoom(forBodyOf count: Int) async throws {
        let more = count - held.withLock { $0.body }
        guard more > 0 else { return }
        guard try await waitForRoom(more) else {
            throw Refusal(
                .serviceUnavailable, .tryAgainLater, Self.lacksRoom, retryAfter: Self.retryAfter, endsConnection: true)
        }
        held.withLock { $0.body += more }
    }

    /// Creates a body from these bytes, which can be read again.
    static func keep(_ bytes: [UInt8]) -> RequestBody {
        let kept = BufferedBody(bytes)
        current?.held.withLock { $0.kept = kept }
        return RequestBody(asyncSequence: kept)
    }

    /// The body, if it was read and can be read again. Sharing it takes no memory.
    var keptBody: [UInt8]? { held.withLock { $0.kept }?.all }

    /// Releases the memory of the body, which cannot be read again after that. For handlers that no longer need the
    /// body and answer slowly.
    public func dropBody() {
        let (kept, count) = held.withLock { held in
            defer { (held.kept, held.body) = (nil, 0) }
            return (held.kept, held.body)
        }
        kept?.drop()
        budget.giveBack(count)
    }

    // MARK: Answers

    /// Reserves memory for an answer when its size is known, before the answer is created.
    /// - Parameter count: the size in bytes of the answer and of the data for it.
    /// - Throws: ``Shortage`` if there is not enough memory.
    public func prepareAnswer(of count: Int) throws(Shortage) {
        let more = count - held.withLock { $0.answer }
        guard count > Self.uncounted, more > 0 else { return }
        guard take(more) else { throw Shortage(count: count) }
        held.withLock { $0.answer += more }
    }

    /// Waits for memory after a ``Shortage``. The data for the answer must have been released.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if there is not enough memory for some seconds; `CancellationError`.
    public func waitForRoom(after shortage: Shortage) async throws {
        let more = shortage.count - held.withLock { $0.answer }
        guard more > 0 else { return }
        guard try await waitForRoom(more) else {
            throw RecordError(.tryAgainLater, Self.lacksRoom, retryAfter: Self.retryAfter)
        }
        held.withLock { $0.answer += more }
    }

    /// Reserves memory for an answer before its data is read.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if there is not enough memory for some seconds; `CancellationError`.
    public func makeRoom(forAnswerOf count: Int) async throws {
        do { try prepareAnswer(of: count) } catch { try await waitForRoom(after: error) }
    }

    /// Creates an answer. If there is not enough memory for it, drops the data, waits for memory, and creates the
    /// answer again.
    /// - Parameter make: creates the answer. It must have no side effects, and must call ``prepareAnswer(of:)`` after
    ///   it has read its data.
    /// - Throws: the errors of `make`; `RecordError` TRY_AGAIN_LATER if there is not enough memory for some seconds, or
    ///   again not enough for the data read after waiting; `CancellationError`.
    public static func makeAnswer<Value>(_ make: () async throws -> Value) async throws -> Value {
        do {
            return try await make()
        } catch let shortage as Shortage {
            try await current?.waitForRoom(after: shortage)
        }
        do {
            return try await make()
        } catch is Shortage {
            throw RecordError(
                .tryAgainLater, "The requested records grow while they are read; try again", retryAfter: 1)
        }
    }

    /// Releases the memory of an answer that was sent, or of the part of a stream that was sent.
    public func giveBackAnswer() {
        budget.giveBack(
            held.withLock { held in
                defer { held.answer = 0 }
                return held.answer
            })
    }

    /// Counts the actual size of an answer until it is sent or dropped, and releases the memory of the request body.
    /// - Parameter loop: the event loop of the connection.
    func hold(_ response: Response, on loop: any EventLoop) -> Response {
        let isFile = response.headers.contains(.acceptRanges)
        // Streams keep the memory that they reserved.
        let length = isFile ? 0 : response.body.contentLength.map { $0 > Self.uncounted ? $0 : 0 }
        let answer = held.withLock { held in
            let change = (length ?? held.answer) - held.total
            held = Reservation(answer: length ?? held.answer)
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

// MARK: - The server's limit

/// The memory limit of a server for request bodies and answers together.
///
/// A request body counts until the request is answered. An answer counts until the client has received it or has
/// disconnected. Small bodies and answers do not count, nor do asset downloads and uploads, which are streamed.
public final class MemoryBudget: Sendable {
    /// 128 MiB: four request bodies of the maximum size, or two of the largest answers, which count twice while they
    /// are created.
    public static let defaultLimit = 128 << 20
    /// 64 MiB. With less, one of the largest answers would only fit while nothing else counts.
    public static let leastLimit = 64 << 20

    private let limit: Int
    /// The number of released bytes after which the heap is trimmed.
    private static let trimSize = 32 << 20

    private let taken = Atomic(0)
    private let returned = Atomic(0)

    /// - Parameter limit: the limit in bytes.
    public init(limit: Int = defaultLimit) {
        self.limit = limit
    }

    /// The number of bytes released since the heap was trimmed.
    var returnedBytes: Int { returned.load(ordering: .relaxed) }

    /// The number of bytes in use.
    public var takenBytes: Int { taken.load(ordering: .relaxed) }

    /// Reserves memory.
    /// - Parameters:
    ///   - count: the number of bytes to reserve.
    ///   - own: the number of bytes that the same request already uses.
    /// - Returns: true if there is enough memory. While no other request uses memory, a request may exceed the limit,
    ///   because it could never succeed otherwise.
    func take(_ count: Int, beside own: Int) -> Bool {
        var before = taken.load(ordering: .relaxed)
        while before + count <= limit || before == own {
            let (isTaken, now) = taken.weakCompareExchange(
                expected: before, desired: before + count, ordering: .relaxed)
            if isTaken { return true }
            before = now
        }
        return false
    }

    /// Counts memory that is already in use, even beyond the limit.
    func count(_ count: Int) { taken.add(count, ordering: .relaxed) }

    func giveBack(_ count: Int) {
        taken.subtract(count, ordering: .relaxed)
        returned.add(count, ordering: .relaxed)
    }

    /// Decides whether to trim the heap now: ``trimSize`` bytes were released since the last time, and none are in use.
    /// - Returns: true once, and then false until as many bytes were released again.
    public func takeTrimming() -> Bool {
        guard takenBytes == 0, returnedBytes >= Self.trimSize else { return false }
        returned.store(0, ordering: .relaxed)
        return true
    }
}

// MARK: - Kept bodies

/// A body that was read and can be read again. After it is dropped, remaining copies of the request hold no memory.
final class BufferedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private static let pieceSize = 64 << 10

    private let bytes: Mutex<[UInt8]>

    init(_ bytes: [UInt8]) {
        self.bytes = Mutex(bytes)
    }

    var all: [UInt8] { bytes.withLock { $0 } }

    func drop() { bytes.withLock { $0 = [] } }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(rest: bytes.withLock { $0 }[...])
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var rest: ArraySlice<UInt8>

        mutating func next() async -> ByteBuffer? {
            if rest.isEmpty { return nil }
            defer { rest = rest.dropFirst(pieceSize) }
            return ByteBuffer(bytes: rest.prefix(pieceSize))
        }
    }
}
