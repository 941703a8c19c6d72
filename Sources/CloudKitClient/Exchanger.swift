package import AsyncHTTPClient
internal import Foundation
package import Logging
internal import NIOCore
package import NIOHTTP1
package import Records

/// The caller's options for requests.
package struct CallOptions: Sendable {
    /// The deadline; `nil` for the configuration's patience.
    package var deadline: ContinuousClock.Instant?
    /// The maximum time for which a file transfer may stall; `nil` for the configuration's patience.
    var filePatience: Duration?
    var observer: (@Sendable (RequestEvent) -> Void)?
    /// Additional headers, also of requests for files.
    package var headers = HTTPHeaders()

    package init() {}
}

/// The object of an answer, and the IDs of the request.
package struct Answered: Sendable {
    package let object: JSONObject
    let attempt: RequestEvent.Attempt
    let appleRequestUUID: String?

    func failure(_ kind: CloudKitFailure.Kind) -> CloudKitFailure {
        var failure = CloudKitFailure(kind, attempt, appleRequestUUID: appleRequestUUID)
        failure.status = 200
        return failure
    }
}

/// Sends requests with credentials, repeats them if that is safe, and decodes the answers.
package struct Exchanger: Sendable {
    let transport: Transport
    let credentials: ContainerCredentials
    let configuration: ClientConfiguration
    let pacing: Pacing
    let logger: Logger

    /// - Throws: ``CloudKitFailure`` of kind `invalidRequest`, as ``ContainerClient``'s initializer.
    package init(
        _ configuration: ClientConfiguration, credentials: ContainerCredentials, logger: Logger,
        pacing: Pacing = Pacing()
    ) throws(CloudKitFailure) {
        transport = try Transport(configuration, now: pacing.now)
        (self.credentials, self.configuration, self.pacing, self.logger) = (credentials, configuration, pacing, logger)
    }

    /// False after ``close()``.
    package var isOpen: Bool { transport.isOpen }

    /// Closes the connections. Requests in progress fail.
    package func close() async { await transport.close() }

    /// The outcome of one attempt.
    private enum Outcome {
        case answered(Answered)
        /// An answer in which every item failed temporarily. It is returned if there is no time to repeat the request.
        case busy(Answered, ServerError)
        /// The web auth token was refused, and has been replaced meanwhile, or may have been.
        case outdatedToken
        case failed(CloudKitFailure, mayRepeat: Bool = false)
        /// The task was cancelled during the attempt.
        case cancelled

        /// The error of an attempt without a usable answer.
        var error: any Error {
            if case .failed(let failure, _) = self { failure } else { CancellationError() }
        }

        /// True if the web auth token may be the reason. It is not documented which error a replaced token causes.
        var isRefusal: Bool {
            guard case .failed(let failure, _) = self else { return false }
            if case .signInRequired = failure.kind { return true }
            return failure.serverError?.code == .authenticationFailed
        }
    }

    // MARK: Repetitions

    /// Sends a request until it has an answer, or until the deadline is too near for another attempt.
    /// - Throws: ``CloudKitFailure``; `CancellationError` if the task was cancelled and no save was in progress.
    package func perform(_ call: ServiceCall, _ options: CallOptions) async throws -> Answered {
        if let limit = configuration.requestLimit, call.body.count > limit {
            throw CloudKitFailure(
                .invalidRequest(
                    "The request has \(call.body.count) bytes, and the limit is \(limit); split it into smaller requests"
                ), action: call.action)
        }
        var lost: CloudKitFailure?
        do {
            return try await perform(call, options, &lost)
        } catch {
            guard var lost else { throw error }
            // An attempt without an answer may have been carried out, whatever the answers to later attempts were.
            if let last = error as? CloudKitFailure, last.attempts > lost.attempts {
                lost.attempts = last.attempts
                lost.advice = "The last attempt: \(last.kind.words)"
            }
            throw lost
        }
    }

    /// - Parameter lost: set to the failure of the first attempt without an answer, if that attempt may have saved
    ///   something.
    private func perform(_ call: ServiceCall, _ options: CallOptions, _ lost: inout CloudKitFailure?) async throws
        -> Answered
    {
        let requestID = UUID().uuidString
        let deadline = options.deadline ?? pacing.now() + configuration.patience
        var retries = Retries(configuration)
        var (number, losses) = (0, 0)
        /// The time of the first of the latest attempts that had no answer.
        var silentSince: ContinuousClock.Instant?
        while true {
            try Task.checkCancellation()
            number += 1
            let sent = pacing.now()
            let attempt = RequestEvent.Attempt(requestID: requestID, action: call.action, number: number)
            let left = deadline - pacing.now()
            guard left > .zero else { throw late(attempt) }
            let (result, isOutOfTime) = await limiting(left) { try await outcome(of: call, attempt, options) }
            switch result {
            case .success(.answered(let answer)): return answer
            case .success(.outdatedToken): continue
            case .success(.busy(let answer, let error)):
                guard
                    let pause = retries.pause(
                        after: .throttled(error), left: deadline - pacing.now(), chance: pacing.chance())
                else { return answer }
                try await wait(pause, attempt, because: .throttled(error), options)
            case .success(.failed(let failure, let mayRepeat)):
                if case .answerLost = failure.kind, lost == nil { lost = failure }
                if failure.isOfLostAnswer { losses += 1 }
                let now = pacing.now()
                silentSince = failure.isOfNoAnswer ? silentSince ?? sent : nil
                let isSilent = silentSince.map { now - $0 >= Retries.longestSilence } ?? false
                let left = deadline - now
                guard mayRepeat, losses < configuration.attempts, !isSilent,
                    let pause = retries.pause(after: failure.kind, left: left, chance: pacing.chance())
                else {
                    throw failure
                }
                try await wait(pause, attempt, because: failure.kind, options)
            case .success(.cancelled):
                if isOutOfTime { throw Self.lost("no complete answer came within \(left.inWords)", call, attempt) }
                // The save may still arrive at the server. Reporting this is more important than throwing
                // CancellationError.
                if call.effect == .reads { throw CancellationError() }
                throw Self.lost("the task was cancelled", call, attempt)
            case .failure(let error):
                // The request was still waiting for its turn.
                if isOutOfTime, error is CancellationError { throw late(attempt) }
                throw error
            }
        }
    }

    private func late(_ attempt: RequestEvent.Attempt) -> CloudKitFailure {
        var failure = CloudKitFailure(.unreachable("the deadline had passed"), attempt)
        failure.attempts -= 1
        return failure
    }

    /// Runs work, and cancels it when the time limit is over.
    private func limiting<Value: Sendable>(
        _ time: Duration, _ work: @escaping @Sendable () async throws -> Value
    ) async -> (result: Result<Value, any Error>, isOutOfTime: Bool) {
        let task = Task { try await work() }
        let timer = Task {
            guard (try? await Task.sleep(for: time)) != nil else { return false }
            task.cancel()
            return true
        }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        timer.cancel()
        return (result, await timer.value)
    }

    /// Waits before the next attempt, and reports that to the log and the observer.
    func wait(
        _ pause: RequestEvent.Pause, _ attempt: RequestEvent.Attempt, because kind: CloudKitFailure.Kind,
        _ options: CallOptions
    ) async throws {
        logger.log(
            level: pause.isCapped ? .warning : .notice,
            "\(attempt.action): trying again in \(pause.length.inWords)\(pause.isCapped ? ", sooner than CloudKit asks" : ""): \(kind.words)",
            metadata: ["request": "\(attempt.requestID)", "attempt": "\(attempt.number)"])
        options.observer?(.waiting(attempt, pause, because: kind))
        try await pacing.pause(pause.length)
    }

    // MARK: One attempt

    private func outcome(of call: ServiceCall, _ attempt: RequestEvent.Attempt, _ options: CallOptions) async throws
        -> Outcome
    {
        switch credentials.kind {
        case .key(let key):
            guard let signing = try? key.sign(target: call.target, body: call.body, at: pacing.time()) else {
                return .failed(CloudKitFailure(.invalidRequest("The request can't be signed"), attempt))
            }
            return await send(call, to: call.target, signedBy: signing, attempt, options)
        case .none: return await send(call, to: call.target, attempt, options)
        case .apiToken(let token):
            return await send(call, to: call.target(adding: [("ckAPIToken", token)]), hiding: [token], attempt, options)
        case .webAuth(let apiToken, let user):
            let (outcome, isOutdated) = try await user.exchange { token in
                let target = call.target(adding: [("ckAPIToken", apiToken), ("ckWebAuthToken", token.secret)])
                let outcome = await send(call, to: target, hiding: [apiToken, token.secret], attempt, options) {
                    headers in
                    // The rest of the answer may never arrive, and this token may be the only valid one.
                    if let next = Self.nextToken(headers) { await user.replace(token, with: next) }
                }
                return (outcome, outcome.isRefusal)
            }
            return isOutdated ? .outdatedToken : outcome
        }
    }

    /// The token that replaces the request's token, from either of its two headers.
    private static func nextToken(_ headers: HTTPHeaders) -> WebAuthToken? {
        ["X-Apple-CloudKit-Web-Auth-Token", "X-Apple-CloudKit-Session"].lazy.compactMap { headers.first(name: $0) }
            .compactMap(WebAuthToken.init).first
    }

    /// - Parameter begun: receives the headers of the answer before its body is read.
    private func send(
        _ call: ServiceCall, to target: String, signedBy signing: RequestSigning? = nil, hiding secrets: [Secret] = [],
        _ attempt: RequestEvent.Attempt, _ options: CallOptions, begun: (HTTPHeaders) async -> Void = { _ in }
    ) async -> Outcome {
        let request = request(call, to: target, signedBy: signing, options)
        options.observer?(.sending(attempt, signed: signing?.text))
        let start = pacing.now()
        switch await transport.reply(to: request, of: call.body.count, begun: begun) {
        case .success(let reply):
            answered(attempt, reply, since: start, options)
            return outcome(of: reply, to: call, attempt, signed: signing?.text, hiding: secrets)
        case .failure(let failure):
            logger.debug(
                "\(call.action) got no answer",
                metadata: ["request": "\(attempt.requestID)", "attempt": "\(attempt.number)"])
            return Self.outcome(of: failure, call, attempt)
        }
    }

    private func request(
        _ call: ServiceCall, to target: String, signedBy signing: RequestSigning? = nil, _ options: CallOptions
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: transport.address + target)
        request.method = call.method
        request.headers = options.headers
        for header in signing?.headers ?? [] { request.headers.add(name: header.name, value: header.value) }
        request.headers.add(name: "User-Agent", value: configuration.userAgent)
        if let origin = configuration.origin { request.headers.add(name: "Origin", value: origin) }
        if call.method == .POST {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: call.body))
        }
        return request
    }

    /// Reports a complete answer to the log and the observer.
    func answered(
        _ attempt: RequestEvent.Attempt, _ reply: Transport.Reply, since start: ContinuousClock.Instant,
        _ options: CallOptions
    ) {
        let (bytes, duration) = (reply.body.readableBytes, pacing.now() - start)
        options.observer?(
            .answered(
                attempt, status: reply.status, bytes: bytes, duration: duration,
                appleRequestUUID: reply.appleRequestUUID))
        var metadata: Logger.Metadata = [
            "request": "\(attempt.requestID)", "attempt": "\(attempt.number)", "status": "\(reply.status)",
            "bytes": "\(bytes)", "duration": "\(duration)",
        ]
        if let uuid = reply.appleRequestUUID { metadata["apple-request"] = "\(uuid)" }
        logger.debug("\(attempt.action) answered", metadata: metadata)
    }

    // MARK: Answers

    private func outcome(
        of reply: Transport.Reply, to call: ServiceCall, _ attempt: RequestEvent.Attempt, signed: SigningText?,
        hiding secrets: [Secret]
    ) -> Outcome {
        func failed(_ kind: CloudKitFailure.Kind, mayRepeat: Bool = false) -> Outcome {
            var failure = CloudKitFailure(kind, attempt, appleRequestUUID: reply.appleRequestUUID)
            failure.status = reply.status
            if let signed, failure.serverError?.code == .authenticationFailed {
                failure.signed = signed
                failure.advice = advice(on: reply)
            }
            return .failed(failure, mayRepeat: mayRepeat)
        }
        let isAccepted = call.accepted.contains(reply.status)
        let isSuccess = isAccepted || (200..<300).contains(reply.status)
        // Some services answer with an empty body instead of an object.
        let object = isSuccess && reply.body.readableBytes == 0 ? JSONObject() : reply.object
        let signIn =
            reply.status == 421
            ? ServerError(codeName: "AUTHENTICATION_REQUIRED", reason: "status 421 without CloudKit's JSON") : nil
        let stated = object.flatMap { ServerError($0, hiding: secrets) } ?? signIn
        if !isAccepted, let error = ServerError.temporary(stated, reply, at: pacing.time()) {
            return failed(.throttled(error), mayRepeat: true)
        }
        if let error = stated {
            return failed(
                error.code == .authenticationRequired || reply.status == 421 ? .signInRequired(error) : .refused(error))
        }
        guard isSuccess else {
            // A gateway stopped waiting for CloudKit, which may have carried out the request.
            guard reply.status >= 500 else {
                return failed(.unexpectedAnswer(status: reply.status, "without CloudKit's JSON"))
            }
            return failed(
                Self.lost("status \(reply.status) without CloudKit's JSON", call, attempt).kind,
                mayRepeat: call.effect != .saves)
        }
        guard let object else {
            let reason = "expected a JSON object"
            return failed(call.effect == .reads ? .unexpectedAnswer(status: reply.status, reason) : .answerLost(reason))
        }
        let answered = Answered(object: object, attempt: attempt, appleRequestUUID: reply.appleRequestUUID)
        if let items = call.items, let error = Self.temporary(object, items) { return .busy(answered, error) }
        return .answered(answered)
    }

    /// The error if every item failed temporarily, so that nothing was done and the whole request can be repeated.
    /// Items may also have failed because another item failed.
    private static func temporary(_ answer: JSONObject, _ items: Name) -> ServerError? {
        guard case .array(let elements)? = answer[items], !elements.isEmpty else { return nil }
        var found: ServerError?
        for element in elements {
            guard case .object(let object) = element, let error = ServerError(object) else { return nil }
            guard error.isTemporary || error.code == .atomicError else { return nil }
            guard error.isTemporary else { continue }
            if found == nil || (error.retryAfter ?? .zero) > (found?.retryAfter ?? .zero) { found = error }
        }
        return found
    }

    /// Advice after a refused signature. CloudKit has one answer for all mistakes in a signature. The answer's date
    /// shows CloudKit's clock.
    private func advice(on reply: Transport.Reply) -> String {
        if let seconds = reply.headers.first(name: "Date").flatMap(HTTPDate.seconds) {
            let skew = seconds - pacing.time().milliseconds / 1000
            if abs(skew) > 300 {
                return
                    "This machine's clock is \(Duration.seconds(abs(skew)).inWords) \(skew > 0 ? "behind" : "ahead of") the server's"
            }
        }
        return "Compare the signed text with the request, and see that the key is of this container and environment"
    }

    // MARK: Missing answers

    private static func outcome(of failure: Transport.Failure, _ call: ServiceCall, _ attempt: RequestEvent.Attempt)
        -> Outcome
    {
        func failed(_ kind: CloudKitFailure.Kind, mayRepeat: Bool = false) -> Outcome {
            .failed(CloudKitFailure(kind, attempt), mayRepeat: mayRepeat)
        }
        switch failure {
        case .neverSent(let reason): return failed(.unreachable(reason), mayRepeat: true)
        case .untrusted(let reason): return failed(.untrusted(reason))
        case .lost(let reason): return .failed(lost(reason, call, attempt), mayRepeat: call.effect != .saves)
        case .tooSlow(let error): return .failed(lost("\(error)", call, attempt))
        case .tooLarge(let limit):
            return failed(
                call.effect == .reads ? .answerTooLarge(limit: limit) : .answerLost("it has more than \(limit) bytes"))
        case .invalid(let reason): return failed(.invalidRequest(reason))
        case .closed: return failed(.closed)
        case .cancelled: return .cancelled
        }
    }

    private static func lost(_ reason: String, _ call: ServiceCall, _ attempt: RequestEvent.Attempt) -> CloudKitFailure
    {
        CloudKitFailure(call.effect == .reads ? .connectionLost(reason) : .answerLost(reason), attempt)
    }
}

// MARK: - Streams

extension Exchanger {
    /// Sends a request once, and returns when its answer begins. The caller reads the body, which may have no end.
    /// - Parameter time: the time limit for the beginning of the answer.
    /// - Throws: ``CloudKitFailure``; `CancellationError`.
    package func open(_ call: ServiceCall, _ options: CallOptions, within time: Duration) async throws
        -> HTTPClientResponse.Body
    {
        let attempt = RequestEvent.Attempt(requestID: UUID().uuidString, action: call.action, number: 1)
        let request = request(call, to: call.target, options)
        let outcome: Outcome
        switch await transport.file(request, within: time) {
        case .success(let response) where (200..<300).contains(response.status.code): return response.body
        case .success(let response):
            outcome =
                switch await transport.reply(of: response) {
                case .success(let reply): self.outcome(of: reply, to: call, attempt, signed: nil, hiding: [])
                case .failure(let failure): Self.outcome(of: failure, call, attempt)
                }
        case .failure(let failure): outcome = Self.outcome(of: failure, call, attempt)
        }
        throw outcome.error
    }

    /// The error for a body that could not be read to its end.
    /// - Returns: ``CloudKitFailure`` or `CancellationError`.
    package func failure(_ error: any Error, reading action: String) -> any Error {
        let attempt = RequestEvent.Attempt(requestID: UUID().uuidString, action: action, number: 1)
        return Self.outcome(of: transport.failure(error), ServiceCall(action, under: "/"), attempt).error
    }
}

// MARK: - Pauses

/// The clocks, pauses and random numbers of a client. Tests replace them.
package struct Pacing: Sendable {
    package var now: @Sendable () -> ContinuousClock.Instant
    /// The current time of day, for signatures and for dates in answers.
    package var time: @Sendable () -> Timestamp
    package var pause: @Sendable (Duration) async throws -> Void
    /// Returns a random number from 0 to below 1.
    package var chance: @Sendable () -> Double

    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        time: @escaping @Sendable () -> Timestamp = Timestamp.now,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        chance: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        (self.now, self.time, self.pause, self.chance) = (now, time, pause, chance)
    }
}
