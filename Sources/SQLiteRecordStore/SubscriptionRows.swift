internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

/// Rows of `subscriptions`.
enum SubscriptionRows {
    /// A user's subscriptions in a database, ordered by id.
    static func all(of user: Int64, in scope: DatabaseScope, _ db: Database) throws -> [Subscription] {
        try Data.fetchAll(db, cachedSQL: "SELECT content FROM subscriptions WHERE user = ? AND scope = ? ORDER BY id", [user, scope.rawValue]).map(decoded)
    }

    private static func decoded(_ content: Data) throws -> Subscription {
        do {
            return try Subscription(RequestObject(Array(content)))
        } catch {
            throw DamagedRow(in: "subscriptions", "has one that can't be read")
        }
    }

    /// - Parameters:
    ///   - user: number of the subscriber.
    ///   - zone: number of the zone with which it ends.
    static func save(_ standing: StandingSubscription, of user: Int64, zone: Int64?, _ db: Database) throws {
        var writer = JSONWriter(capacity: 512)
        writer.value(standing.subscription)
        try db.run(
            "INSERT OR REPLACE INTO subscriptions (user, scope, id, zone, position, isHeldToRoles, content) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                user, standing.scope.rawValue, standing.subscription.subscriptionID.string, zone, standing.position, standing.isHeldToRoles ? 1 : 0,
                Data(writer.bytes),
            ])
        try noteChange(db)
    }

    static func delete(_ subscriptionID: Name, of user: Int64, in scope: DatabaseScope, _ db: Database) throws {
        try db.run("DELETE FROM subscriptions WHERE user = ? AND scope = ? AND id = ?", [user, scope.rawValue, subscriptionID.string])
        try noteChange(db)
    }

    /// Ends the subscriptions that are about one zone.
    static func end(with zone: Int64, _ db: Database) throws {
        try db.run("DELETE FROM subscriptions WHERE zone = ?", [zone])
        if db.changesCount > 0 { try noteChange(db) }
    }

    static func endAll(_ db: Database) throws {
        try db.run("DELETE FROM subscriptions", [])
        try noteChange(db)
    }

    // MARK: All users

    /// Counts the changes, so that readers know their index is the latest.
    private static func noteChange(_ db: Database) throws {
        try db.run("INSERT INTO facts (name, value) VALUES ('subscriptionChanges', 1) ON CONFLICT DO UPDATE SET value = value + 1", [])
    }

    fileprivate static func changes(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, cachedSQL: "SELECT value FROM facts WHERE name = 'subscriptionChanges'") ?? 0
    }

    fileprivate static func all(_ db: Database) throws -> [StandingSubscription] {
        try db.rows(
            "SELECT s.content, s.scope, s.position, s.isHeldToRoles, u.name FROM subscriptions s JOIN users u ON u.number = s.user"
        ) { row in
            var all: [StandingSubscription] = []
            while try row.next() {
                guard let scope = DatabaseScope(rawValue: try row.value(1, in: "subscriptions")) else {
                    throw DamagedRow(in: "subscriptions", "has a database that there is not")
                }
                all.append(
                    StandingSubscription(
                        user: Name(try row.value(4, in: "users") as String), scope: scope, position: try row.value(2, in: "subscriptions"),
                        isHeldToRoles: try row.value(3, in: "subscriptions"), subscription: try decoded(row.value(0, in: "subscriptions"))))
            }
            return all
        }
    }
}

/// The subscriptions of all users, read again only after a change of them or of the schema.
final class LatestSubscriptionIndex: Sendable {
    private struct Version: Hashable {
        let changes: Int64
        let schema: Int64
    }

    private let latest = Mutex<(version: Version, index: SubscriptionIndex)?>(nil)

    func index(_ catalog: SchemaCatalog, _ db: Database) throws -> SubscriptionIndex {
        let version = Version(changes: try SubscriptionRows.changes(db), schema: catalog.version)
        if let latest = latest.withLock({ $0 }), latest.version == version { return latest.index }
        let index = SubscriptionIndex(try SubscriptionRows.all(db), in: catalog.schema)
        latest.withLock { $0 = (version, index) }
        return index
    }
}
