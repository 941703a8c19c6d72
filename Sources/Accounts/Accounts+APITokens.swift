internal import Crypto
internal import Foundation
internal import GRDB
public import Records
internal import Synchronization
internal import Text

extension Accounts {
    /// Creates an API token.
    /// - Parameters:
    /// - name: the name for display, at most ``nameLimit`` bytes.
    /// - allowedOrigins: origins of pages that may use it, see ``APIToken/allowedOrigins``.
    /// - callback: URL to which the browser is redirected after a sign-in.
    /// - Returns: the token and its 64 hexadecimal digits, which can't be retrieved later.
    /// - Throws: `RecordError` BAD_REQUEST if the name, an origin or the callback is invalid, or there are too many
    ///   tokens.
    public func makeAPIToken(
        named name: String, container: ContainerID, environment: Records.Environment, allowedOrigins: [String], callback: String?
    ) async throws -> (token: APIToken, secret: String) {
        let name = name.trimmingWhiteSpace
        try Self.checkName(name, of: "API token")
        let origins = try WebAddress.origins(allowedOrigins)
        let callback = try callback.map(\.trimmingWhiteSpace).flatMap { $0.isEmpty ? nil : $0 }.map(WebAddress.callback)
        let secret = Hexadecimal.text(of: [UInt8].random(32))
        let hash = Self.hash(ofSecret: secret)
        let token = try await queue.write { [self] database in
            let tokens = credentials.withLock { $0.tokens }
            guard tokens.values.count(where: \.isLive) < APIToken.countLimit else {
                throw Records.RecordError(.badRequest, "There are \(APIToken.countLimit) API tokens, which is the limit; revoke one first")
            }
            let id = Self.newID(besides: tokens)
            let token = APIToken(
                id: id, name: name.isEmpty ? "API token" : name, container: container, environment: environment, allowedOrigins: origins,
                callback: callback, made: Timestamp(Date()), lastUsed: nil, revoked: nil)
            try database.execute(
                sql: """
                    INSERT INTO apiToken (id, secretHash, name, container, environment, allowedOrigins, callback, made)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    id, Data(hash), token.name, container.description, environment.rawValue, origins.joined(separator: "\n"), callback,
                    token.made.milliseconds,
                ])
            database.afterNextTransaction { [self] _ in
                credentials.withLock { credentials in
                    credentials.tokens[id] = token
                    credentials.tokenIDs[hash] = id
                    credentials.collectOrigins()
                }
            }
            return token
        }
        return (token, secret)
    }

    /// All API tokens including revoked ones, newest first.
    public func apiTokens() -> [APIToken] {
        credentials.withLock { Array($0.tokens.values) }.sorted { ($0.made, $0.id) > ($1.made, $1.id) }
    }

    /// The token with a secret, even if it is revoked or belongs to another container or environment. The caller must
    /// check that, and call ``noteUse(of:)`` if the token is accepted.
    /// - Parameter secret: the value of `ckAPIToken`.
    public func apiToken(secret: String) -> APIToken? {
        // A timing attack on the hash lookup reveals nothing useful, because the hash can't be inverted.
        let hash = Self.hash(ofSecret: secret)
        return credentials.withLock { credentials in credentials.tokenIDs[hash].flatMap { credentials.tokens[$0] } }
    }

    /// Records that the token was used. Written to the file some seconds later.
    public func noteUse(of token: APIToken) {
        let isThere = credentials.withLock { credentials -> Bool in
            guard credentials.tokens[token.id] != nil else { return false }
            credentials.tokens[token.id]?.lastUsed = Timestamp(Date())
            return true
        }
        if isThere { noteUse(.token(token.id)) }
    }

    /// Revokes a token permanently and ends the sessions created with it. A revoked token stays unchanged.
    /// - Throws: `RecordError` NOT_FOUND if there is no such token.
    public func revokeAPIToken(_ id: String) async throws -> APIToken {
        let now = Timestamp(Date())
        return try await queue.write { [self] database in
            guard var token = credentials.withLock({ $0.tokens[id] }) else {
                throw Records.RecordError(.notFound, "There is no API token '\(id.prefix(80))'; use an ID of eight hexadecimal digits from the list")
            }
            guard token.isLive else { return token }
            token.revoked = now
            try database.execute(sql: "UPDATE apiToken SET revoked = ? WHERE id = ?", arguments: [now.milliseconds, id])
            try database.execute(
                sql: "UPDATE webAuthSession SET revoked = ? WHERE apiTokenID = ? AND revoked IS NULL", arguments: [now.milliseconds, id])
            database.afterNextTransaction { [self] _ in
                credentials.withLock { credentials in
                    credentials.tokens[id]?.revoked = now
                    for session in credentials.sessions.values where session.apiTokenID == id && session.revoked == nil {
                        credentials.sessions[session.id]?.revoked = now
                    }
                    credentials.collectOrigins()
                }
            }
            return token
        }
    }

    /// True if a valid token lists the origin. Its pages may then read responses (CORS).
    public func isOriginOfToken(_ origin: String) -> Bool {
        credentials.withLock { APIToken.lists($0.origins, origin) }
    }

    private static func newID(besides tokens: [String: APIToken]) -> String {
        var id = Hexadecimal.text(of: [UInt8].random(4))
        while tokens[id] != nil { id = Hexadecimal.text(of: [UInt8].random(4)) }
        return id
    }

    private static func hash(ofSecret secret: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(secret.utf8)))
    }
}

extension APIToken {
    /// True if requests of pages of the origin may use the token; `nil` for a request of no page.
    public func allows(origin: String?) -> Bool {
        allowedOrigins.isEmpty || allowedOrigins == [Self.anyOrigin] || origin.map(lists) ?? false
    }

    /// True if the token lets pages of the origin in that the server does not trust otherwise.
    public func lists(origin: String) -> Bool { Self.lists(allowedOrigins, origin) }

    fileprivate static func lists(_ origins: some Collection<String>, _ origin: String) -> Bool {
        origins.contains(anyOrigin) || WebAddress.origin(origin).map(origins.contains) ?? false
    }
}
