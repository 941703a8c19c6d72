internal import Accounts
internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import JSON
internal import RecordStore
internal import Records

/// The page API tokens & keys: the credentials of clients for one environment of a container, and the user sessions.
struct KeysView: Page {
    static let template = "keys"
    static let tab = Tab.keys
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
        let complaint: Complaint
        let fields: FormFields
    }

    let title = Self.tab.title
    let status: HTTPResponse.Status
    let notice: String?
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
        let complaint: Complaint?
        let name: String
        let origins: String
        let callback: String
    }

    struct KeyForm: ViewModel {
        let action: String
        let isOpen: Bool
        let complaint: Complaint?
        let name: String
        let pem: String
    }

    static func load(_ visit: Visit, _ access: AccessControl, draft: Draft? = nil) throws -> KeysView {
        let place = visit.place
        let (container, environment) = (place.address.container, place.address.environment)
        let accounts = visit.accounts
        let tokens = accounts.apiTokens().filter { $0.container == container && $0.environment == environment }
        let keys = accounts.serverKeys().filter { $0.container == container && $0.environment == environment }
        let sessions = accounts.webAuthSessions().filter { $0.container == container && $0.environment == environment }
        // Valid credentials come first, then the newest.
        func sorted<Item>(_ items: [Item], _ isLive: (Item) -> Bool) -> [Item] { items.filter(isLive) + items.filter { !isLive($0) } }
        let now = Timestamp.now()
        let tokenNames = Dictionary(tokens.map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
        let token = draft.flatMap { $0.form == .token ? $0 : nil }
        let key = draft.flatMap { $0.form == .key ? $0 : nil }
        return KeysView(
            status: draft == nil ? .ok : .badRequest, notice: Notice.text(visit.fields["notice"]), container: container.description,
            environment: environment.rawValue, isRequired: access.mode == .required,
            tokens: sorted(tokens, \.isLive).prefix(limit).map { TokenRow($0, visit) }, keys: sorted(keys, \.isLive).prefix(limit).map { KeyRow($0, visit) },
            sessions: sorted(sessions) { $0.isLive(at: now) }.prefix(limit).map { SessionRow($0, at: now, tokenNames, visit) },
            moreTokens: more(tokens.count, "skylight token list"), moreKeys: more(keys.count, "skylight key list"),
            moreSessions: more(sessions.count, "skylight token list --web-auth"),
            tokenForm: TokenForm(
                action: place.link("keys/token"), isOpen: token != nil || tokens.isEmpty && draft == nil, complaint: token?.complaint,
                name: token?.fields["name"] ?? "", origins: token?.fields["origins"] ?? "", callback: token?.fields["callback"] ?? ""),
            keyForm: KeyForm(
                action: place.link("keys/key"), isOpen: key != nil, complaint: key?.complaint, name: key?.fields["name"] ?? "",
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
