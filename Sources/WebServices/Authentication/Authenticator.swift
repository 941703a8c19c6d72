internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Logging
internal import Records
internal import Traffic

/// Finds out who asks for a service of the protocol, and whether they may: the only place that does (docs/authentication.md).
///
/// Where credentials are not required, those that this server does not know are let pass unread, and a request speaks for the user it names,
/// or for the developer. Those that it knows are judged as where they are required.
struct Authenticator: Sendable {
    /// Who asks, when they may.
    struct Verdict: Sendable {
        var caller: Caller
        var authentication: Authentication
    }

    /// Asks to be treated as the owner of the data, who is held to no roles, or as an app without a user. Skylight's own: its commands send it
    /// with what they do to a running server's data.
    private static let accessHeader = HTTPField.Name("X-Skylight-Access")
    private static let accesses: [String: Access] = ["owner": .unrestricted, "anonymous": .anonymous]
    /// Stands in for the user where there is none.
    private static let anonymous: Name = "_anonymous"

    let access: AccessControl
    let callers: CallerResolver
    /// `nil` where as many requests are answered as there are.
    let throttle: Throttle?
    /// The clock that sessions, sign-ins and signatures are measured by.
    let now: @Sendable () -> Timestamp

    private var accounts: Accounts { access.accounts }
    private var date: Date { Date(timeIntervalSince1970: Double(now().milliseconds) / 1000) }

    /// - Parameters:
    ///   - request: its body is read if it is signed, and left for whoever reads it next.
    ///   - session: of a good web auth token: whose next token goes with the answer, also where this throws.
    /// - Throws: ``AuthenticationFailure`` when the request is not let in; `RecordError` BAD_REQUEST for a user or device that can't be, THROTTLED
    ///   after too many requests, or too many wrong passwords of the administrator; ``Refusal`` for a body that is refused.
    func verdict(
        on request: inout Request, at path: WebServicePath, for purpose: EndpointPurpose, of session: inout WebAuthSession?,
        _ context: ServingRequestContext
    ) async throws -> Verdict {
        var credentials = Credentials(request)
        if let verdict = try await administrator(request, credentials, at: path, for: purpose, context) {
            note(verdict.authentication, request, context)
            return verdict
        }
        if access.mode == .open { credentials = credentials.known(to: accounts, at: path, now: date) }
        let judgement: Judgement
        if !credentials.isMixed, let signature = credentials.signature {
            try admit(spender(of: signature, context), Judgement(unread: signature))
            let signed = try await signed(signature, &request, at: path)
            // The body may be large, and finding out what is wrong with a signature takes some tens of milliseconds.
            judgement = try await WorkPool.prompt.run { [credentials, accounts, date] in
                Judgement(signed, hiding: credentials.secrets, at: path, by: accounts, at: date)
            }
        } else {
            judgement = Judgement(credentials, at: path, from: request.headers[.origin], by: accounts, at: date)
            session = judgement.session
            try admit(spender(of: request, judgement, context), judgement)
        }
        let verdict = try verdict(judgement, request, at: path, for: purpose, context)
        note(verdict.authentication, request, context)
        return verdict
    }

    /// The web auth token that takes the place of the one that a request came with.
    func nextToken(of session: WebAuthSession) -> String {
        accounts.nextToken(of: session, now: date)
    }

    /// Counts a request.
    /// - Throws: `RecordError` THROTTLED, having said in the log whose requests there are too many of.
    private func admit(_ spender: Throttle.Spender, _ judgement: Judgement) throws {
        do {
            try throttle?.admit(spender)
        } catch {
            RequestNote.current?.update { noted in
                noted.authentication = authentication(of: judgement)
                if case .user(let user) = spender { noted.userRecordName = user }
            }
            throw error
        }
    }

    // MARK: The administrator

    /// Who asks with a header of Skylight's own, or as the administrator; `nil` where the protocol's own credentials decide.
    private func administrator(
        _ request: Request, _ credentials: Credentials, at path: WebServicePath, for purpose: EndpointPurpose, _ context: ServingRequestContext
    ) async throws -> Verdict? {
        let wanted = try Self.wantedAccess(request)
        if access.mode == .open, wanted == nil { return nil }
        if access.mode == .required {
            guard wanted != nil || credentials.isEmpty && request.headers.contains(.authorization) else { return nil }
            guard try await isAdministrator(request, context) else {
                let failed = AccessControl.noteFailedProof(of: request, context)
                if wanted == nil { return nil }
                let problem = Authentication.Problem(
                    kind: "administrator", sentence: "X-Skylight-Access is the administrator's to send, and nothing in the request proves who asks",
                    remedy: AdministratorGate.remedy)
                note(failed.map { Authentication(failed: $0) } ?? Authentication(way: .administrator, problem: problem), request, context)
                throw AuthenticationFailure(error: AdministratorGate.refusal)
            }
        }
        var authentication = Authentication(way: access.mode == .open ? .open : .administrator)
        var caller = try callers.caller(of: request)
        caller.access = wanted ?? .signedIn
        if wanted == .unrestricted { authentication.way = .owner }
        if wanted == .anonymous {
            caller.userRecordName = Self.anonymous
            guard AccessTable.answer(.app, AccessTable.Ask(purpose, at: path)) == .granted else {
                note(authentication, request, context)
                throw failure(AuthenticationFailure.needsUser, nil, request, at: path)
            }
        }
        return Verdict(caller: caller, authentication: authentication)
    }

    /// - Throws: `RecordError` THROTTLED after too many wrong passwords, having said so in both logs.
    private func isAdministrator(_ request: Request, _ context: ServingRequestContext) async throws -> Bool {
        do {
            return try await access.administrator(of: request, peer: context.peer) != nil
        } catch let error as RecordError {
            let failed = AccessControl.noteFailedProof(of: request, context, wasLookedAt: false)
            RequestNote.current?.update { $0.authentication = failed.map { Authentication(failed: $0) } }
            throw error
        }
    }

    /// - Returns: `nil` where the request says nothing of it.
    /// - Throws: `RecordError` BAD_REQUEST for an access that there is not.
    private static func wantedAccess(_ request: Request) throws -> Access? {
        guard let value = accessHeader.flatMap({ request.headers[$0] }), !value.isEmpty else { return nil }
        guard let access = accesses[value] else {
            throw RecordError(.badRequest, "Expected X-Skylight-Access to be owner or anonymous, found '\(value.prefix(100))'")
        }
        return access
    }

    // MARK: The protocol's credentials

    /// The request as its signature is of it.
    private func signed(_ signature: Credentials.Signature, _ request: inout Request, at path: WebServicePath) async throws -> SignedRequest {
        var body: [UInt8] = []
        if isWorthReading(signature, at: path) {
            body = try await ConnectionLost.reading { try await request.readSentBody() }
            if !request.headers.contains(.contentEncoding) { RequestNote.current?.received(body) }
        }
        return SignedRequest(
            keyID: signature.keyID, date: signature.date, signature: signature.signature, body: body, target: request.head.path ?? "",
            container: path.container, environment: path.environment, origin: access.origin(of: request))
    }

    /// Whether a signature can be right: what is of no key that is in force here, or lacks a part, is refused without its body.
    private func isWorthReading(_ signature: Credentials.Signature, at path: WebServicePath) -> Bool {
        guard let key = accounts.serverKey(signature.keyID), key.isLive else { return false }
        return key.container == path.container && key.environment == path.environment && !signature.date.isEmpty && !signature.signature.isEmpty
    }

    /// How a request said who it is: where nobody needs to, not at all is a way, too.
    private func authentication(of judgement: Judgement) -> Authentication {
        var authentication = judgement.authentication
        if access.mode == .open, judgement.refusal == nil, judgement.asker == .nobody { authentication.way = .open }
        return authentication
    }

    private func verdict(
        _ judgement: Judgement, _ request: Request, at path: WebServicePath, for purpose: EndpointPurpose, _ context: ServingRequestContext
    ) throws -> Verdict {
        let authentication = authentication(of: judgement)
        func refused(_ error: RecordError) -> AuthenticationFailure {
            note(authentication, request, context)
            // Who tried with a password and has nothing else is told so there; the server's log has it already.
            if judgement.asker == .nobody, authentication.problem == nil, let failed = AccessControl.FailedProof(of: request) {
                RequestNote.current?.update { $0.authentication = Authentication(failed: failed) }
            }
            return failure(error, judgement.apiToken, request, at: path)
        }
        if let error = judgement.refusal { throw refused(error) }
        if access.mode == .open, [.nobody, .app].contains(judgement.asker) {
            // An API token says which app it is, and not who uses it.
            var caller = try callers.caller(of: request)
            caller.access = .signedIn
            return Verdict(caller: caller, authentication: authentication)
        }
        switch AccessTable.answer(judgement.asker, AccessTable.Ask(purpose, at: path)) {
        case .granted: break
        case .authenticationFailed: throw refused(AuthenticationFailure.noMethod)
        case .authenticationRequired: throw refused(AuthenticationFailure.needsUser)
        case .privateDenied: throw refused(AuthenticationFailure.privateDenied)
        case .peopleDenied: throw refused(AuthenticationFailure.peopleDenied)
        }
        var caller = Caller(userRecordName: Self.anonymous, access: .anonymous)
        if let user = judgement.userRecordName { caller = Caller(userRecordName: user, access: .signedIn) }
        if let device = try callers.deviceID(of: request) { caller.deviceID = device }
        return Verdict(caller: caller, authentication: authentication)
    }

    /// - Parameter apiToken: under which the user is to sign in.
    private func failure(_ error: RecordError, _ apiToken: APIToken?, _ request: Request, at path: WebServicePath) -> AuthenticationFailure {
        guard error.code == .authenticationRequired else { return AuthenticationFailure(error: error) }
        let origin = request.headers[.origin].flatMap { $0 == "null" ? nil : $0 }
        let ticket = accounts.signInTicket(
            for: SignInRequest(container: path.container, environment: path.environment, apiTokenID: apiToken?.id, origin: origin), now: date)
        return AuthenticationFailure(error: error, redirectURL: "\(access.origin(of: request))/sign-in?ticket=\(ticket)")
    }

    // MARK: Notes

    /// Says in the log of requests how a request said who it is, and in the server's own log that it was refused for that.
    private func note(_ authentication: Authentication, _ request: Request, _ context: ServingRequestContext) {
        RequestNote.current?.update { $0.authentication = authentication }
        guard let problem = authentication.problem else { return }
        var metadata: Logger.Metadata = [
            "request": "\(context.requestID)", "method": "\(request.method)", "path": "\(request.uri.path)", "way": "\(authentication.way.rawValue)",
            "problem": "\(problem.kind)", "explanation": "\(problem.sentence)",
        ]
        if let credential = authentication.credential { metadata["credential"] = "\(credential.prefix(64))" }
        if let session = authentication.session { metadata["session"] = "\(session)" }
        context.logger.notice("Credentials were refused", metadata: metadata)
    }
}
