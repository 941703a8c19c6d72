internal import Records
internal import Synchronization

/// The web auth token of one user through its replacements.
///
/// Each token that replaces it is handed to `keep` before the next request is sent, so that a process that ends at any
/// moment has stored a token that was good. Apple's reference says that a replaced token ends at once; the live service
/// was seen to take it for a day. Requests therefore run side by side until a replaced token is refused: that request
/// is repeated with the newest token, and from then on they take turns.
public final class WebAuthCredential: Sendable, CustomReflectable {
    private struct State {
        var token: WebAuthToken
        var takesTurns = false
        /// The number of requests under way.
        var running = 0
        /// The request whose turn it is, while others are still under way.
        var waiting: CheckedContinuation<Void, Never>?
        /// Hands the newest token over, after the ones before it.
        var keeping: Task<Void, Never>?
        var replacements = 0
    }

    private let keep: @Sendable (WebAuthToken) async -> Void
    private let state: Mutex<State>
    // The caller's tasks wait, until their deadlines.
    private let turn = AsyncSemaphore(
        limit: 1, waiting: .max, refusal: RecordError(.tryAgainLater, "Too many requests wait"))

    /// - Parameters:
    ///   - token: from the sign-in, or the one stored last.
    ///   - keep: stores a token that replaces this one. The next request waits until it returns, so it must not send
    ///     one itself.
    public init(_ token: WebAuthToken, keep: @escaping @Sendable (WebAuthToken) async -> Void) {
        state = Mutex(State(token: token))
        self.keep = keep
    }

    /// The newest token.
    public var token: WebAuthToken { state.withLock { $0.token } }

    public var customMirror: Mirror { Mirror(self, children: []) }

    /// True if requests wait for each other, because a replaced token was refused.
    public var takesTurns: Bool { state.withLock { $0.takesTurns } }

    /// Runs one request with the newest token.
    /// - Parameter send: returns the answer; true if it asks for a sign-in. It calls ``replace(_:with:)`` as soon as a
    ///   token comes.
    /// - Returns: the answer; true if its token was refused, but was replaced or may have been, so that the request is
    ///   worth repeating.
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
            // Nobody else can have replaced the token of a request that is alone: its refusal is final.
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

    /// - Returns: true if the refused token is not the newest one, or another request is under way that may replace it.
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

    /// Waits for the requests that began before they took turns.
    private func othersEnd() async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    // A task that is cancelled after this look is found by the handler.
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

    /// The newest token, once it was handed over.
    private func keptToken() async -> WebAuthToken {
        while true {
            let (token, keeping) = state.withLock { ($0.token, $0.keeping) }
            guard let keeping else { return token }
            await keeping.value
        }
    }

    /// Takes over the token that came with the answer to another, and waits until it was handed over.
    func replace(_ sent: WebAuthToken, with next: WebAuthToken) async {
        let keeping: Task<Void, Never>? = state.withLock { state in
            // An answer that repeats the token of its request must not bring that one back after a newer one.
            guard next != sent, next != state.token else { return nil }
            state.token = next
            state.replacements += 1
            let (number, earlier) = (state.replacements, state.keeping)
            // A task of its own, because the caller's may be cancelled.
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

/// A user's web auth token, which CloudKit replaces with every answer. Opaque, and a secret.
public struct WebAuthToken: Sendable, Hashable, CustomStringConvertible {
    let secret: Secret

    /// The token itself, to store it where only its owner can read it.
    public var text: String { secret.text }

    public var description: String { "a web auth token" }

    /// Reads a token as callbacks, headers, cookies and people hand it over: as it is, or percent-encoded.
    ///
    /// A token has no percent sign of its own, so an encoded one can be told apart and is decoded. A space was a plus
    /// sign before a form decoded it.
    /// - Returns: `nil` if this is no token: empty, `null` or `undefined` as scripts write a missing one, or text that
    ///   cannot stand in a header.
    public init?(_ text: String) {
        var text = text.trimmingWhiteSpace
        while text.utf8.contains(UInt8(ascii: "%")) {
            // Each round is shorter than the one before.
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

/// The end of a sign-in, as the sign-in page tells it: in the query of the API token's callback, or in a message to the
/// window that opened it.
public enum SignInAnswer: Sendable, Hashable {
    /// The user has signed in. Give the token to a ``WebAuthCredential``.
    case token(WebAuthToken)
    /// No token was given. The code is CloudKit's own, such as `accessError`.
    case refused(code: String)

    /// - Parameters:
    ///   - query: as in an address, without the question mark.
    /// - Returns: `nil` if the query tells neither a token nor an error.
    public init?(query: some StringProtocol) {
        var parameters: [String: String] = [:]
        for part in query.split(separator: "&") {
            let (name, value) = (part.prefix { $0 != "=" }, part.drop { $0 != "=" }.dropFirst())
            // The token decodes itself, because some senders encode it twice.
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
