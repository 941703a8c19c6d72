internal import Accounts
package import Console
internal import HTTPServing
package import HTTPTypes
internal import RecordStore
internal import Records

/// The page Keys: the credentials of clients for one environment of a container, and the user sessions.
package struct KeysView: Page {
    package static let template = "keys"
    package static let tab = Tab.keys
    /// The maximum number of rows per table.
    static let limit = 100

    struct TokenRow: ViewModel {
        let name: String
        let id: String
        let origins: [String]
        let callback: String?
        let made: ValueView
        let lastUsed: ValueView?
        /// The time of the revocation; `nil` for a valid credential.
        let revoked: ValueView?
        let revoke: String
    }

    struct KeyRow: ViewModel {
        let name: String
        let keyID: String
        let user: String
        let userHref: String?
        let made: ValueView
        let lastUsed: ValueView?
        let revoked: ValueView?
        let revoke: String
    }

    struct SessionRow: ViewModel {
        let id: String
        let user: String
        let userHref: String?
        /// The API token of the session.
        let token: String?
        let life: String
        let made: ValueView
        let lastUsed: ValueView?
        let isLive: Bool
        /// `signed out` or `expired`, with the time.
        let end: String
        let ended: ValueView
        let revoke: String
    }

    /// The input of a refused form, with the error.
    struct Draft: Sendable {
        enum Form: Sendable { case token, key }

        let form: Form
        let complaint: PageError
        let fields: FormFields
    }

    package let title = Self.tab.title
    package let status: HTTPResponse.Status
    let container: String
    let environment: String
    let isRequired: Bool
    let tokens: [TokenRow]
    let keys: [KeyRow]
    let sessions: [SessionRow]
    /// Notes about rows that the tables omit; `nil` if the tables are complete.
    let moreTokens: String?
    let moreKeys: String?
    let moreSessions: String?
    let tokenForm: TokenForm
    let keyForm: KeyForm
    let signature: String
    let milliseconds: String

    struct TokenForm: ViewModel {
        let action: String
        let isOpen: Bool
        let complaint: PageError?
        let name: String
        let origins: String
        let callback: String
    }

    struct KeyForm: ViewModel {
        let action: String
        let isOpen: Bool
        let complaint: PageError?
        let name: String
        let pem: String
    }

    package static func load(_ visit: Visit) throws -> KeysView { try load(visit, visit.console.access) }

    static func load(_ visit: Visit, _ access: AccessControl, draft: Draft? = nil) throws -> KeysView {
        let place = visit.place
        let (container, environment) = (place.address.container, place.address.environment)
        let accounts = visit.accounts
        let tokens = accounts.apiTokens().filter { $0.container == container && $0.environment == environment }
        let keys = accounts.serverKeys().filter { $0.container == container && $0.environment == environment }
        let sessions = accounts.webAuthSessions().filter { $0.container == container && $0.environment == environment }
        // Valid credentials come first, then the newest.
        func sorted<Item>(_ items: [Item], _ isLive: (Item) -> Bool) -> [Item] {
            items.filter(isLive) + items.filter { !isLive($0) }
        }
        let now = Timestamp.now()
        let tokenNames = Dictionary(tokens.map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
        let token = draft.flatMap { $0.form == .token ? $0 : nil }
        let key = draft.flatMap { $0.form == .key ? $0 : nil }
        return KeysView(
            status: draft == nil ? .ok : .badRequest, container: container.description,
            environment: environment.rawValue, isRequired: access.mode == .required,
            tokens: sorted(tokens, \.isLive).prefix(limit).map { TokenRow($0, visit) },
            keys: sorted(keys, \.isLive).prefix(limit).map { KeyRow($0, visit) },
            sessions: sorted(sessions) { $0.isLive(at: now) }.prefix(limit).map {
                SessionRow($0, at: now, tokenNames, visit)
            },
            moreTokens: more(tokens.count, "skylight token list"), moreKeys: more(keys.count, "skylight key list"),
            moreSessions: more(sessions.count, "skylight token list --web-auth"),
            tokenForm: TokenForm(
                action: place.link("keys/token"), isOpen: token != nil || tokens.isEmpty && draft == nil,
                complaint: token?.complaint,
                name: token?.fields["name"] ?? "", origins: token?.fields["origins"] ?? "",
                callback: token?.fields["callback"] ?? ""),
            keyForm: KeyForm(
                action: place.link("keys/key"), isOpen: key != nil, complaint: key?.complaint,
                name: key?.fields["name"] ?? "",
                pem: key?.fields["pem"].flatMap { isPublic($0) ? $0 : nil } ?? ""),
            signature: place.link("keys/signature"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func more(_ count: Int, _ command: String) -> String? {
        if count <= limit { return nil }
        return "The list shows \(limit) of \(Digits.grouped(count)), valid and newest first. '\(command)' lists all; "
            + "the command line can revoke them by ID."
    }

    /// True if the text may be shown again. A private key that was pasted by mistake must not be sent back.
    private static func isPublic(_ pem: String) -> Bool {
        pem.contains("-----BEGIN PUBLIC KEY-----") && !pem.contains("PRIVATE")
    }
}

extension KeysView.TokenRow {
    fileprivate init(_ token: APIToken, _ visit: Visit) {
        name = token.name
        id = token.id
        origins = token.allowedOrigins
        callback = token.callback
        made = ValueView(.time(token.made.wholeSecond))
        lastUsed = token.lastUsed.map { ValueView(.time($0.wholeSecond)) }
        revoked = token.revoked.map { ValueView(.time($0.wholeSecond)) }
        revoke = visit.place.link("keys/revoke", [("token", token.id)])
    }
}

extension KeysView.KeyRow {
    fileprivate init(_ key: ServerKey, _ visit: Visit) {
        name = key.name
        keyID = key.keyID
        user = visit.people.name(of: key.userRecordName)
        userHref = visit.people.user(key.userRecordName).map { visit.place.link("users/user", [("name", $0.handle)]) }
        made = ValueView(.time(key.made.wholeSecond))
        lastUsed = key.lastUsed.map { ValueView(.time($0.wholeSecond)) }
        revoked = key.revoked.map { ValueView(.time($0.wholeSecond)) }
        revoke = visit.place.link("keys/revoke", [("key", key.keyID)])
    }
}

extension KeysView.SessionRow {
    fileprivate init(_ session: WebAuthSession, at now: Timestamp, _ tokenNames: [String: String], _ visit: Visit) {
        id = session.id
        user = visit.people.name(of: session.user)
        userHref = visit.people.user(session.user).map { visit.place.link("users/user", [("name", $0.handle)]) }
        token = session.apiTokenID.map { tokenNames[$0] ?? $0 }
        life = session.keepsSignedIn ? "two weeks" : "30 minutes"
        made = ValueView(.time(session.made.wholeSecond))
        lastUsed = session.lastUsed.map { ValueView(.time($0.wholeSecond)) }
        isLive = session.isLive(at: now)
        end = session.revoked == nil ? "expired" : "signed out"
        ended = ValueView(.time((session.revoked ?? session.expires).wholeSecond))
        revoke = visit.place.link("keys/revoke", [("session", session.id)])
    }
}

extension Timestamp {
    /// The time, rounded down to the second, which is precise enough to distinguish credentials.
    fileprivate var wholeSecond: Timestamp { Timestamp(milliseconds: milliseconds - milliseconds % 1000) }
}

// MARK: - Actions

/// The actions of the page Keys.
package enum KeyActions {
    package static func makeToken(_ visit: Visit) async throws -> Answer {
        let access = visit.console.access
        let address = visit.place.address
        do {
            let origins = (visit.fields["origins"] ?? "").formLines.flatMap {
                $0.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)
            }
            let (token, secret) = try await visit.accounts.makeAPIToken(
                named: visit.fields["name"]?.trimmingSpaces ?? "", container: address.container,
                environment: address.environment,
                allowedOrigins: origins, callback: visit.fields.text("callback")?.trimmingSpaces)
            return .page(TokenMadeView(token, secret, visit))
        } catch let error as RecordError where error.code == .badRequest {
            return .page(
                try KeysView.load(
                    visit, access,
                    draft: KeysView.Draft(form: .token, complaint: PageError(error), fields: visit.fields)))
        }
    }

    package static func registerKey(_ visit: Visit) async throws -> Answer {
        let access = visit.console.access
        let address = visit.place.address
        do {
            // A chosen file takes precedence over the text.
            let pem = visit.fields.text("file") ?? visit.fields["pem"] ?? ""
            guard !pem.trimmingSpaces.isEmpty else {
                throw RecordError(.badRequest, "Paste the public key, or choose its file")
            }
            let key = try await visit.accounts.registerServerKey(
                pem: pem, named: visit.fields["name"]?.trimmingSpaces ?? "", container: address.container,
                environment: address.environment)
            return .page(KeyMadeView(key, visit))
        } catch let error as RecordError where error.code == .badRequest {
            return .page(
                try KeysView.load(
                    visit, access, draft: KeysView.Draft(form: .key, complaint: PageError(error), fields: visit.fields))
            )
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
            if let id = fields.text("token"),
                let token = accounts.apiTokens().first(where: { $0.id == id && isHere($0.container, $0.environment) })
            {
                self = .token(token)
            } else if let id = fields.text("key"), let key = accounts.serverKey(id),
                isHere(key.container, key.environment)
            {
                self = .key(key)
            } else if let id = fields.text("session"),
                let session = accounts.webAuthSessions().first(where: {
                    $0.id == id && isHere($0.container, $0.environment)
                })
            {
                self = .session(session)
            } else {
                throw RecordError(
                    .notFound,
                    "There is no such token, key or session in \(address.container), \(address.environment.rawValue)")
            }
        }
    }

    package static func confirmRevocation(_ visit: Visit) throws -> ConfirmationView {
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
            lines = [
                "Requests signed with it will fail with 401 AUTHENTICATION_FAILED. Records that it saved stay unchanged."
            ]
            field = ("key", key.keyID)
        case .session(let session):
            title = "Sign \(visit.people.name(of: session.user)) out?"
            lines = [
                "Requests with the web auth tokens of this session will fail with 421 AUTHENTICATION_REQUIRED, and the app must sign in again."
            ]
            field = ("session", session.id)
        }
        return ConfirmationView(
            on: .keys, title: title, lines: lines, action: visit.place.link("keys/revoke"),
            fields: [Frame.Hidden(name: field.name, value: field.value)],
            button: field.name == "session" ? "Sign out" : "Revoke", cancel: visit.place.link("keys"))
    }

    package static func revoke(_ visit: Visit) async throws -> String {
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

// MARK: - New tokens and keys

/// A newly created API token. This page is the only one that shows it.
struct TokenMadeView: Page {
    static let template = "token_made"
    static let tab = Tab.keys

    let title = "A new API token"
    let name: String
    let id: String
    let container: String
    let environment: String
    let secret: String
    /// The paths of two example requests with the token: a read, and a request that starts a sign-in.
    let lookup: String
    let caller: String
    let back: String

    init(_ token: APIToken, _ secret: String, _ visit: Visit) {
        name = token.name
        id = token.id
        container = token.container.description
        environment = token.environment.rawValue
        self.secret = secret
        let base = "/database/1/\(token.container)/\(token.environment.rawValue)/public"
        lookup = "\(base)/records/lookup?ckAPIToken=\(secret)"
        caller = "\(base)/users/caller?ckAPIToken=\(secret)"
        back = visit.place.link("keys")
    }
}

/// A newly registered server-to-server key, with an example of a signed request.
struct KeyMadeView: Page {
    static let template = "key_made"
    static let tab = Tab.keys

    let title = "A new server key"
    let name: String
    let keyID: String
    let userRecordName: String
    let container: String
    let environment: String
    /// The path and query of the example request.
    let target: String
    let signature: String
    let back: String

    init(_ key: ServerKey, _ visit: Visit) {
        name = key.name
        keyID = key.keyID
        userRecordName = key.userRecordName.string
        container = key.container.description
        environment = key.environment.rawValue
        target = "/database/1/\(key.container)/\(key.environment.rawValue)/public/zones/list"
        signature = visit.place.link("keys/signature")
        back = visit.place.link("keys")
    }
}
