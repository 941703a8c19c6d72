import ArgumentParser
import JSON
import Records

struct TokenCreateWebAuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-web-auth", abstract: "Sign a user in to an app, and print the web auth token, to send as ckWebAuthToken.",
        discussion: """
            Does the same as the sign-in page, for tests and scripts. A new user is created. In a URL, write + / = of the token as %2B \
            %2F %3D. Every response has a newer token in X-Apple-CloudKit-Web-Auth-Token.

            Example:
              skylight token create-web-auth --user ada --keep-signed-in \\
                --container iCloud.com.example.Chat
            """)

    @Option(
        help: ArgumentHelp("The container, such as iCloud.com.example.App.", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The environment: development or production.")
    var environment: Environment = .development

    @Option(help: ArgumentHelp("The user: a handle such as ada, or a user record name.", valueName: "handle"))
    var user: String

    @Option(help: ArgumentHelp("The ID of the API token to send with it. (default: none)", valueName: "id"))
    var apiToken: String?

    @Flag(help: "Create tokens that are valid for two weeks instead of 30 minutes.")
    var keepSignedIn = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let made = try await store.withStore(isNew: true) { store in
            try await store.accounts.signIn(
                user, container: container, environment: environment, apiTokenID: apiToken, keepSignedIn: keepSignedIn)
        }
        if store.json { return Output.say(json: .object(made)) }
        let id = try JSONValue.object(made).object("session").text("id")
        Output.say(made.text("webAuthToken"))
        Output.note("\(user) is signed in to \(container) (\(environment.rawValue)), session \(id).")
    }
}
