import Accounts
import ArgumentParser
import JSON
import Records

struct KeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the registered server-to-server keys.",
        discussion: """
            Times are in UTC.

            Example:
              skylight key list --container iCloud.com.example.Chat
            """)

    @OptionGroup var filter: PlaceFilterOptions

    @Flag(help: "Include revoked ones.")
    var all = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let keys = try await store.withStore(isNew: false) { try await $0.accounts.serverKeys() }
            .filter { filter.includes($0.container, $0.environment) && (all || $0.isLive) }
        if store.json {
            return Output.say { writer in
                writer.name("keys")
                writer.array { writer in for key in keys { writer.value(key) } }
            }
        }
        if keys.isEmpty { return Output.say("No server-to-server key is registered.") }
        Output.say(
            table: [["KEY ID", "NAME", "CONTAINER", "ENVIRONMENT", "REGISTERED", "LAST USED"] + (all ? ["REVOKED"] : [])]
                + keys.map { key in
                    [
                        key.keyID, key.name, key.container.description, key.environment.rawValue, Output.moment(key.made),
                        key.lastUsed.map(Output.moment) ?? "never",
                    ] + (all ? [key.revoked.map(Output.moment) ?? "–"] : [])
                })
    }
}
