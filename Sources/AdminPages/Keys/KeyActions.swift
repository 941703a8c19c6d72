internal import Accounts
internal import Console
internal import HTTPServing
internal import JSON
internal import Records
internal import Text

/// The actions of the page API tokens & keys.
enum KeyActions {
    static func makeToken(_ visit: Visit, _ access: AccessControl) async throws -> Answer {
        let address = visit.place.address
        do {
            let origins = (visit.fields["origins"] ?? "").formLines.flatMap { $0.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init) }
            let (token, secret) = try await visit.accounts.makeAPIToken(
                named: visit.fields["name"]?.trimmingSpaces ?? "", container: address.container, environment: address.environment,
                allowedOrigins: origins, callback: visit.fields.text("callback")?.trimmingSpaces)
            return .page(TokenMadeView(token, secret, visit))
        } catch let error as RecordError where error.code == .badRequest {
            return .page(try KeysView.load(visit, access, draft: KeysView.Draft(form: .token, complaint: Complaint(error), fields: visit.fields)))
        }
    }

    static func registerKey(_ visit: Visit, _ access: AccessControl) async throws -> Answer {
        let address = visit.place.address
        do {
            // A chosen file takes precedence over the text.
            let pem = visit.fields.text("file") ?? visit.fields["pem"] ?? ""
            guard !pem.trimmingSpaces.isEmpty else { throw RecordError(.badRequest, "Paste the public key, or choose its file") }
            let key = try await visit.accounts.registerServerKey(
                pem: pem, named: visit.fields["name"]?.trimmingSpaces ?? "", container: address.container, environment: address.environment)
            return .page(KeyMadeView(key, visit))
        } catch let error as RecordError where error.code == .badRequest {
            return .page(try KeysView.load(visit, access, draft: KeysView.Draft(form: .key, complaint: Complaint(error), fields: visit.fields)))
        }
    }

    // MARK: Revoking

    /// The credential to revoke.
    private enum Target {
        case token(APIToken)
        case key(ServerKey)
        case session(WebAuthSession)

        /// - Throws: `RecordError` NOT_FOUND if the environment has no such credential.
        init(_ visit: Visit) throws {
            let (fields, accounts, address) = (visit.fields, visit.accounts, visit.place.address)
            func isHere(_ container: ContainerID, _ environment: Records.Environment) -> Bool {
                container == address.container && environment == address.environment
            }
            if let id = fields.text("token"), let token = accounts.apiTokens().first(where: { $0.id == id && isHere($0.container, $0.environment) }) {
                self = .token(token)
            } else if let id = fields.text("key"), let key = accounts.serverKey(id), isHere(key.container, key.environment) {
                self = .key(key)
            } else if let id = fields.text("session"),
                let session = accounts.webAuthSessions().first(where: { $0.id == id && isHere($0.container, $0.environment) })
            {
                self = .session(session)
            } else {
                throw RecordError(.notFound, "There is no such token, key or session in \(address.container), \(address.environment.rawValue)")
            }
        }
    }

    static func confirmRevocation(_ visit: Visit) throws -> ConfirmationView {
        let title: String
        let lines: [String]
        let field: (name: String, value: String)
        switch try Target(visit) {
        case .token(let token):
            title = "Revoke the API token ‘\(token.name)’?"
            lines = [
                "Requests with it will fail with 401 AUTHENTICATION_FAILED, and users who signed in with it are signed out. "
                    + "This can't be undone: apps need a new token."
            ]
            field = ("token", token.id)
        case .key(let key):
            title = "Revoke the server key ‘\(key.name)’?"
            lines = ["Requests signed with it will fail with 401 AUTHENTICATION_FAILED. Records that it saved stay unchanged."]
            field = ("key", key.keyID)
        case .session(let session):
            title = "Sign \(visit.people.name(of: session.user)) out?"
            lines = ["Requests with the web auth tokens of this session will fail with 421 AUTHENTICATION_REQUIRED, and the app must sign in again."]
            field = ("session", session.id)
        }
        return ConfirmationView(
            on: .keys, title: title, lines: lines, action: visit.place.link("keys/revoke"), fields: [Frame.Hidden(name: field.name, value: field.value)],
            button: field.name == "session" ? "Sign out" : "Revoke", cancel: visit.place.link("keys"))
    }

    static func revoke(_ visit: Visit) async throws -> String {
        let notice: Notice
        switch try Target(visit) {
        case .token(let token):
            _ = try await visit.accounts.revokeAPIToken(token.id)
            notice = .tokenRevoked
        case .key(let key):
            _ = try await visit.accounts.revokeServerKey(key.keyID)
            notice = .keyRevoked
        case .session(let session):
            _ = try await visit.accounts.revokeWebAuthSession(session.id)
            notice = .sessionRevoked
        }
        return visit.place.link("keys", [notice.parameter])
    }
}
