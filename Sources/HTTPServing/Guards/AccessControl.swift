public import Accounts
internal import Foundation
internal import HTTPTypes
public import Hummingbird
internal import Logging
internal import Records

/// Access control: whether credentials are required, and how a client proves to be the administrator
/// (docs/security.md).
///
/// The web services check the protocol's own credentials.
public struct AccessControl: Sendable {
    /// Whether a server requires credentials.
    public enum Mode: String, Sendable, CaseIterable {
        /// No credentials are required. For a server that only listens on the local machine.
        case open
        /// The protocol's credentials give access to data. Skylight's own services, the metrics and the console require
        /// the administrator.
        case required
    }

    /// The user name of the administrator in the header `Authorization: Basic`.
    public static let administratorName = "admin"

    public let mode: Mode
    public let accounts: Accounts
    /// The secret that proves read access to the data folder; `nil` to accept none.
    public let instanceSecret: String?

    /// - Parameter instanceSecret: a random text, created at each start.
    public init(_ mode: Mode, accounts: Accounts, instanceSecret: String? = nil) {
        self.mode = mode
        self.accounts = accounts
        self.instanceSecret = instanceSecret
    }

    /// Access control that requires no credentials.
    public static func open(_ accounts: Accounts) -> AccessControl {
        AccessControl(.open, accounts: accounts)
    }

    /// Returns the administrator who sent the request; `nil` if the request contains no valid proof.
    ///
    /// Browsers send the session cookie and a remembered password automatically, and pages on other ports of the
    /// machine belong to the same site. So both are accepted only in requests from the server's own pages. A change
    /// that uses the cookie also needs the session's secret in ``forgeryHeader``.
    /// - Parameter peer: the address of the client, ``ServingRequestContext/peer``. It limits the rate of password
    ///   attempts.
    /// - Throws: `RecordError` THROTTLED with the time to wait after too many wrong passwords.
    public func administrator(of request: Request, peer: String) async throws -> Administrator? {
        if let authorization = request.headers[.authorization] {
            let parts = authorization.split(separator: " ", maxSplits: 1).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard parts.count == 2 else { return nil }
            switch parts[0].lowercased() {
            case "bearer": return isInstanceSecret(parts[1]) ? Administrator(proof: .bearer) : nil
            case "basic": return try await hasPassword(parts[1], request, peer) ? Administrator(proof: .basic) : nil
            default: return nil
            }
        }
        guard let session = consoleSession(of: request), isOwnPage(request) else { return nil }
        let isReading = [.get, .options].contains(request.method)
        return isReading || bringsSecret(of: session, request) ? Administrator(proof: .session(session)) : nil
    }

    // MARK: Proofs

    private func isInstanceSecret(_ text: String) -> Bool {
        instanceSecret.map { Self.isEqual(text, $0) } ?? false
    }

    private func hasPassword(_ encoded: String, _ request: Request, _ peer: String) async throws -> Bool {
        guard isOwnPage(request), let data = Data(base64Encoded: encoded) else { return false }
        let parts = data.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, Array(parts[0]) == Array(Self.administratorName.utf8) else { return false }
        switch try await accounts.checkAdministrator(password: String(decoding: parts[1], as: UTF8.self), from: peer) {
        case .accepted: return true
        case .refused, .notSet: return false
        case .tooMany(let seconds):
            throw RecordError(
                .throttled, "Too many wrong passwords; wait, then send the right one", retryAfter: seconds)
        }
    }

    /// True if the headers show that the request comes from one of the server's own pages, from the address bar, or not
    /// from a browser.
    private func isOwnPage(_ request: Request) -> Bool {
        if let site = request.headers[.secFetchSite] {
            guard site == "same-origin" || site == "none" else { return false }
        } else if let page = request.headers[.referer] {
            // Browsers send Sec-Fetch-Site only over https and on localhost. Otherwise only the Referer names the page.
            guard let site = page.firstRange(of: "://").map({ page[$0.upperBound...].prefix { !"/?#".contains($0) } })
            else { return false }
            guard site.lowercased() == request.head.authority?.lowercased() else { return false }
        }
        return request.headers[.origin].map { $0.lowercased() == request.ownOrigin.lowercased() } ?? true
    }

    /// Compares two secrets in constant time.
    static func isEqual(_ left: String, _ right: String) -> Bool {
        Array(left.utf8).isSame(as: Array(right.utf8))
    }
}

// MARK: - Administrator

/// A client that proved to be the server's administrator.
public struct Administrator: Sendable {
    /// The kinds of proof.
    public enum Proof: Sendable {
        /// `Authorization: Bearer` with the secret of this server run, which is stored in the data folder.
        case bearer
        /// `Authorization: Basic` with the administrator's password.
        case basic
        /// The cookie of a console session.
        case session(ConsoleSession)
    }

    public let proof: Proof
}

// MARK: - Sessions

/// Console sessions: a cookie, and a secret that every form must contain.
extension AccessControl {
    /// The header in which scripts of the console send the secret of their session.
    public static let forgeryHeader = HTTPField.Name.skylightForm.rawName

    /// The session of the request's cookie; `nil` if it has no valid one.
    public func consoleSession(of request: Request) -> ConsoleSession? {
        cookies(cookieName(for: request), of: request).lazy.compactMap { accounts.consoleSession(token: $0) }.first
    }

    /// There may be several cookies with this name, because a page on another port may have set one.
    private func cookies(_ name: String, of request: Request) -> [String] {
        request.headers[values: .cookie].flatMap { $0.split(separator: ";") }.compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            return parts.count == 2 && parts[0] == name ? parts[1] : nil
        }
    }

    /// The `Set-Cookie` value that identifies a browser when it returns from the sign-in at another site. Browsers do
    /// not send the session's cookie then.
    public func returnCookie(_ secret: String, for request: Request, seconds: Int) -> String {
        "\(cookieName(for: request))-return=\(secret); Path=/; HttpOnly; SameSite=Lax; Max-Age=\(seconds)\(request.isSecure ? "; Secure" : "")"
    }

    /// The values of ``returnCookie(_:for:seconds:)`` in the request.
    public func returnSecrets(of request: Request) -> [String] {
        cookies("\(cookieName(for: request))-return", of: request)
    }

    /// The `Set-Cookie` value that starts a session in a browser. The cookie is sent to this
    /// host only, is hidden from scripts, and is not sent with requests from other sites.
    public func cookie(_ session: ConsoleSession, for request: Request) -> String {
        cookie(session.token, for: request, "")
    }

    /// The `Set-Cookie` value that removes the cookie.
    public func endedCookie(for request: Request) -> String {
        cookie("", for: request, "; Max-Age=0")
    }

    /// Returns whether the request contains the secret of its session in the header.
    public func bringsSecret(of session: ConsoleSession, _ request: Request) -> Bool {
        request.headers[.skylightForm].map { isSecret($0, of: session) } ?? false
    }

    /// Returns whether the text is the secret of the session.
    public func isSecret(_ text: String, of session: ConsoleSession) -> Bool {
        Self.isEqual(text, session.csrf)
    }

    private func cookie(_ value: String, for request: Request, _ more: String) -> String {
        "\(cookieName(for: request))=\(value); Path=/; HttpOnly; SameSite=Strict\(request.isSecure ? "; Secure" : "")\(more)"
    }

    /// Browsers share cookies between the ports of a host, so the name contains the port. With
    /// the prefix `__Host-`, browsers accept the cookie only over TLS and for this exact host.
    private func cookieName(for request: Request) -> String {
        let port = request.head.authority.flatMap { authority in
            authority.lastIndex(of: ":").map { authority[authority.index(after: $0)...] }.flatMap { Int($0) }
        }
        return "\(request.isSecure ? "__Host-" : "")skylight-\(port ?? (request.isSecure ? 443 : 80))"
    }
}

// MARK: - Failed proofs

extension AccessControl {
    /// The ways in which a request can fail to prove that it is the administrator's.
    public enum FailedProof: String, Sendable, Hashable, CaseIterable {
        /// `Authorization: Basic` contains a wrong name or password.
        case wrongPassword
        /// `Authorization: Bearer` does not contain the secret of the data folder.
        case wrongSecret
        /// The password was not checked, because of too many wrong ones before.
        case tooManyPasswords
        /// `Authorization` has an unknown scheme.
        case unknownScheme

        /// The failed proof of a request that was refused; `nil` if the request had none.
        public init?(of request: Request) {
            guard let authorization = request.headers[.authorization] else { return nil }
            switch authorization.prefix(while: { $0 != " " }).lowercased() {
            case "basic": self = .wrongPassword
            case "bearer": self = .wrongSecret
            default: self = .unknownScheme
            }
        }

        /// The problem as a sentence.
        public var sentence: String {
            switch self {
            case .wrongPassword: "Authorization: Basic does not have the name 'admin' and the administrator's password"
            case .wrongSecret: "Authorization: Bearer does not have the secret in the server's data folder"
            case .tooManyPasswords: "The password was not checked: there were too many wrong ones"
            case .unknownScheme:
                "Authorization is neither Basic, with the administrator's password, nor Bearer, with the data folder's secret"
            }
        }
    }

    /// Logs a failed attempt to act as the administrator, without the credentials.
    /// - Parameter wasLookedAt: false if the password was not checked because there were too many wrong ones before.
    /// - Returns: the failed proof; `nil` if the request contains none, so that nothing is logged.
    @discardableResult
    public static func noteFailedProof(of request: Request, _ context: ServingRequestContext, wasLookedAt: Bool = true)
        -> FailedProof?
    {
        guard var proof = FailedProof(of: request) else { return nil }
        if !wasLookedAt { proof = .tooManyPasswords }
        note(proof, of: request, context)
        return proof
    }

    /// Logs a failed attempt to act as the administrator.
    public static func note(_ proof: FailedProof, of request: Request, _ context: ServingRequestContext) {
        context.logger.notice(
            "The administrator's credentials were refused",
            metadata: [
                "request": "\(context.requestID)", "method": "\(request.method)", "path": "\(request.path)",
                "peer": "\(context.peer)",
                "problem": "\(proof.rawValue)",
            ])
    }
}
