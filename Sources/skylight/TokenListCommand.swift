import Accounts
import ArgumentParser
import Foundation
import JSON
import Records

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

    @OptionGroup var filter: PlaceFilterOptions

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
        if store.json {
            return Output.say { writer in
                writer.name("tokens")
                writer.array { writer in for token in tokens { writer.value(token) } }
            }
        }
        if tokens.isEmpty { return Output.say("There are no API tokens.") }
        Output.say(
            table: [["ID", "NAME", "CONTAINER", "ENVIRONMENT", "ORIGINS", "MADE", "LAST USED"] + (all ? ["REVOKED"] : [])]
                + tokens.map { token in
                    [
                        token.id, token.name, token.container.description, token.environment.rawValue,
                        token.allowedOrigins.isEmpty ? "–" : token.allowedOrigins.joined(separator: " "), Output.moment(token.made),
                        token.lastUsed.map(Output.moment) ?? "never",
                    ] + (all ? [token.revoked.map(Output.moment) ?? "–"] : [])
                })
    }

    private func listSessions() async throws {
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let (sessions, handles) = try await store.withStore(isNew: false) { store in
            let sessions = try await store.accounts.webAuthSessions()
            return (sessions.filter { filter.includes($0.container, $0.environment) && (all || $0.isLive(at: now)) }, try await store.handles())
        }
        if store.json {
            return Output.say { writer in
                writer.name("sessions")
                writer.array { writer in for session in sessions { writer.value(session) } }
            }
        }
        if sessions.isEmpty { return Output.say("Nobody is signed in to an app.") }
        Output.say(
            table: [["ID", "USER", "CONTAINER", "ENVIRONMENT", "API TOKEN", "MADE", "LAST USED", "ENDS"] + (all ? ["REVOKED"] : [])]
                + sessions.map { session in
                    [
                        session.id, handles[session.user] ?? session.user.string, session.container.description, session.environment.rawValue,
                        session.apiTokenID ?? "–", Output.moment(session.made), session.lastUsed.map(Output.moment) ?? "never",
                        Output.moment(session.expires),
                    ] + (all ? [session.revoked.map(Output.moment) ?? "–"] : [])
                })
    }
}
