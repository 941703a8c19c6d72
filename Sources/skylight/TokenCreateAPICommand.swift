import Accounts
import ArgumentParser
import JSON
import Records

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

    @Option(
        help: ArgumentHelp("The container, such as iCloud.com.example.App.", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The container's environment.")
    var environment: Environment = .development

    @Option(help: "The display name.")
    var name = "API token"

    @Option(help: ArgumentHelp("A site whose pages may use it, or '*' for every site. Can be given several times.", valueName: "url"))
    var origin: [String] = []

    @Option(help: ArgumentHelp("The address to which the browser goes after a sign-in.", valueName: "url"))
    var callback: String?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let (token, secret) = try await store.withStore(isNew: true) { store in
            try await store.accounts.makeAPIToken(
                named: name, container: container, environment: environment, allowedOrigins: origin, callback: callback)
        }
        if store.json {
            return Output.say { writer in
                writer.name("token")
                writer.value(token)
                writer.member("secret", secret)
            }
        }
        Output.say(secret)
        Output.note("This is the API token \(token.id) of \(container) (\(environment.rawValue)). It is shown only once.")
    }
}
