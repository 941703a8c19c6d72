import Accounts
import ArgumentParser
import Foundation
import RecordStore
import Records
import RequestLog

struct TokenListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List API tokens, or the sessions of web auth tokens.",
        discussion: """
            Tokens are listed by their IDs, because the tokens themselves are not stored. Times are in UTC.

            Examples:
              skylight token list
              skylight token list --web-auth --all \\
                --container iCloud.com.example.Chat
            """)

    @OptionGroup var filter: ContainerFilterOptions

    @Flag(help: "List the sign-in sessions of web auth tokens instead of API tokens.")
    var webAuth = false

    @Flag(help: "Include revoked and expired ones.")
    var all = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        if webAuth { try await listSessions() } else { try await listTokens() }
    }

    private func listTokens() async throws {
        let tokens = try await store.withStore(isNew: false) { try await $0.accounts.apiTokens() }
            .filter { filter.includes($0.container, $0.environment) && (all || $0.isLive) }
        let columns: [Output.Column<APIToken>] = [
            .init("ID", \.id), .init("NAME", \.name), .init("CONTAINER", \.container.description),
            .init("ENVIRONMENT", \.environment.rawValue),
            .init("ORIGINS") { $0.allowedOrigins.isEmpty ? "–" : $0.allowedOrigins.joined(separator: " ") },
            .init("MADE") { Output.moment($0.made) }, .init("LAST USED") { Output.moment($0.lastUsed, none: "never") },
            .init("REVOKED") { Output.moment($0.revoked) },
        ]
        store.output.say(
            list: "tokens", tokens, none: "There are no API tokens.", all ? columns : columns.dropLast()
        ) { $0.value($1) }
    }

    private func listSessions() async throws {
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let (sessions, handles) = try await store.withStore(isNew: false) { store in
            let sessions = try await store.accounts.webAuthSessions()
            return (
                sessions.filter { filter.includes($0.container, $0.environment) && (all || $0.isLive(at: now)) },
                try await store.handles()
            )
        }
        let columns: [Output.Column<WebAuthSession>] = [
            .init("ID", \.id), .init("USER") { handles[$0.user] ?? $0.user.string },
            .init("CONTAINER", \.container.description), .init("ENVIRONMENT", \.environment.rawValue),
            .init("API TOKEN") { $0.apiTokenID ?? "–" }, .init("MADE") { Output.moment($0.made) },
            .init("LAST USED") { Output.moment($0.lastUsed, none: "never") },
            .init("ENDS") { Output.moment($0.expires) }, .init("REVOKED") { Output.moment($0.revoked) },
        ]
        store.output.say(
            list: "sessions", sessions, none: "Nobody is signed in to an app.", all ? columns : columns.dropLast()
        ) { $0.value($1) }
    }
}

// MARK: - API and web auth tokens

struct TokenCreateAPICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-api", abstract: "Create an API token, which identifies an app, for ckAPIToken.",
        discussion: """
            Prints the token. It is shown only once, because only a hash of it is stored. It is valid in one environment of one container.

            With --origin, only pages of that site may use it; with --origin '*', pages of every site. Without, programs may, and pages that the server \
            trusts anyway. After a sign-in, the browser goes to --callback with ckWebAuthToken in the query. Without \
            --callback, the window that opened the sign-in page gets the token, or the page shows it.

            Examples:
              skylight token create-api --container iCloud.com.example.Chat
              skylight token create-api --container iCloud.com.example.Chat \\
                --name "Web app" --origin http://localhost:3000 \\
                --callback http://localhost:3000/signed-in
            """)

    @OptionGroup var target: EnvironmentOptions

    @Option(help: "The display name.")
    var name = "API token"

    @Option(
        help: ArgumentHelp(
            "A site whose pages may use it, or '*' for every site. Can be given several times.", valueName: "url"))
    var origin: [String] = []

    @Option(help: ArgumentHelp("The address to which the browser goes after a sign-in.", valueName: "url"))
    var callback: String?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let (token, secret) = try await store.withStore(isNew: true) { store in
            try await store.accounts.makeAPIToken(
                named: name, container: target.container, environment: target.environment, allowedOrigins: origin,
                callback: callback)
        }
        store.output.say(
            secret,
            notes: ["This is the API token \(token.id) of \(target.place). It is shown only once."]
        ) { writer in
            writer.member("token") { $0.value(token) }
            writer.member("secret", secret)
        }
    }
}

struct TokenCreateWebAuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-web-auth",
        abstract: "Sign a user in to an app and print the web auth token for ckWebAuthToken.",
        discussion: """
            Does the same as the sign-in page, for tests and scripts. An unknown user is created. In a URL, write + / = of the token as %2B %2F \
            %3D. Each answer of the server carries a newer token in X-Apple-CloudKit-Web-Auth-Token.

            Example:
              skylight token create-web-auth --user ada --keep-signed-in \\
                --container iCloud.com.example.Chat
            """)

    @OptionGroup var target: EnvironmentOptions

    @Option(help: ArgumentHelp("The user: a handle such as ada, or a user record name.", valueName: "handle"))
    var user: String

    @Option(help: ArgumentHelp("The ID of the API token that must accompany it. (default: none)", valueName: "id"))
    var apiToken: String?

    @Flag(help: "Make tokens that are valid for two weeks instead of 30 minutes.")
    var keepSignedIn = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let request = SignInRequest(
            container: target.container, environment: target.environment, apiTokenID: apiToken)
        let (session, token) = try await store.withStore(isNew: true) {
            try await $0.accounts.signIn(user, with: request, keepSignedIn: keepSignedIn)
        }
        store.output.say(
            token, notes: ["\(user) is signed in to \(target.place), session \(session.id)."]
        ) { writer in
            writer.member("session") { $0.value(session) }
            writer.member("webAuthToken", token)
        }
    }
}

struct TokenRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke an API token, or all web auth tokens of a session, permanently.",
        discussion: """
            skylight token list shows the IDs: eight digits for an API token, sixteen for a session.

            Example:
              skylight token revoke 3fa1c27e
            """)

    @Argument(help: "The ID, not the token itself.")
    var id: String

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if id.utf8.count >= 32 {
            throw ValidationError(
                "This is a token, not an ID: use the ID from 'skylight token list', and keep tokens out of the shell's history."
            )
        }
    }

    func run() async throws {
        if id.utf8.count == 16 {
            let session = try await store.withStore(isNew: false) { try await $0.accounts.revokeWebAuthSession(id) }
            let line = "The session \(id) of \(session.container) (\(session.environment.rawValue)) is revoked."
            return store.output.say(line) { $0.member("session") { $0.value(session) } }
        }
        let token = try await store.withStore(isNew: false) { try await $0.accounts.revokeAPIToken(id) }
        let line = "The API token '\(token.name)' of \(token.container) (\(token.environment.rawValue)) is revoked."
        store.output.say(line) { $0.member("token") { $0.value(token) } }
    }
}

// MARK: - Change tokens

struct TokenExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain a change token: its zone or database, position and time, and whether it still works.",
        discussion: """
            Give the database in which the token would be used.

            Example:
              skylight token explain EQEAAAAB… --container iCloud.com.example.Chat
            """)

    @Argument(help: "The token, from a response or skylight zone list, in any form that the page Decode reads.")
    var token: String

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database in which the token would be used.")
    var scope: DatabaseScope = .private

    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(scope), as: database.user)
            let pasted = PastedValue(token)
            let explanation = try await explain(pasted, target)
            if self.store.output.isJSON {
                var writer = JSONWriter()
                writer.value(explanation)
                Output.say(String(decoding: writer.bytes, as: UTF8.self))
            } else {
                let handles = try await store.handles()
                let user = explanation.userRecordName.map { handles[$0] ?? $0.string }
                for line in lines(explanation, user) { Output.say(line) }
            }
        }
    }

    /// - Throws: `CommandFailure` that says what the text is, if it is no token of the store; it repeats no part of the
    ///   text.
    private func explain(_ pasted: PastedValue, _ database: any RecordDatabase) async throws -> TokenExplanation {
        let tokens = pasted.tokens.compactMap(\.token)
        if tokens.count > 1 {
            throw CommandFailure(.usage, "The text has \(tokens.count) tokens", remedy: "Give one of them")
        }
        guard let token = tokens.first else { throw refusal(pasted) }
        do {
            return try await database.require(.explainTokens).explain(token)
        } catch let error as RecordError where error.known == .unknownToken {
            let kind = pasted.kind ?? PastedKind(bytes: token.bytes)
            if kind != .changeToken { throw Self.failure(kind) }
            throw CommandFailure(
                .failed, "This container and environment did not issue this token", code: error.code.rawValue,
                remedy: "Try the others. If none issued it, pull without a token")
        }
    }

    private static func failure(_ kind: PastedKind) -> CommandFailure {
        // The command ends the remedy with a full stop.
        let remedy = kind.advice.joined(separator: " ")
        return CommandFailure(
            .failed, kind.title, code: ServerErrorCode.badRequest.rawValue, remedy: String(remedy.dropLast()))
    }

    private func refusal(_ pasted: PastedValue) -> CommandFailure {
        let code = ServerErrorCode.badRequest.rawValue
        if let kind = pasted.kind { return Self.failure(kind) }
        if case .unreadable(let error) = pasted.reading {
            return CommandFailure(.failed, "The text can't be read: \(error)", code: code)
        }
        return CommandFailure(
            .failed, "The text has no change token", code: code,
            remedy: "Give the token alone, or a response with a syncToken")
    }

    private func lines(_ explanation: TokenExplanation, _ user: String?) -> [String] {
        let database = "the \(explanation.scope.rawValue) database" + (user.map { " of \($0)" } ?? "")
        var lines: [String] = []
        switch explanation.subject {
        case .database: lines.append("A token of \(database): it tells which zones changed.")
        case .zone(let zoneID?): lines.append("A token of zone \(zoneID.zoneName) in \(database).")
        case .zone(nil): lines.append("A token of a zone in \(database) that no longer exists.")
        }
        let moment = explanation.moment.map { moment in
            ", committed \(UTCTime(milliseconds: moment.milliseconds).isoTextWithMilliseconds)"
        }
        lines.append(
            explanation.position == 0
                ? "Position: before the first change" : "Position: \(explanation.position)\(moment ?? "")")
        switch explanation.progress {
        case .complete: lines.append("Progress: complete, the client has everything up to the position")
        case .firstPull: lines.append("Progress: unfinished, the first pull had more pages")
        case .pull(let since): lines.append("Progress: unfinished, the pull from position \(since) had more pages")
        case .reversePull: lines.append("Progress: unfinished, the newest-first pull had more pages")
        }
        switch explanation.validity {
        case .good: lines.append("Status: valid")
        case .expired(let why): lines.append("Status: expired, \(why). A client must pull without a token")
        case .foreign(let why): lines.append("Status: not for this database, \(why)")
        }
        if let count = explanation.changesAfter { lines.append("Changes after it: \(Output.grouped(count))") }
        return lines
    }
}

struct TokenExpireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expire", abstract: "Expire every change token of a container.",
        discussion: """
            All change tokens of the environment stop working, for all databases and users. Stored data stays unchanged. Clients must drop their \
            data and start without a token, as they sometimes must with CloudKit.

            Example:
              skylight token expire --container iCloud.com.example.Chat --yes
            """)

    @Flag(help: "Confirm it. Without this flag the command only says what would happen.")
    var yes = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let place = database.place
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(.private), as: database.user)
            guard yes else {
                throw CommandFailure.confirmationNeeded(
                    "Every change token of \(place) would stop working, and its clients would have to pull without a token"
                )
            }
            try await target.require(.expireTokens).expireTokens()
        }
        store.output.say("Every earlier change token of \(place) has expired.") { writer in
            writer.member("container", database.container.description)
            writer.member("environment", database.environment.rawValue)
            writer.member("expired", true)
        }
    }
}
