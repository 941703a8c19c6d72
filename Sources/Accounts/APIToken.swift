internal import Crypto
internal import Foundation
internal import GRDB
public import Records
internal import Synchronization

/// An API token, which identifies an app to the server (`?ckAPIToken=` in CloudKit Web Services). It does not
/// identify a user.
///
/// The token itself is returned once, when it is created. Only its hash is stored. Otherwise it is identified by its
/// ``id``.
public struct APIToken: Sendable, Hashable {
    /// Maximum number of valid tokens.
    public static let countLimit = 1000
    /// Maximum number of origins per token.
    public static let originLimit = 50

    /// Stands for the pages of every site: CloudKit's "Any Domain".
    public static let anyOrigin = "*"

    /// Eight hexadecimal digits that identify the token in lists and logs.
    public let id: String
    /// The name for display.
    public let name: String
    public internal(set) var container: ContainerID
    public let environment: Environment
    /// Origins of pages that may use the token, such as `https://example.com`, or ``anyOrigin`` alone. Empty: programs
    /// may use it, and pages that the server trusts without a token.
    public let allowedOrigins: [String]
    /// URL to which the browser is redirected after a sign-in, with `ckWebAuthToken` in the query; `nil` posts the
    /// token to the window that opened the page.
    public let callback: String?
    public let made: Timestamp
    public internal(set) var lastUsed: Timestamp?
    public internal(set) var revoked: Timestamp?

    public init(
        id: String, name: String, container: ContainerID, environment: Environment, allowedOrigins: [String],
        callback: String?, made: Timestamp,
        lastUsed: Timestamp?, revoked: Timestamp?
    ) {
        self.id = id
        self.name = name
        self.container = container
        self.environment = environment
        self.allowedOrigins = allowedOrigins
        self.callback = callback
        self.made = made
        self.lastUsed = lastUsed
        self.revoked = revoked
    }

    /// True if requests with the token are accepted.
    public var isLive: Bool { revoked == nil }
}

// MARK: - Managing API tokens

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
        named name: String, container: ContainerID, environment: Records.Environment, allowedOrigins: [String],
        callback: String?
    ) async throws -> (token: APIToken, secret: String) {
        try await makeAPIToken(
            named: name, container: container, environment: environment, allowedOrigins: allowedOrigins,
            callback: callback, id: nil)
    }

    /// Creates the API token of a form, which makes one token also if it is sent twice.
    /// - Parameter wanted: the ``freeTokenID()`` of the form. Another token is made if one of another name has it.
    /// - Throws: `RecordError` EXISTS if the form was sent before, and like the method without an ID.
    public func makeAPIToken(
        named name: String, container: ContainerID, environment: Records.Environment, allowedOrigins: [String],
        callback: String?, id wanted: String?
    ) async throws -> (token: APIToken, secret: String) {
        let name = name.trimmingWhiteSpace
        try Self.checkName(name, of: "API token")
        let shown = name.isEmpty ? "API token" : name
        let wanted = wanted.flatMap { Hexadecimal.bytes(of: $0.utf8)?.count == 4 ? $0 : nil }
        let origins = try WebAddress.origins(allowedOrigins)
        let callback = try callback.map(\.trimmingWhiteSpace).flatMap { $0.isEmpty ? nil : $0 }.map(WebAddress.callback)
        let secret = Hexadecimal.text(of: [UInt8].random(32))
        let hash = Self.hash(ofSecret: secret)
        let token = try await queue.write { [self] database in
            let tokens = credentials.withLock { $0.tokens }
            if let wanted, tokens[wanted]?.name == shown {
                throw Records.RecordError(.exists, "The API token '\(wanted)' is created already")
            }
            guard tokens.values.count(where: \.isLive) < APIToken.countLimit else {
                throw Records.RecordError(
                    .badRequest, "There are \(APIToken.countLimit) API tokens, which is the limit; revoke one first")
            }
            let id = wanted.flatMap { tokens[$0] == nil ? $0 : nil } ?? Self.newID(besides: tokens)
            let token = APIToken(
                id: id, name: shown, container: container, environment: environment, allowedOrigins: origins,
                callback: callback, made: Timestamp(Date()), lastUsed: nil, revoked: nil)
            try database.execute(
                sql: """
                    INSERT INTO apiToken (id, secretHash, name, container, environment, allowedOrigins, callback, made)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    id, Data(hash), token.name, container.description, environment.rawValue,
                    origins.joined(separator: "\n"), callback,
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

    /// An ID for a new token.
    public func freeTokenID() -> String { credentials.withLock { Self.newID(besides: $0.tokens) } }

    /// All API tokens including revoked ones, newest first.
    public func apiTokens() -> [APIToken] {
        credentials.withLock { Array($0.tokens.values) }.sorted { ($0.made, $0.id) > ($1.made, $1.id) }
    }

    /// The token with a secret, even if it is revoked or belongs to another container or environment. The caller must
    /// check both, and call ``noteUse(of:)`` if it accepts the token.
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
                throw Records.RecordError(
                    .notFound,
                    "There is no API token '\(id.prefix(80))'; use an ID of eight hexadecimal digits from the list")
            }
            guard token.isLive else { return token }
            token.revoked = now
            try database.execute(
                sql: "UPDATE apiToken SET revoked = ? WHERE id = ?", arguments: [now.milliseconds, id])
            try database.execute(
                sql: "UPDATE webAuthSession SET revoked = ? WHERE apiTokenID = ? AND revoked IS NULL",
                arguments: [now.milliseconds, id])
            database.afterNextTransaction { [self] _ in
                credentials.withLock { credentials in
                    credentials.tokens[id]?.revoked = now
                    for session in credentials.sessions.values where session.apiTokenID == id && session.revoked == nil
                    {
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
    /// True if requests from pages of the origin may use the token.
    /// - Parameter origin: `nil` for a request that comes from no page.
    public func allows(origin: String?) -> Bool {
        allowedOrigins.isEmpty || allowedOrigins == [Self.anyOrigin] || origin.map(lists) ?? false
    }

    /// True if the token's list contains the origin, so that its pages are admitted even if the server does not trust
    /// them otherwise.
    public func lists(origin: String) -> Bool { Self.lists(allowedOrigins, origin) }

    fileprivate static func lists(_ origins: some Collection<String>, _ origin: String) -> Bool {
        origins.contains(anyOrigin) || WebAddress.origin(origin).map(origins.contains) ?? false
    }
}

// MARK: - URLs

/// Validates URLs of API tokens.
enum WebAddress {
    private static let limit = 2048
    /// Schemes that a browser would execute, or that can't receive a token.
    private static let refusedSchemes: Set<String> = [
        "javascript", "data", "vbscript", "blob", "file", "about", "filesystem",
    ]

    /// The origin in the form used by browsers: lowercase, without a default port. `nil` if the text is not an
    /// origin.
    static func origin(_ text: String) -> String? {
        guard text.utf8.count <= 255, let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            ["http", "https"].contains(scheme),
            let host = parts.encodedHost?.lowercased(), !host.isEmpty, ["", "/"].contains(parts.percentEncodedPath),
            parts.query == nil,
            parts.fragment == nil, parts.user == nil, parts.password == nil, (0...65535).contains(parts.port ?? 0),
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "*") })
        else { return nil }
        let port = parts.port.flatMap { $0 == (scheme == "http" ? 80 : 443) ? nil : ":\($0)" } ?? ""
        return "\(scheme)://\(host)\(port)"
    }

    /// Normalizes a list of origins.
    /// - Returns: the origins without duplicates; ``APIToken/anyOrigin`` alone if the list contains it.
    /// - Throws: `RecordError` BAD_REQUEST if one of them is not an origin or there are too many.
    static func origins(_ texts: [String]) throws -> [String] {
        guard texts.count <= APIToken.originLimit else {
            throw RecordError(.badRequest, "An API token may list \(APIToken.originLimit) origins, not \(texts.count)")
        }
        var origins: [String] = []
        for text in texts.map(\.trimmingWhiteSpace) where !text.isEmpty {
            guard let origin = text == APIToken.anyOrigin ? text : origin(text) else {
                let rule =
                    text.contains("*")
                    ? "a * stands only alone; list each site" : "use scheme, host and a non-default port"
                throw RecordError(
                    .badRequest,
                    "'\(text.prefix(80))' is not an origin: \(rule), as in https://example.com or http://localhost:3000, or use * for the pages of every site"
                )
            }
            if !origins.contains(origin) { origins.append(origin) }
        }
        return origins.contains(APIToken.anyOrigin) ? [APIToken.anyOrigin] : origins
    }

    /// Validates the URL to which a browser is redirected.
    /// - Throws: `RecordError` BAD_REQUEST if a browser can't be redirected to it.
    static func callback(_ text: String) throws -> String {
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isPlain, text.utf8.count <= limit, let parts = URLComponents(string: text),
            let scheme = parts.scheme?.lowercased()
        else {
            throw RecordError(
                .badRequest,
                "'\(text.prefix(80))' is not a callback address: use one such as https://example.com/signed-in")
        }
        let isWeb = ["http", "https"].contains(scheme)
        guard !refusedSchemes.contains(scheme), !isWeb || parts.host?.isEmpty == false else {
            throw RecordError(
                .badRequest,
                "The callback '\(text.prefix(80))' can't be opened: use https, http, or the scheme of an app")
        }
        guard parts.fragment == nil, parts.user == nil, parts.password == nil else {
            throw RecordError(
                .badRequest, "The callback '\(text.prefix(80))' contains a fragment or a password: remove it")
        }
        return text
    }
}
