package import AsyncHTTPClient
package import NIOCore

/// The floor of speed of a body that comes from another machine. Only the time of waiting for its bytes counts, not the work of its reader.
package struct TransferPace: Sendable {
    /// Bytes per second. Slower bodies are given up.
    package static let slowest = 1024

    /// The body came slower than ``slowest``.
    package struct TooSlow: Error, CustomStringConvertible {
        /// The time in which less came.
        let waited: Duration

        package var description: String { "it came slower than \(slowest) bytes a second" }
    }

    /// The time of waiting after which the speed is looked at.
    private static let interval: Duration = .seconds(30)

    private var waited = Duration.zero
    private var arrived = 0

    package init() {}

    /// Notes bytes and the time that they were waited for.
    package mutating func note(_ bytes: Int, after wait: Duration) throws(TooSlow) {
        waited += wait
        arrived += bytes
        guard waited > Self.interval else { return }
        guard Double(arrived) >= waited / .seconds(1) * Double(Self.slowest) else { throw TooSlow(waited: waited) }
        (waited, arrived) = (.zero, 0)
    }

    /// The time for a body at the slowest speed.
    package static func time(for bytes: Int64) -> Duration { .seconds(Double(bytes) / Double(slowest)) }
}

/// The body of an answer, which ends if it comes too slowly.
package struct PacedBody: AsyncSequence, Sendable {
    package typealias Element = ByteBuffer

    private let body: HTTPClientResponse.Body
    private let now: @Sendable () -> ContinuousClock.Instant

    package init(_ body: HTTPClientResponse.Body, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        (self.body, self.now) = (body, now)
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var body: HTTPClientResponse.Body.AsyncIterator
        fileprivate let now: @Sendable () -> ContinuousClock.Instant
        private var pace = TransferPace()

        fileprivate init(_ body: PacedBody) {
            self.body = body.body.makeAsyncIterator()
            now = body.now
        }

        /// - Throws: ``TransferPace/TooSlow``; the errors of the connection.
        package mutating func next() async throws -> ByteBuffer? {
            let asked = now()
            guard let part = try await body.next() else { return nil }
            try pace.note(part.readableBytes, after: now() - asked)
            return part
        }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// The whole body.
    /// - Throws: `NIOTooManyBytesError` if it has more bytes than the limit.
    package func collect(upTo limit: Int) async throws -> ByteBuffer {
        var collected = ByteBuffer()
        for try await part in self {
            guard part.readableBytes <= limit - collected.readableBytes else { throw NIOTooManyBytesError(maxBytes: limit) }
            collected.writeImmutableBuffer(part)
        }
        return collected
    }
}
