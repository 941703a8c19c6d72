import ArgumentParser
import Foundation
import JSON
import Records

struct TokenListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List API tokens, or the sessions of web auth tokens.",
        discussion: """
            The tokens themselves are not stored; the list has their IDs. Times are in UTC.

            Examples:
              skylight token list
              skylight token list --web-auth --all \\
                --container iCloud.com.example.Chat
            """)

    @Option(
        help: ArgumentHelp("Only this container. (default: all)", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "Only this environment. (default: both)")
    var environment: Environment?

    @Flag(help: "List the sessions of web auth tokens instead of API tokens.")
    var webAuth = false

    @Flag(help: "Also list revoked and expired ones.")
    var all = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let (listed, handles) = try await store.withStore(isNew: false) { store in
            let all = webAuth ? try await store.accounts.webAuthSessions() : try await store.accounts.apiTokens()
            return (all.filter(isListed), webAuth ? try await store.handles() : [:])
        }
        if store.json {
            return Output.say(json: [Name(webAuth ? "sessions" : "tokens"): .array(listed.map(JSONValue.object))])
        }
        if listed.isEmpty { return Output.say(webAuth ? "Nobody is signed in to an app." : "There are no API tokens.") }
        Output.say(table: webAuth ? sessions(listed, handles) : tokens(listed))
    }

    private func isListed(_ object: JSONObject) -> Bool {
        guard object.isOf(container, environment) else { return false }
        if all { return true }
        if case .integer(let expires)? = object["expires"], expires <= Int64(Date().timeIntervalSince1970 * 1000) { return false }
        return object["revoked"] == nil
    }

    private func tokens(_ tokens: [JSONObject]) -> [[String]] {
        [["ID", "NAME", "CONTAINER", "ENVIRONMENT", "ORIGINS", "MADE", "LAST USED"] + (all ? ["REVOKED"] : [])]
            + tokens.map { token in
                var origins = "any"
                if case .array(let list)? = token["allowedOrigins"], !list.isEmpty {
                    origins = list.map { if case .string(let origin) = $0 { origin } else { "" } }.joined(separator: " ")
                }
                return [
                    token.text("id"), token.text("name"), token.text("container"), token.text("environment"), origins, token.moment("made") ?? "–",
                    token.moment("lastUsed") ?? "never",
                ] + (all ? [token.moment("revoked") ?? "–"] : [])
            }
    }

    private func sessions(_ sessions: [JSONObject], _ handles: [Name: String]) -> [[String]] {
        [["ID", "USER", "CONTAINER", "ENVIRONMENT", "API TOKEN", "MADE", "LAST USED", "ENDS"] + (all ? ["REVOKED"] : [])]
            + sessions.map { session in
                let user = session.text("userRecordName")
                return [
                    session.text("id"), handles[Name(user)] ?? user, session.text("container"), session.text("environment"),
                    session["apiTokenID"] == nil ? "–" : session.text("apiTokenID"), session.moment("made") ?? "–", session.moment("lastUsed") ?? "never",
                    session.moment("expires") ?? "–",
                ] + (all ? [session.moment("revoked") ?? "–"] : [])
            }
    }
}
