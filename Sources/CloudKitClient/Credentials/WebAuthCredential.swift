internal import Records
internal import Synchronization

/// The web auth token of one user through its replacements.
///
/// Each token that replaces it is handed to `keep` before the next request is sent, so that a process that ends at any moment has stored a token
/// that was good. Apple's reference says that a replaced token ends at once; the live service was seen to take it for a day. Requests therefore
/// run side by side until a replaced token is refused: that request is repeated with the newest token, and from then on they take turns.
public final class WebAuthCredential: Sendable, CustomReflectable {
    /// One request and its answer.
    struct Exchange<Answer: Sendable>: Sendable {
        var answer: Answer
        /// The token that came with the answer.
        var next: WebAuthToken?
        /// True if the answer asks for a sign-in.
        var isRefused: Bool
    }

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
    private let turn = AsyncSemaphore(limit: 1, waiting: .max, refusal: RecordError(.tryAgainLater, "Too many requests wait"))

    /// - Parameters:
    ///   - token: from the sign-in, or the one stored last.
    ///   - keep: stores a token that replaces this one. The next request waits until it returns, so it must not send one itself.
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
    /// - Returns: the answer; true if its token was refused, but was replaced or may have been, so that the request is worth repeating.
    func exchange<Answer>(_ send: (WebAuthToken) async throws -> Exchange<Answer>) async throws -> (answer: Answer, isOutdated: Bool) {
        let isTogether = state.withLock { state in
            if !state.takesTurns { state.running += 1 }
            return !state.takesTurns
        }
        if isTogether { return try await exchangeNow(send) }
        return try await turn.run {
            await othersEnd()
            state.withLock { $0.running += 1 }
            return try await exchangeNow(send)
        }
    }

    private func exchangeNow<Answer>(_ send: (WebAuthToken) async throws -> Exchange<Answer>) async throws -> (answer: Answer, isOutdated: Bool) {
        let token = await keptToken()
        let exchange: Exchange<Answer>
        do {
            exchange = try await send(token)
        } catch {
            end()
            throw error
        }
        if let next = exchange.next { await replace(with: next) }
        return (exchange.answer, end(refused: exchange.isRefused ? token : nil))
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
    private func othersEnd() async {
        await withCheckedContinuation { continuation in
            let isAlone = state.withLock { state in
                if state.running > 0 { state.waiting = continuation }
                return state.running == 0
            }
            if isAlone { continuation.resume() }
        }
    }

    /// The newest token, once it was handed over.
    private func keptToken() async -> WebAuthToken {
        while true {
            let (token, keeping) = state.withLock { ($0.token, $0.keeping) }
            guard let keeping else { return token }
            await keeping.value
        }
    }

    /// A task of its own hands the token over, because the caller's may be cancelled.
    private func replace(with next: WebAuthToken) async {
        let keeping: Task<Void, Never>? = state.withLock { state in
            guard state.token != next else { return nil }
            state.token = next
            state.replacements += 1
            let (number, earlier) = (state.replacements, state.keeping)
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
