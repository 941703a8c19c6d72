internal import Foundation
internal import RecordStore
internal import Records
internal import Synchronization

extension SQLDatabase {
    func subscriptions() async throws -> [Subscription] {
        try SubscriptionRules.check(caller)
        return try await store.read { [view] db, _ in
            try SubscriptionRows.all(of: view.userNumber, in: view.address.scope, db)
        }
    }

    func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<
        SubscriptionOperation, RecordError
    >] {
        try SubscriptionRules.check(caller)
        return try await write { db, state, view in
            let (user, scope) = (view.userNumber, view.address.scope)
            var modifier = SubscriptionModifier(
                try SubscriptionRows.all(of: user, in: scope, db), in: view.address, state.catalog.schema)
            return try modifier.apply(operations) { zoneID in
                try view.zoneUnlessDefault(zoneID, db)?.zoneID ?? Self.unusedDefaultZone(view).zoneID
            } write: { operation in
                switch operation {
                case .save(let subscription):
                    let zone = try subscription.zoneID.flatMap { try view.zoneUnlessDefault($0, db)?.number }
                    let owned = OwnedSubscription(
                        user: view.caller.userRecordName, scope: scope, position: state.position,
                        isHeldToRoles: GrantRules.areAsked(of: view.caller, in: view.address),
                        subscription: subscription)
                    try SubscriptionRows.save(owned, of: user, zone: zone, db)
                case .delete(let subscriptionID): try SubscriptionRows.delete(subscriptionID, of: user, in: scope, db)
                }
            }
        }
    }

    func noteFired(_ subscriptions: [OwnedSubscription], at position: Int64) async throws {
        let now = store.clock()
        try await write { db, _, _ in try SubscriptionRows.noteFired(subscriptions, at: position, now: now, db) }
    }
}

// MARK: - Rows

/// Rows of `subscriptions`.
enum SubscriptionRows {
    /// A user's subscriptions in a database, ordered by id.
    static func all(of user: Int64, in scope: DatabaseScope, _ db: SQLConnection) throws -> [Subscription] {
        guard try areKept(db) else { return [] }
        return try Data.fetchAll(
            db, sql: "SELECT content FROM subscriptions WHERE user = ? AND scope = ? AND firedAt IS NULL ORDER BY id",
            [user, scope.rawValue]
        ).map { try decoded(Array($0)) }
    }

    /// True if the table exists. It is missing in a file of an earlier version that can only be read.
    private static func areKept(_ db: SQLConnection) throws -> Bool { try db.driver.hasTable("subscriptions") }

    private static func decoded(_ content: [UInt8]) throws -> Subscription {
        do {
            return try Subscription(RequestObject(content))
        } catch {
            throw DamagedRow(in: "subscriptions", "has a subscription that can't be read")
        }
    }

    /// Saves a subscription. If an equal one exists, it remains unchanged: apps save their subscriptions at each
    /// start, and changes since the first save still fire it.
    /// - Parameters:
    ///   - user: number of the subscriber.
    ///   - zone: number of the zone with which the subscription ends; `nil` for all zones.
    static func save(_ owned: OwnedSubscription, of user: Int64, zone: Int64?, _ db: SQLConnection) throws {
        var writer = JSONWriter(capacity: 512)
        writer.value(owned.subscription)
        let isThere = try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM subscriptions
                    WHERE user = ? AND scope = ? AND id = ? AND content = ? AND isHeldToRoles = ? AND coalesce(zone, -1) = ? AND firedAt IS NULL
                )
                """,
            [
                user, owned.scope.rawValue, owned.subscription.subscriptionID.string, Data(writer.bytes),
                owned.isHeldToRoles ? 1 : 0, zone ?? -1,
            ])
        if isThere ?? false { return }
        try db.run(
            """
            INSERT INTO subscriptions (user, scope, id, zone, position, isHeldToRoles, content) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (user, scope, id) DO UPDATE SET zone = excluded.zone, position = excluded.position, isHeldToRoles = excluded.isHeldToRoles,
            content = excluded.content, firedAt = NULL, firedMoment = NULL
            """,
            [
                user, owned.scope.rawValue, owned.subscription.subscriptionID.string, zone, owned.position,
                owned.isHeldToRoles ? 1 : 0,
                Data(writer.bytes),
            ])
        try noteChange(db)
    }

    static func delete(_ subscriptionID: Name, of user: Int64, in scope: DatabaseScope, _ db: SQLConnection) throws {
        try db.run(
            "DELETE FROM subscriptions WHERE user = ? AND scope = ? AND id = ?",
            [user, scope.rawValue, subscriptionID.string])
        try noteChange(db)
    }

    /// Ends subscriptions that fire once with the change that fired them. Deletes the rows of those that ended before
    /// the oldest valid device token was issued.
    static func noteFired(_ subscriptions: [OwnedSubscription], at position: Int64, now: Timestamp, _ db: SQLConnection)
        throws
    {
        for owned in subscriptions {
            try db.run(
                """
                UPDATE subscriptions SET firedAt = ?, firedMoment = ?
                WHERE user = (SELECT number FROM users WHERE name = ?) AND scope = ? AND id = ? AND position = ? AND firedAt IS NULL
                """,
                [
                    position, now.milliseconds, owned.user.string, owned.scope.rawValue,
                    owned.subscription.subscriptionID.string, owned.position,
                ])
        }
        try db.run(
            "DELETE FROM subscriptions WHERE firedMoment < ?",
            [now.milliseconds - SubscriptionRules.deviceTokenLifetime * 1000])
        try noteChange(db)
    }

    /// Ends the subscriptions to one zone.
    static func end(with zone: Int64, _ db: SQLConnection) throws {
        try db.run("DELETE FROM subscriptions WHERE zone = ?", [zone])
        if db.changesCount > 0 { try noteChange(db) }
    }

    static func endAll(_ db: SQLConnection) throws {
        try db.run("DELETE FROM subscriptions", [])
        try noteChange(db)
    }

    // MARK: All users

    /// Counts changes of the table, so that readers can tell whether their index is current.
    private static func noteChange(_ db: SQLConnection) throws {
        try FactRows.set("subscriptionChanges", to: .integer(try changes(db) + 1), db)
    }

    fileprivate static func changes(_ db: SQLConnection) throws -> Int64 {
        try FactRows.number("subscriptionChanges", db) ?? 0
    }

    /// - Parameter known: subscriptions decoded earlier, by their content, because most of them don't change.
    fileprivate static func all(_ known: [[UInt8]: Subscription], _ db: SQLConnection) throws
        -> LatestSubscriptionIndex.Content
    {
        guard try areKept(db) else { return LatestSubscriptionIndex.Content() }
        return try db.rows(
            """
            SELECT s.content, s.scope, s.position, s.isHeldToRoles, u.name, s.user, coalesce(s.firedAt, -1)
            FROM subscriptions s JOIN users u ON u.number = s.user
            """
        ) { row in
            var all = LatestSubscriptionIndex.Content()
            while try row.next() {
                guard let scope = DatabaseScope(rawValue: try row.value(1, in: "subscriptions")) else {
                    throw DamagedRow(in: "subscriptions", "has an unknown value in its column 'scope'")
                }
                let content = Array(try row.value(0, in: "subscriptions") as Data)
                // A subscription that can't be decoded must not prevent notifications of others.
                guard let subscription = known[content] ?? (try? decoded(content)) else { continue }
                all.known[content] = subscription
                let (user, firedAt): (Int64, Int64) = (
                    try row.value(5, in: "subscriptions"), try row.value(6, in: "subscriptions")
                )
                var owned = OwnedSubscription(
                    user: Name(try row.value(4, in: "users") as String), scope: scope,
                    position: try row.value(2, in: "subscriptions"),
                    isHeldToRoles: try row.value(3, in: "subscriptions"), subscription: subscription)
                if firedAt >= 0 { owned.lastPosition = firedAt }
                all.subscriptions.append(owned)
                if scope == .shared { all.guests.insert(user) } else { all.owners.insert(scope == .public ? 0 : user) }
            }
            return all
        }
    }
}

/// An index of the subscriptions of all users. It is read again only after the subscriptions or the schema have
/// changed.
final class LatestSubscriptionIndex: Sendable {
    fileprivate struct Content {
        var subscriptions: [OwnedSubscription] = []
        /// Decoded subscriptions by their content.
        var known: [[UInt8]: Subscription] = [:]
        /// Numbers of the users with subscriptions in their private databases; 0 for the public database.
        var owners: Set<Int64> = []
        /// Numbers of the users with subscriptions in their shared databases.
        var guests: Set<Int64> = []
    }

    /// The index, and the numbers of the users whose zones it concerns, as JSON arrays.
    struct Reading: Sendable {
        let index: SubscriptionIndex
        let owners: String
        let guests: String
    }

    private struct Version: Hashable {
        let changes: Int64
        let schema: Int64
    }

    private let latest = Mutex<(version: Version, reading: Reading, known: [[UInt8]: Subscription])?>(nil)

    func forget() { latest.withLock { $0 = nil } }

    func reading(_ catalog: SchemaCatalog, _ db: SQLConnection) throws -> Reading {
        let version = Version(changes: try SubscriptionRows.changes(db), schema: catalog.version)
        let former = latest.withLock { $0 }
        if let former, former.version == version { return former.reading }
        let content = try SubscriptionRows.all(former?.known ?? [:], db)
        let reading = Reading(
            index: SubscriptionIndex(content.subscriptions, in: catalog.schema), owners: "\(content.owners.sorted())",
            guests: "\(content.guests.sorted())")
        latest.withLock { $0 = (version, reading, content.known) }
        return reading
    }
}
