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

    @Option(
        help: ArgumentHelp("Only this container. (default: all)", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "Only this environment. (default: both)")
    var environment: Environment?

    @Flag(help: "Also list revoked ones.")
    var all = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let keys = try await store.withStore(isNew: false) { try await $0.accounts.serverKeys() }
            .filter { $0.isOf(container, environment) && (all || $0["revoked"] == nil) }
        if store.json { return Output.say(json: ["keys": .array(keys.map(JSONValue.object))]) }
        if keys.isEmpty { return Output.say("No server-to-server key is registered.") }
        Output.say(
            table: [["KEY ID", "NAME", "CONTAINER", "ENVIRONMENT", "REGISTERED", "LAST USED"] + (all ? ["REVOKED"] : [])]
                + keys.map { key in
                    [
                        key.text("keyID"), key.text("name"), key.text("container"), key.text("environment"), key.moment("made") ?? "–",
                        key.moment("lastUsed") ?? "never",
                    ] + (all ? [key.moment("revoked") ?? "–"] : [])
                })
    }
}
