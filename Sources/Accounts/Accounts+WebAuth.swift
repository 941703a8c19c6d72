public import Foundation
internal import GRDB
public import JSON
public import Records
internal import Synchronization
internal import Text

extension Accounts {
    /// Time in milliseconds for which ended sessions are remembered: 30 days.
    private static let rememberedFor: Int64 = 30 * 86_400_000
    /// Maximum number of sessions in total and per user. The least recently used ones are dropped first.
    static let sessionLimit = 10_000
    static let sessionLimitOfUser = 200

    /// Signs a user in.
    /// - Parameters:
    /// - user: the user record name.
    /// - request: the container, environment and API token to sign in for.
    /// - keepSignedIn: `true` for tokens that are valid for two weeks instead of half an hour.
    /// - Returns: the session and its first token.
    /// - Throws: `RecordError` NOT_FOUND if there is no such user or it belongs to a server-to-server key,
    ///   BAD_REQUEST if the request's API token is no longer valid; a file error.
    public func signIn(
        _ user: Name, with request: SignInRequest, keepSignedIn: Bool, now: Date
    ) async throws -> (session: WebAuthSession, token: String) {
        guard let known = self.user(recordName: user), !known.isServerKey else {
            throw Records.RecordError(.notFound, "There is no user '\(user)'; choose one from the list, or create one")
        }
        if let id = request.apiTokenID {
            let token = credentials.withLock { $0.tokens[id] }
            guard let token, token.isLive, token.container == request.container, token.environment == request.environment else {
                throw Records.RecordError(.badRequest, "The API token of this sign-in was revoked; sign in again with another")
            }
        }
        try await writeIfNew(known)
        let now = Timestamp(now)
        let session = WebAuthSession(
            id: Hexadecimal.text(of: [UInt8].random(8)), user: user, container: request.container, environment: request.environment,
            apiTokenID: request.apiTokenID, keepsSignedIn: keepSignedIn, made: now, lastUsed: nil, revoked: nil)
        try await queue.write { [self] database in
            let forgotten = credentials.withLock { Self.forgettable($0.sessions, for: user, now: now) }
            for id in forgotten { try database.execute(sql: "DELETE FROM webAuthSession WHERE id = ?", arguments: [id]) }
            try database.execute(
                sql: "INSERT INTO webAuthSession (id, user, container, environment, apiTokenID, keepsSignedIn, made) VALUES (?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    session.id, user.string, session.container.description, session.environment.rawValue, session.apiTokenID, keepSignedIn,
                    now.milliseconds,
                ])
            database.afterNextTransaction { [self] _ in
                credentials.withLock { credentials in
                    for id in forgotten {
                        credentials.sessions[id] = nil
                        credentials.rotations[id] = nil
                    }
                    credentials.sessions[session.id] = session
                }
            }
        }
        return (session, WebAuthToken(session: session.id, issue: now.milliseconds).text(webAuthSeal))
    }

    /// The sessions to drop before adding one of a user: long ended ones, and the least recently used ones if there
    /// are too many.
    private static func forgettable(_ sessions: [String: WebAuthSession], for user: Name, now: Timestamp) -> [String] {
        func isOver(_ session: WebAuthSession) -> Bool {
            min(session.revoked ?? session.expires, session.expires).milliseconds.addingSaturated(rememberedFor) < now.milliseconds
        }
        func quietest(_ sessions: [WebAuthSession], beyond limit: Int) -> ArraySlice<WebAuthSession> {
            guard sessions.count >= limit else { return [] }
            return sessions.sorted { ($0.lastUsed ?? $0.made, $0.id) < ($1.lastUsed ?? $1.made, $1.id) }.prefix(sessions.count - limit + 1)
        }
        var gone = Set(sessions.values.filter(isOver).map(\.id))
        gone.formUnion(quietest(sessions.values.filter { $0.user == user && !gone.contains($0.id) }, beyond: sessionLimitOfUser).map(\.id))
        gone.formUnion(quietest(sessions.values.filter { !gone.contains($0.id) }, beyond: sessionLimit).map(\.id))
        return Array(gone)
    }

    /// Validates a web auth token for a container and environment. A valid token counts as used: older tokens of its
    /// session stay valid for ``WebAuthSession/grace`` more seconds.
    public func webAuth(_ token: String, container: ContainerID, environment: Records.Environment, now: Date) -> WebAuthVerdict {
        guard let token = WebAuthToken(token, webAuthSeal) else { return .unknown }
        let now = Timestamp(now)
        // The session may be older than a server key that got the same user.
        if let session = credentials.withLock({ $0.sessions[token.session] }), isServerKey(session.user) { return .revoked(session) }
        let verdict = credentials.withLock { credentials -> WebAuthVerdict in
            guard let session = credentials.sessions[token.session] else { return .unknown }
            if session.revoked != nil { return .revoked(session) }
            guard session.container == container, session.environment == environment else { return .elsewhere(session) }
            let life = Int64(session.keepsSignedIn ? WebAuthSession.longLife : WebAuthSession.life) * 1000
            if now.milliseconds >= token.issue + life { return .expired(session) }
            let grace = Int64(WebAuthSession.grace) * 1000
            if let replaced = credentials.rotations[session.id]?.replaced(issue: token.issue), now.milliseconds >= replaced + grace {
                return .expired(session)
            }
            credentials.rotations[session.id, default: TokenRotation()].used(issue: token.issue, at: now.milliseconds, grace: grace)
            let used = max(session.lastUsed ?? now, now)
            credentials.sessions[session.id]?.lastUsed = used
            return .valid(credentials.sessions[session.id] ?? session)
        }
        if case .valid(let session) = verdict {
            noteUse(.session(session.id))
            saw(session.user, at: now)
        }
        return verdict
    }

    /// A new token of a session, for the response to a request with an older one.
    public func nextToken(of session: WebAuthSession, now: Date) -> String {
        WebAuthToken(session: session.id, issue: Timestamp(now).milliseconds).text(webAuthSeal)
    }

    /// All remembered sessions including ended ones, newest first.
    public func webAuthSessions() -> [WebAuthSession] {
        credentials.withLock { Array($0.sessions.values) }.sorted { ($0.made, $0.id) > ($1.made, $1.id) }
    }

    /// Revokes a session and all its tokens permanently. A revoked session stays unchanged.
    /// - Throws: `RecordError` NOT_FOUND if there is no such session.
    public func revokeWebAuthSession(_ id: String) async throws -> WebAuthSession {
        let now = Timestamp(Date())
        return try await queue.write { [self] database in
            guard var session = credentials.withLock({ $0.sessions[id] }) else {
                throw Records.RecordError(.notFound, "There is no sign-in session '\(id.prefix(80))'; use an ID of 16 hexadecimal digits from the list")
            }
            guard session.revoked == nil else { return session }
            session.revoked = now
            try database.execute(sql: "UPDATE webAuthSession SET revoked = ? WHERE id = ?", arguments: [now.milliseconds, id])
            database.afterNextTransaction { [self] _ in credentials.withLock { $0.sessions[id]?.revoked = now } }
            return session
        }
    }

    /// Limits the rate of requests to the sign-in page, which needs no credentials.
    /// - Parameter peer: address of the client.
    /// - Throws: `RecordError` THROTTLED with the time to wait if there were too many requests.
    public func admitSignIn(from peer: String) throws(Records.RecordError) {
        try admitSignIn(from: peer, at: .now)
    }

    func admitSignIn(from peer: String, at now: ContinuousClock.Instant) throws(Records.RecordError) {
        guard case .refused(let seconds) = signIns.withLock({ $0.take(PeerPlace.of(peer), at: now) }) else { return }
        throw Records.RecordError(.throttled, "Too many sign-ins came from your address; wait a moment, then try again", retryAfter: seconds)
    }

    // MARK: Tickets

    /// The sealed ticket for a sign-in, carried in a `redirectURL`. Valid for ``SignInRequest/life`` seconds.
    public func signInTicket(for request: SignInRequest, now: Date) -> String {
        SignInTicket(request, issue: Timestamp(now).milliseconds).text(ticketSeal)
    }

    /// The request in a ticket; `nil` if the ticket is invalid or expired.
    public func signInRequest(ticket: String, now: Date) -> SignInRequest? {
        guard let ticket = SignInTicket(ticket, ticketSeal) else { return nil }
        let now = Timestamp(now).milliseconds
        return now < ticket.issue + Int64(SignInRequest.life) * 1000 ? ticket.request : nil
    }
}
