internal import Foundation
internal import RecordStore
internal import Records
internal import Synchronization

/// The data that is read from a file when it is opened.
struct StoreFacts: Sendable {
    let tokenKey: [UInt8]
    let assetKey: [UInt8]
    let retiredKeys: [[UInt8]]
    /// As stored in the file. The last one is open.
    let epochs: [Epoch]
    let position: Int64
    var catalog: SchemaCatalog
    let users: [Name: Int64]
    let journal: JournalLimits
    let journalBytes: Int64
    /// Number of rows in `cascades`.
    let cascades: Int
    /// True if a hierarchy was ever shared.
    let hasHierarchies: Bool

    /// Reads the file without changing it.
    /// - Throws: ``DamagedRow`` or ``SQLError``.
    init(_ db: SQLConnection, journal: JournalLimits?) throws {
        position = try Self.position(db)
        epochs = try SQLRow.fetchAll(db, sql: "SELECT number, after, through FROM incarnations ORDER BY id").map {
            row in
            let values = row.values(of: "incarnations")
            return Epoch(number: try values("number"), after: try values("after"), through: try values("through"))
        }
        catalog = try SchemaCatalog(db)
        if catalog.version == 0 { throw DamagedRow(in: "facts", "lacks the version of the schema") }
        var users: [Name: Int64] = [:]
        for row in try SQLRow.fetchAll(db, sql: "SELECT name, number FROM users") {
            let number: Int64 = try row.value("number", in: "users")
            // The number 0 is reserved for the owner of the public database.
            if number <= 0 { throw DamagedRow(in: "users", "has a user with the invalid number \(number)") }
            users[Name(try row.value("name", in: "users") as String)] = number
        }
        self.users = users
        retiredKeys = try SQLRow.fetchAll(db, sql: "SELECT key FROM retiredTokenKeys ORDER BY id DESC").map { row in
            Array(try row.value("key", in: "retiredTokenKeys") as Data)
        }
        tokenKey = try Self.key(named: "tokenKey", db)
        assetKey = try Self.key(named: "assetKey", db)
        self.journal = try journal ?? Self.journalLimits(db)
        journalBytes = try Int64.fetchOne(db, sql: "SELECT sum(journalBytes) FROM zones") ?? 0
        cascades = try CascadeRows.count(db) + HierarchyWalkRows.count(db)
        hasHierarchies = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM hierarchies)") ?? true
    }

    /// The facts of a store that has no file yet.
    init(making keys: NewStoreKeys.Keys, _ catalog: SchemaCatalog, journal: JournalLimits?) {
        (tokenKey, assetKey, retiredKeys) = (keys.tokens, keys.assets, [])
        epochs = StoreOpening(making: keys).epochs
        (position, users, journalBytes, cascades, hasHierarchies) = (0, [:], 0, 0, false)
        (self.catalog, self.journal) = (catalog, journal ?? .standard)
    }

    /// The last assigned position; 0 if the file has no changes.
    static func position(_ db: SQLConnection) throws -> Int64 {
        let row = try SQLRow.fetchOne(
            db, sql: "SELECT (SELECT max(position) FROM zones) AS zones, (SELECT max(position) FROM shares) AS shares")
        let (zones, shares): (Int64?, Int64?) = (
            try row?.value("zones", in: "zones"), try row?.value("shares", in: "shares")
        )
        return max(zones ?? 0, shares ?? 0, try KeyValueRows.lastPosition(db))
    }

    private static func key(named name: String, _ db: SQLConnection) throws -> [UInt8] {
        guard let key = try FactRows.bytes(name, db) else { throw DamagedRow(in: "facts", "has no row '\(name)'") }
        guard key.count == 32 else {
            throw DamagedRow(in: "facts", "has \(key.count) bytes instead of 32 in its row '\(name)'")
        }
        return key
    }

    /// The journal limits, with the number of days stored in the file.
    private static func journalLimits(_ db: SQLConnection) throws -> JournalLimits {
        guard let days = try FactRows.number("journalDays", db) else { return .standard }
        return JournalLimits(days: Int(clamping: days))
    }

    /// Writes the first rows of a new store.
    static func fill(_ db: SQLConnection, _ keys: NewStoreKeys.Keys) throws {
        var catalog = try SchemaCatalog(db)
        _ = try catalog.store(.initial, in: db)
        for (name, bytes) in [("tokenKey", keys.tokens), ("assetKey", keys.assets)] {
            try FactRows.set(name, to: .bytes(bytes), db)
        }
        try FactRows.set(ShareMigration.fact, to: .integer(1), db)
        try db.run("INSERT INTO incarnations (number, after) VALUES (?, 0)", [Int64(keys.epoch)])
    }

    /// Adds rows that files of earlier versions lack, and stores the journal setting. Usually there is nothing to
    /// write.
    static func complete(_ connections: any WritableConnections, journal: JournalLimits?, at now: Timestamp) throws {
        let (names, days, hasFormerShares) = try connections.read { db in
            (
                Set(try String.fetchAll(db, sql: "SELECT name FROM facts")), try FactRows.number("journalDays", db),
                try ShareMigration.isDue(db)
            )
        }
        let missing = ["tokenKey", "assetKey"].filter { !names.contains($0) }
        if missing.isEmpty, !hasFormerShares, journal == nil || journal.map({ Int64($0.days) }) == days { return }
        try connections.write { db in
            try db.writing {
                for name in missing { try FactRows.set(name, to: .bytes(TokenSeal.makeKey()), db) }
                if let journal { try FactRows.set("journalDays", to: .integer(Int64(journal.days)), db) }
                if hasFormerShares { try ShareMigration.bringUpToDate(db, journal: journal, at: now) }
                return true
            }
        }
    }
}

// MARK: - Rows

/// Rows of the table `facts`: single values of a store, by name. The values have no declared type.
enum FactRows {
    static func value(_ name: String, _ db: SQLConnection) throws -> SQLValue? {
        try SQLValue.fetchOne(db, sql: "SELECT value FROM facts WHERE name = ?", [name])
    }

    /// - Returns: `nil` if the fact does not exist.
    /// - Throws: ``DamagedRow`` if its value is not a whole number.
    static func number(_ name: String, _ db: SQLConnection) throws -> Int64? {
        switch try value(name, db) {
        case nil: nil
        case .integer(let number): number
        default: throw DamagedRow(in: "facts", "has a value for '\(name)' that is not a whole number")
        }
    }

    /// - Throws: ``DamagedRow`` if the value is not bytes.
    static func bytes(_ name: String, _ db: SQLConnection) throws -> [UInt8]? {
        switch try value(name, db) {
        case nil: nil
        case .bytes(let bytes): bytes
        default: throw DamagedRow(in: "facts", "has a value for '\(name)' that is not bytes")
        }
    }

    static func set(_ name: String, to value: SQLValue, _ db: SQLConnection) throws {
        try db.run(
            "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [name, value])
    }
}

// MARK: - Epochs

/// One opening of a file, with the epoch of the positions assigned during it.
///
/// The epoch is written with the first save. A file that is only read remains unchanged, and can be read even if the
/// disk is full. A store closed for inactivity keeps its epoch when it is opened again, unless the file was replaced.
struct StoreOpening: Sendable, Equatable {
    /// The epochs in the file. The last one is open.
    private(set) var stored: [Epoch]
    let current: Epoch
    /// True if ``current`` is stored in the file.
    private(set) var isBegun: Bool
    /// The last assigned position.
    private(set) var position: Int64

    /// - Parameter epoch: the epoch shared by all processes; `nil` if each opening has its own.
    init(_ facts: StoreFacts, continuing last: StoreOpening?, epoch: UInt32? = nil) {
        stored = facts.epochs
        position = facts.position
        if let epoch {
            let open = stored.last.flatMap { $0.number == epoch ? $0 : nil }
            (current, isBegun) = (open ?? Epoch(number: epoch, after: facts.position), open != nil)
        } else if let last, last.stored == stored, last.position == position {
            (current, isBegun) = (last.current, last.isBegun)
        } else {
            (current, isBegun) = (Epoch(number: .random(in: 1...UInt32.max), after: facts.position), false)
        }
    }

    /// The opening of a newly created file, which already contains its first epoch.
    init(making keys: NewStoreKeys.Keys) {
        current = Epoch(number: keys.epoch, after: 0)
        (stored, isBegun, position) = ([current], true, 0)
    }

    /// The epochs used to validate tokens.
    var epochs: [Epoch] {
        if isBegun { return stored }
        return ended + [current]
    }

    private var ended: [Epoch] {
        stored.map { epoch in
            var epoch = epoch
            epoch.through = epoch.through ?? current.after
            return epoch
        }
    }

    /// Stores the start of this epoch in the transaction of the first save.
    static func begin(_ current: Epoch, _ db: SQLConnection) throws {
        try db.run("UPDATE incarnations SET through = ? WHERE through IS NULL", [current.after])
        try db.run("INSERT INTO incarnations (number, after) VALUES (?, ?)", [Int64(current.number), current.after])
        // Index work after the last stored place is lost, and is repeated.
        try db.run("UPDATE indexWork SET done = doneThere WHERE phase = \(IndexWork.Phase.building.rawValue)")
    }

    /// Begins the epoch shared by all processes, unless another process has begun it.
    static func begin(_ epoch: UInt32, of connections: any WritableConnections) throws {
        let hasBegun = { (db: SQLConnection) in
            try Int64.fetchOne(db, sql: "SELECT number FROM incarnations WHERE through IS NULL") == Int64(epoch)
        }
        if try connections.read(hasBegun) { return }
        try connections.write { db in
            try db.writing {
                if try hasBegun(db) { return false }
                let position = try connections.notesOfOthers?.position ?? StoreFacts.position(db)
                try begin(Epoch(number: epoch, after: position), db)
                return true
            }
        }
    }

    /// The state of the opening when the store is closed.
    func closed(at position: Int64, isBegun: Bool) -> StoreOpening {
        var closed = self
        closed.position = position
        if isBegun, !self.isBegun { (closed.stored, closed.isBegun) = (ended + [current], true) }
        return closed
    }
}

// MARK: - Keys of new stores

/// Keys for store files that do not exist yet.
///
/// A container can be read before anything is saved in it. Tokens from such a read must stay valid after the first
/// save, so the keys are needed before the file exists. They are derived from a secret of this process, so that
/// containers that are only read need no storage. After a restart such tokens are invalid unless a file was created.
/// Processes that share a database also share the secret, which is stored there.
final class NewStoreKeys: Sendable {
    struct Keys: Sendable {
        let tokens: [UInt8]
        let assets: [UInt8]
        let epoch: UInt32
    }

    private let secret = TokenSeal.makeKey()
    private let home: any StoreLocation
    /// Number of files created for each store. A container that is deleted and created again gets new keys, which
    /// invalidates its old tokens.
    private let made = Mutex<[StoreKey: Int]>([:])

    init(_ home: any StoreLocation) {
        self.home = home
    }

    /// Blocks on the disk or on the network.
    func keys(of key: StoreKey) throws -> Keys {
        let shared = try home.secret()
        let secret = shared ?? secret
        let name = shared == nil ? "\(key) \(made.withLock { $0[key, default: 0] })" : "\(key)"
        let number = TokenSeal.makeKey(from: secret, for: "epoch \(name)").prefix(4).reduce(UInt32(0)) {
            $0 << 8 | UInt32($1)
        }
        return Keys(
            tokens: TokenSeal.makeKey(from: secret, for: "tokens \(name)"),
            assets: TokenSeal.makeKey(from: secret, for: "assets \(name)"),
            epoch: max(1, number))
    }

    /// Call after a file was created, so that the next one gets different keys.
    func use(of key: StoreKey) {
        made.withLock { $0[key, default: 0] += 1 }
    }
}

// MARK: - Numbers of users

/// Numbers of the users in a store.
///
/// A user gets a row with the first save, not by reading. Until then the number is derived from the name, so tokens
/// issued before the first save stay valid.
struct UserNumbers: Sendable {
    private var numbers: [Name: Int64]
    private var taken: Set<Int64>
    /// Users who called since the engine was created but have saved nothing yet, by their future number.
    private(set) var visitors: [Int64: Name]
    /// Maximum number of remembered visitors.
    private static let visitorLimit = 10_000

    init(_ users: [Name: Int64] = [:], visitors: [Int64: Name] = [:]) {
        numbers = users
        taken = Set(users.values)
        self.visitors = visitors
    }

    /// True if the user has a row or is a remembered visitor.
    func knows(_ name: Name) -> Bool { numbers[name] != nil || visitors[number(of: name)] == name }

    /// Remembers a user in memory only.
    mutating func rememberVisitor(_ name: Name) {
        if numbers[name] == nil, visitors.count < Self.visitorLimit { visitors[number(of: name)] = name }
    }

    func knownNumber(of name: Name) -> Int64? { numbers[name] }

    /// The number that the user has or will get. Never 0, which is reserved for the owner of the public database.
    func number(of name: Name) -> Int64 {
        if let number = numbers[name] { return number }
        var number = Self.proposal(for: name)
        while taken.contains(number) { number = Self.following(number) }
        return number
    }

    mutating func note(_ number: Int64, of name: Name) {
        numbers[name] = number
        taken.insert(number)
    }

    /// Adds a row for the user in the transaction of a save, unless one exists.
    /// - Returns: the user's number.
    static func enter(_ name: Name, _ db: SQLConnection) throws -> Int64 {
        if let row = try SQLRow.fetchOne(db, sql: "SELECT number FROM users WHERE name = ?", [name.string]) {
            return try row.value("number", in: "users")
        }
        var number = proposal(for: name)
        while try Bool.fetchOne(db, sql: "SELECT 1 FROM users WHERE number = ?", [number]) != nil {
            number = following(number)
        }
        try db.run("INSERT INTO users (number, name) VALUES (?, ?)", [number, name.string])
        return number
    }

    /// Hashes the name to 32 bits, the size of the number in tokens. If two names have the same hash, the later user
    /// gets the next free number.
    private static func proposal(for name: Name) -> Int64 {
        let hash = FNV1a(name.utf8).value
        return max(1, Int64((hash >> 32 ^ hash) & 0xffff_ffff))
    }

    private static func following(_ number: Int64) -> Int64 { number == 0xffff_ffff ? 1 : number + 1 }
}
