import Accounts
import ArgumentParser
import JSON
import Records

struct DisconnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect", abstract: "Forget the connection to a container in iCloud, with its credentials.",
        discussion: """
            Nothing changes in iCloud. A key or API token that nobody else uses can be revoked in CloudKit's console.

            Example:
              skylight disconnect iCloud.com.example.App
            """)

    @Argument(help: "The container, such as iCloud.com.example.App.", transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "Only this environment. (default: both)")
    var environment: Environment?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let forgotten = try await store.withStore(isNew: false) { store in
            let found = try await store.accounts.connections().filter { $0.container == container && environment ?? $0.environment == $0.environment }
            if found.isEmpty { throw CommandFailure(.failed, "\(container) is not connected", code: "NOT_FOUND", remedy: "skylight connections lists those that are") }
            for connection in found { _ = try await store.accounts.disconnect(connection.container, connection.environment) }
            return found
        }
        if store.json {
            return Output.say { writer in
                writer.name("connections")
                writer.array { writer in for connection in forgotten { writer.value(connection) } }
            }
        }
        for connection in forgotten { Output.say("\(connection.place) is no longer connected. Its credentials are forgotten.") }
    }
}
