import ArgumentParser
import JSON

struct UserListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the users, and how each was created.",
        discussion: """
            Times are in UTC. A user was created by the server (a command, the console, a request of the user), or by a sign-in: with an API token, \
            or without one (stranger).

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

    @Option(help: "Only users created in this way: server, api-token or stranger. (default: all)")
    var madeBy: Maker?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let users = try await store.withStore(isNew: false) { try await $0.accounts.users() }
            .filter { user in madeBy.map { $0.member == Name(user.text("maker")) } ?? true }
        if store.json { return Output.say(json: ["users": .array(users.map(JSONValue.object))]) }
        if users.isEmpty { return Output.say("There are no such users.") }
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
