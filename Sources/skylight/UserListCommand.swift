import Accounts
import ArgumentParser
import JSON
import Records

struct UserListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the users and their origins.",
        discussion: """
            Times are in UTC. A user was created by the server (a command, the console, a request that named the user), or by a sign-in: with an API \
            token, or by a stranger without one.

            Example:
              skylight user list --made-by stranger
            """)

    /// The way in which users were created.
    enum Maker: String, ExpressibleByArgument, CaseIterable {
        case server, stranger
        case apiToken = "api-token"

        init(_ maker: User.Maker) {
            switch maker {
            case .server: self = .server
            case .stranger: self = .stranger
            case .apiToken: self = .apiToken
            }
        }
    }

    @Option(help: "Only users of this origin: server, api-token or stranger. (default: all)")
    var madeBy: Maker?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let users = try await store.withStore(isNew: false) { try await $0.accounts.seenUsers() }
            .filter { madeBy == nil || madeBy == Maker($0.user.maker) }
        if store.json {
            return Output.say { writer in
                writer.name("users")
                writer.array { writer in for (user, lastSeen) in users { writer.value(user, lastSeen: lastSeen) } }
            }
        }
        if users.isEmpty { return Output.say("There are no such users.") }
        Output.say(
            table: [["HANDLE", "NAME", "E-MAIL", "USER RECORD NAME", "MADE BY", "MADE", "LAST SEEN"]]
                + users.map { user, lastSeen in
                    let maker = if case .apiToken(let id) = user.maker { "API token \(id)" } else { Maker(user.maker).rawValue }
                    return [
                        user.handle, user.displayName, user.emailAddress ?? "", user.userRecordName.string, maker, user.made.map(Output.moment) ?? "–",
                        lastSeen.map(Output.moment) ?? "–",
                    ]
                })
    }
}
