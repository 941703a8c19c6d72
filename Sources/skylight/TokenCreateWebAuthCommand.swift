import Accounts
import ArgumentParser
import JSON
import Records

struct TokenCreateWebAuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-web-auth", abstract: "Sign a user in to an app and print the web auth token for ckWebAuthToken.",
        discussion: """
            Does the same as the sign-in page, for tests and scripts. An unknown user is created. In a URL, write + / = of the token as %2B %2F \
            %3D. Each answer of the server carries a newer token in X-Apple-CloudKit-Web-Auth-Token.

            Example:
              skylight token create-web-auth --user ada --keep-signed-in \\
                --container iCloud.com.example.Chat
            """)

    @Option(
        help: ArgumentHelp("The container, such as iCloud.com.example.App.", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The container's environment.")
    var environment: Environment = .development

    @Option(help: ArgumentHelp("The user: a handle such as ada, or a user record name.", valueName: "handle"))
    var user: String

    @Option(help: ArgumentHelp("The ID of the API token that must accompany it. (default: none)", valueName: "id"))
    var apiToken: String?

    @Flag(help: "Make tokens that are valid for two weeks instead of 30 minutes.")
    var keepSignedIn = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let request = SignInRequest(container: container, environment: environment, apiTokenID: apiToken)
        let (session, token) = try await store.withStore(isNew: true) { try await $0.accounts.signIn(user, with: request, keepSignedIn: keepSignedIn) }
        if store.json {
            return Output.say { writer in
                writer.name("session")
                writer.value(session)
                writer.member("webAuthToken", token)
            }
        }
        Output.say(token)
        Output.note("\(user) is signed in to \(container) (\(environment.rawValue)), session \(session.id).")
    }
}
