import ArgumentParser
import JSON
import Records
import RecordStore

struct SubscriptionsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List a user's subscriptions in a database.",
        discussion: """
            With --json each is written as in the web services.

            Example:
              skylight subscriptions list --container iCloud.com.example.Chat
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database.")
    var scope: DatabaseScope = .private

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let subscriptions = try await store.withStore(isNew: false) { store in
            try await store.existingDatabase(database.address(scope), as: database.user).subscriptions()
        }
        if store.json {
            return Output.say { writer in
                writer.name("subscriptions")
                writer.array { writer in
                    for subscription in subscriptions { writer.value(subscription) }
                }
            }
        }
        if subscriptions.isEmpty { return Output.say("\(database.user) has no subscriptions in the \(scope.rawValue) database.") }
        Output.say(table: [["SUBSCRIPTION", "KIND", "ZONE", "TYPE", "ON", "NOTIFICATION"]] + subscriptions.map(Self.row))
    }

    private static func row(_ subscription: Subscription) -> [String] {
        let (kind, recordType, events): (String, Name?, [Subscription.Event]) =
            switch subscription.subject {
            case .query(let subject): ("query", subject.query.recordType, Subscription.Event.allCases.filter(subject.firesOn.contains))
            case .zone(_, let recordType): ("zone", recordType, [])
            case .database(let recordType): ("database", recordType, [])
            }
        let info = subscription.notificationInfo
        return [
            subscription.subscriptionID.string, kind, subscription.zoneID?.zoneName.string ?? "all", recordType?.string ?? "all",
            events.isEmpty ? "every change" : events.map(\.rawValue).joined(separator: ", "),
            info.map { $0.alertBody ?? $0.alertLocalizationKey ?? "silent" } ?? "none",
        ]
    }
}
