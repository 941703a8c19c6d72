import ArgumentParser
import Foundation
import RecordStore
import Records

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
            try await store.existingDatabase(database.address(scope), as: database.user).require(.keepSubscriptions)
                .subscriptions()
        }
        store.output.say(
            list: "subscriptions", subscriptions,
            none: "\(database.user) has no subscriptions in the \(scope.rawValue) database.",
            [
                .init("SUBSCRIPTION", \.subscriptionID.string), .init("KIND") { Self.words(for: $0.subject).kind },
                .init("ZONE") { $0.zoneID?.zoneName.string ?? "all" },
                .init("TYPE") { Self.words(for: $0.subject).recordType?.string ?? "all" },
                .init("ON") { Self.words(for: $0.subject).events },
                .init("NOTIFICATION") { subscription in
                    subscription.notificationInfo.map { $0.alertBody ?? $0.alertLocalizationKey ?? "silent" } ?? "none"
                },
            ]
        ) { $0.value($1) }
    }

    private static func words(
        for subject: Subscription.Subject
    ) -> (kind: String, recordType: Name?, events: String) {
        switch subject {
        case .query(let subject):
            let events = Subscription.Event.allCases.filter(subject.firesOn.contains).map(\.rawValue)
            return (
                "query", subject.query.recordType, events.isEmpty ? "every change" : events.joined(separator: ", ")
            )
        case .zone(_, let recordType): return ("zone", recordType, "every change")
        case .database(let recordType): return ("database", recordType, "every change")
        }
    }
}

struct SubscriptionsCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Save a subscription of a user, or replace the one with its id.",
        discussion: """
            Without --on it is about every change: of a zone, or without --zone of the database. With --on it is about records of --type. \
            --from reads a file with a subscription as in the web services, which may have filters and all parts of a notification.

            Examples:
              skylight subscriptions create new --type Message --on create \\
                --alert "A new message" --container iCloud.com.example.Chat
              skylight subscriptions create chats --zone Chats \\
                --container iCloud.com.example.Chat
            """)

    @Argument(help: "The subscription's id.")
    var id: String

    @Option(help: ArgumentHelp("The type of the records. (default: all types)", valueName: "type"))
    var type: String?

    @Option(help: ArgumentHelp("create, update or delete. Repeat it for several. (default: none)", valueName: "event"))
    var on: [Subscription.Event] = []

    @Option(help: ArgumentHelp("The zone. (default: none; all zones)", valueName: "name"))
    var zone: String?

    @Flag(help: "End the subscription with its first notification.")
    var once = false

    @Option(
        help: ArgumentHelp("The text of the notification. (default: none; a silent notification)", valueName: "text"))
    var alert: String?

    @Option(help: ArgumentHelp("Read the subscription from a JSON file.", valueName: "file"))
    var from: String?

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database.")
    var scope: DatabaseScope = .private

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if from != nil, type != nil || !on.isEmpty || zone != nil || once || alert != nil {
            throw ValidationError("--from has the whole subscription: remove the other options.")
        }
        if !on.isEmpty, type == nil { throw ValidationError("--on is for records of a type: add --type.") }
        if once, on.isEmpty { throw ValidationError("--once is for subscriptions to records: add --type and --on.") }
    }

    func run() async throws {
        let subscription = try self.subscription()
        let saved = try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(scope), as: database.user)
            guard
                case .save(let saved)? = try await target.require(.keepSubscriptions).modifySubscriptions([
                    .save(subscription)
                ]).first?.get()
            else {
                throw CommandFailure(
                    .failed, "The store did not say whether the subscription is saved", code: "INTERNAL_ERROR")
            }
            return saved
        }
        store.output.say("\(database.user) now subscribes with \(saved.subscriptionID).") {
            $0.member("subscription") { $0.value(saved) }
        }
    }

    private func subscription() throws -> Subscription {
        if let from {
            let bytes: [UInt8]
            do {
                bytes = [UInt8](try Data(contentsOf: URL(filePath: from)))
            } catch {
                throw CommandFailure(.noInput, "The file \(from) can't be read: \(error.localizedDescription)")
            }
            var subscription = try Subscription(RequestObject(bytes), defaultID: Name(id))
            subscription.subscriptionID = Name(id)
            return subscription
        }
        let zoneID = zone.map { ZoneID(zoneName: Name($0)) }
        let recordType = type.map { Name($0) }
        var info = NotificationInfo()
        info.alertBody = alert
        info.shouldSendContentAvailable = alert == nil
        let subject: Subscription.Subject =
            if let recordType, !on.isEmpty {
                .query(
                    Subscription.RecordSubject(
                        Query(recordType: recordType), firesOn: Set(on), firesOnce: once, zoneID: zoneID))
            } else if let zoneID {
                .zone(zoneID, recordType: recordType)
            } else {
                .database(recordType: recordType)
            }
        return Subscription(Name(id), to: subject, notificationInfo: info)
    }
}

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
            for result in try await target.require(.keepSubscriptions).modifySubscriptions([.delete(Name(id))]) {
                _ = try result.get()
            }
        }
        store.output.say("\(database.user) does not subscribe with \(id) any more.") { $0.member("deleted", id) }
    }
}
