import ArgumentParser
import JSON
import Records
import RecordStore

struct SubscriptionsDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a subscription of a user.",
        discussion: """
            Example:
              skylight subscriptions delete new --container iCloud.com.example.Chat
            """)

    @Argument(help: "The subscription's id.")
    var id: String

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database.")
    var scope: DatabaseScope = .private

    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(scope), as: database.user)
            for result in try await target.modifySubscriptions([.delete(Name(id))]) { _ = try result.get() }
        }
        if store.json {
            Output.say { $0.member("deleted", id) }
        } else {
            Output.say("\(database.user) does not subscribe with \(id) any more.")
        }
    }
}
