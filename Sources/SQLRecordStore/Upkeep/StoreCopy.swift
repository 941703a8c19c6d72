internal import RecordStore
public import Records

/// Copies stores between databases, row by row. Positions, epochs and keys are copied too, so change tokens and
/// receipts stay valid.
struct StoreCopy {
    /// Maximum number of values that one statement inserts. SQLite allows 32,766, PostgreSQL 65,535.
    private static let valuesInStatement = 2_000

    let tables: [TableLayout]

    /// Copies all rows into the empty tables of a store.
    /// - Parameter progress: called after each statement with the number of rows it copied.
    func copy(from source: SQLConnection, to target: SQLConnection, progress: (Int) -> Void) throws {
        for table in tables where try source.driver.hasTable(table.name) {
            let rowsInStatement = max(1, Self.valuesInStatement / table.columns.count)
            var values: [(any Bindable)?] = []
            var count = 0
            func insert() throws {
                if count == 0 { return }
                try target.run(statement(table, rows: count), values)
                progress(count)
                (values, count) = ([], 0)
            }
            try source.rows("SELECT \(table.columns.map(\.name).joined(separator: ", ")) FROM \(table.name)") { rows in
                while try rows.next() {
                    for (index, column) in table.columns.enumerated() {
                        values.append(try Self.value(rows.cells[index], of: column, in: table))
                    }
                    count += 1
                    if count == rowsInStatement { try insert() }
                }
            }
            try insert()
            guard table.isNumbered, let last = try source.driver.lastNumber(in: table) else { continue }
            try target.driver.setLastNumber(in: table, to: last)
        }
    }

    /// The number of records with encrypted fields in the public database.
    func encryptedInPublic(of source: SQLConnection) throws -> Int {
        var count = 0
        try source.rows(
            "SELECT r.fields FROM records AS r JOIN zones AS z ON z.number = r.zone WHERE z.owner = 0 AND z.state = 0 AND r.fields IS NOT NULL"
        ) { rows in
            while try rows.next() {
                guard let bytes = Array<UInt8>(rows.cells[0]) else {
                    throw DamagedRow(in: "records", column: "fields", holding: rows.cells[0].kind)
                }
                if try FieldsText(bytes: bytes).decoded().contains(where: \.isEncrypted) { count += 1 }
            }
        }
        return count
    }

    private func statement(_ table: TableLayout, rows: Int) -> String {
        let row = "(\(table.columns.map { _ in "?" }.joined(separator: ", ")))"
        let columns = table.columns.map(\.name).joined(separator: ", ")
        return
            "INSERT INTO \(table.name) (\(columns)) VALUES \(Array(repeating: row, count: rows).joined(separator: ", "))"
    }

    private static func value(_ cell: SQLCell, of column: TableLayout.Column, in table: TableLayout) throws -> (
        any Bindable
    )? {
        if cell.isNull { return nil }
        let value: (any Bindable)? =
            switch column.type {
            case "INTEGER": Int64(cell)
            case "TEXT": String(cell)
            case "BLOB": Array<UInt8>(cell)
            default: SQLValue(cell)
            }
        guard let value else { throw DamagedRow(in: table.name, column: column.name, holding: cell.kind) }
        return value
    }
}

/// A store that was copied to another database.
public struct CopiedStore: Sendable, Hashable {
    public let container: ContainerID
    public let environment: Records.Environment
    /// Number of rows in all tables.
    public internal(set) var rows = 0
    /// Number of records with encrypted fields in the public database, see ``RecordFinding/encryptedInPublic(_:)``.
    public internal(set) var encryptedInPublic = 0
}

extension SQLRecordEngine {
    /// Copies all stores to another engine that contains none of these containers. Each store is copied as a whole or
    /// not at all.
    /// - Parameter progress: called with a container, its environment, and the number of rows copied so far.
    /// - Throws: `RecordError` BAD_REQUEST if the other engine already contains one of the containers, TRY_AGAIN_LATER
    ///   with the database's message if a database does not answer.
    public func copyAll(
        to other: SQLRecordEngine, progress: @escaping @Sendable (ContainerID, Records.Environment, Int) -> Void
    ) async throws -> [CopiedStore] {
        do {
            return try await copyStores(to: other, progress: progress)
        } catch let error as SQLError {
            // The person who copies stores has specified the addresses, so the message may contain them.
            throw StoreProblem.refusal("The containers can't be copied", after: error, "\(error)")
        }
    }

    private func copyStores(
        to other: SQLRecordEngine, progress: @escaping @Sendable (ContainerID, Records.Environment, Int) -> Void
    ) async throws -> [CopiedStore] {
        try await DiskThreads.run { [home = settings.home, clock = settings.clock, target = other.settings.home] in
            let keys = try home.containers().sorted().flatMap { container in
                Records.Environment.allCases.map { StoreKey(container: container, environment: $0) }
            }
            let found = try keys.filter { try home.holds($0) }
            if let taken = try found.first(where: { try target.holds($0) }) { throw Self.isThere(taken) }
            let copy = StoreCopy(tables: try SQLiteLayout.ofNewStore())
            let homes = [home, target]
            return try found.map { key in
                // Opened for writing, so that tables of earlier versions are brought up to date.
                let source = try home.open(key)
                try StoreFacts.complete(source, journal: nil, at: clock())
                var copied = CopiedStore(container: key.container, environment: key.environment)
                let isMade = try source.read { db in
                    try db.snapshot {
                        try target.make(key) { target in
                            try copy.copy(from: db, to: target) { count in
                                copied.rows += count
                                progress(key.container, key.environment, copied.rows)
                            }
                            copied.encryptedInPublic = try copy.encryptedInPublic(of: db)
                            for home in homes { try home.checkLock() }
                        }
                    }
                }
                try source.close()
                if !isMade { throw Self.isThere(key) }
                return copied
            }
        }
    }

    private static func isThere(_ key: StoreKey) -> RecordError {
        RecordError(
            .badRequest,
            "\(key.container) (\(key.environment.rawValue)) is there already; delete it there, or choose another place")
    }
}
