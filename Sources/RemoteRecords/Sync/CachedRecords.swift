internal import Foundation
internal import GRDB
internal import Records

/// Access to the tables of a cache within a transaction.
struct CachedRecords {
    private let database: GRDB.Database

    init(_ database: GRDB.Database) {
        self.database = database
    }

    static func make(in database: GRDB.Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS state (id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL) STRICT;
                CREATE TABLE IF NOT EXISTS record (
                    zone TEXT NOT NULL,
                    owner TEXT NOT NULL,
                    name TEXT NOT NULL,
                    type TEXT NOT NULL,
                    json TEXT NOT NULL,
                    refusal TEXT,
                    isMarked INTEGER NOT NULL DEFAULT 0,
                    isDeleted INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (zone, owner, name)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE IF NOT EXISTS pending (
                    zone TEXT NOT NULL,
                    owner TEXT NOT NULL,
                    name TEXT NOT NULL,
                    number INTEGER NOT NULL,
                    isDeletion INTEGER NOT NULL,
                    mayBeMade INTEGER NOT NULL,
                    PRIMARY KEY (zone, owner, name)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX IF NOT EXISTS recordByType ON record (zone, owner, type, name);
                CREATE TABLE IF NOT EXISTS asideState (user TEXT NOT NULL PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
                CREATE TABLE IF NOT EXISTS asideRecord (
                    user TEXT NOT NULL,
                    zone TEXT NOT NULL,
                    owner TEXT NOT NULL,
                    name TEXT NOT NULL,
                    type TEXT NOT NULL,
                    json TEXT NOT NULL,
                    refusal TEXT,
                    isDeleted INTEGER NOT NULL,
                    PRIMARY KEY (user, zone, owner, name)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    // MARK: State

    /// The stored state of the engine; a new state if there is none.
    func state() throws -> SyncState {
        var state =
            try Data.fetchOne(database, sql: "SELECT bytes FROM state").map { try SyncState(Array($0)) } ?? SyncState()
        let pending = try Row.fetchAll(database, sql: "SELECT * FROM pending ORDER BY number").map { row in
            let recordID = Self.recordID(row)
            let change: PendingRecordZoneChange = row["isDeletion"] ? .deleteRecord(recordID) : .saveRecord(recordID)
            return PendingChanges.Entry(number: row["number"], change: change, mayBeMade: row["mayBeMade"])
        }
        state.pending = PendingChanges(pending, tracksChanges: true)
        return state
    }

    func keep(_ position: [UInt8], _ changes: [(recordID: RecordID, entry: PendingChanges.Entry?)]) throws {
        try database.execute(
            sql: "INSERT INTO state VALUES (1, ?1) ON CONFLICT DO UPDATE SET bytes = ?1", arguments: [Data(position)])
        for (recordID, entry) in changes {
            guard let entry else {
                try database.execute(
                    sql: "DELETE FROM pending WHERE zone = ? AND owner = ? AND name = ?", arguments: Self.key(recordID))
                continue
            }
            let isDeletion = if case .deleteRecord = entry.change { true } else { false }
            try database.execute(
                sql: "INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?, ?, ?)",
                arguments: Self.key(recordID) + [entry.number, isDeletion, entry.mayBeMade])
        }
    }

    // MARK: Changes that are set aside

    /// Removes all records, and keeps those of unsent and refused changes for the time when their user is back.
    /// - Parameter state: the engine's state with the unsent changes of the user.
    func setAside(_ state: SyncState, of user: Name) throws {
        let columns = "zone, owner, name, type, json, refusal, isDeleted"
        let insert = "INSERT OR REPLACE INTO asideRecord (user, \(columns)) SELECT ?, \(columns) FROM record WHERE"
        try database.execute(sql: "\(insert) refusal IS NOT NULL", arguments: [user.string])
        let hasRefusals = database.changesCount > 0
        let unsent = state.unsentChanges
        for change in unsent.pending.toKeep.map(\.change) {
            try database.execute(
                sql: "\(insert) zone = ? AND owner = ? AND name = ?",
                arguments: [user.string] + Self.key(change.recordID))
        }
        if hasRefusals || !unsent.isEmpty {
            try database.execute(
                sql: "INSERT OR REPLACE INTO asideState VALUES (?, ?)", arguments: [user.string, Data(unsent.bytes)])
        }
        try removeAll()
    }

    /// Brings back the records of a user that were set aside.
    /// - Returns: the unsent changes; `nil` if there are none.
    func takeBack(of user: Name) throws -> SyncState? {
        guard let state = try changesSetAside()[user] else { return nil }
        for row in try Row.fetchAll(
            database, sql: "SELECT * FROM asideRecord WHERE user = ?", arguments: [user.string])
        {
            // The record was changed while nobody was signed in.
            if let mine = try record(Self.recordID(row)) {
                if row["isDeleted"] == false { try set(mine.adding(changesOf: Self.record(row["json"]))) }
                continue
            }
            try database.execute(
                sql: """
                    INSERT OR IGNORE INTO record (zone, owner, name, type, json, refusal, isDeleted)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    row["zone"], row["owner"], row["name"], row["type"], row["json"], row["refusal"], row["isDeleted"],
                ])
        }
        try discardChangesSetAside(of: user)
        return state
    }

    /// The unsent changes that are set aside, by user.
    func changesSetAside() throws -> [Name: SyncState] {
        try Row.fetchAll(database, sql: "SELECT user, bytes FROM asideState").reduce(into: [:]) { states, row in
            states[Name(row["user"] as String)] = try SyncState(Array(row["bytes"] as Data))
        }
    }

    func discardChangesSetAside(of user: Name) throws {
        for table in ["asideRecord", "asideState"] {
            try database.execute(sql: "DELETE FROM \(table) WHERE user = ?", arguments: [user.string])
        }
    }

    // MARK: Records

    func record(_ recordID: RecordID) throws -> Record? {
        try String.fetchOne(
            database, sql: "SELECT json FROM record WHERE zone = ? AND owner = ? AND name = ? AND NOT isDeleted",
            arguments: Self.key(recordID)
        ).map { try Self.record($0) }
    }

    func records(ofType recordType: Name, in zoneID: ZoneID) throws -> [Record] {
        try String.fetchAll(
            database,
            sql: "SELECT json FROM record WHERE zone = ? AND owner = ? AND type = ? AND NOT isDeleted ORDER BY name",
            arguments: Self.key(zoneID) + [recordType.string]
        ).map { try Self.record($0) }
    }

    func count(ofType recordType: Name, in zoneID: ZoneID) throws -> Int {
        try Int.fetchOne(
            database, sql: "SELECT COUNT(*) FROM record WHERE zone = ? AND owner = ? AND type = ? AND NOT isDeleted",
            arguments: Self.key(zoneID) + [recordType.string]) ?? 0
    }

    /// Stores a record, and removes its refusal and its mark.
    /// - Parameter isDeleted: true for a record that was deleted locally and whose deletion is not sent yet.
    func set(_ record: Record, isDeleted: Bool = false) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO record (zone, owner, name, type, json, isDeleted) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: Self.arguments(record) + [isDeleted])
    }

    /// Stores a record if the cache does not have it yet.
    func add(_ record: Record, isMarked: Bool) throws {
        try database.execute(
            sql: "INSERT OR IGNORE INTO record (zone, owner, name, type, json, isMarked) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: Self.arguments(record) + [isMarked])
    }

    private static func arguments(_ record: Record) -> StatementArguments {
        key(record.recordID) + [
            record.recordType.string, String(decoding: JSONWriter.bytes(of: .object(record.json)), as: UTF8.self),
        ]
    }

    /// Hides a record until its deletion is sent.
    func hide(_ recordID: RecordID) throws {
        try database.execute(
            sql: "UPDATE record SET isDeleted = 1 WHERE zone = ? AND owner = ? AND name = ?",
            arguments: Self.key(recordID))
    }

    func removeHidden(_ recordID: RecordID) throws {
        try database.execute(
            sql: "DELETE FROM record WHERE zone = ? AND owner = ? AND name = ? AND isDeleted",
            arguments: Self.key(recordID))
    }

    func remove(_ recordID: RecordID) throws {
        try database.execute(
            sql: "DELETE FROM record WHERE zone = ? AND owner = ? AND name = ?", arguments: Self.key(recordID))
    }

    func removeAll(in zoneID: ZoneID) throws {
        try database.execute(sql: "DELETE FROM record WHERE zone = ? AND owner = ?", arguments: Self.key(zoneID))
    }

    /// Removes the records of a zone that exist on the server.
    func removeSaved(in zoneID: ZoneID) throws {
        try database.execute(
            sql:
                "DELETE FROM record WHERE zone = ? AND owner = ? AND json_extract(json, '$.recordChangeTag') IS NOT NULL",
            arguments: Self.key(zoneID))
    }

    func removeAll() throws {
        try database.execute(sql: "DELETE FROM record")
    }

    // MARK: Refusals and marks

    /// Stores the refusal of a change. If the change was a deletion, the record is visible again.
    func refuse(_ recordID: RecordID, _ reason: String) throws {
        try database.execute(
            sql: "UPDATE record SET refusal = ?, isDeleted = 0 WHERE zone = ? AND owner = ? AND name = ?",
            arguments: [reason] + Self.key(recordID))
    }

    func isRefused(_ recordID: RecordID) throws -> Bool {
        try String.fetchOne(
            database, sql: "SELECT refusal FROM record WHERE zone = ? AND owner = ? AND name = ?",
            arguments: Self.key(recordID)) != nil
    }

    func refusals() throws -> [RecordID: String] {
        var refusals: [RecordID: String] = [:]
        for row in try Row.fetchAll(
            database, sql: "SELECT zone, owner, name, refusal FROM record WHERE refusal IS NOT NULL")
        {
            refusals[Self.recordID(row)] = row["refusal"]
        }
        return refusals
    }

    /// Marks all records of a zone. The mark is removed when the record is fetched again.
    func markAll(in zoneID: ZoneID) throws {
        try database.execute(
            sql: "UPDATE record SET isMarked = 1 WHERE zone = ? AND owner = ?", arguments: Self.key(zoneID))
    }

    func unmark(_ recordID: RecordID) throws {
        try database.execute(
            sql: "UPDATE record SET isMarked = 0 WHERE zone = ? AND owner = ? AND name = ?",
            arguments: Self.key(recordID))
    }

    func marked(in zoneID: ZoneID) throws -> [RecordID] {
        try Row.fetchAll(
            database, sql: "SELECT zone, owner, name FROM record WHERE zone = ? AND owner = ? AND isMarked",
            arguments: Self.key(zoneID)
        )
        .map { Self.recordID($0) }
    }

    private static func key(_ zoneID: ZoneID) -> StatementArguments {
        [zoneID.zoneName.string, zoneID.ownerRecordName?.string ?? ""]
    }
    private static func key(_ recordID: RecordID) -> StatementArguments {
        key(recordID.zoneID) + [recordID.recordName.string]
    }

    private static func recordID(_ row: Row) -> RecordID {
        let owner: String = row["owner"]
        let zoneID = ZoneID(zoneName: Name(row["zone"] as String), ownerRecordName: owner.isEmpty ? nil : Name(owner))
        return RecordID(recordName: Name(row["name"] as String), zoneID: zoneID)
    }

    private static func record(_ json: String) throws -> Record {
        try Record(json: JSONReader.value(of: json).object)
    }
}

extension DatabaseQueue {
    /// The time to wait for another queue to close the file, in seconds.
    private static let patience: TimeInterval = 2

    /// Opens a file exclusively, on a thread that may block. Only the user who runs the program can read a new file,
    /// because it contains download addresses.
    /// - Throws: ``OperationError`` with the path, such as if another queue has the file open.
    static func opened(_ file: URL, _ prepare: @escaping @Sendable (GRDB.Database) throws -> Void) async throws
        -> DatabaseQueue
    {
        let path = file.path(percentEncoded: false)
        var configuration = Configuration()
        configuration.busyMode = .timeout(patience)
        // Two engines would overwrite each other's state.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
        return try await withCheckedThrowingContinuation { [configuration] continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        makeForUser(path)
                        do {
                            let queue = try DatabaseQueue(path: path, configuration: configuration)
                            try queue.write(prepare)
                            return queue
                        } catch let error as DatabaseError {
                            let reason =
                                error.resultCode == .SQLITE_BUSY
                                ? "is open already, perhaps in another process" : "can't be opened: \(error)"
                            throw OperationError(.internalError, "'\(path)' \(reason)")
                        }
                    })
            }
        }
    }
}

/// Creates a file that only the current user can read, if it does not exist.
private func makeForUser(_ path: String) {
    let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY, 0o600)
    if descriptor >= 0 { close(descriptor) }
}
