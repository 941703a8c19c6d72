internal import AsyncHTTPClient
internal import Foundation
internal import JSON
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Text

/// The attempts to transfer one asset file: its address, its deadline, and the pauses after failures.
///
/// Addresses of files are complete. Requests for them carry no credentials.
struct FileAttempts: Sendable {
    private let action: String
    private let url: String
    private let exchanger: Exchanger
    private let options: CallOptions
    private let requestID = UUID().uuidString
    private var number = 0
    private var retries: Retries
    /// The time by which bytes must flow again; `nil` while they do.
    private var patienceEnds: ContinuousClock.Instant?
    private var sent: ContinuousClock.Instant

    /// - Parameter fileName: replaces the placeholder `${f}`, also where it is percent-encoded.
    init(_ action: String, of url: String, named fileName: String, _ exchanger: Exchanger, _ options: CallOptions) throws(CloudKitFailure) {
        self.action = action
        self.exchanger = exchanger
        self.options = options
        retries = Retries(longestPause: exchanger.configuration.longestPause)
        sent = exchanger.pacing.now()
        self.url = ["${f}", "%24%7Bf%7D", "$%7Bf%7D"].reduce(url) { url, placeholder in
            url.replacingOccurrences(of: placeholder, with: PercentEncoding.encoded(fileName), options: .caseInsensitive)
        }
        // A secure service names secure addresses. A file in the clear would be a mistake, or an attack.
        let schemes = exchanger.transport.isSecure ? ["https"] : ["https", "http"]
        guard let parts = URL(string: self.url), let scheme = parts.scheme?.lowercased(), schemes.contains(scheme), parts.host()?.isEmpty == false
        else {
            throw CloudKitFailure(.invalidRequest("The address of the file is none of \(schemes.joined(separator: " or "))"), action: action)
        }
    }

    /// The request of the next attempt.
    mutating func next(_ method: HTTPMethod) -> HTTPClientRequest {
        number += 1
        sent = exchanger.pacing.now()
        options.observer?(.sending(attempt, signed: nil))
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers.add(name: "User-Agent", value: "CloudKitClient (Swift)")
        return request
    }

    /// The time left until the caller's deadline; `nil` without one.
    var timeLeft: Duration? { options.deadline.map { $0 - exchanger.pacing.now() } }

    private var attempt: RequestEvent.Attempt { RequestEvent.Attempt(requestID: requestID, action: action, number: number) }

    func failure(_ kind: CloudKitFailure.Kind) -> CloudKitFailure {
        CloudKitFailure(kind, action: action, requestID: requestID, attempts: number)
    }

    var transport: Transport { exchanger.transport }
    var patience: Duration { exchanger.configuration.patience }

    /// Bytes flow: patience begins anew.
    mutating func succeeded() {
        guard patienceEnds != nil else { return }
        patienceEnds = nil
        retries = Retries(longestPause: exchanger.configuration.longestPause)
    }

    func answered(_ status: Int, bytes: Int, _ headers: HTTPHeaders) {
        let uuid = headers.first(name: "X-Apple-Request-UUID")
        let duration = exchanger.pacing.now() - sent
        options.observer?(.answered(attempt, status: status, bytes: bytes, duration: duration, appleRequestUUID: uuid))
        var metadata: Logger.Metadata = ["request": "\(requestID)", "attempt": "\(number)", "status": "\(status)"]
        if let uuid { metadata["apple-request"] = "\(uuid)" }
        exchanger.logger.debug("\(action) answered", metadata: metadata)
    }

    /// Waits after a broken connection.
    /// - Throws: ``CloudKitFailure`` if it must not be tried again; `CancellationError`.
    mutating func failed(_ trouble: Transport.Trouble) async throws {
        switch trouble {
        case .cancelled: throw CancellationError()
        case .untrusted(let reason): throw failure(.untrusted(reason))
        case .invalid(let reason): throw failure(.invalidRequest(reason))
        case .closed: throw failure(.closed)
        case .tooLarge(let limit): throw failure(.answerTooLarge(limit: limit))
        case .neverSent(let reason): try await wait(.unreachable(reason), stated: nil)
        case .lost(let reason): try await wait(.connectionLost(reason), stated: nil)
        }
    }

    /// Waits after a status that is no success.
    ///
    /// A 421 of this server is Misdirected Request, a matter of connections. It has nothing to do with signing in.
    /// - Throws: ``CloudKitFailure`` if it must not be tried again; `CancellationError`.
    mutating func refused(_ status: Int, _ headers: HTTPHeaders, _ json: JSONValue?) async throws {
        answered(status, bytes: 0, headers)
        var stated: ServerError?
        if case .object(let object)? = json { stated = ServerError(object) }
        if status == 503 || status == 429 || stated?.isTemporary == true {
            var error = stated ?? ServerError(codeName: ServerError.unavailable, reason: "status \(status) of the server of asset files")
            if let header = headers.first(name: "Retry-After"), let wait = Duration(stated: .string(header)) { error.retryAfter = wait }
            return try await wait(.throttled(error), stated: error.retryAfter)
        }
        if let stated { throw failure(.refused(stated)) }
        if status == 421 || status >= 500 { return try await wait(.assetRefused(status: status), stated: nil) }
        throw failure(.assetRefused(status: status))
    }

    private mutating func wait(_ kind: CloudKitFailure.Kind, stated: Duration?) async throws {
        let now = exchanger.pacing.now()
        let ends = patienceEnds ?? now + exchanger.configuration.patience
        patienceEnds = ends
        let left = (options.deadline ?? ends) - now
        guard let pause = retries.pause(stated: stated, left: left, chance: exchanger.pacing.chance()) else { throw failure(kind) }
        try await exchanger.wait(pause, attempt, because: kind, options)
    }
}
