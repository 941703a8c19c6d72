internal import Accounts
internal import Foundation
internal import HTTPServing
internal import JSON
internal import Records
internal import Text

/// The sign-in of users of apps.
///
/// There are no passwords. Where credentials are required, anyone can obtain a ticket without an
/// API token. Such a ticket therefore permits only sign-ins of new users, never of existing ones.
enum SignIn {
    enum Outcome: Sendable {
        /// - way: the return path of the token; `nil` if there is no token to return.
        case page(any Page, way: SignInWay?)
        case redirect(String)
    }

    /// The first page, with the choice of users.
    static func show(_ ticket: String, by access: AccessControl, _ files: StaticFiles) throws -> Outcome {
        guard let (request, way) = try request(of: ticket, in: access.accounts) else { return .page(SignInEndView.expired(files), way: nil) }
        return .page(try SignInView(ticket: ticket, request, way, access, files), way: way)
    }

    /// True if the sign-in is restricted to new users.
    static func isForNewUsers(_ request: SignInRequest, by access: AccessControl) -> Bool {
        access.mode == .required && request.apiTokenID == nil
    }

    /// The answer to the form.
    /// - Parameter peer: the client's address.
    /// - Throws: `RecordError` THROTTLED if this address or this app created too many users.
    static func answer(_ fields: FormFields, from peer: String, by access: AccessControl, _ files: StaticFiles) async throws -> Outcome {
        let accounts = access.accounts
        let ticket = fields["ticket"] ?? ""
        guard let (request, way) = try request(of: ticket, in: accounts) else { return .page(SignInEndView.expired(files), way: nil) }
        if fields["cancel"] != nil {
            return .page(SignInEndView.cancelled(way, again: FormFields.url("/sign-in", [("ticket", ticket)]), files), way: nil)
        }
        do {
            // In required mode, unknown clients can reach this page. So sign-ins are rate-limited.
            let signIn = access.mode == .required ? UserSignIn(apiTokenID: request.apiTokenID, peer: peer) : nil
            let user = try await isForNewUsers(request, by: access) ? newUser(fields, signIn, in: accounts) : user(fields, signIn, in: accounts)
            let (_, token) = try await accounts.signIn(user.userRecordName, with: request, keepSignedIn: fields["keep"] == "1", now: Date())
            if case .callback(let address) = way { return .redirect(SignInWay.address(address, with: token)) }
            return .page(SignedInView(user, token, request, way, files), way: nil)
        } catch let error as RecordError where error.code != .internalError && error.code != .throttled {
            return .page(try SignInView(ticket: ticket, request, way, access, files, fields: fields, complaint: error.reason), way: way)
        }
    }

    /// The sign-in request of a ticket; `nil` if the ticket is invalid, or its API token is unknown or revoked.
    private static func request(of ticket: String, in accounts: Accounts) throws -> (SignInRequest, SignInWay)? {
        guard let request = accounts.signInRequest(ticket: ticket, now: Date()) else { return nil }
        guard let id = request.apiTokenID else { return (request, SignInWay(request, nil)) }
        guard let token = accounts.apiTokens().first(where: { $0.id == id }), token.revoked == nil else { return nil }
        return (request, SignInWay(request, token))
    }

    /// The chosen user, or a new one.
    private static func user(_ fields: FormFields, _ signIn: UserSignIn?, in accounts: Accounts) async throws -> User {
        if let chosen = (fields.text("user") ?? fields.text("who"))?.trimmingSpaces, !chosen.isEmpty {
            let user = accounts.user(handle: chosen) ?? accounts.user(recordName: Name(chosen)) ?? accounts.user(emailAddress: chosen)
            if let user, !user.isServerKey { return user }
            throw RecordError(.notFound, "There is no user '\(chosen)': choose one from the list, or create a new user")
        }
        return try await UserCreation.make(try name(fields), emailAddress: fields["email"]?.trimmingSpaces, for: signIn, in: accounts)
    }

    /// Creates a user. Never returns an existing one, even if the name equals that user's handle.
    private static func newUser(_ fields: FormFields, _ signIn: UserSignIn?, in accounts: Accounts) async throws -> User {
        guard fields.text("user") == nil, fields.text("who") == nil else {
            throw RecordError(.badRequest, "To choose an existing user, the app must send its API token")
        }
        return try await accounts.makeUser(displayName: try name(fields), emailAddress: fields["email"]?.trimmingSpaces, for: signIn)
    }

    private static func name(_ fields: FormFields) throws -> String {
        guard let name = fields["name"]?.trimmingSpaces, !name.isEmpty else {
            throw RecordError(.badRequest, "A new user needs a name")
        }
        guard !User.isRecordName(name) else {
            throw RecordError(.badRequest, "'\(name)' has the form of a user record name, which only the server assigns; enter another name")
        }
        return name
    }
}
