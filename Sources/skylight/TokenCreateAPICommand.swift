import ArgumentParser
import JSON
import Records

struct TokenCreateAPICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-api", abstract: "Make an API token, which lets an app in: what goes into ckAPIToken.",
        discussion: """
            Prints the token alone, this once; only a hash of it is kept. It is good in one environment of one container.

            With --origin only pages of that site may use it. After a sign-in the browser goes to --callback with ckWebAuthToken in the query; without \
            it the token is handed to the window that opened the sign-in page, or shown to be copied.

            Examples:
              skylight token create-api --container iCloud.com.example.Chat
              skylight token create-api --container iCloud.com.example.Chat \\
                --name "Web app" --origin http://localhost:3000 \\
                --callback http://localhost:3000/signed-in
            """)

    @Option(
        help: ArgumentHelp("The container, such as iCloud.com.example.App.", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "Which of the container's two environments.")
    var environment: Environment = .development

    @Option(help: "A name for people.")
    var name = "API token"

    @Option(help: ArgumentHelp("A site whose pages may use it; may be given several times. (default: any)", valueName: "url"))
    var origin: [String] = []

    @Option(help: ArgumentHelp("Where the browser goes after a sign-in.", valueName: "url"))
    var callback: String?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let made = try await store.withStore(isNew: true) { store in
            try await store.accounts.makeAPIToken(
                named: name, container: container, environment: environment, allowedOrigins: origin, callback: callback)
        }
        if store.json { return Output.say(json: .object(made)) }
        let id = try JSONValue.object(made).object("token").text("id")
        Output.say(made.text("secret"))
        Output.note("This is the API token \(id) of \(container) (\(environment.rawValue)). It is shown this once.")
    }
}
