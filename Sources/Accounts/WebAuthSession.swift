internal import Crypto
public import Foundation
internal import GRDB
public import Records
internal import Synchronization

/// The session of a user signed in to an app, with its web auth tokens (`ckWebAuthToken`).
public struct WebAuthSession: Sendable, Hashable {
    /// Seconds for which a token is valid.
    public static let life = 30 * 60
    /// Seconds for which a token is valid if the user asked to stay signed in: two weeks.
    public static let longLife = 14 * 86_400
    /// Seconds for which a token stays valid after the first use of a newer one.
    public static let grace = 5 * 60

    /// 16 hexadecimal digits that identify the session.
    public let id: String
    /// The user record name.
    public let user: Name
    public internal(set) var container: ContainerID
    public let environment: Environment
    /// The API token used to sign in, which must accompany the session's tokens; `nil` if there was none.
    public let apiTokenID: String?
    public let keepsSignedIn: Bool
    public let made: Timestamp
    public internal(set) var lastUsed: Timestamp?
    public internal(set) var revoked: Timestamp?

    public init(
        id: String, user: Name, container: ContainerID, environment: Environment, apiTokenID: String?,
        keepsSignedIn: Bool, made: Timestamp,
        lastUsed: Timestamp?, revoked: Timestamp?
    ) {
        self.id = id
        self.user = user
        self.container = container
        self.environment = environment
        self.apiTokenID = apiTokenID
        self.keepsSignedIn = keepsSignedIn
        self.made = made
        self.lastUsed = lastUsed
        self.revoked = revoked
    }

    /// Time when the last possible token of the session expires.
    public var expires: Timestamp {
        Timestamp(
            milliseconds: (lastUsed ?? made).milliseconds.addingSaturated(
                Int64(keepsSignedIn ? Self.longLife : Self.life) * 1000))
    }

    /// True if a token of the session can be valid at the given time.
    public func isLive(at moment: Timestamp) -> Bool {
        revoked == nil && moment < expires
    }
}

/// The result of validating a web auth token.
public enum WebAuthVerdict: Sendable, Hashable {
    case valid(WebAuthSession)
    /// Not a token of this server, or a modified one.
    case unknown
    /// Too old, or replaced by a newer token whose grace period is over.
    case expired(WebAuthSession)
    case revoked(WebAuthSession)
    /// For another container or environment.
    case elsewhere(WebAuthSession)
}

// MARK: - Sign-in and sessions

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
            guard let token, token.isLive, token.container == request.container,
                token.environment == request.environment
            else {
                throw Records.RecordError(
                    .badRequest, "The API token of this sign-in was revoked; sign in again with another")
            }
        }
        try await writeIfNew(known)
        let now = Timestamp(now)
        let session = WebAuthSession(
            id: Hexadecimal.text(of: [UInt8].random(8)), user: user, container: request.container,
            environment: request.environment,
            apiTokenID: request.apiTokenID, keepsSignedIn: keepSignedIn, made: now, lastUsed: nil, revoked: nil)
        try await queue.write { [self] database in
            let forgotten = credentials.withLock { Self.forgettable($0.sessions, for: user, now: now) }
            for id in forgotten {
                try database.execute(sql: "DELETE FROM webAuthSession WHERE id = ?", arguments: [id])
            }
            try database.execute(
                sql:
                    "INSERT INTO webAuthSession (id, user, container, environment, apiTokenID, keepsSignedIn, made) VALUES (?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    session.id, user.string, session.container.description, session.environment.rawValue,
                    session.apiTokenID, keepSignedIn,
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
            min(session.revoked ?? session.expires, session.expires).milliseconds.addingSaturated(rememberedFor)
                < now.milliseconds
        }
        func quietest(_ sessions: [WebAuthSession], beyond limit: Int) -> ArraySlice<WebAuthSession> {
            guard sessions.count >= limit else { return [] }
            return sessions.sorted { ($0.lastUsed ?? $0.made, $0.id) < ($1.lastUsed ?? $1.made, $1.id) }.prefix(
                sessions.count - limit + 1)
        }
        var gone = Set(sessions.values.filter(isOver).map(\.id))
        gone.formUnion(
            quietest(sessions.values.filter { $0.user == user && !gone.contains($0.id) }, beyond: sessionLimitOfUser)
                .map(\.id))
        gone.formUnion(quietest(sessions.values.filter { !gone.contains($0.id) }, beyond: sessionLimit).map(\.id))
        return Array(gone)
    }

    /// Validates a web auth token for a container and environment. A valid token counts as used: older tokens of its
    /// session stay valid for ``WebAuthSession/grace`` more seconds.
    public func webAuth(_ token: String, container: ContainerID, environment: Records.Environment, now: Date)
        -> WebAuthVerdict
    {
        guard let token = WebAuthToken(token, webAuthSeal) else { return .unknown }
        let now = Timestamp(now)
        // The session may be older than a server key that got the same user.
        if let session = credentials.withLock({ $0.sessions[token.session] }), isServerKey(session.user) {
            return .revoked(session)
        }
        let verdict = credentials.withLock { credentials -> WebAuthVerdict in
            guard let session = credentials.sessions[token.session] else { return .unknown }
            if session.revoked != nil { return .revoked(session) }
            guard session.container == container, session.environment == environment else { return .elsewhere(session) }
            let life = Int64(session.keepsSignedIn ? WebAuthSession.longLife : WebAuthSession.life) * 1000
            if now.milliseconds >= token.issue + life { return .expired(session) }
            let grace = Int64(WebAuthSession.grace) * 1000
            if let replaced = credentials.rotations[session.id]?.replaced(issue: token.issue),
                now.milliseconds >= replaced + grace
            {
                return .expired(session)
            }
            credentials.rotations[session.id, default: TokenRotation()].used(
                issue: token.issue, at: now.milliseconds, grace: grace)
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
                throw Records.RecordError(
                    .notFound,
                    "There is no sign-in session '\(id.prefix(80))'; use an ID of 16 hexadecimal digits from the list")
            }
            guard session.revoked == nil else { return session }
            session.revoked = now
            try database.execute(
                sql: "UPDATE webAuthSession SET revoked = ? WHERE id = ?", arguments: [now.milliseconds, id])
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
        guard case .refused(let seconds) = signIns.withLock({ $0.take(ClientNetwork.of(peer), at: now) }) else {
            return
        }
        throw Records.RecordError(
            .throttled, "Too many sign-ins came from your address; wait a moment, then try again", retryAfter: seconds)
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

// MARK: - Tokens

/// An encoded web auth token: the session, the issue time and four random bytes that make it unique.
///
/// Tokens are not stored; the seal proves that they are valid. 53 bytes in base64 with `+`, `/` and `=`, which
/// clients must percent-encode in URLs, as with CloudKit's.
struct WebAuthToken {
    private static let version: UInt8 = 1
    private static let contentCount = 21

    let session: String
    /// Milliseconds since 1970.
    let issue: Int64

    init(session: String, issue: Int64) {
        self.session = session
        self.issue = issue
    }

    init?(_ text: String, _ seal: Seal) {
        guard text.utf8.count <= 128, let sealed = Base64.canonicalBytes(of: text), let content = seal.opened(sealed),
            content.count == Self.contentCount,
            content[0] == Self.version
        else { return nil }
        session = Hexadecimal.text(of: content[1..<9])
        issue = content[9..<17].reduce(0) { $0 << 8 | Int64($1) }
    }

    func text(_ seal: Seal) -> String {
        Data(
            seal.sealed(
                [Self.version] + (Hexadecimal.bytes(of: session.utf8) ?? []) + issue.bigEndianBytes + [UInt8].random(4))
        ).base64EncodedString()
    }
}

extension Int64 {
    /// The bytes in big-endian order.
    var bigEndianBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) }
    }
}

// MARK: - Rotation

/// Tracks the used tokens of a session. A replaced token stays valid for some time after the first use of its
/// successor.
///
/// Times are in milliseconds since 1970. Uses within the same second are merged, so that busy sessions need no more
/// memory. A replaced token may therefore be valid up to a second longer than necessary.
struct TokenRotation {
    private struct Use {
        /// Issue time of the newest of these tokens.
        var issue: Int64
        /// Time of its first use.
        var firstUse: Int64
        /// Time of the first use of the first token merged into this entry.
        var start: Int64
    }

    /// Ordered by both times.
    private var uses: [Use] = []

    init() {}

    init(newestIssue: Int64, firstUse: Int64) {
        uses = [Use(issue: newestIssue, firstUse: firstUse, start: firstUse)]
    }

    /// The part that must survive a restart.
    var newest: (issue: Int64, firstUse: Int64)? {
        uses.last.map { ($0.issue, $0.firstUse) }
    }

    /// Time when a token was replaced, which is the first use of a newer one; `nil` if there was none.
    func replaced(issue: Int64) -> Int64? {
        uses.first { $0.issue > issue }?.firstUse
    }

    /// Records the use of a token.
    /// - Parameter grace: milliseconds for which a replaced token stays valid.
    mutating func used(issue: Int64, at now: Int64, grace: Int64) {
        if let last = uses.last, last.issue >= issue { return }
        if let last = uses.last, now.subtractingSaturated(last.start) < 1000 {
            uses[uses.count - 1] = Use(issue: issue, firstUse: max(now, last.firstUse), start: last.start)
        } else {
            uses.append(Use(issue: issue, firstUse: now, start: now))
        }
        // Keep one entry past the grace period. It invalidates all older tokens.
        while uses.count > 1, uses[1].firstUse.addingSaturated(grace) < now { uses.removeFirst() }
    }
}

// MARK: - Sign-in requests

/// A requested sign-in, which a `redirectURL` refers to.
public struct SignInRequest: Sendable, Hashable {
    /// Seconds for which its ticket is valid.
    public static let life = 3600

    public var container: ContainerID
    public var environment: Environment
    /// API token of the request that required a user; `nil` if it had none.
    public var apiTokenID: String?
    /// Origin of the requesting page, to which the token may be posted; `nil` if it was not a page.
    public var origin: String?

    public init(container: ContainerID, environment: Environment, apiTokenID: String? = nil, origin: String? = nil) {
        self.container = container
        self.environment = environment
        self.apiTokenID = apiTokenID
        self.origin = origin
    }
}

/// A ``SignInRequest`` encoded for a URL: sealed, in URL-safe base64.
struct SignInTicket {
    private static let version: UInt8 = 1
    private static let limit = 4096

    let request: SignInRequest
    /// Milliseconds since 1970.
    let issue: Int64

    init(_ request: SignInRequest, issue: Int64) {
        self.request = request
        self.issue = issue
    }

    init?(_ text: String, _ seal: Seal) {
        guard text.utf8.count <= Self.limit else { return nil }
        guard let sealed = Base64.canonicalBytes(of: text, forURLs: true), let content = seal.opened(sealed),
            content.count >= 9,
            content[0] == Self.version
        else { return nil }
        // No part contains a line feed: the origin was validated, and the other parts can't have one.
        let lines = String(decoding: content[9...], as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        guard lines.count == 4, let container = ContainerID(lines[0]), let environment = Environment(rawValue: lines[1])
        else { return nil }
        issue = content[1..<9].reduce(0) { $0 << 8 | Int64($1) }
        request = SignInRequest(
            container: container, environment: environment, apiTokenID: lines[2].isEmpty ? nil : lines[2],
            origin: lines[3].isEmpty ? nil : lines[3])
    }

    func text(_ seal: Seal) -> String {
        let lines = [
            request.container.description, request.environment.rawValue, request.apiTokenID ?? "",
            request.origin.flatMap(WebAddress.origin) ?? "",
        ]
        let content = [Self.version] + issue.bigEndianBytes + Array(lines.joined(separator: "\n").utf8)
        return Base64.text(of: seal.sealed(content), forURLs: true)
    }
}

// MARK: - Seal

/// Appends a keyed checksum (HMAC) to bytes, so that only this server can have created them. The bytes are readable
/// by anyone.
struct Seal: Sendable {
    /// The kind of content. Each purpose has its own key, so that content sealed for one purpose is invalid for
    /// another.
    enum Purpose: String {
        case webAuthToken = "web auth token"
        case signInTicket = "sign-in ticket"
    }

    private static let checksumCount = 32
    private let key: SymmetricKey

    init(_ secret: [UInt8], for purpose: Purpose) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), info: Array("skylight \(purpose.rawValue)".utf8),
            outputByteCount: 32)
    }

    func sealed(_ content: [UInt8]) -> [UInt8] {
        content + HMAC<SHA256>.authenticationCode(for: content, using: key)
    }

    /// The sealed content; `nil` if the checksum is wrong.
    func opened(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= Self.checksumCount else { return nil }
        let content = bytes.dropLast(Self.checksumCount)
        // Takes constant time, whichever byte differs.
        guard
            HMAC<SHA256>.isValidAuthenticationCode(
                bytes.suffix(Self.checksumCount), authenticating: content, using: key)
        else { return nil }
        return Array(content)
    }
}
