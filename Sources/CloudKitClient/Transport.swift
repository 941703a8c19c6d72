internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Records
internal import Synchronization

/// The HTTP connections of a client, with the errors that they cause.
///
/// Asset files use separate connections. All connections use HTTP/1.1, because CloudKit answers 421 Misdirected Request
/// if one HTTP/2 connection serves both hosts.
final class Transport: Sendable {
    struct Reply: Sendable {
        let status: Int
        let headers: HTTPHeaders
        /// The body; empty for a file, whose body is read later.
        var body = ByteBuffer()

        /// The ID by which Apple can find the request.
        var appleRequestUUID: String? { headers.first(name: "X-Apple-Request-UUID") }

        /// The JSON object in the body; `nil` if the body is not a JSON object.
        var object: JSONObject? {
            if case .object(let object)? = try? JSONReader.value(of: body.readableBytesView) { object } else { nil }
        }
    }

    /// The reason why there is no complete answer.
    enum Failure: Error {
        case neverSent(String)
        case untrusted(String)
        case lost(String)
        case tooSlow(TransferPace.TooSlow)
        case tooLarge(limit: Int)
        case invalid(String)
        case cancelled
        case closed
    }

    private static let connectTime = Duration.seconds(10)
    /// The maximum size in bytes of an answer from the asset server that is not a file.
    private static let fileAnswerLimit = 1 << 20

    /// Scheme, host and port, without a slash at the end.
    let address: String
    let isSecure: Bool
    private let services: HTTPClient
    private let files: HTTPClient
    private let answerLimit: Int
    private let idleTimeout: Duration
    private let fileIdleTimeout: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let isClosed = Mutex(false)

    /// - Parameter now: the clock for measuring the speed of bodies.
    /// - Throws: ``CloudKitFailure`` for an invalid address, certificates that are not in PEM format, or a product with
    ///   other characters than visible ASCII and spaces.
    init(_ configuration: ClientConfiguration, now: @escaping @Sendable () -> ContinuousClock.Instant)
        throws(CloudKitFailure)
    {
        guard let url = URL(string: configuration.address), let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme),
            let host = url.host(), !host.isEmpty, url.query() == nil
        else {
            throw .noAddress(configuration.address)
        }
        guard configuration.userAgent.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
            throw .unusable(
                "The product has other characters than visible ASCII and spaces; expected one like Notes/2.1")
        }
        address =
            configuration.address.hasSuffix("/") ? String(configuration.address.dropLast()) : configuration.address
        isSecure = scheme == "https"
        answerLimit = configuration.answerLimit
        idleTimeout = configuration.idleTimeout
        fileIdleTimeout = configuration.fileIdleTimeout ?? idleTimeout
        self.now = now
        var client = HTTPClient.Configuration()
        var tls = TLSConfiguration.makeClientConfiguration()
        switch configuration.trust {
        case .certificates(nil): break
        case .certificates(let pem?):
            guard let certificates = try? NIOSSLCertificate.fromPEMBytes(pem) else {
                throw .unusable("The trusted certificates are not in PEM format")
            }
            tls.additionalTrustRoots = [.certificates(certificates)]
        case .address: tls.certificateVerification = .none
        }
        client.tlsConfiguration = tls
        client.httpVersion = .http1Only
        client.redirectConfiguration = .disallow
        // Trace spans would contain addresses, and addresses contain credentials.
        client.tracing.tracer = nil
        client.timeout.connect = .nanoseconds(Self.connectTime.nanoseconds)
        client.timeout.read = .nanoseconds(configuration.idleTimeout.nanoseconds)
        // This timeout is for a body that yields no bytes. `PacedUpload` detects a server that accepts none.
        client.timeout.write = .nanoseconds(configuration.idleTimeout.nanoseconds)
        // If the server closes an idle connection at the moment of a save, the answer would be lost.
        client.connectionPool.idleTimeout = .seconds(15)
        // Failures are handled here, where it is known which requests may be repeated.
        client.connectionPool.retryConnectionEstablishment = false
        client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = configuration.connections
        services = HTTPClient(eventLoopGroupProvider: .singleton, configuration: client)
        client.timeout.read = .nanoseconds(fileIdleTimeout.nanoseconds)
        client.timeout.write = .nanoseconds(fileIdleTimeout.nanoseconds)
        files = HTTPClient(eventLoopGroupProvider: .singleton, configuration: client)
    }

    /// False after ``close()``.
    var isOpen: Bool { !isClosed.withLock { $0 } }

    deinit {
        // A client that was not closed must not crash the process in its deinitializer. The shutdown closes the
        // connections.
        if isOpen {
            for client in [services, files] { _ = client.shutdown() as EventLoopFuture<Void> }
        }
    }

    func close() async {
        let wasClosed = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return isClosed
        }
        if wasClosed { return }
        // This fails only after an earlier shutdown, which is harmless.
        try? await files.shutdown()
        try? await services.shutdown()
    }

    // MARK: Exchanges

    /// Sends a request to CloudKit, and reads the whole answer.
    /// - Parameters:
    ///   - bytes: the length of the request's body in bytes.
    ///   - begun: receives the headers before the rest of the answer is read.
    func reply(to request: HTTPClientRequest, of bytes: Int, begun: (HTTPHeaders) async -> Void) async -> Result<
        Reply, Failure
    > {
        do {
            let response = try await answer(to: request, of: bytes)
            await begun(response.headers)
            return .success(try await reply(of: response, limit: answerLimit))
        } catch {
            return .failure(failure(error))
        }
    }

    /// Sends a request to CloudKit, and returns when its answer begins.
    /// - Parameter bytes: the length of the request's body in bytes.
    /// - Throws: errors for ``failure(_:)``.
    func answer(to request: HTTPClientRequest, of bytes: Int) async throws -> HTTPClientResponse {
        try await services.execute(request, timeout: .nanoseconds(timeToAnswer(Int64(bytes)).nanoseconds))
    }

    /// The time limit for the beginning of an answer.
    /// - Parameter bytes: the length of the request's body in bytes.
    private func timeToAnswer(_ bytes: Int64) -> Duration { idleTimeout + TransferPace.time(for: bytes) }

    /// The time limit for the beginning of the answer to a file.
    func timeToTake(_ bytes: Int64) -> Duration { fileIdleTimeout + TransferPace.time(for: bytes) }

    /// The time limit for the beginning of an answer that the server may delay. The idle timeout already limits
    /// silence, but not a head that arrives in many small parts.
    var timeToNotify: Duration { Self.connectTime + fileIdleTimeout }

    /// The body of an answer. Reading it fails if it arrives too slowly.
    func body(of response: HTTPClientResponse) -> PacedBody { PacedBody(response.body, now: now) }

    /// Sends a request to the asset server.
    /// - Parameter time: the time limit for the beginning of the answer.
    func file(_ request: HTTPClientRequest, within time: Duration) async -> Result<HTTPClientResponse, Failure> {
        do {
            return .success(try await files.execute(request, timeout: .nanoseconds(time.nanoseconds)))
        } catch {
            return .failure(failure(error))
        }
    }

    /// Reads a whole small answer of the asset server.
    func reply(of response: HTTPClientResponse) async -> Result<Reply, Failure> {
        do {
            return .success(try await reply(of: response, limit: Self.fileAnswerLimit))
        } catch {
            return .failure(failure(error))
        }
    }

    private func reply(of response: HTTPClientResponse, limit: Int) async throws -> Reply {
        do {
            return Reply(
                status: Int(response.status.code), headers: response.headers,
                body: try await body(of: response).collect(upTo: limit))
        } catch is NIOTooManyBytesError {
            throw Failure.tooLarge(limit: limit)
        }
    }

    // MARK: Failure

    func failure(_ error: any Error) -> Failure {
        if Task.isCancelled || error is CancellationError { return .cancelled }
        switch error {
        case let failure as Failure: return failure
        case let error as TransferPace.TooSlow: return .tooSlow(error)
        case let error as HTTPClientError: return Self.failure(error)
        case let error as NIOConnectionError:
            return .neverSent(
                error.connectionErrors.first.map { Self.words(for: $0.error) } ?? "the host \(error.host) was not found"
            )
        case let error as IOError where error.errnoCode == ECONNREFUSED: return .neverSent(Self.words(for: error))
        case let error as IOError: return .lost(Self.words(for: error))
        case NIOSSLError.handshakeFailed(let cause):
            let reason = "\(cause)"
            return reason.contains("CERTIFICATE")
                ? .untrusted(reason) : .neverSent("the TLS handshake failed: \(reason)")
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return .untrusted("it is of another host")
        default: return .lost("\(error)")
        }
    }

    private static func failure(_ error: HTTPClientError) -> Failure {
        switch error {
        case .connectTimeout: .neverSent("nothing answered in time")
        case .tlsHandshakeTimeout: .neverSent("the TLS handshake took too long")
        case .getConnectionFromPoolTimeout: .neverSent("no connection was free in time")
        case .alreadyShutdown: .closed
        case .invalidURL, .emptyHost, .emptyScheme: .invalid("The address cannot be used")
        case .bodyLengthMismatch: .invalid("The file has not the size that was given for it")
        case .remoteConnectionClosed: .lost("the server closed it")
        case .readTimeout: .lost("nothing more came")
        case .writeTimeout: .lost("there was nothing more to send")
        case .deadlineExceeded: .lost("no answer came in time")
        default: .lost("\(error)")
        }
    }

    private static func words(for error: any Error) -> String {
        guard let error = error as? IOError else { return "\(error)" }
        return error.errnoCode == ECONNREFUSED ? "the connection was refused" : "\(error)"
    }
}

extension CloudKitFailure {
    static func noAddress(_ address: String) -> CloudKitFailure {
        unusable("'\(address)' is no address of a server; expected one like \(ClientConfiguration.cloudKit)")
    }

    fileprivate static func unusable(_ reason: String) -> CloudKitFailure {
        CloudKitFailure(.invalidRequest(reason), action: "connect")
    }
}

extension Duration {
    /// The duration in nanoseconds, limited to about 200 years.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(max(seconds, 0), 6_000_000_000) * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
    }
}
