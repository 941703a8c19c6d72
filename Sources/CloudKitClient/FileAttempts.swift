package import AsyncHTTPClient
internal import Foundation
package import NIOCore
internal import NIOHTTP1
internal import Records
internal import Synchronization

/// The attempts to transfer one asset file, with its address, its deadline, and the pauses after failures.
///
/// The address of a file is sufficient: requests for it carry no credentials.
struct FileAttempts: Sendable {
    private let action: String
    private let url: String
    private let exchanger: Exchanger
    private let options: CallOptions
    private let requestID = UUID().uuidString
    private var number = 0
    private var retries: Retries
    /// The state from a failed attempt until bytes flow again.
    private struct Stall {
        let began: ContinuousClock.Instant
        /// The deadline by which bytes must flow again.
        let ends: ContinuousClock.Instant
        var received: Int64 = 0
    }

    /// The current stall; `nil` while bytes flow.
    private var stall: Stall?
    private var sent: ContinuousClock.Instant

    /// - Parameter fileName: replaces the placeholder `${f}` in the address, even if it is percent-encoded.
    init(_ action: String, of url: String, named fileName: String, _ exchanger: Exchanger, _ options: CallOptions)
        throws(CloudKitFailure)
    {
        self.action = action
        self.exchanger = exchanger
        self.options = options
        retries = Retries(exchanger.configuration)
        sent = exchanger.pacing.now()
        self.url = ["${f}", "%24%7Bf%7D", "$%7Bf%7D"].reduce(url) { url, placeholder in
            url.replacingOccurrences(
                of: placeholder, with: PercentEncoding.encoded(fileName), options: .caseInsensitive)
        }
        // A service with TLS has file addresses with TLS. An unencrypted address would be a mistake or an attack.
        let schemes = exchanger.transport.isSecure ? ["https"] : ["https", "http"]
        guard let parts = URL(string: self.url), let scheme = parts.scheme?.lowercased(), schemes.contains(scheme),
            parts.host()?.isEmpty == false
        else {
            throw CloudKitFailure(
                .invalidRequest("The address of the file is none of \(schemes.joined(separator: " or "))"),
                action: action)
        }
    }

    /// Returns the request for the next attempt.
    /// - Throws: ``CloudKitFailure`` if the caller's deadline has passed; `CancellationError`.
    mutating func next(_ method: HTTPMethod) throws -> HTTPClientRequest {
        try Task.checkCancellation()
        try checkDeadline()
        number += 1
        sent = exchanger.pacing.now()
        options.observer?(.sending(attempt, signed: nil))
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers = options.headers
        request.headers.add(name: "User-Agent", value: exchanger.configuration.userAgent)
        return request
    }

    /// The time left until the caller's deadline; `nil` if there is none.
    var timeLeft: Duration? { options.deadline.map { $0 - exchanger.pacing.now() } }

    /// - Throws: ``CloudKitFailure`` if the caller's deadline has passed.
    func checkDeadline() throws {
        if let timeLeft, timeLeft <= .zero { throw failure(.connectionLost("the deadline had passed")) }
    }

    private var attempt: RequestEvent.Attempt {
        RequestEvent.Attempt(requestID: requestID, action: action, number: number)
    }

    func failure(_ kind: CloudKitFailure.Kind) -> CloudKitFailure { CloudKitFailure(kind, attempt) }

    var transport: Transport { exchanger.transport }
    var now: ContinuousClock.Instant { exchanger.pacing.now() }
    private var patience: Duration { options.filePatience ?? exchanger.configuration.patience }
    /// The time limit for the beginning of a download.
    var timeToBegin: Duration { options.filePatience.map { min($0, timeLeft ?? $0) } ?? timeLeft ?? patience }
    /// The time limit for the beginning of the answer to an upload.
    func timeToAnswer(_ size: Int64?) -> Duration {
        let time = size.map { transport.timeToTake($0) } ?? .seconds(86_400)
        return timeLeft.map { min($0, time) } ?? time
    }

    /// Notes received bytes. Once enough bytes flow, the stall is over. Connections that each break after a few
    /// bytes do not end it.
    mutating func received(_ bytes: Int) {
        guard var stall else { return }
        stall.received += Int64(bytes)
        self.stall = stall
        guard exchanger.pacing.now() - stall.began <= TransferPace.time(for: stall.received) else { return }
        self.stall = nil
        retries = Retries(exchanger.configuration)
    }

    func answered(_ reply: Transport.Reply) {
        exchanger.answered(attempt, reply, since: sent, options)
    }

    /// Waits after a broken connection.
    /// - Parameter silence: the time for which the connection was silent before it broke.
    /// - Throws: ``CloudKitFailure`` if there must be no other attempt; `CancellationError`.
    mutating func failed(_ cause: Transport.Failure, after silence: Duration = .zero) async throws {
        switch cause {
        case .cancelled: throw CancellationError()
        case .untrusted(let reason): throw failure(.untrusted(reason))
        case .invalid(let reason): throw failure(.invalidRequest(reason))
        case .closed: throw failure(.closed)
        case .tooLarge(let limit): throw failure(.answerTooLarge(limit: limit))
        case .neverSent(let reason): try await wait(.unreachable(reason), after: silence)
        case .lost(let reason): try await wait(.connectionLost(reason), after: silence)
        case .tooSlow(let error): try await wait(.connectionLost("\(error)"), after: error.waited)
        }
    }

    /// Waits after an answer with an error status.
    ///
    /// From this server, 421 means Misdirected Request, a problem of the connection. It does not ask for a sign-in.
    /// - Throws: ``CloudKitFailure`` if there must be no other attempt; `CancellationError`.
    mutating func refused(_ reply: Transport.Reply) async throws {
        answered(reply)
        // Anyone who has the address can get the file, so the address is also a secret.
        let stated = reply.object.flatMap { ServerError($0, hiding: [Secret(url)]) }
        if let error = ServerError.temporary(stated, reply, at: exchanger.pacing.time()) {
            return try await wait(.throttled(error))
        }
        if let stated { throw failure(.refused(stated)) }
        guard reply.status == 421 || reply.status >= 500 else { throw failure(.assetRefused(status: reply.status)) }
        try await wait(.assetRefused(status: reply.status))
    }

    private mutating func wait(_ kind: CloudKitFailure.Kind, after silence: Duration = .zero) async throws {
        let now = exchanger.pacing.now()
        let ends = stall?.ends ?? now - silence + patience
        if stall == nil { stall = Stall(began: now - silence, ends: ends) }
        let deadline = options.deadline ?? ends
        let left = (options.filePatience == nil ? deadline : min(ends, deadline)) - now
        guard let pause = retries.pause(after: kind, left: left, chance: exchanger.pacing.chance()) else {
            throw failure(kind)
        }
        try await exchanger.wait(pause, attempt, because: kind, options)
    }
}

// MARK: - Speed

/// The minimum speed of a body that is sent to another machine or received from it. Only the time of waiting for the
/// other machine counts.
package struct TransferPace: Sendable {
    /// The minimum speed in bytes per second. Slower transfers fail.
    package static let slowest = 1024

    /// The error of a transfer that was slower than ``slowest``.
    package struct TooSlow: Error, CustomStringConvertible {
        /// The time in which less was transferred.
        let waited: Duration

        package var description: String { "the transfer was slower than \(slowest) bytes a second" }
    }

    /// The waiting time after which the speed is checked.
    fileprivate static let interval: Duration = .seconds(30)

    private var waited = Duration.zero
    private var arrived = 0

    package init() {}

    /// Adds bytes and the time spent waiting for them.
    package mutating func note(_ bytes: Int, after wait: Duration) throws(TooSlow) {
        waited += wait
        arrived += bytes
        guard waited > Self.interval else { return }
        guard Double(arrived) >= waited / .seconds(1) * Double(Self.slowest) else { throw TooSlow(waited: waited) }
        (waited, arrived) = (.zero, 0)
    }

    /// The time that a body takes at the minimum speed.
    package static func time(for bytes: Int64) -> Duration { .seconds(Double(bytes) / Double(slowest)) }
}

/// The body of an answer. Reading fails if it arrives too slowly.
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

    /// Reads the whole body.
    /// - Throws: `NIOTooManyBytesError` if it has more bytes than the limit; the errors of reading.
    package func collect(upTo limit: Int) async throws -> ByteBuffer {
        var collected = ByteBuffer()
        for try await part in self {
            guard part.readableBytes <= limit - collected.readableBytes else {
                throw NIOTooManyBytesError(maxBytes: limit)
            }
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
            if let since = upload.outstanding.part.withLock({ $0.since.take() }) {
                try pace.note(handedOver, after: now() - since)
            }
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
                    if let since = part.since, part.number == before.number, before.since != nil {
                        throw TransferPace.TooSlow(waited: now() - since)
                    }
                }
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}
