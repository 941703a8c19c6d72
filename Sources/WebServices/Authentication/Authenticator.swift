internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import Records
internal import RequestLog

/// Identifies the client of a protocol request and checks its access. No other type does (docs/authentication.md).
///
/// If the server requires no credentials, it ignores credentials that it does not know. A request then acts for the
/// user it names, or for the developer. Credentials that the server knows are checked as if they were required.
struct Authenticator: Sendable {
    /// A client that has access, with the authentication method for the log.
    struct AuthenticatedCaller: Sendable {
        var caller: Caller
        var authentication: Authentication
        /// The API token that the request has.
        var apiToken: APIToken?
    }

    /// The values of Skylight's access header. A request asks with them for unrestricted access as the owner of the
    /// data, who is exempt from roles, or for access as an app without a user. Skylight's commands send the header to a
    /// running server.
    private static let accesses: [String: Access] = ["owner": .unrestricted, "anonymous": .anonymous]
    /// The user record name of clients without a user.
    private static let anonymous: Name = "_anonymous"

    let access: AccessControl
    let callers: CallerResolver
    /// The rate limit; `nil` for none.
    let throttle: Throttle?
    /// The clock for sessions, sign-ins and signatures.
    let now: @Sendable () -> Timestamp

    private var accounts: Accounts { access.accounts }
    private var date: Date { Date(timeIntervalSince1970: Double(now().milliseconds) / 1000) }

    /// - Parameters:
    ///   - request: the request. The body of a signed request is read here, and the service can read it again.
    ///   - session: set to the session of a valid web auth token. The answer must contain the session's next token,
    ///     even if this method throws.
    /// - Throws: ``AuthenticationFailure`` if access is denied; `RecordError` BAD_REQUEST for an invalid user or
    ///   device, THROTTLED after too many requests or too many wrong administrator passwords; ``Refusal`` for a body
    ///   that is refused.
    func authenticate(
        _ request: inout Request, at path: WebServicePath, for purpose: EndpointPurpose,
        of session: inout WebAuthSession?,
        _ context: ServingRequestContext
    ) async throws -> AuthenticatedCaller {
        var credentials = Credentials(request)
        if let caller = try await administrator(request, credentials, at: path, for: purpose, context) {
            note(caller.authentication, request, context)
            return caller
        }
        if access.mode == .open { credentials = credentials.known(to: accounts, at: path, now: date) }
        let result: AuthenticationResult
        if !credentials.isMixed, let signature = credentials.signature {
            try admit(client(of: signature, context), AuthenticationResult(unread: signature))
            let signed = try await signed(signature, &request, at: path)
            // The body may be large, and the diagnosis of a wrong signature takes tens of milliseconds.
            result = try await WorkPool.prompt.run { [credentials, accounts, date] in
                AuthenticationResult(signed, hiding: credentials.secrets, at: path, by: accounts, at: date)
            }
        } else {
            result = AuthenticationResult(credentials, at: path, from: request.headers[.origin], by: accounts, at: date)
            session = result.session
            try admit(client(of: request, result, context), result)
        }
        let caller = try caller(result, request, at: path, for: purpose, context)
        note(caller.authentication, request, context)
        return caller
    }

    /// The web auth token that replaces the one in the request.
    func nextToken(of session: WebAuthSession) -> String {
        accounts.nextToken(of: session, now: date)
    }

    /// Counts a request.
    /// - Throws: `RecordError` THROTTLED if there are too many requests. The client is noted in the request log first.
    private func admit(_ client: @autoclosure () -> Throttle.ClientKey, _ result: AuthenticationResult) throws {
        guard let throttle else { return }
        let client = client()
        do {
            try throttle.admit(client)
        } catch {
            RequestRecorder.current?.update { noted in
                noted.authentication = authentication(of: result)
                if case .user(let user) = client { noted.userRecordName = user }
            }
            throw error
        }
    }

    // MARK: The administrator

    /// Authenticates a client that sends Skylight's access header or proves to be the administrator; `nil` if the
    /// protocol's own credentials decide.
    private func administrator(
        _ request: Request, _ credentials: Credentials, at path: WebServicePath, for purpose: EndpointPurpose,
        _ context: ServingRequestContext
    ) async throws -> AuthenticatedCaller? {
        let wanted = try Self.wantedAccess(request)
        if access.mode == .open, wanted == nil { return nil }
        if access.mode == .required {
            guard wanted != nil || credentials.isEmpty && request.headers.contains(.authorization) else { return nil }
            guard try await isAdministrator(request, context) else {
                let failed = AccessControl.noteFailedProof(of: request, context)
                if wanted == nil { return nil }
                let problem = Authentication.Problem(
                    kind: "administrator",
                    sentence:
                        "Only the administrator may send X-Skylight-Access, and the request has no administrator credentials",
                    remedy: AdministratorGate.remedy)
                note(
                    failed.map { Authentication(failed: $0) } ?? Authentication(way: .administrator, problem: problem),
                    request, context)
                throw AuthenticationFailure(error: AdministratorGate.refusal)
            }
        }
        var authentication = Authentication(way: access.mode == .open ? .open : .administrator)
        var caller = try callers.caller(of: request)
        caller.access = wanted ?? .signedIn
        if wanted == .unrestricted { authentication.way = .owner }
        if wanted == .anonymous {
            caller.userRecordName = Self.anonymous
            guard AccessTable.answer(.app, AccessTable.RequestKind(purpose, at: path)) == .granted else {
                note(authentication, request, context)
                throw failure(AuthenticationFailure.needsUser, nil, request, at: path)
            }
        }
        return AuthenticatedCaller(caller: caller, authentication: authentication)
    }

    /// - Throws: `RecordError` THROTTLED after too many wrong passwords, with a note in both logs.
    private func isAdministrator(_ request: Request, _ context: ServingRequestContext) async throws -> Bool {
        do {
            return try await access.administrator(of: request, peer: context.peer) != nil
        } catch let error as RecordError {
            let failed = AccessControl.noteFailedProof(of: request, context, wasLookedAt: false)
            RequestRecorder.current?.update { $0.authentication = failed.map { Authentication(failed: $0) } }
            throw error
        }
    }

    /// - Returns: `nil` if the request has no access header.
    /// - Throws: `RecordError` BAD_REQUEST for an unknown access.
    private static func wantedAccess(_ request: Request) throws -> Access? {
        guard let value = request.headers[.skylightAccess], !value.isEmpty else { return nil }
        guard let access = accesses[value] else {
            throw RecordError(
                .badRequest, "Expected X-Skylight-Access to be owner or anonymous, found '\(value.prefix(100))'")
        }
        return access
    }

    // MARK: The protocol's credentials

    /// The request with the parts that its signature covers.
    private func signed(_ signature: Credentials.Signature, _ request: inout Request, at path: WebServicePath)
        async throws -> SignedRequest
    {
        var body: [UInt8] = []
        if isWorthReading(signature, at: path) {
            body = try await ConnectionLost.reading { try await request.readSentBody() }
            if !request.headers.contains(.contentEncoding) { RequestRecorder.current?.received(body) }
        }
        return SignedRequest(
            keyID: signature.keyID, date: signature.date, signature: signature.signature, body: body,
            target: request.head.path ?? "",
            container: path.container, environment: path.environment, origin: request.ownOrigin)
    }

    /// True if the signature may be valid. Otherwise the request is refused without reading the body: the key is
    /// unknown, revoked or for another environment, or a part of the signature is missing.
    private func isWorthReading(_ signature: Credentials.Signature, at path: WebServicePath) -> Bool {
        guard let key = accounts.serverKey(signature.keyID), key.isLive else { return false }
        return key.container == path.container && key.environment == path.environment && !signature.date.isEmpty
            && !signature.signature.isEmpty
    }

    /// The authentication result for the log. On an open server, a request without credentials is an authentication
    /// method of its own.
    private func authentication(of result: AuthenticationResult) -> Authentication {
        var authentication = result.authentication
        if access.mode == .open, result.refusal == nil, result.credentialKind == .nobody { authentication.way = .open }
        return authentication
    }

    /// The client of a request with these credentials, if it has access to the service.
    /// - Throws: ``AuthenticationFailure`` if not; `RecordError` BAD_REQUEST for an invalid user or device.
    private func caller(
        _ result: AuthenticationResult, _ request: Request, at path: WebServicePath, for purpose: EndpointPurpose,
        _ context: ServingRequestContext
    ) throws -> AuthenticatedCaller {
        let authentication = authentication(of: result)
        func refused(_ error: RecordError) -> AuthenticationFailure {
            note(authentication, request, context)
            // A failed password of a client without other credentials is noted in the request log. The server log
            // already has it.
            if result.credentialKind == .nobody, authentication.problem == nil,
                let failed = AccessControl.FailedProof(of: request)
            {
                RequestRecorder.current?.update { $0.authentication = Authentication(failed: failed) }
            }
            return failure(error, result.apiToken, request, at: path)
        }
        if let error = result.refusal { throw refused(error) }
        if access.mode == .open, result.credentialKind == .nobody || result.credentialKind == .app {
            // An API token identifies the app, not its user.
            var caller = try callers.caller(of: request)
            caller.access = .signedIn
            return AuthenticatedCaller(caller: caller, authentication: authentication, apiToken: result.apiToken)
        }
        switch AccessTable.answer(result.credentialKind, AccessTable.RequestKind(purpose, at: path)) {
        case .granted: break
        case .authenticationFailed: throw refused(AuthenticationFailure.noMethod)
        case .authenticationRequired: throw refused(AuthenticationFailure.needsUser)
        case .privateDenied: throw refused(AuthenticationFailure.privateDenied)
        case .peopleDenied: throw refused(AuthenticationFailure.peopleDenied)
        }
        var caller = Caller(userRecordName: Self.anonymous, access: .anonymous)
        if let user = result.userRecordName { caller = Caller(userRecordName: user, access: .signedIn) }
        if let device = try CallerResolver.deviceID(of: request) { caller.deviceID = device }
        return AuthenticatedCaller(caller: caller, authentication: authentication, apiToken: result.apiToken)
    }

    /// Returns whether the request requires a user's sign-in. Requests with a server-to-server key, which never
    /// expires, and requests of Skylight's own commands do not.
    func needsSignIn(
        _ client: AuthenticatedCaller, of session: WebAuthSession?, at path: WebServicePath,
        for purpose: EndpointPurpose
    ) -> Bool {
        if session != nil { return true }
        return client.caller.access == .signedIn && client.authentication.way != .serverKey
            && AccessTable.answer(.app, AccessTable.RequestKind(purpose, at: path)) != .granted
    }

    /// Ends the session of a client that has access, if it has one. The user must sign in again.
    /// - Returns: the error that answers the request, as for an expired token.
    /// - Throws: errors of the accounts.
    func endSignIn(
        of client: AuthenticatedCaller, _ session: WebAuthSession?, _ request: Request, at path: WebServicePath
    ) async throws -> AuthenticationFailure {
        if let session { _ = try await accounts.revokeWebAuthSession(session.id) }
        return failure(AuthenticationFailure.needsUser, client.apiToken, request, at: path)
    }

    /// - Parameter apiToken: the API token that the user's sign-in is bound to.
    private func failure(_ error: RecordError, _ apiToken: APIToken?, _ request: Request, at path: WebServicePath)
        -> AuthenticationFailure
    {
        guard error.code == .authenticationRequired else { return AuthenticationFailure(error: error) }
        let origin = request.headers[.origin].flatMap { $0 == "null" ? nil : $0 }
        let ticket = accounts.signInTicket(
            for: SignInRequest(
                container: path.container, environment: path.environment, apiTokenID: apiToken?.id, origin: origin),
            now: date)
        return AuthenticationFailure(
            error: error, redirectURL: "\(request.ownOrigin)/sign-in?ticket=\(ticket)")
    }

    // MARK: Notes

    /// Records the authentication result in the request log, and a failure in the server log too.
    private func note(_ authentication: Authentication, _ request: Request, _ context: ServingRequestContext) {
        RequestRecorder.current?.update { $0.authentication = authentication }
        guard let problem = authentication.problem else { return }
        var metadata: Logger.Metadata = [
            "request": "\(context.requestID)", "method": "\(request.method)", "path": "\(request.path)",
            "way": "\(authentication.way.rawValue)",
            "problem": "\(problem.kind)", "explanation": "\(problem.sentence)",
        ]
        if let credential = authentication.credential { metadata["credential"] = "\(credential.prefix(64))" }
        if let session = authentication.session { metadata["session"] = "\(session)" }
        context.logger.notice("Credentials were refused", metadata: metadata)
    }
}
