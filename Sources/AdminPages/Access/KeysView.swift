internal import Accounts
package import Console
internal import HTTPServing
internal import HTTPTypes
internal import RecordStore
internal import Records

/// The page Keys: the credentials of clients for one environment of a container, and the user sessions.
package enum KeysView {
    /// The maximum number of rows per table.
    static let limit = 100

    /// The input of a refused form, with the error.
    package struct Draft: Sendable {
        enum Form: Sendable { case token, key }

        let form: Form
        let complaint: PageError
        let fields: FormFields
    }

    package static func load(_ visit: Visit) throws -> ComponentPage { try load(visit, draft: nil) }

    static func load(_ visit: Visit, draft: Draft?) throws -> ComponentPage {
        let address = visit.place.address
        let rule =
            visit.console.access.mode == .required
            ? "Every request needs credentials."
            : "This server is open: requests need no credentials. Credentials still work, and a wrong signature is "
                + "refused, so you can test signing."
        return ComponentPage(
            .keys, status: draft == nil ? .ok : .badRequest,
            PageHead(
                Tab.keys.title,
                [
                    "The credentials of clients of \(strong: address.container.description) in \(address.environment.inline). \(rule)"
                ], actions: [.button("Signatures", visit.place.link("keys/signature"))]),
            [
                tokens(visit, draft: draft.flatMap { $0.form == .token ? $0 : nil }, isDrafting: draft != nil),
                keys(visit, draft: draft.flatMap { $0.form == .key ? $0 : nil }), sessions(visit),
            ], foot: PageFooter())
    }

    private static func tokens(_ visit: Visit, draft: Draft?, isDrafting: Bool) -> Section {
        let (place, container) = (visit.place, visit.place.address.container)
        let tokens = visit.accounts.apiTokens().filter { place.isOf($0.container, $0.environment) }
        return Section(
            "tokens", "API tokens",
            [
                Paragraph.faint(
                    "For apps and web pages: `ckAPIToken` in the URL. Alone, it reads what everyone may read in the public database. With a signed-in user, it does what that user may do. It is not a change token."
                ),
                Table(
                    "API tokens of \(container)", style: .credentials,
                    [
                        "name", .column("allowed origins", "wrapped"), .column("sign-in callback", "wrapped"),
                        "created", "last used", .actions("revoke"),
                    ],
                    shown(tokens, \.isLive) { token in
                        Table.Row(
                            [
                                "\(token.name) \(.faint(.code(token.id)))",
                                token.allowedOrigins.isEmpty
                                    ? .faint("trusted pages, and apps")
                                    : token.allowedOrigins.reduce("") { "\($0)\(.code($1)) " },
                                token.callback.map { .code($0) } ?? .faint("the opening window"),
                                .time(token.made.wholeSecond), use(token.lastUsed),
                                end(
                                    "revoked", token.revoked,
                                    or: .button(
                                        "Revoke…", place.link("keys/revoke", [("token", token.id)]),
                                        label: "Revoke the API token \(token.name)")),
                            ], token.isLive ? nil : .ended)
                    }, nothing: EmptyState(sentence: "None yet."), more: more(tokens.count, "skylight token list")),
                Fold(
                    "New API token", isOpen: draft != nil || tokens.isEmpty && !isDrafting,
                    refusal: draft?.complaint,
                    [
                        Form(
                            .grid, place.link("keys/token"),
                            // Answers the form once, also if its answer is loaded again.
                            hidden: [Frame.Hidden(name: "token", value: visit.accounts.freeTokenID())],
                            [
                                FormField(
                                    .text, "name", "Name", id: "token-name", value: draft?.fields["name"],
                                    placeholder: "Web app", limit: 100, isRequired: true),
                                FormField(
                                    .area(rows: 2), "origins", "Allowed origins", value: draft?.fields["origins"],
                                    placeholder: "https://app.example.com",
                                    hint: "One per line. `*` alone: any. Empty: those that the server trusts."),
                                FormField(
                                    .code, "callback", "Sign-in callback", value: draft?.fields["callback"],
                                    placeholder: "https://app.example.com/signed-in",
                                    hint:
                                        "The address that gets `ckWebAuthToken` after sign-in. Empty: the opening window gets it with `postMessage`."
                                ),
                            ], button: "Create the token", buttonStyle: "go")
                    ]),
            ])
    }

    private static func keys(_ visit: Visit, draft: Draft?) -> Section {
        let (place, container) = (visit.place, visit.place.address.container)
        let keys = visit.accounts.serverKeys().filter { place.isOf($0.container, $0.environment) }
        return Section(
            "serverkeys", "Server-to-server keys",
            [
                Paragraph.faint(
                    "For servers and scripts, which sign every request with a private key. A key works with the public database and acts as a user of its own."
                ),
                Table(
                    "Server-to-server keys of \(container)", style: .credentials,
                    ["name", .column("key ID", "wrapped"), "acts as", "created", "last used", .actions("revoke")],
                    shown(keys, \.isLive) { key in
                        Table.Row(
                            [
                                Inline(key.name), .copyable(key.keyID), user(key.userRecordName, visit),
                                .time(key.made.wholeSecond), use(key.lastUsed),
                                end(
                                    "revoked", key.revoked,
                                    or: .button(
                                        "Revoke…", place.link("keys/revoke", [("key", key.keyID)]),
                                        label: "Revoke the key \(key.name)")),
                            ], key.isLive ? nil : .ended)
                    }, nothing: EmptyState(sentence: "None yet."), more: more(keys.count, "skylight key list")),
                Fold(
                    "Register a key", isOpen: draft != nil, refusal: draft?.complaint,
                    [
                        Paragraph(
                            "Two commands create a key pair. Keep the private key, and paste the public key here."),
                        CodeBlock(
                            "Commands that make a key",
                            """
                            openssl ecparam -name prime256v1 -genkey -noout -out eckey.pem
                            openssl ec -in eckey.pem -pubout -out eckey.pub.pem
                            """),
                        Form(
                            .grid, place.link("keys/key"),
                            [
                                FormField(
                                    .text, "name", "Name", id: "key-name", value: draft?.fields["name"],
                                    placeholder: "Nightly import", limit: 100, isRequired: true),
                                FormField(
                                    .area(rows: 5), "pem", "Public key",
                                    value: draft?.fields["pem"].flatMap { isPublic($0) ? $0 : nil },
                                    placeholder: "-----BEGIN PUBLIC KEY-----",
                                    file: FormField.File(id: "pem-file", accepts: ".pem,.pub,.key,.txt")),
                            ], button: "Register the key", buttonStyle: "go"),
                    ]),
            ])
    }

    private static func sessions(_ visit: Visit) -> Section {
        let (place, now) = (visit.place, Timestamp.now())
        let isOpen = visit.console.access.mode == .open
        let sessions = visit.accounts.webAuthSessions().filter { place.isOf($0.container, $0.environment) }
        let tokenNames = Dictionary(
            visit.accounts.apiTokens().map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
        return Section(
            "sessions", "Sign-ins",
            [
                Paragraph.faint(
                    "Users who signed in to an app. Every response has a newer web auth token; all of them belong to one sign-in."
                ),
                Table(
                    "Sign-ins to \(place.address.container)", style: .credentials,
                    ["user", "with API token", "token lifetime", "signed in", "last used", .actions("sign out")],
                    shown(sessions) {
                        $0.isLive(at: now)
                    } row: { session in
                        Table.Row(
                            [
                                "\(user(session.user, visit)) \(.faint(.code(session.id)))",
                                session.apiTokenID.map { Inline(tokenNames[$0] ?? $0) } ?? .faint("none"),
                                session.keepsSignedIn ? "two weeks" : "30 minutes", .time(session.made.wholeSecond),
                                use(session.lastUsed),
                                end(
                                    session.revoked == nil ? "expired" : "signed out",
                                    session.isLive(at: now) ? nil : session.revoked ?? session.expires,
                                    or: .button(
                                        "Sign out…", place.link("keys/revoke", [("session", session.id)]),
                                        label: "Sign \(visit.people.name(of: session.user)) out")),
                            ], session.isLive(at: now) ? nil : .ended)
                    },
                    nothing: EmptyState(
                        sentence: isOpen
                            ? "Nobody has signed in yet. This server is open, so a request needs no sign-in. With `--auth required`, one that needs a user gets status 421 and a link to sign in."
                            : "Nobody has signed in yet. A request that needs a user and has none gets status 421 and a link to sign in."
                    ), more: more(sessions.count, "skylight token list --web-auth")),
            ])
    }

    /// The rows of valid credentials, then of the others; each the newest first.
    private static func shown<Item>(_ items: [Item], _ isLive: (Item) -> Bool, row: (Item) -> Table.Row)
        -> [Table.Row]
    {
        (items.filter(isLive) + items.filter { !isLive($0) }).prefix(limit).map(row)
    }

    private static func use(_ last: Timestamp?) -> Inline { last.map { .time($0.wholeSecond) } ?? .faint("never") }

    /// How and when a credential ended, or the button that ends it.
    private static func end(_ how: String, _ when: Timestamp?, or button: Frame.Link) -> Inline {
        when.map { .faint("\(how) \(.time($0.wholeSecond))") } ?? .buttons([button])
    }

    private static func user(_ recordName: Name, _ visit: Visit) -> Inline {
        let name = visit.people.name(of: recordName)
        guard let user = visit.people.user(recordName) else { return Inline(name) }
        return .link(name, visit.place.link("users/user", [("name", user.handle)]))
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

extension Place {
    fileprivate func isOf(_ container: ContainerID, _ environment: Records.Environment) -> Bool {
        container == address.container && environment == address.environment
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
        let address = visit.place.address
        do {
            let origins = (visit.fields["origins"] ?? "").formLines.flatMap {
                $0.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)
            }
            let (token, secret) = try await visit.accounts.makeAPIToken(
                named: visit.fields["name"]?.trimmingSpaces ?? "", container: address.container,
                environment: address.environment,
                allowedOrigins: origins, callback: visit.fields.text("callback")?.trimmingSpaces,
                id: visit.fields.text("token"))
            return .page(made(token, secret, visit))
        } catch let error as RecordError where error.code == .exists {
            // The form was sent before: the answer to it was loaded again.
            guard case .token(let token) = try Target(visit) else { throw error }
            return .page(madeBefore(token, visit))
        } catch let error as RecordError where error.code == .badRequest {
            return .page(
                try KeysView.load(
                    visit,
                    draft: KeysView.Draft(form: .token, complaint: PageError(error), fields: visit.fields)))
        }
    }

    package static func registerKey(_ visit: Visit) async throws -> Answer {
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
            return .page(made(key, visit))
        } catch let error as RecordError where error.code == .badRequest {
            return .page(
                try KeysView.load(
                    visit, draft: KeysView.Draft(form: .key, complaint: PageError(error), fields: visit.fields))
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
            let (fields, accounts, place) = (visit.fields, visit.accounts, visit.place)
            if let id = fields.text("token"),
                let token = accounts.apiTokens().first(where: {
                    $0.id == id && place.isOf($0.container, $0.environment)
                })
            {
                self = .token(token)
            } else if let id = fields.text("key"), let key = accounts.serverKey(id),
                place.isOf(key.container, key.environment)
            {
                self = .key(key)
            } else if let id = fields.text("session"),
                let session = accounts.webAuthSessions().first(where: {
                    $0.id == id && place.isOf($0.container, $0.environment)
                })
            {
                self = .session(session)
            } else {
                throw RecordError(
                    .notFound,
                    "There is no such token, key or session in \(place.address.container), \(place.address.environment.rawValue)"
                )
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

/// The page of a new API token, the only one that shows it.
private func made(_ token: APIToken, _ secret: String, _ visit: Visit) -> ComponentPage {
    let back = visit.place.link("keys")
    let base = "/database/1/\(token.container)/\(token.environment.rawValue)/public"
    let isOpen = visit.console.access.mode == .open
    return ComponentPage(
        .keys,
        PageHead(
            "The API token ‘\(token.name)’ is created", crumb: .link("Keys", back),
            [
                "For \(token.container.description) in \(token.environment.inline). Its ID here is \(.code(token.id))."
            ]),
        [
            Note(
                good: "Copy it now: it is shown only once.", "The server keeps only its hash.",
                [CodeBlock("The API token", Inline(secret))]),
            Section(
                "read", "Read with it",
                [
                    Paragraph(
                        isOpen
                            ? "This server is open: it answers this request without a token too, and ignores one that it does not know. Started with `--auth required`, it asks for one."
                            : "The response has the record with that name in the public database, or NOT_FOUND. Both mean that the token works."
                    ),
                    CodeBlock(
                        "A request with the token",
                        "curl '\(.origin(visit.server))\(base)/records/lookup?ckAPIToken=\(secret)' -d '{\"records\":[{\"recordName\":\"a-record\"}]}'"
                    ),
                ]),
            Section(
                "sign-in", "Sign in a user",
                [
                    Paragraph(
                        isOpen
                            ? "This server is open: a request without a sign-in acts as the user in `X-Skylight-User`, or as the developer. `skylight token create-web-auth` signs a user in; send its token as `ckWebAuthToken`, percent-encoded. With `--auth required`, a request that needs a user gets status 421 and a `redirectURL`, whose page signs one in."
                            : "A request that needs a user gets status 421 and a `redirectURL`. Open it, choose a user, and send the returned token as `ckWebAuthToken`, percent-encoded."
                    ),
                    CodeBlock(
                        isOpen ? "A request that asks who it acts as" : "A request that asks who signed in",
                        "curl '\(.origin(visit.server))\(base)/users/caller?ckAPIToken=\(secret)'"),
                ]),
            Paragraph.actions([.go("I have copied it", back)]),
        ])
}

/// The page of an API token whose form is sent again. It has no value to show.
private func madeBefore(_ token: APIToken, _ visit: Visit) -> ComponentPage {
    let back = visit.place.link("keys")
    return ComponentPage(
        .keys,
        PageHead(
            "The API token ‘\(token.name)’ was created", crumb: .link("Keys", back),
            [
                "For \(token.container.description) in \(token.environment.inline). Its ID here is \(.code(token.id))."
            ]),
        [
            Note(
                warning: "Its value was shown once, and can't be shown again.",
                "If nobody copied it, revoke it and create another."),
            Paragraph.actions([
                .go("Back to all keys", back),
                .button("Revoke…", visit.place.link("keys/revoke", [("token", token.id)])),
            ]),
        ])
}

/// The page of a new server-to-server key, with an example of a signed request.
private func made(_ key: ServerKey, _ visit: Visit) -> ComponentPage {
    let back = visit.place.link("keys")
    return ComponentPage(
        .keys,
        PageHead(
            "The key ‘\(key.name)’ is registered", crumb: .link("Keys", back),
            [
                "For \(key.container.description) in \(key.environment.inline). Requests signed with it act as the user \(.code(key.userRecordName.string))."
            ]),
        [
            Section("key-id", "Key ID", [CodeBlock("The key ID", Inline(key.keyID))]),
            Section(
                "sign", "Sign a request with openssl",
                [
                    Paragraph("Sign the date, the hash of the body and the path with its query, joined by colons."),
                    CodeBlock(
                        "Commands that sign a request",
                        #"""
                        target='/database/1/\#(key.container.description)/\#(key.environment.rawValue)/public/zones/list'
                        date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
                        hash=$(printf '' | openssl dgst -sha256 -binary | base64)
                        signature=$(printf '%s:%s:%s' "$date" "$hash" "$target" | openssl dgst -sha256 -sign eckey.pem | base64 | tr -d '\n')
                        curl "\#(.origin(visit.server))$target" \
                          -H 'X-Apple-CloudKit-Request-KeyID: \#(key.keyID)' \
                          -H "X-Apple-CloudKit-Request-ISO8601Date: $date" \
                          -H "X-Apple-CloudKit-Request-SignatureV1: $signature"
                        """#),
                ]),
            Paragraph.actions([
                .go("Back to all keys", back), .button("Signatures", visit.place.link("keys/signature")),
            ]),
        ])
}
