internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// The sign-in of users of apps.
///
/// There are no passwords. Where credentials are required, anyone can obtain a ticket without an
/// API token. Such a ticket therefore permits only sign-ins of new users, never of existing ones.
package enum SignIn {
    enum Outcome: Sendable {
        /// - way: the return path of the token; `nil` if there is no token to return.
        case page(any Page, way: SignInReturn?)
        case redirect(String)
    }

    package static func show(_ asked: ConsoleRequest) throws -> Answer {
        let console = asked.console
        return .response(
            try response(
                show(asked.query["ticket"] ?? "", by: console.access, console.renderer.staticFiles), console.renderer))
    }

    package static func submit(_ asked: ConsoleRequest) async throws -> Answer {
        let (access, renderer, peer) = (asked.console.access, asked.console.renderer, asked.context.peer)
        do {
            // In required mode, unknown clients can reach this page. So sign-in attempts are rate-limited.
            if access.mode == .required { try asked.console.accounts.admitSignIn(from: peer) }
            let fields = FormFields(encoded: try await asked.body())
            let outcome = try await answer(
                fields, from: peer, at: asked.request.ownOrigin, by: access, renderer.staticFiles)
            return .response(try response(outcome, renderer))
        } catch let error as RecordError where error.code == .throttled {
            var response = try response(
                .page(AlonePage.tooMany(error.reason, renderer.staticFiles), way: nil), renderer)
            if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
            return .response(response)
        }
    }

    /// A response that lets the browser return to the app: the policies permit a form that targets the app, and access
    /// to the opener window.
    private static func response(_ outcome: Outcome, _ renderer: PageRenderer) throws -> Response {
        var response: Response
        switch outcome {
        case .page(let page, let way):
            response = try renderer.response(page)
            // The form-action policy also applies to the redirect target of a form.
            if let target = way?.formTarget {
                response.headers[.contentSecurityPolicy] = SecurityHeaders.contentSecurityPolicy.replacing(
                    "form-action 'self'", with: "form-action 'self' \(target)")
            }
        case .redirect(let location):
            response = .redirect(to: location)
        }
        // Otherwise the browser severs the connection between this window and its opener.
        response.headers[.crossOriginOpenerPolicy] = "unsafe-none"
        response.headers[.cacheControl] = "no-store"
        return response
    }

    /// The first page, with the choice of users.
    private static func show(_ ticket: String, by access: AccessControl, _ files: StaticFiles) throws -> Outcome {
        guard let (request, way) = try request(of: ticket, in: access.accounts) else {
            return .page(AlonePage.expired(files), way: nil)
        }
        return .page(try SignInView(ticket: ticket, request, way, access, files), way: way)
    }

    /// True if the sign-in is restricted to new users.
    static func isForNewUsers(_ request: SignInRequest, by access: AccessControl) -> Bool {
        access.mode == .required && request.apiTokenID == nil
    }

    /// The answer to the form.
    /// - Parameters:
    ///   - peer: the client's address.
    ///   - server: the server's address, as the client used it.
    /// - Throws: `RecordError` THROTTLED if this address or this app created too many users.
    private static func answer(
        _ fields: FormFields, from peer: String, at server: String, by access: AccessControl, _ files: StaticFiles
    ) async throws -> Outcome {
        let accounts = access.accounts
        let ticket = fields["ticket"] ?? ""
        guard let (request, way) = try request(of: ticket, in: accounts) else {
            return .page(AlonePage.expired(files), way: nil)
        }
        if fields["cancel"] != nil {
            return .page(
                AlonePage.cancelled(way, again: FormFields.url("/sign-in", [("ticket", ticket)]), files), way: nil)
        }
        do {
            // In required mode, unknown clients can reach this page. So sign-ins are rate-limited.
            let signIn = access.mode == .required ? UserSignIn(apiTokenID: request.apiTokenID, peer: peer) : nil
            let user =
                try await isForNewUsers(request, by: access)
                ? newUser(fields, signIn, in: accounts) : user(fields, signIn, in: accounts)
            let (_, token) = try await accounts.signIn(
                user.userRecordName, with: request, keepSignedIn: fields["keep"] == "1", now: Date())
            if case .callback(let address) = way { return .redirect(SignInReturn.address(address, with: token)) }
            return .page(AlonePage.signedIn(user, token, request, way, at: server, files), way: nil)
        } catch let error as RecordError where error.code != .internalError && error.code != .throttled {
            return .page(
                try SignInView(ticket: ticket, request, way, access, files, fields: fields, complaint: error.reason),
                way: way)
        }
    }

    /// The sign-in request of a ticket; `nil` if the ticket is invalid, or its API token is unknown or revoked.
    private static func request(of ticket: String, in accounts: Accounts) throws -> (SignInRequest, SignInReturn)? {
        guard let request = accounts.signInRequest(ticket: ticket, now: Date()) else { return nil }
        guard let id = request.apiTokenID else { return (request, SignInReturn(request, nil)) }
        guard let token = accounts.apiTokens().first(where: { $0.id == id }), token.revoked == nil else { return nil }
        return (request, SignInReturn(request, token))
    }

    /// The chosen user, or a new one.
    private static func user(_ fields: FormFields, _ signIn: UserSignIn?, in accounts: Accounts) async throws -> User {
        if let chosen = (fields.text("user") ?? fields.text("who"))?.trimmingSpaces, !chosen.isEmpty {
            let user =
                accounts.user(handle: chosen) ?? accounts.user(recordName: Name(chosen))
                ?? accounts.user(emailAddress: chosen)
            if let user, !user.isServerKey { return user }
            throw RecordError(.notFound, "There is no user '\(chosen)': choose one from the list, or create a new user")
        }
        return try await UserCreation.make(
            try name(fields), emailAddress: fields["email"]?.trimmingSpaces, for: signIn, in: accounts)
    }

    /// Creates a user. Never returns an existing one, even if the name equals that user's handle.
    private static func newUser(_ fields: FormFields, _ signIn: UserSignIn?, in accounts: Accounts) async throws -> User
    {
        guard fields.text("user") == nil, fields.text("who") == nil else {
            throw RecordError(.badRequest, "To choose an existing user, the app must send its API token")
        }
        return try await accounts.makeUser(
            displayName: try name(fields), emailAddress: fields["email"]?.trimmingSpaces, for: signIn)
    }

    private static func name(_ fields: FormFields) throws -> String {
        guard let name = fields["name"]?.trimmingSpaces, !name.isEmpty else {
            throw RecordError(.badRequest, "A new user needs a name")
        }
        guard !User.isRecordName(name) else {
            throw RecordError(
                .badRequest,
                "'\(name)' has the form of a user record name, which only the server assigns; enter another name")
        }
        return name
    }
}

// MARK: - Ways back to the app

/// The return path of a web auth token from the sign-in page to the app.
enum SignInReturn: Sendable, Hashable {
    /// Redirects the browser to the callback address of the API token.
    case callback(String)
    /// Sends a message to the window that opened this one. Only pages of the given origin can receive it.
    case opener(origin: String)
    /// Shows the token, for the user to copy.
    case copy

    init(_ request: SignInRequest, _ token: APIToken?) {
        if let callback = token?.callback {
            self = .callback(callback)
        } else if let origin = request.origin, origin.hasPrefix("http://") || origin.hasPrefix("https://") {
            self = .opener(origin: origin)
        } else {
            self = .copy
        }
    }

    /// The additional form target for the content security policy; `nil` if the page needs none.
    var formTarget: String? {
        guard case .callback(let address) = self, let colon = address.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return nil
        }
        let scheme = String(decoding: address.utf8[..<colon], as: UTF8.self).lowercased()
        guard scheme == "http" || scheme == "https" else { return "\(scheme):" }
        let rest = address.utf8.dropFirst(scheme.utf8.count + 3)
        let host = rest.prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "["),
                UInt8(ascii: "]"):
                true
            default: false
            }
        }
        return host.isEmpty ? nil : "\(scheme)://\(String(decoding: host, as: UTF8.self).lowercased())"
    }

    /// The callback with the token, under both parameter names that clients use. Callbacks have no fragment.
    static func address(_ callback: String, with token: String) -> String {
        let separator =
            !callback.utf8.contains(UInt8(ascii: "?"))
            ? "?" : callback.hasSuffix("?") || callback.hasSuffix("&") ? "" : "&"
        let value = PercentEncoding.encoded(token)
        return "\(callback)\(separator)ckWebAuthToken=\(value)&ckSession=\(value)"
    }
}

// MARK: - Pages

/// The sign-in page for users of an app, with a choice of known users and a form for a new one.
struct SignInView: Page {
    static let template = "sign_in"
    static let tab = Tab.home
    /// The maximum number of users in the list. Other users enter their names.
    static let limit = 50

    struct Person: ViewModel {
        let handle: String
        let name: String
        let initial: String
        /// The e-mail address, or the handle if it differs from the name; `nil` if neither adds information.
        let detail: String?
    }

    let title = "Sign in"
    let status: HTTPResponse.Status
    let script: String
    let ticket: String
    let container: String
    let environment: String
    /// The name of the API token that the app sent.
    let apiToken: String?
    /// A description of the next step.
    let after: String
    let people: [Person]
    /// True if existing users can't be chosen.
    let isForNewUsers: Bool
    /// The number of users who are not listed.
    let more: String?
    let complaint: String?
    let isNewOpen: Bool
    let keeps: Bool
    let name: String
    let email: String

    init(
        ticket: String, _ request: SignInRequest, _ way: SignInReturn, _ access: AccessControl, _ files: StaticFiles,
        fields: FormFields = FormFields(),
        complaint: String? = nil
    ) throws {
        let accounts = access.accounts
        isForNewUsers = SignIn.isForNewUsers(request, by: access)
        // Server-to-server keys have users too, but can't sign in.
        let users = isForNewUsers ? [] : accounts.users().filter { !$0.isServerKey }
        status = complaint == nil ? .ok : .badRequest
        script = files.url("signin.js")
        self.ticket = ticket
        container = request.container.description
        environment = request.environment.rawValue
        apiToken = request.apiTokenID.flatMap { id in accounts.apiTokens().first { $0.id == id }?.name }
        after =
            switch way {
            case .callback(let address): "Then you are sent back to \(Self.withoutQuery(address))."
            case .opener(let origin): "Then this window sends the token to \(origin), and closes."
            case .copy: "Then the page shows the token."
            }
        people = users.prefix(Self.limit).map { user in
            Person(
                handle: user.handle, name: user.displayName,
                initial: user.displayName.first.map { $0.uppercased() } ?? "?",
                detail: user.emailAddress
                    ?? (user.handle.lowercased() == user.displayName.lowercased() ? nil : user.handle))
        }
        more = users.count > Self.limit ? Digits.count(users.count - Self.limit, "more user") : nil
        self.complaint = complaint
        keeps = fields["keep"] == "1"
        name = fields["name"] ?? ""
        email = fields["email"] ?? ""
        // A new server has only the developer.
        isNewOpen = users.count <= 1 || complaint != nil && fields.text("user") == nil && fields.text("who") == nil
    }

    private static func withoutQuery(_ address: String) -> String {
        String(decoding: address.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }
}

/// The result of a sign-in, which a script sends to the window that opened this one.
struct SignInResult: Component {
    static let template = "sign_in_result"

    /// The origin whose pages may receive the result; `nil` for none.
    let origin: String?
    /// The message that the page gets if there is no token.
    let message: String?
    let token: String?

    init(_ way: SignInReturn, message: String? = nil, token: String? = nil) {
        origin = if case .opener(let origin) = way { origin } else { nil }
        (self.message, self.token) = (message, token)
    }
}

extension AlonePage {
    /// The last page of a sign-in without a redirect. It passes the token to the opener window, and shows it for
    /// copying.
    fileprivate static func signedIn(
        _ user: User, _ token: String, _ request: SignInRequest, _ way: SignInReturn, at server: String,
        _ files: StaticFiles
    ) -> AlonePage {
        let apiToken = request.apiTokenID == nil ? "" : "ckAPIToken=YOUR_API_TOKEN&"
        let path =
            "/database/1/\(request.container)/\(request.environment.rawValue)/public/users/caller?\(apiToken)ckWebAuthToken=\(PercentEncoding.encoded(token))"
        return AlonePage(
            title: "Signed in", "Signed in as \(user.displayName)", isOfConsole: false, script: files.url("signin.js"),
            [
                Paragraph(
                    "The web auth token for \(strong: request.container.description), \(request.environment.inline). It is shown only here. Anyone who has it acts as \(user.displayName)."
                ), SignInResult(way, token: token),
                Paragraph(
                    "Send it with each request as `ckWebAuthToken`, percent-encoded. Every response has a newer one in `X-Apple-CloudKit-Web-Auth-Token`."
                ), CodeBlock("A request to try it with", "curl '\(.origin(server))\(path)'"),
            ])
    }

    /// For a ticket that is expired, invalid or from another server.
    fileprivate static func expired(_ files: StaticFiles) -> AlonePage {
        AlonePage(
            title: "Sign-in link expired", "This sign-in link is no longer valid", status: .badRequest,
            isOfConsole: false, script: files.url("signin.js"),
            [
                Paragraph(
                    "A sign-in link works for one hour, on the server that created it, until its API token is revoked."
                ),
                Paragraph(
                    "Go back to the app and try again. Its next request that needs a user gets a new link."),
            ])
    }

    /// For an address with too many sign-ins.
    fileprivate static func tooMany(_ reason: String, _ files: StaticFiles) -> AlonePage {
        AlonePage(
            "Too many sign-ins", status: .tooManyRequests, isOfConsole: false, script: files.url("signin.js"),
            [Paragraph("\(reason).")])
    }

    /// - Parameter again: the choice of users.
    fileprivate static func cancelled(_ way: SignInReturn, again: String, _ files: StaticFiles) -> AlonePage {
        AlonePage(
            "Sign-in cancelled", isOfConsole: false, script: files.url("signin.js"),
            [
                Paragraph("Nobody is signed in. You can close this window."),
                SignInResult(way, message: "The sign-in was cancelled"),
                Paragraph.actions([.button("Choose again", again)]),
            ])
    }
}
