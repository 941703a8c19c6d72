internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Records
internal import RequestLog

/// The result of checking a request's protocol credentials, independent of the requested service.
struct AuthenticationResult: Sendable {
    private(set) var credentialKind = AccessTable.CredentialKind.nobody
    private(set) var authentication = Authentication(way: .nothing)
    /// The request's API token. It is valid unless the request is refused.
    private(set) var apiToken: APIToken?
    /// The session of a valid web auth token.
    private(set) var session: WebAuthSession?
    /// The user record name of the user or the key.
    private(set) var userRecordName: Name?
    /// The reason why the credentials are refused.
    private(set) var refusal: RecordError?

    /// - Parameters:
    ///   - credentials: tokens without a signature, or a mix of both, which is refused.
    ///   - origin: the origin of the page that sent the request; `nil` if no page sent it.
    init(_ credentials: Credentials, at path: WebServicePath, from origin: String?, by accounts: Accounts, at now: Date)
    {
        if credentials.isMixed {
            authentication.way = .mixed
            refuse(
                RecordError(
                    .badRequest,
                    "The request has two kinds of credentials, and only one is allowed: \(credentials.tokenNames) in the query, and a "
                        + "signature in the headers \(Credentials.signatureHeaders.map(\.rawName).joined(separator: ", "))"
                ),
                "mixed", "The request has tokens in the query and a signature",
                remedy: "For a user, omit the signature headers. For a server-to-server key, omit the tokens")
        } else {
            check(apiToken: credentials.apiToken, at: path, from: origin, by: accounts)
            if refusal == nil, let token = credentials.webAuthToken {
                check(
                    webAuthToken: token, besideUnknownToken: credentials.hadUnknownToken, at: path, by: accounts,
                    at: now)
            }
        }
    }

    /// - Parameters:
    ///   - signed: the request with the parts that its signature covers.
    ///   - secrets: texts that must not appear in the explanation.
    init(
        _ signed: SignedRequest, hiding secrets: [String], at path: WebServicePath, by accounts: Accounts, at now: Date
    ) {
        check(signed, hiding: secrets, at: path, by: accounts, at: now)
    }

    /// The result for a signature that was not verified, because the body was not read.
    init(unread signature: Credentials.Signature) {
        authentication.way = .serverKey
        authentication.credential = signature.keyID.isEmpty ? nil : signature.keyID
    }

    private mutating func refuse(
        _ error: RecordError, _ kind: String, _ sentence: String, remedy: String? = nil, expected: String? = nil,
        received: String? = nil
    ) {
        refusal = error
        authentication.problem = Authentication.Problem(
            kind: kind, sentence: sentence, remedy: remedy, expected: expected, received: received)
    }

    // MARK: Server-to-server keys

    private mutating func check(
        _ signed: SignedRequest, hiding secrets: [String], at path: WebServicePath, by accounts: Accounts, at now: Date
    ) {
        authentication.way = .serverKey
        authentication.credential = signed.keyID.isEmpty ? nil : signed.keyID
        switch accounts.verify(signed, knownTargets: EndpointTable.targets(near: path), now: now) {
        case .accepted(let key): (credentialKind, userRecordName) = (.serverKey, key.userRecordName)
        case .refused(let problem):
            refusal = AuthenticationFailure.noMethod
            authentication.problem = Authentication.Problem(problem, hiding: secrets)
        }
    }

    // MARK: API tokens

    private mutating func check(
        apiToken secret: String?, at path: WebServicePath, from origin: String?, by accounts: Accounts
    ) {
        guard let secret else { return }
        authentication.way = .apiToken
        guard let token = accounts.apiToken(secret: secret) else {
            return refuse(
                AuthenticationFailure.noMethod, "unknownToken",
                "The value of ckAPIToken is not an API token of this server",
                remedy:
                    "Create one: skylight token create-api --container \(path.container) --environment \(path.environment.rawValue)"
            )
        }
        authentication.credential = token.id
        if token.revoked != nil {
            return refuse(
                AuthenticationFailure.noMethod, "revokedToken", "The API token \(token.id) was revoked",
                remedy: "Create another one")
        }
        let (expected, received) = (
            Self.place(token.container, token.environment), Self.place(path.container, path.environment)
        )
        guard token.container == path.container, token.environment == path.environment else {
            return refuse(
                AuthenticationFailure.noMethod, "otherPlace",
                "The API token \(token.id) belongs to another container or environment",
                remedy: "Use it for \(expected), or create one for \(received)", expected: expected, received: received)
        }
        guard token.allows(origin: origin) else {
            return refuse(
                AuthenticationFailure.noMethod, "foreignOrigin",
                "The API token \(token.id) does not allow the origin of the page",
                remedy: "Add the page's origin to a new token, or send the header Origin as the page would",
                expected: token.allowedOrigins.joined(separator: ", "), received: origin ?? "no Origin")
        }
        accounts.noteUse(of: token)
        (credentialKind, apiToken) = (.app, token)
    }

    // MARK: Web auth tokens

    private mutating func check(
        webAuthToken token: String, besideUnknownToken: Bool, at path: WebServicePath, by accounts: Accounts,
        at now: Date
    ) {
        authentication.way = .webAuth
        let needsUser = AuthenticationFailure.needsUser
        let again = "Sign in again at the redirectURL of the response"
        switch accounts.webAuth(token, container: path.container, environment: path.environment, now: now) {
        case .valid(let session):
            authentication.session = session.id
            if session.apiTokenID != nil, apiToken == nil {
                return refuse(
                    AuthenticationFailure.noMethod, "missingToken",
                    besideUnknownToken
                        ? "The user signed in with an API token of this server, but ckAPIToken is not one"
                        : "The user signed in with an API token, but the request has no ckAPIToken",
                    remedy: besideUnknownToken
                        ? "Send an API token of this server for \(Self.place(path.container, path.environment))"
                        : "Send ckAPIToken in each request of the session")
            }
            (credentialKind, self.session, userRecordName) = (.user, session, session.user)
        case .unknown:
            refuse(
                needsUser, "unknownSession",
                "The value of ckWebAuthToken is not a token of this server, or was changed",
                remedy: "Percent-encode it (+ / = as %2B %2F %3D), or sign in again at the redirectURL of the response")
        case .expired(let session):
            authentication.session = session.id
            refuse(
                needsUser, "expiredSession",
                "The web auth token is too old: it is valid for \(session.keepsSignedIn ? "two weeks" : "30 minutes"), and for "
                    + "\(WebAuthSession.grace / 60) minutes after a newer one was used",
                remedy:
                    "Take the next token from the header \(HTTPField.Name.cloudKitWebAuthToken) of each response, or sign in again"
            )
        case .revoked(let session):
            authentication.session = session.id
            refuse(needsUser, "revokedSession", "The session of the web auth token was revoked", remedy: again)
        case .elsewhere(let session):
            authentication.session = session.id
            refuse(
                needsUser, "otherPlace", "The user signed in for another container or environment", remedy: again,
                expected: Self.place(session.container, session.environment),
                received: Self.place(path.container, path.environment))
        }
    }

    private static func place(_ container: ContainerID, _ environment: Records.Environment) -> String {
        "\(container)/\(environment.rawValue)"
    }
}

extension Credentials {
    /// The names of the tokens in the request.
    fileprivate var tokenNames: String {
        [apiToken.map { _ in "ckAPIToken" }, webAuthToken.map { _ in "ckWebAuthToken" }].compactMap(\.self).joined(
            separator: " and ")
    }

    /// A copy without the credentials that this server does not know.
    func known(to accounts: Accounts, at path: WebServicePath, now: Date) -> Credentials {
        var known = self
        if let secret = apiToken, accounts.apiToken(secret: secret) == nil {
            (known.apiToken, known.hadUnknownToken) = (nil, true)
        }
        if let token = webAuthToken,
            case .unknown = accounts.webAuth(token, container: path.container, environment: path.environment, now: now)
        {
            known.webAuthToken = nil
        }
        if let signature, accounts.serverKey(signature.keyID) == nil { known.signature = nil }
        return known
    }
}

extension Authentication.Problem {
    /// - Parameter secrets: texts that must not appear, besides the tokens in request targets. A diagnosis may show
    ///   earlier requests too.
    fileprivate init(_ problem: SignatureProblem, hiding secrets: [String]) {
        func shown(_ text: String) -> String {
            secrets.reduce(LoggedTarget.hidingSecrets(in: text)) {
                $0.replacingBytes(of: $1, with: LoggedTarget.hidden)
            }
        }
        self.init(
            kind: problem.kind.rawValue, sentence: shown(problem.sentence), remedy: shown(problem.remedy),
            expected: shown(problem.expected),
            received: shown(problem.received), isCertain: problem.isCertain,
            parts: problem.parts.map { part in
                SignedPart(
                    name: part.name, expected: shown(part.expected), received: part.received.map(shown),
                    state: part.state)
            })
    }
}

// MARK: - Failure

/// The protocol's error for a refused request. The protocol gives few details; the server log has more.
struct AuthenticationFailure: Error {
    let error: RecordError
    /// The address of the sign-in page for users.
    var redirectURL: String?

    /// CloudKit's own error texts.
    static let noMethod = RecordError(known: .noAuthMethod)
    static let needsUser = RecordError(known: .signInRequired)
    static let privateDenied = RecordError(known: .privateDenied)
    static let peopleDenied = RecordError(
        .accessDenied,
        "Discovering users needs a signed-in user, with ckWebAuthToken; a server-to-server key is not enough")
}
