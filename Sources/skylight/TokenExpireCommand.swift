import ArgumentParser
import JSON
import Records
import RecordStore

struct TokenExpireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expire", abstract: "Expire every change token of a container.",
        discussion: """
            All change tokens of the environment stop working, for all databases and users. Stored data stays unchanged. Clients must drop their \
            data and start without a token, as they sometimes must with CloudKit.

            Example:
              skylight token expire --container iCloud.com.example.Chat --yes
            """)

    @Flag(help: "Confirm it. Without this flag the command only says what would happen.")
    var yes = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let place = "\(database.container) (\(database.environment.rawValue))"
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(.private), as: database.user)
            guard yes else {
                throw CommandFailure(
                    .usage, "Every change token of \(place) would stop working, and its clients would have to pull without a token", code: "CONFIRMATION_NEEDED",
                    remedy: "Add --yes to confirm")
            }
            try await target.expireTokens()
        }
        if store.json {
            Output.say { writer in
                writer.member("container", database.container.description)
                writer.member("environment", database.environment.rawValue)
                writer.member("expired", true)
            }
        } else {
            Output.say("Every earlier change token of \(place) has expired.")
        }
    }
}
