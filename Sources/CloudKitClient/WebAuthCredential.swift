internal import Records
internal import Synchronization

/// The web auth token of one user, which CloudKit replaces with each answer.
///
/// Each new token is passed to `keep` before the next request is sent, so that a valid token is stored whenever the
/// process ends. According to Apple's reference, a replaced token is invalid at once; the live service was seen to
/// accept it for a day. Therefore requests run concurrently until a replaced token is refused. That request is repeated
/// with the newest token, and from then on requests run one at a time.
public final class WebAuthCredential: Sendable, CustomReflectable {
    private struct State {
        var token: WebAuthToken
        var takesTurns = false
        /// The number of requests in progress.
        var running = 0
        /// The request whose turn it is, while earlier requests are still in progress.
        var waiting: CheckedContinuation<Void, Never>?
        /// The task that passes on the newest token, after the earlier ones.
        var keeping: Task<Void, Never>?
        var replacements = 0
    }

    private let keep: @Sendable (WebAuthToken) async -> Void
    private let state: Mutex<State>
    // Unlimited, because the callers' deadlines end their waiting.
    private let turn = AsyncSemaphore(
        limit: 1, waiting: .max, refusal: RecordError(.tryAgainLater, "Too many requests wait"))

    /// - Parameters:
    ///   - token: the token from the sign-in, or the last stored one.
    ///   - keep: stores a new token. The next request waits until it returns, so it must not send requests itself.
    public init(_ token: WebAuthToken, keep: @escaping @Sendable (WebAuthToken) async -> Void) {
        state = Mutex(State(token: token))
        self.keep = keep
    }

    /// The newest token.
    public var token: WebAuthToken { state.withLock { $0.token } }

    public var customMirror: Mirror { Mirror(self, children: []) }

    /// True if requests run one at a time, because a replaced token was refused.
    public var takesTurns: Bool { state.withLock { $0.takesTurns } }

    /// Runs one request with the newest token.
    /// - Parameter send: sends the request. It returns the answer, and true if the answer requires a sign-in. It calls
    ///   ``replace(_:with:)`` as soon as a new token arrives.
    /// - Returns: the answer, and true if the request should be repeated: its token was refused, and was replaced or
    ///   may have been.
    func exchange<Answer: Sendable>(
        _ send: (WebAuthToken) async throws -> (answer: Answer, isRefused: Bool)
    ) async throws -> (answer: Answer, isOutdated: Bool) {
        let isTogether = state.withLock { state in
            if !state.takesTurns { state.running += 1 }
            return !state.takesTurns
        }
        if isTogether { return try await exchangeNow(send) }
        return try await turn.run {
            try await othersEnd()
            state.withLock { $0.running += 1 }
            // No other request can have replaced the token of a request that runs alone, so its refusal is final.
            return (try await exchangeNow(send).answer, false)
        }
    }

    private func exchangeNow<Answer>(
        _ send: (WebAuthToken) async throws -> (answer: Answer, isRefused: Bool)
    ) async throws -> (answer: Answer, isOutdated: Bool) {
        let token = await keptToken()
        do {
            let (answer, isRefused) = try await send(token)
            return (answer, end(refused: isRefused ? token : nil))
        } catch {
            end()
            throw error
        }
    }

    /// - Returns: true if the refused token is not the newest one, or if another request that may replace it is in
    ///   progress.
    @discardableResult
    private func end(refused: WebAuthToken? = nil) -> Bool {
        let (isOutdated, waiting) = state.withLock { state in
            state.running -= 1
            let isOutdated = refused.map { $0 != state.token || state.running > 0 } ?? false
            if isOutdated { state.takesTurns = true }
            guard state.running == 0 else { return (isOutdated, nil as CheckedContinuation<Void, Never>?) }
            defer { state.waiting = nil }
            return (isOutdated, state.waiting)
        }
        waiting?.resume()
        return isOutdated
    }

    /// Waits for the requests that began before requests ran one at a time.
    private func othersEnd() async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    // If the task is cancelled after this check, the cancellation handler resumes it.
                    let goesOn = state.running == 0 || Task.isCancelled
                    if !goesOn { state.waiting = continuation }
                    return goesOn
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                defer { state.waiting = nil }
                return state.waiting
            }
            waiting?.resume()
        }
        try Task.checkCancellation()
    }

    // MARK: Replacements

    /// The newest token, after it was passed to `keep`.
    private func keptToken() async -> WebAuthToken {
        while true {
            let (token, keeping) = state.withLock { ($0.token, $0.keeping) }
            guard let keeping else { return token }
            await keeping.value
        }
    }

    /// Stores the token from an answer, and waits until it was passed to `keep`.
    func replace(_ sent: WebAuthToken, with next: WebAuthToken) async {
        let keeping: Task<Void, Never>? = state.withLock { state in
            // An answer may repeat the token of its request, which must not replace a newer one.
            guard next != sent, next != state.token else { return nil }
            state.token = next
            state.replacements += 1
            let (number, earlier) = (state.replacements, state.keeping)
            // A separate task, because the caller's may be cancelled.
            let keeping = Task {
                await earlier?.value
                await keep(next)
                self.state.withLock { if $0.replacements == number { $0.keeping = nil } }
            }
            state.keeping = keeping
            return keeping
        }
        await keeping?.value
    }
}

/// A user's web auth token, which CloudKit replaces with every answer. It is opaque and secret.
public struct WebAuthToken: Sendable, Hashable, CustomStringConvertible {
    let secret: Secret

    /// The token as text. Store it where only its owner can read it.
    public var text: String { secret.text }

    public var description: String { "a web auth token" }

    /// Reads a token from a callback, header, cookie or user input, whether or not it is percent-encoded.
    ///
    /// A token never contains a percent sign, so an encoded one is recognized and decoded. A space is read as a plus
    /// sign, which form decoding turns into a space.
    /// - Returns: `nil` if the text is not a token: if it is empty, `null` or `undefined`, which scripts write for a
    ///   missing value, or if it cannot be part of a header.
    public init?(_ text: String) {
        var text = text.trimmingWhiteSpace
        while text.utf8.contains(UInt8(ascii: "%")) {
            // Each round shortens the text, so the loop ends.
            guard let decoded = PercentEncoding.decoded(text) else { return nil }
            text = decoded
        }
        text = text.replacing(" ", with: "+")
        guard !["", "null", "undefined"].contains(text), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        secret = Secret(text)
    }
}

// MARK: - Sign-in

/// The result of a sign-in. The sign-in page passes it in the query of the API token's callback, or in a message to the
/// window that opened the page.
public enum SignInAnswer: Sendable, Hashable {
    /// The user signed in. Create a ``WebAuthCredential`` with the token.
    case token(WebAuthToken)
    /// The sign-in failed. The code is CloudKit's own, such as `accessError`.
    case refused(code: String)

    /// - Parameters:
    ///   - query: the query of the callback's address, without the question mark.
    /// - Returns: `nil` if the query contains neither a token nor an error.
    public init?(query: some StringProtocol) {
        var parameters: [String: String] = [:]
        for part in query.split(separator: "&") {
            let (name, value) = (part.prefix { $0 != "=" }, part.drop { $0 != "=" }.dropFirst())
            // `WebAuthToken` decodes the value itself, because some senders encode it twice.
            if parameters[String(name)] == nil { parameters[String(name)] = String(value) }
        }
        if let token = ["ckWebAuthToken", "ckSession"].lazy.compactMap({ parameters[$0] }).compactMap({
            WebAuthToken($0)
        }).first {
            self = .token(token)
        } else if let code = parameters["errorMessage"], !code.isEmpty {
            self = .refused(code: PercentEncoding.decoded(code) ?? code)
        } else {
            return nil
        }
    }
}
