internal import Foundation
internal import RecordStore
internal import Records

/// Rows of `keyValues`.
enum KeyValueRows {
    /// True if the table exists. It is missing in a file of an earlier version that can only be read.
    private static func areKept(_ db: SQLConnection) throws -> Bool { try db.driver.hasTable("keyValues") }

    /// The highest position in the stores of all users; 0 if there is none.
    static func lastPosition(_ db: SQLConnection) throws -> Int64 {
        guard try areKept(db) else { return 0 }
        return max(
            try Int64.fetchOne(db, sql: "SELECT max(position) FROM keyValues") ?? 0,
            try Int64.fetchOne(db, sql: "SELECT max(keyValueFloor) FROM users") ?? 0)
    }

    /// The size of each value of a user.
    static func sizes(of user: Int64, _ db: SQLConnection) throws -> [Name: Int] {
        guard try areKept(db) else { return [:] }
        return try db.rows("SELECT key, size FROM keyValues WHERE owner = ? AND size IS NOT NULL", [user]) { row in
            var sizes: [Name: Int] = [:]
            while try row.next() {
                sizes[Name(try row.value(0, in: "keyValues") as String)] = try row.value(1, in: "keyValues")
            }
            return sizes
        }
    }

    static func feed(of user: Int64, _ db: SQLConnection) throws -> FeedState {
        guard try areKept(db) else { return KeyValueRules.feed(of: user, latest: nil, floor: 0) }
        let latest = try db.rows(
            "SELECT position, moment FROM keyValues WHERE owner = ? ORDER BY position DESC LIMIT 1", [user]
        ) { row in
            try row.next()
                ? (
                    try row.value(0, in: "keyValues") as Int64,
                    Timestamp(milliseconds: try row.value(1, in: "keyValues"))
                ) : nil
        }
        let floor = try Int64.fetchOne(db, sql: "SELECT keyValueFloor FROM users WHERE number = ?", [user])
        return KeyValueRules.feed(of: user, latest: latest, floor: floor ?? 0)
    }

    /// A user's keys that changed after a position, ordered by position.
    static func changes(of user: Int64, after position: Int64, withRemoved: Bool, _ db: SQLConnection) throws
        -> [KeyValueChange]
    {
        guard try areKept(db) else { return [] }
        return try db.rows(
            "SELECT key, moment, position, value FROM keyValues WHERE owner = ? AND position > ? AND (size IS NOT NULL OR ? = 1) ORDER BY position",
            [user, position, withRemoved ? 1 : 0]
        ) { row in
            var changes: [KeyValueChange] = []
            while try row.next() {
                let value: PropertyValue? = row.isNull(3) ? nil : try decoded(row.value(3, in: "keyValues"))
                changes.append(
                    KeyValueChange(
                        Name(try row.value(0, in: "keyValues") as String), value,
                        modified: Timestamp(milliseconds: try row.value(1, in: "keyValues")),
                        position: try row.value(2, in: "keyValues")))
            }
            return changes
        }
    }

    private static func decoded(_ value: Data) throws -> PropertyValue {
        do {
            return try PropertyValue(RequestObject(Array(value)))
        } catch {
            throw DamagedRow(in: "keyValues", "has a value that can't be read")
        }
    }

    /// Stores operations that ``RecordStore/KeyValueModifier`` has admitted.
    static func write(
        _ operations: [KeyValueOperation], of user: Int64, _ state: inout CommitWriter.State, now: Timestamp,
        _ db: SQLConnection
    ) throws {
        for operation in operations {
            var (size, value): (Int?, Data?)
            if case .set(_, let content) = operation {
                var writer = JSONWriter(capacity: content.size + 64)
                writer.value(content)
                (size, value) = (content.size, Data(writer.bytes))
                state.logEstimate += writer.bytes.count
            }
            try db.run(
                """
                INSERT INTO keyValues (owner, key, position, moment, size, value) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (owner, key) DO UPDATE
                SET position = excluded.position, moment = excluded.moment, size = excluded.size, value = excluded.value
                """,
                [user, operation.key.string, try state.nextPosition(), now.milliseconds, size, value])
        }
        let forgotten = try Int64.fetchOne(
            db,
            sql:
                "SELECT position FROM keyValues WHERE owner = ? AND size IS NULL ORDER BY position DESC LIMIT 1 OFFSET ?",
            [user, KeyValueRules.removalsLimit])
        guard let forgotten else { return }
        try db.run("DELETE FROM keyValues WHERE owner = ? AND size IS NULL AND position <= ?", [user, forgotten])
        try db.run("UPDATE users SET keyValueFloor = ? WHERE number = ?", [forgotten, user])
    }

    /// Empties the stores of all users.
    /// - Parameter position: the position of this change. Earlier tokens expire.
    static func removeAll(at position: Int64, _ db: SQLConnection) throws {
        try db.run(
            "UPDATE users SET keyValueFloor = ? WHERE keyValueFloor > 0 OR number IN (SELECT owner FROM keyValues)",
            [position])
        try db.run("DELETE FROM keyValues", [])
    }
}

extension SQLDatabase {
    func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges {
        try KeyValueRules.check(caller, in: address)
        return try await store.read { [user = view.userNumber, store] db, _ in
            let codec = try store.codec
            let feed = try KeyValueRows.feed(of: user, db)
            let position = try token.map { try codec.content(of: $0, for: feed) { _ in false }.position }
            let changes = try KeyValueRows.changes(of: user, after: position ?? 0, withRemoved: position != nil, db)
            return KeyValueChanges(
                changes, syncToken: codec.current(feed),
                usage: KeyValueModifier(try KeyValueRows.sizes(of: user, db)).usage)
        }
    }

    func hasKeyValues(since token: ChangeToken) async throws -> Bool {
        try KeyValueRules.check(caller, in: address)
        return try await store.read { [user = view.userNumber, store] db, _ in
            let codec = try store.codec
            let feed = try KeyValueRows.feed(of: user, db)
            return try codec.content(of: token, for: feed) { _ in false }.position < feed.position
        }
    }

    func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage {
        try KeyValueRules.check(caller, in: address)
        let now = store.clock()
        return try await write { db, state, view in
            var modifier = KeyValueModifier(try KeyValueRows.sizes(of: view.userNumber, db))
            try KeyValueRows.write(try modifier.admit(operations), of: view.userNumber, &state, now: now, db)
            return modifier.usage
        }
    }
}
