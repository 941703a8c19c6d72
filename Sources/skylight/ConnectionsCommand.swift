import Accounts
import ArgumentParser
import JSON
import Records

struct ConnectionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connections", abstract: "List the connected containers in iCloud.",
        discussion: """
            Times are in UTC. The credentials themselves are not shown.

            Example:
              skylight connections
            """)

    @OptionGroup var filter: PlaceFilterOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let connections = try await store.withStore(isNew: false) { try await $0.accounts.connections() }
            .filter { filter.includes($0.container, $0.environment) }
        if store.json {
            return Output.say { writer in
                writer.name("connections")
                writer.array { writer in for connection in connections { writer.value(connection) } }
            }
        }
        if connections.isEmpty { return Output.say("No container is connected.") }
        Output.say(
            table: [["CONTAINER", "ENVIRONMENT", "CREDENTIALS", "USER", "SERVER", "CHANGES", "CONNECTED"]]
                + connections.map { connection in
                    [
                        connection.container.description, connection.environment.rawValue, connection.credentials.description,
                        connection.userRecordName?.string ?? "–", connection.address ?? "iCloud", connection.isReadOnly ? "read-only" : "allowed",
                        Output.moment(connection.made),
                    ]
                })
    }
}
