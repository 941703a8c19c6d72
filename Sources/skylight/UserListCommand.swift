import ArgumentParser
import JSON

struct UserListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the users, and how each came to be.",
        discussion: """
            Times are in UTC. A user was made by the server (a command, the console, a request that named the user), or by a sign-in: with an API token, \
            or by a stranger without one.

            Example:
              skylight user list --made-by stranger
            """)

    /// The way in which users were created.
    enum Maker: String, ExpressibleByArgument, CaseIterable {
        case server, stranger
        case apiToken = "api-token"

        /// The name in the services.
        fileprivate var member: Name { self == .apiToken ? "apiToken" : Name(rawValue) }
    }

    @Option(help: "Only those who came to be so: server, api-token or stranger. (default: all)")
    var madeBy: Maker?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let users = try await store.withStore(isNew: false) { try await $0.accounts.users() }
            .filter { user in madeBy.map { $0.member == Name(user.text("maker")) } ?? true }
        if store.json { return Output.say(json: ["users": .array(users.map(JSONValue.object))]) }
        if users.isEmpty { return Output.say("There is no such user.") }
        Output.say(
            table: [["HANDLE", "NAME", "E-MAIL", "USER RECORD NAME", "MADE BY", "MADE", "LAST SEEN"]]
                + users.map { user in
                    let token = user.text("apiTokenID")
                    return [
                        user.text("handle"), user.text("displayName"), user.text("emailAddress"), user.text("userRecordName"),
                        token.isEmpty ? user.text("maker") : "API token \(token)", user.moment("made") ?? "–", user.moment("lastSeen") ?? "–",
                    ]
                })
    }
}
