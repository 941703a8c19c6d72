import ArgumentParser
import JSON
import Records

struct TokenCreateAPICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-api", abstract: "Create an API token for an app, to send as ckAPIToken.",
        discussion: """
            Prints only the token, and only once; the server stores its hash. It is valid in one environment of one container.

            With --origin, only pages of that site may use it. After a sign-in the browser opens --callback with ckWebAuthToken in the query; without \
            it the window that opened the sign-in page gets the token, or the page shows it.

            Examples:
              skylight token create-api --container iCloud.com.example.Chat
              skylight token create-api --container iCloud.com.example.Chat \\
                --name "Web app" --origin http://localhost:3000 \\
                --callback http://localhost:3000/signed-in
            """)

    @Option(
        help: ArgumentHelp("The container, such as iCloud.com.example.App.", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The environment: development or production.")
    var environment: Environment = .development

    @Option(help: "A descriptive name.")
    var name = "API token"

    @Option(help: ArgumentHelp("A site whose pages may use it. Can be given more than once. (default: any)", valueName: "url"))
    var origin: [String] = []

    @Option(help: ArgumentHelp("The address that the browser opens after a sign-in.", valueName: "url"))
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
        Output.note("This is the API token \(id) of \(container) (\(environment.rawValue)). It is shown only once.")
    }
}
