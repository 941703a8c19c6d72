internal import Foundation
internal import RecordStore
internal import Records

extension SQLDatabase {
    func mirror(_ batch: MirrorBatch) async throws -> MirrorOutcome {
        try await mirror { try $0.apply(batch) }
    }

    func settle(_ recordID: RecordID, keeping version: ConflictSettlement, of versions: ConflictVersions?) async throws
    {
        try await mirror { try $0.settle(recordID, keeping: version, of: versions) }
    }

    private func mirror<Value: Sendable>(_ body: @escaping @Sendable (MirrorModifier) throws -> Value) async throws
        -> Value
    {
        let now = store.clock()
        return try await write(as: .batch) { [store] db, state, view in
            let transaction = SQLiteMirrorTransaction(
                db, state: state, view: view, tickets: try store.assetTickets, now: now)
            let value = try body(MirrorModifier(transaction, now: now))
            state = try transaction.finish()
            return value
        }
    }

    func mirrorMarks() async throws -> [Name: String] {
        try await store.read { [view] db, _ in try MirrorRows.marks(of: view.ownerNumber, db) }
    }

    func namesMissingInOrigin(in zoneID: ZoneID, recordType: Name?, after: Name?, limit: Int) async throws -> [Name] {
        try await store.read { [view] db, catalog in
            guard let zone = try view.zoneUnlessDefault(zoneID, db) else { return [] }
            let type = try recordType.flatMap { catalog.schema.types[$0] == nil ? nil : try catalog.typeNumber(of: $0) }
            if recordType != nil, type == nil { return [] }
            return try MirrorRows.namesMissingInOrigin(in: zone.number, type: type, after: after, limit: limit, db)
        }
    }

    func unsentEdits(since: Int64?, limit: Int) async throws -> [UnsentEdit] {
        try await store.read { [view] db, catalog in
            try MirrorRows.edits(
                in: try view.zones(db).filter(\.isMirror), since: since ?? 0, limit: limit, catalog, db)
        }
    }
}

/// Stores changes from a mirror's origin inside the writer's transaction.
final class SQLiteMirrorTransaction: SQLTransaction, MirrorTransaction {
    override var takesEdits: Bool { false }

    func makeMirror(_ zone: Int64) throws -> Bool {
        if mirrors.contains(zone) { return true }
        // User records are created by the store itself and are not counted.
        let users = try pending.state.catalog.typeNumber(of: Schema.usersType)
        let isUsed = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM records WHERE zone = ? AND state & 1 = 0 AND type <> ?)",
            [zone, users])
        if isUsed == true { return false }
        try db.run("UPDATE zones SET isMirror = 1 WHERE number = ?", [zone])
        mirrors.insert(zone)
        return true
    }

    func admit(_ guest: Name, toMirror zone: Int64) throws {
        try enter(UserNumbers.enter(guest, db), ZoneParticipant.Permission.readWrite.rawValue, to: zone)
    }

    func mark(_ name: Name, _ value: String?) throws {
        try MirrorRows.mark(name, value, of: view.ownerNumber, db)
    }

    func unsentEdit(of name: Name, in zone: Int64) throws -> UnsentEdit? {
        let recordID = RecordID(recordName: name, zoneID: try zoneID(of: zone))
        guard let edit = try MirrorRows.edit(of: name, in: zone, recordID.zoneID, db) else { return nil }
        return edit.edit(recordID, try row(named: name, in: zone))
    }

    func keep(_ edit: UnsentEdit?, of name: Name, in zone: Int64) throws {
        try MirrorRows.keep(edit, of: name, in: zone, db)
    }

    func addOriginNames(_ names: [Name], in zone: Int64) throws {
        try MirrorRows.addOriginNames(names, in: zone, db)
    }

    func clearOriginNames(in zone: Int64) throws {
        try MirrorRows.clearOriginNames(in: zone, db)
    }
}

// MARK: - Rows

/// Rows of the tables `unsentEdits`, `mirrorMarks` and `sightings`, which only mirrors of other containers use.
enum MirrorRows {
    // MARK: Edits

    /// A row of `unsentEdits`.
    struct Edit {
        let since: Int64
        let base: OriginVersion?
        let sent: OriginVersion?
        let theirs: OriginVersion?

        static let columns = "since, base, sent, theirs"

        /// - Parameter first: index of the edit's first column in the statement.
        init(_ row: SQLRows, from first: Int, of recordID: RecordID) throws {
            since = try row.value(first, in: "unsentEdits")
            func version(_ column: Int) throws -> OriginVersion? {
                guard !row.isNull(first + column) else { return nil }
                return try OriginVersion(stored: try row.value(first + column, in: "unsentEdits"), of: recordID)
            }
            (base, sent, theirs) = (try version(1), try version(2), try version(3))
        }

        func edit(_ recordID: RecordID, _ row: StoredRow?) -> UnsentEdit {
            UnsentEdit(
                recordID: recordID, since: since, position: row?.position ?? since,
                mine: row.flatMap { $0.isDeleted ? nil : $0.record },
                base: base?.record, sent: sent, theirs: theirs)
        }
    }

    static func edit(of name: Name, in zone: Int64, _ zoneID: ZoneID, _ db: SQLConnection) throws -> Edit? {
        try db.rows("SELECT \(Edit.columns) FROM unsentEdits WHERE zone = ? AND name = ?", [zone, name.string]) { row in
            try row.next() ? try Edit(row, from: 0, of: RecordID(recordName: name, zoneID: zoneID)) : nil
        }
    }

    /// Adds a row for the first edit of a record.
    /// - Parameter before: the row of the record before the edit.
    static func begin(
        _ name: Name, replacing before: StoredRow?, isDeletion: Bool, at position: Int64, in zone: Int64,
        _ db: SQLConnection
    ) throws {
        if isDeletion {
            // The origin needs no deletion of a record that was created and deleted here.
            try db.run(
                "DELETE FROM unsentEdits WHERE zone = ? AND name = ? AND base IS NULL AND sent IS NULL AND theirs IS NULL",
                [zone, name.string])
            if db.changesCount > 0 { return }
        }
        let base = before.flatMap { $0.isDeleted ? nil : OriginVersion.saved($0.record) }
        try db.run(
            "INSERT INTO unsentEdits (zone, name, since, base) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [zone, name.string, position, base?.stored])
    }

    static func keep(_ edit: UnsentEdit?, of name: Name, in zone: Int64, _ db: SQLConnection) throws {
        guard let edit else {
            return try db.run("DELETE FROM unsentEdits WHERE zone = ? AND name = ?", [zone, name.string])
        }
        try db.run(
            "UPDATE unsentEdits SET base = ?, sent = ?, theirs = ? WHERE zone = ? AND name = ?",
            [
                edit.base.map { OriginVersion.saved($0).stored }, edit.sent?.stored, edit.theirs?.stored, zone,
                name.string,
            ])
    }

    /// The edits in certain zones, in the order of their first changes.
    static func edits(in zones: [ZoneRow], since: Int64, limit: Int, _ catalog: SchemaCatalog, _ db: SQLConnection)
        throws -> [UnsentEdit]
    {
        let zones = Dictionary(zones.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        var found: [(zone: ZoneRow, name: Name, edit: Edit)] = []
        try db.rows("SELECT zone, name, \(Edit.columns) FROM unsentEdits WHERE since > ? ORDER BY since", [since]) {
            row in
            while found.count < limit, try row.next() {
                guard let zone = zones[try row.value(0, in: "unsentEdits")] else { continue }
                let name = Name(try row.value(1, in: "unsentEdits") as String)
                found.append((zone, name, try Edit(row, from: 2, of: RecordID(recordName: name, zoneID: zone.zoneID))))
            }
        }
        return try found.map { zone, name, edit in
            edit.edit(
                RecordID(recordName: name, zoneID: zone.zoneID),
                try db.row(named: name, in: zone.number, zone.zoneID, catalog))
        }
    }

    // MARK: Marks

    static func marks(of owner: Int64, _ db: SQLConnection) throws -> [Name: String] {
        try db.rows("SELECT name, value FROM mirrorMarks WHERE owner = ?", [owner]) { row in
            var marks: [Name: String] = [:]
            while try row.next() {
                marks[Name(try row.value(0, in: "mirrorMarks") as String)] = try row.value(1, in: "mirrorMarks")
            }
            return marks
        }
    }

    static func mark(_ name: Name, _ value: String?, of owner: Int64, _ db: SQLConnection) throws {
        guard let value else {
            return try db.run("DELETE FROM mirrorMarks WHERE owner = ? AND name = ?", [owner, name.string])
        }
        try db.run(
            "INSERT INTO mirrorMarks (owner, name, value) VALUES (?, ?, ?) ON CONFLICT (owner, name) DO UPDATE SET value = excluded.value",
            [owner, name.string, value])
    }

    // MARK: Names in the origin

    static func addOriginNames(_ names: [Name], in zone: Int64, _ db: SQLConnection) throws {
        for name in names {
            try db.run("INSERT INTO sightings (zone, name) VALUES (?, ?) ON CONFLICT DO NOTHING", [zone, name.string])
        }
    }

    static func clearOriginNames(in zone: Int64, _ db: SQLConnection) throws {
        try db.run("DELETE FROM sightings WHERE zone = ?", [zone])
    }

    /// - Parameter type: number of the record type; `nil` for all types.
    static func namesMissingInOrigin(in zone: Int64, type: Int64?, after: Name?, limit: Int, _ db: SQLConnection) throws
        -> [Name]
    {
        try String.fetchAll(
            db,
            sql: """
                SELECT r.name FROM records r INDEXED BY record_names WHERE r.zone = ?1 AND r.name > ?2 AND r.state & 1 = 0 AND (CAST(?3 AS BIGINT) IS NULL OR r.type = ?3)
                AND NOT EXISTS (SELECT 1 FROM sightings s WHERE s.zone = ?1 AND s.name = r.name)
                AND NOT EXISTS (SELECT 1 FROM unsentEdits u WHERE u.zone = ?1 AND u.name = r.name) ORDER BY r.name LIMIT ?4
                """, [zone, after?.string ?? "", type, limit]
        ).map { Name($0) }
    }

    /// Removes the rows of a deleted zone.
    static func removeAll(of zone: Int64, _ db: SQLConnection) throws {
        for table in ["unsentEdits", "sightings"] { try db.run("DELETE FROM \(table) WHERE zone = ?", [zone]) }
    }
}

/// A version as JSON text: the members of a record, or an empty object for a deletion.
extension OriginVersion {
    fileprivate var stored: Data {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            guard let record else { return }
            writer.member("recordType", record.recordType)
            writer.member("recordChangeTag", record.recordChangeTag)
            for (name, signature) in [("created", record.created), ("modified", record.modified)] as [(Name, Signature)]
            {
                writer.name(name)
                writer.value(signature)
            }
            if let parent = record.parent { writer.member("parent", parent) }
            if let sharing = record.sharing?.storedText {
                writer.name("sharing")
                writer.text(sharing)
            }
            writer.name("fields")
            writer.text(record.fields.bytes)
        }
        return Data(writer.bytes)
    }

    fileprivate init(stored: Data, of recordID: RecordID) throws {
        let damage = DamagedRow(in: "unsentEdits", "has a version that can't be read")
        guard let slices = try? JSONReader.memberSlices(of: Array(stored)[...]) else { throw damage }
        if slices.isEmpty {
            self = .deleted(recordID)
            return
        }
        let members = Dictionary(slices.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        func string(_ name: Name) -> String? {
            if let text = members[name], case .string(let string)? = try? JSONReader.value(of: text) {
                string
            } else {
                nil
            }
        }
        func signature(_ name: Name) -> Signature? {
            guard let text = members[name], case .object(let object)? = try? JSONReader.value(of: text),
                case .integer(let milliseconds)? = object["timestamp"],
                case .string(let user)? = object["userRecordName"],
                case .string(let device)? = object["deviceID"]
            else { return nil }
            return Signature(
                timestamp: Timestamp(milliseconds: milliseconds), userRecordName: Name(user), deviceID: device)
        }
        guard let type = string("recordType"), let tag = string("recordChangeTag"), let created = signature("created"),
            let modified = signature("modified"), let fields = members["fields"]
        else { throw damage }
        self = .saved(
            StoredRecord(
                recordID: recordID, recordType: Name(type), recordChangeTag: tag, created: created, modified: modified,
                parent: string("parent").map { Name($0) }, fields: FieldsText(bytes: Array(fields)),
                sharing: try members["sharing"].map { try RecordSharing.stored(Array($0), hierarchy: nil) }))
    }
}
