internal import AsyncHTTPClient
internal import Foundation
internal import JSON
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Records

/// The options of a caller for its requests.
struct CallOptions: Sendable {
    /// `nil` for the patience of the configuration.
    var deadline: ContinuousClock.Instant?
    var observer: (@Sendable (RequestEvent) -> Void)?
}

/// The object of an answer, and the ids by which the request is found.
struct Answered: Sendable {
    let object: JSONObject
    let attempt: RequestEvent.Attempt
    let appleRequestUUID: String?

    func failure(_ kind: CloudKitFailure.Kind) -> CloudKitFailure {
        CloudKitFailure(
            kind, action: attempt.action, requestID: attempt.requestID, attempts: attempt.number, appleRequestUUID: appleRequestUUID)
    }
}

/// Sends requests with their credentials, repeats them where that is safe, and decodes their answers.
struct Exchanger: Sendable {
    let transport: Transport
    let credentials: ContainerCredentials
    let configuration: ClientConfiguration
    let pacing: Pacing
    let logger: Logger

    /// The outcome of one attempt.
    private enum Outcome {
        case answered(Answered)
        /// An answer in which every item failed for the moment. It stands if there is no time to repeat the request.
        case busy(Answered, ServerError)
        /// A web auth token was refused that has been replaced meanwhile, or may have been.
        case outdatedToken
        case failed(CloudKitFailure, mayRepeat: Bool)
    }

    /// Sends a request until it has an answer, or the deadline is too near.
    /// - Throws: ``CloudKitFailure``; `CancellationError` if the task was cancelled and no save was under way.
    func perform(_ call: ServiceCall, _ options: CallOptions) async throws -> Answered {
        let requestID = UUID().uuidString
        let deadline = options.deadline ?? pacing.now() + configuration.patience
        var retries = Retries(longestPause: configuration.longestPause)
        var number = 0
        while true {
            try Task.checkCancellation()
            number += 1
            let attempt = RequestEvent.Attempt(requestID: requestID, action: call.action, number: number)
            let left = deadline - pacing.now()
            guard left > .zero else {
                throw CloudKitFailure(.unreachable("the deadline had passed"), action: call.action, requestID: requestID, attempts: number - 1)
            }
            switch try await outcome(of: call, attempt, within: left, options) {
            case .answered(let answer): return answer
            case .outdatedToken: continue
            case .busy(let answer, let error):
                guard let pause = retries.pause(stated: error.retryAfter, left: deadline - pacing.now(), chance: pacing.chance()) else { return answer }
                try await wait(pause, attempt, because: .throttled(error), options)
            case .failed(let failure, let mayRepeat):
                guard mayRepeat,
                    let pause = retries.pause(stated: failure.serverError?.retryAfter, left: deadline - pacing.now(), chance: pacing.chance())
                else { throw failure }
                try await wait(pause, attempt, because: failure.kind, options)
            }
        }
    }

    /// Waits before another attempt, and says so.
    func wait(_ pause: RequestEvent.Pause, _ attempt: RequestEvent.Attempt, because kind: CloudKitFailure.Kind, _ options: CallOptions) async throws {
        var failure = CloudKitFailure(kind, action: attempt.action)
        // The line has them already.
        failure.requestID = nil
        logger.log(
            level: pause.isCapped ? .warning : .notice,
            "Trying again in \(pause.length.inWords)\(pause.isCapped ? ", sooner than CloudKit asks" : ""): \(failure)",
            metadata: ["request": "\(attempt.requestID)", "attempt": "\(attempt.number)"])
        options.observer?(.waiting(attempt, pause, because: kind))
        try await pacing.pause(pause.length)
    }

    // MARK: One attempt

    private func outcome(
        of call: ServiceCall, _ attempt: RequestEvent.Attempt, within time: Duration, _ options: CallOptions
    ) async throws -> Outcome {
        switch credentials.kind {
        case .key(let key):
            let signing: RequestSigning
            do {
                signing = try key.signature(target: call.target, body: call.body, at: Date())
            } catch {
                throw CloudKitFailure(.invalidRequest("The request can't be signed"), action: call.action, requestID: attempt.requestID)
            }
            options.observer?(.sending(attempt, signed: signing.text))
            return try await send(call, call.target, signing.headers, attempt, within: time, options, hiding: []).outcome
        case .apiToken(let token):
            let target = call.target(adding: [("ckAPIToken", token)])
            options.observer?(.sending(attempt, signed: nil))
            return try await send(call, target, [], attempt, within: time, options, hiding: [token]).outcome
        case .webAuth(let apiToken, let user):
            let (outcome, isOutdated) = try await user.exchange { token in
                let target = call.target(adding: [("ckAPIToken", apiToken), ("ckWebAuthToken", token.secret)])
                options.observer?(.sending(attempt, signed: nil))
                let (outcome, headers) = try await send(call, target, [], attempt, within: time, options, hiding: [apiToken, token.secret])
                var isRefused = false
                if case .failed(let failure, _) = outcome, case .signInRequired = failure.kind { isRefused = true }
                return WebAuthCredential.Exchange(answer: outcome, next: headers.flatMap(Self.nextToken), isRefused: isRefused)
            }
            return isOutdated ? .outdatedToken : outcome
        }
    }

    /// The token that replaces the one of the request, under either of its names.
    private static func nextToken(_ headers: HTTPHeaders) -> WebAuthToken? {
        ["X-Apple-CloudKit-Web-Auth-Token", "X-Apple-CloudKit-Session"].lazy.compactMap { headers.first(name: $0) }.compactMap(WebAuthToken.init).first
    }

    /// - Returns: the headers only if there was an answer.
    private func send(
        _ call: ServiceCall, _ target: String, _ headers: [(name: String, value: String)], _ attempt: RequestEvent.Attempt, within time: Duration,
        _ options: CallOptions, hiding secrets: [Secret]
    ) async throws -> (outcome: Outcome, HTTPHeaders?) {
        var request = HTTPClientRequest(url: transport.address + target)
        request.method = call.method
        request.headers = HTTPHeaders(headers.map { ($0.name, $0.value) })
        request.headers.add(name: "User-Agent", value: "CloudKitClient (Swift)")
        if call.method == .POST {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: call.body))
        }
        let start = pacing.now()
        switch await transport.reply(to: request, limit: configuration.answerLimit, within: time) {
        case .success(let reply):
            let duration = pacing.now() - start
            let uuid = reply.headers.first(name: "X-Apple-Request-UUID")
            options.observer?(.answered(attempt, status: reply.status, bytes: reply.body.count, duration: duration, appleRequestUUID: uuid))
            let outcome = judge(reply, of: call, attempt, hiding: secrets)
            var metadata: Logger.Metadata = [
                "request": "\(attempt.requestID)", "attempt": "\(attempt.number)", "status": "\(reply.status)", "bytes": "\(reply.body.count)",
                "duration": "\(duration)",
            ]
            if let uuid { metadata["apple-request"] = "\(uuid)" }
            if case .failed(let failure, _) = outcome, let uuid = failure.serverError?.uuid { metadata["uuid"] = "\(uuid)" }
            logger.debug("\(call.action) answered", metadata: metadata)
            return (outcome, reply.headers)
        case .failure(let trouble):
            logger.debug("\(call.action) got no answer", metadata: ["request": "\(attempt.requestID)", "attempt": "\(attempt.number)"])
            return (try Self.outcome(of: trouble, call, attempt), nil)
        }
    }

    // MARK: Judging answers

    private func judge(_ reply: Transport.Reply, of call: ServiceCall, _ attempt: RequestEvent.Attempt, hiding secrets: [Secret]) -> Outcome {
        func failed(_ kind: CloudKitFailure.Kind, mayRepeat: Bool = false, advice: String? = nil) -> Outcome {
            .failed(
                CloudKitFailure(
                    kind, action: call.action, requestID: attempt.requestID, attempts: attempt.number,
                    appleRequestUUID: reply.headers.first(name: "X-Apple-Request-UUID"), advice: advice),
                mayRepeat: mayRepeat)
        }
        let json = try? JSONReader.value(of: reply.body)
        guard (200..<300).contains(reply.status) else {
            var stated: ServerError?
            if case .object(let object)? = json { stated = ServerError(object) }
            if let reason = stated?.reason { stated?.reason = secrets.scrubbed(from: reason) }
            if let error = Self.temporary(stated, reply) { return failed(.throttled(error), mayRepeat: true) }
            if let error = stated {
                let needsUser = error.code == .authenticationRequired || reply.status == 421
                return failed(needsUser ? .signInRequired(error) : .refused(error), advice: advice(on: error, reply))
            }
            // A gateway gave up waiting for CloudKit, which may have done the work.
            if reply.status >= 500 { return Self.lost("status \(reply.status) without CloudKit's JSON", call, attempt) }
            return failed(.unexpectedAnswer(status: reply.status, "without CloudKit's JSON"))
        }
        guard case .object(let object)? = json else {
            let reason = json == nil ? "what came is no JSON" : "the JSON is no object"
            return failed(call.effect == .reads ? .unexpectedAnswer(status: reply.status, reason) : .answerLost(reason))
        }
        let answered = Answered(object: object, attempt: attempt, appleRequestUUID: reply.headers.first(name: "X-Apple-Request-UUID"))
        if let items = call.items, let error = Self.temporary(object, items) { return .busy(answered, error) }
        return .answered(answered)
    }

    /// The error if CloudKit has no time now. Where header and body state different times, the header's unit is certain.
    private static func temporary(_ stated: ServerError?, _ reply: Transport.Reply) -> ServerError? {
        guard stated?.isTemporary == true || reply.status == 503 || reply.status == 429 else { return nil }
        var error = stated ?? ServerError(codeName: ServerError.unavailable, reason: "status \(reply.status) without CloudKit's JSON")
        if let header = reply.headers.first(name: "Retry-After") {
            let untilDate = date(header).map { Duration.seconds(min(max($0.timeIntervalSinceNow, 0), 315_360_000)) }
            error.retryAfter = Duration(stated: .string(header)) ?? untilDate ?? error.retryAfter
        }
        return error
    }

    /// The error if nothing of the request was done and all of it may be later: every item failed for the moment, or with one that did.
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

    /// CloudKit has one answer for all mistakes in a signature. The clock is the one that its answer shows.
    private func advice(on error: ServerError, _ reply: Transport.Reply) -> String? {
        guard case .key = credentials.kind, error.code == .authenticationFailed else { return nil }
        if let date = reply.headers.first(name: "Date").flatMap(Self.date) {
            let skew = date.timeIntervalSinceNow
            if abs(skew) > 300 {
                return "This machine's clock is \(Duration.seconds(abs(skew)).inWords) \(skew > 0 ? "behind" : "ahead of") the server's"
            }
        }
        return "Compare the signed text with the request, and see that the key is of this container and environment"
    }

    /// The date of a response: `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func date(_ header: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: header)
    }

    // MARK: Missing answers

    private static func outcome(of trouble: Transport.Trouble, _ call: ServiceCall, _ attempt: RequestEvent.Attempt) throws -> Outcome {
        let kind: CloudKitFailure.Kind
        switch trouble {
        case .neverSent(let reason): kind = .unreachable(reason)
        case .untrusted(let reason): kind = .untrusted(reason)
        case .lost(let reason): return lost(reason, call, attempt)
        case .tooLarge(let limit): kind = call.effect == .reads ? .answerTooLarge(limit: limit) : .answerLost("it has more than \(limit) bytes")
        case .invalid(let reason): kind = .invalidRequest(reason)
        case .closed: kind = .closed
        case .cancelled:
            // A save that is under way may arrive: that outweighs the custom of throwing a CancellationError.
            guard call.effect != .reads else { throw CancellationError() }
            kind = .answerLost("the task was cancelled")
        }
        var mayRepeat = false
        if case .neverSent = trouble { mayRepeat = true }
        return .failed(CloudKitFailure(kind, action: call.action, requestID: attempt.requestID, attempts: attempt.number), mayRepeat: mayRepeat)
    }

    private static func lost(_ reason: String, _ call: ServiceCall, _ attempt: RequestEvent.Attempt) -> Outcome {
        let kind: CloudKitFailure.Kind = call.effect == .reads ? .connectionLost(reason) : .answerLost(reason)
        let failure = CloudKitFailure(kind, action: call.action, requestID: attempt.requestID, attempts: attempt.number)
        return .failed(failure, mayRepeat: call.effect != .saves)
    }
}
