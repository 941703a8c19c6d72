package import AsyncHTTPClient
package import NIOCore
internal import Synchronization

/// The floor of speed of a body that comes from another machine, or goes there. Only the time of waiting for the other side counts, not the work of this one.
package struct TransferPace: Sendable {
    /// Bytes per second. Slower bodies are given up.
    package static let slowest = 1024

    /// The body came or went slower than ``slowest``.
    package struct TooSlow: Error, CustomStringConvertible {
        /// The time in which less was transferred.
        let waited: Duration

        package var description: String { "the transfer was slower than \(slowest) bytes a second" }
    }

    /// The time of waiting after which the speed is looked at.
    fileprivate static let interval: Duration = .seconds(30)

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

/// A body on its way to another machine, which ends if that takes it too slowly.
///
/// A machine that takes nothing never asks for the next part. ``watching(_:)`` sees that.
package struct PacedUpload<Body: AsyncSequence & Sendable>: AsyncSequence, Sendable where Body.Element == ByteBuffer {
    package typealias Element = ByteBuffer

    /// The bytes of a part, which take a minute at the slowest speed.
    private static var partLength: Int { 64 << 10 }

    /// The part that the connection has and did not pass on yet.
    private final class Outstanding: Sendable {
        let part = Mutex<(number: Int, since: ContinuousClock.Instant?)>((0, nil))
    }

    private let body: Body
    private let now: @Sendable () -> ContinuousClock.Instant
    private let sleep: @Sendable (Duration) async throws -> Void
    private let outstanding = Outstanding()

    package init(
        _ body: Body, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        (self.body, self.now, self.sleep) = (body, now, sleep)
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var body: Body.AsyncIterator
        fileprivate let upload: PacedUpload
        private var pace = TransferPace()
        private var rest = ByteBuffer()
        private var handedOver = 0

        fileprivate init(_ upload: PacedUpload) {
            body = upload.body.makeAsyncIterator()
            self.upload = upload
        }

        /// - Throws: ``TransferPace/TooSlow``; the errors of the body.
        package mutating func next() async throws -> ByteBuffer? {
            let now = upload.now
            if let since = upload.outstanding.part.withLock({ $0.since.take() }) { try pace.note(handedOver, after: now() - since) }
            while rest.readableBytes == 0 {
                guard let part = try await body.next() else { return nil }
                rest = part
            }
            handedOver = Swift.min(rest.readableBytes, PacedUpload.partLength)
            let part = rest.readSlice(length: handedOver)
            upload.outstanding.part.withLock { $0 = ($0.number + 1, now()) }
            return part
        }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Sends the body, and cancels that when a part is not taken for too long.
    /// - Parameter send: sends this body once, and returns when an answer begins.
    /// - Throws: ``TransferPace/TooSlow``; the errors of sending.
    package func watching<Value: Sendable>(_ send: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await send() }
            group.addTask {
                let longest = TransferPace.interval + TransferPace.time(for: Int64(Self.partLength))
                while true {
                    let before = outstanding.part.withLock { $0 }
                    try await sleep(longest)
                    let part = outstanding.part.withLock { $0 }
                    if let since = part.since, part.number == before.number, before.since != nil { throw TransferPace.TooSlow(waited: now() - since) }
                }
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}
