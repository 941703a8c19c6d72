#if PostgreSQL
    internal import Foundation
    internal import Logging
    internal import RecordStore
    internal import Records
    internal import Synchronization

    /// A PostgreSQL database with stores. Each store has its own schema, `store_1` and so on; the table
    /// `skylight.stores` maps the schemas to containers and environments.
    final class PostgreSQLServer: StoreLocation {
        let address: String
        let pool: PostgreSQLPool
        private let logger: Logger
        private let lock: DataFolderLock?
        /// The folders with the asset files.
        private let folders: ContainerFolders?
        /// Results of ``holds(_:)`` with their times. Containers without data are requested often.
        private let seen = Mutex<[StoreKey: (isThere: Bool, at: ContinuousClock.Instant)]>([:])
        private static let sightLasts = Duration.milliseconds(200)

        /// True if this process excludes all others from the database.
        let isAlone: Bool
        /// The process ID of the server process whose connection holds this process's lock.
        private let lockHolder: Int32
        /// A random number that identifies this process.
        let process = Int64.random(in: 1 ... .max)
        let news: PostgreSQLNews

        /// Connects, and creates the table of stores if it is missing. Blocks on the network.
        /// - Parameters:
        ///   - address: a connection string or URI of libpq.
        ///   - folder: the data folder, which several processes may share. It is locked against processes that keep
        ///     records in it.
        ///   - isAlone: `true` to exclude other processes.
        /// - Throws: ``SQLError``.
        init(_ address: String, beside folder: URL? = nil, isAlone: Bool = false, _ logger: Logger) throws {
            lock = try folder.map { folder in
                try FileManager.default.createDurableDirectory(at: folder)
                return try DataFolderLock(folder: folder, isShared: true)
            }
            folders = folder.map { ContainerFolders($0, logger) }
            folders?.sweepDeleted()
            self.address = address
            self.logger = logger
            pool = PostgreSQLPool(address)
            let connection = try pool.connect(nil)
            // Two servers may start at once.
            try connection.execute(
                """
                SELECT pg_advisory_xact_lock(\(PostgreSQLLocks.stores), 0);
                CREATE SCHEMA IF NOT EXISTS skylight;
                CREATE TABLE IF NOT EXISTS skylight.stores (
                    number INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, container TEXT NOT NULL, environment TEXT NOT NULL,
                    UNIQUE (container, environment)
                );
                CREATE TABLE IF NOT EXISTS skylight.secret (value TEXT NOT NULL);
                INSERT INTO skylight.secret SELECT '\(Self.newSecret)' WHERE NOT EXISTS (SELECT 1 FROM skylight.secret)
                """)
            self.isAlone = isAlone
            if isAlone {
                guard try Self.takes("pg_try_advisory_lock", connection) else {
                    throw SQLError(.busy, "locked", "a Skylight serves it; stop it first")
                }
            } else {
                try Self.serve(connection)
            }
            lockHolder = connection.serverProcess
            news = PostgreSQLNews(pool, connection, process: process, isAlone: isAlone, logger)
        }

        func checkLock() throws {
            let holder =
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = \(PostgreSQLLocks.serving) AND objid = 0 AND pid = \(lockHolder)"
            guard try pool.lend(nil, { try $0.row(holder).first }) != "0" else {
                throw SQLError(
                    .busy, "unlocked",
                    "the connection that kept other Skylights out was lost, and they may have saved meanwhile; begin again"
                )
            }
        }

        /// Takes the lock of a process that serves the database. The lock lasts as long as the connection.
        /// - Throws: ``SQLError`` if another process has locked the database exclusively.
        static func serve(_ connection: PostgreSQLConnection) throws {
            guard try takes("pg_try_advisory_lock_shared", connection) else {
                throw SQLError(.busy, "locked", "its containers are being moved")
            }
        }

        /// Tries to take the lock for a second. PostgreSQL finds out some time after a process has ended, and only then
        /// releases its lock.
        private static func takes(_ function: String, _ connection: PostgreSQLConnection) throws -> Bool {
            let end = ContinuousClock.now + .seconds(1)
            while try connection.row("SELECT \(function)(\(PostgreSQLLocks.serving), 0)").first != "t" {
                guard ContinuousClock.now < end else { return false }
                Thread.sleep(forTimeInterval: 0.01)
            }
            return true
        }

        /// A new secret. It is changed when a container is deleted, so that the container's tokens stay invalid if
        /// another one gets its name.
        private static var newSecret: String { TokenSeal.makeKey().map { String($0, radix: 16) }.joined() }

        /// The secret, which is the same for all processes.
        func secret() throws -> [UInt8]? {
            try pool.lend(nil) { try $0.row("SELECT value FROM skylight.secret").first.map { Array($0.utf8) } }
        }

        func listen(_ hear: @escaping @Sendable (StoreKey) -> Void) { news.listen(hear) }

        func close() {
            news.close()
            pool.close()
            lock?.release()
        }

        /// Each store uses sockets: one for writing, and those for reading, which all stores share.
        var handlesPerStore: Int { 4 }

        // MARK: Containers

        func containers() throws -> [ContainerID] {
            try ask { db in
                try Set(Self.strings(db, "SELECT container FROM skylight.stores")).compactMap { ContainerID($0) }
            }
        }

        func rename(_ container: ContainerID, to name: ContainerID) throws {
            var isMoved = false
            defer {
                // The database determines which name is valid.
                if isMoved, (try? containers().contains(container)) == true {
                    try? folders?.rename(name, to: container)
                }
            }
            try ask { db in
                try db.writing {
                    guard try !Self.numbers(of: container, db).isEmpty else { throw RecordError.noContainer(container) }
                    guard try Self.numbers(of: name, db).isEmpty else { throw RecordError.containerExists(name) }
                    try db.run(
                        "UPDATE skylight.stores SET container = convert_from(?, 'UTF8') WHERE container = convert_from(?, 'UTF8')",
                        [name.description, container.description])
                    if let folders, folders.contains(container) {
                        try folders.rename(container, to: name)
                        isMoved = true
                    }
                    return true
                }
            }
            seen.withLock { $0 = [:] }
        }

        func delete(_ container: ContainerID) throws {
            try ask { db in
                try db.writing {
                    let numbers = try Self.numbers(of: container, db)
                    if numbers.isEmpty { throw RecordError.noContainer(container) }
                    try db.run(
                        "DELETE FROM skylight.stores WHERE container = convert_from(?, 'UTF8')", [container.description]
                    )
                    try db.run("UPDATE skylight.secret SET value = '\(Self.newSecret)'")
                    for number in numbers {
                        try db.run("SELECT pg_advisory_xact_lock(\(PostgreSQLLocks.writing), \(number))")
                        // Reads access this table first. With another order, a read and this transaction could
                        // deadlock.
                        try db.run("LOCK TABLE \(Self.schema(number)).facts IN ACCESS EXCLUSIVE MODE")
                        try db.run("DROP SCHEMA \(Self.schema(number)) CASCADE")
                    }
                    return true
                }
            }
            if let folders, folders.contains(container) { try folders.delete(container) }
            seen.withLock { $0 = [:] }
        }

        // MARK: Stores

        func holds(_ key: StoreKey) throws -> Bool {
            if let last = seen.withLock({ $0[key] }), ContinuousClock.now - last.at < Self.sightLasts {
                return last.isThere
            }
            let isThere = try ask { db in try Self.number(of: key, db) != nil }
            seen.withLock { seen in
                if seen.count > 10_000 { seen = [:] }
                seen[key] = (isThere, ContinuousClock.now)
            }
            return isThere
        }

        func extent(of key: StoreKey) -> (bytes: Int64, lastSave: Timestamp)? {
            try? ask { db in
                guard let schema = try Self.number(of: key, db).map(Self.schema) else { return nil }
                let sizes =
                    "SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS BIGINT) FROM pg_class c WHERE c.relnamespace = '\(schema)'::regnamespace AND c.relkind = 'r'"
                let bytes = try Int64.fetchOne(db, sql: sizes) ?? 0
                let moment = try Int64.fetchOne(db, sql: "SELECT max(moment) FROM \(schema).zones") ?? 0
                return (bytes, Timestamp(milliseconds: moment))
            }
        }

        func make(_ key: StoreKey, _ fill: (SQLConnection) throws -> Void) throws -> Bool {
            let layout = try SQLiteLayout.ofNewStore()
            var isThere = false
            try ask { db in
                try db.writing {
                    // Another server may be creating the store at the same time. This statement then waits for it.
                    try db.run(
                        """
                        INSERT INTO skylight.stores (container, environment) VALUES (convert_from(?, 'UTF8'), convert_from(?, 'UTF8')) ON CONFLICT DO NOTHING
                        """, [key.container.description, key.environment.rawValue])
                    guard db.changesCount == 1, let number = try Self.number(of: key, db) else {
                        isThere = true
                        return false
                    }
                    try db.run("CREATE SCHEMA \(Self.schema(number))")
                    try db.run("SET LOCAL search_path TO \(Self.schema(number))")
                    try PostgreSQLTables.bringUpToDate(layout, of: key, db)
                    try fill(db)
                    for statement in PostgreSQLTables.numbering(layout) { try db.run(statement) }
                    try PostgreSQLTables.save(WriterState(StoreFacts(db, journal: nil)), db)
                    return true
                }
            }
            seen.withLock { $0[key] = nil }
            return !isThere
        }

        func open(_ key: StoreKey) throws -> any WritableConnections {
            guard let number = try ask({ db in try Self.number(of: key, db) }) else {
                throw SQLError(.cannotOpen, "no schema", "\(key) has no tables")
            }
            return try PostgreSQLStore(number, of: key, self, logger)
        }

        func openForReading(_ key: StoreKey) throws -> any StoreConnections {
            guard let number = try ask({ db in try Self.number(of: key, db) }) else {
                throw SQLError(.cannotOpen, "no schema", "\(key) has no tables")
            }
            return try PostgreSQLReaders(number, pool)
        }

        func condition() throws -> String? {
            let names = ["server_version", "synchronous_commit", "fsync"]
            let values = try pool.lend(nil) {
                try $0.row("SELECT \(names.map { "current_setting('\($0)')" }.joined(separator: ", "))")
            }
            guard values.count == names.count else { return nil }
            return
                "PostgreSQL \(values[0]), synchronous_commit \(values[1])\(values[2] == "on" ? "" : ", fsync \(values[2])")"
        }

        func looksWritable(_ key: StoreKey) -> Bool {
            (try? ask { db in try Bool.fetchOne(db, sql: "SELECT NOT pg_is_in_recovery()") ?? false }) ?? false
        }

        // MARK: The table of stores

        static func schema(_ number: Int64) -> String { "store_\(number)" }

        /// All stores by number.
        static func keys(_ connection: PostgreSQLConnection) throws -> [Int64: StoreKey] {
            var keys: [Int64: StoreKey] = [:]
            for row in try connection.rows("SELECT number, container, environment FROM skylight.stores")
            where row.count == 3 {
                guard let number = Int64(row[0]), let container = ContainerID(row[1]),
                    let environment = Environment(rawValue: row[2])
                else { continue }
                keys[number] = StoreKey(container: container, environment: environment)
            }
            return keys
        }

        private func ask<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
            try pool.lend(nil) { try body(SQLConnection(PostgreSQLDriver($0))) }
        }

        private static func number(of key: StoreKey, _ db: SQLConnection) throws -> Int64? {
            try Int64.fetchOne(
                db,
                sql:
                    "SELECT number FROM skylight.stores WHERE container = convert_from(?, 'UTF8') AND environment = convert_from(?, 'UTF8')",
                [key.container.description, key.environment.rawValue])
        }

        private static func numbers(of container: ContainerID, _ db: SQLConnection) throws -> [Int64] {
            try Int64.fetchAll(
                db, sql: "SELECT number FROM skylight.stores WHERE container = convert_from(?, 'UTF8') FOR UPDATE",
                [container.description])
        }

        private static func strings(_ db: SQLConnection, _ sql: String) throws -> [String] {
            try String.fetchAll(db, sql: sql)
        }
    }

    // MARK: - Tables of a store

    /// Creates the tables of a store in a PostgreSQL schema.
    ///
    /// Whole numbers are BIGINT. Texts are BYTEA like bytes, because PostgreSQL's texts can't contain NUL, and their
    /// order depends on the server. Values of any type are BYTEA too, in packed form (``PackedValue``).
    enum PostgreSQLTables {
        /// Statements that create what the current schema lacks.
        static func statements(for tables: [TableLayout]) -> [String] { functions + tables.flatMap(statements) + mark }

        /// Statements that advance the sequences beyond the numbers of copied rows.
        static func numbering(_ tables: [TableLayout]) -> [String] {
            tables.filter(\.isNumbered).map { table in
                let (column, name) = (table.primaryKey.joined(), table.name)
                let last = "greatest(max(\(column)), (SELECT last_value FROM \(name)_\(column)_seq))"
                return
                    "SELECT setval('\(name.lowercased())_\(column.lowercased())_seq', \(last)) FROM \(name) HAVING max(\(column)) > 0"
            }
        }

        private static func statements(for table: TableLayout) -> [String] {
            let columns = table.columns.map { column in
                let isNumbered = table.isNumbered && column.name == table.primaryKey.first
                return
                    ([quoted(column.name), column.type == "INTEGER" ? "BIGINT" : "BYTEA"]
                    + (isNumbered ? ["GENERATED BY DEFAULT AS IDENTITY"] : []) + (column.isRequired ? ["NOT NULL"] : [])
                    + (column.standard.map { ["DEFAULT \($0)"] } ?? [])).joined(separator: " ")
            }
            let key = "PRIMARY KEY (\(list(table.primaryKey)))"
            let made = "CREATE TABLE IF NOT EXISTS \(table.name) (\((columns + [key]).joined(separator: ", ")))"
            let added = columns.map { "ALTER TABLE \(table.name) ADD COLUMN IF NOT EXISTS \($0)" }
            let indexes = table.indexes.map { index in
                "CREATE \(index.isUnique ? "UNIQUE " : "")INDEX IF NOT EXISTS \(index.name) ON \(table.name) (\(list(index.columns)))\(index.condition.map { " WHERE \($0)" } ?? "")"
            }
            return [made] + added + indexes
        }

        private static func list(_ columns: [String]) -> String { columns.map(quoted).joined(separator: ", ") }

        /// The name as an identifier. `user` is a keyword of PostgreSQL; the other names need no quotes.
        private static func quoted(_ name: String) -> String { name == "user" ? "\"user\"" : name }

        /// Functions that SQLite provides and PostgreSQL does not.
        private static let functions = [
            // Returns the greater of two numbers.
            "CREATE OR REPLACE FUNCTION max(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT greatest($1, $2)'",
            // Returns the elements of a JSON array of numbers.
            """
            CREATE OR REPLACE FUNCTION json_each(bytea) RETURNS TABLE (value bigint) LANGUAGE sql STABLE PARALLEL SAFE
            AS 'SELECT CAST(element AS bigint) FROM json_array_elements_text(CAST(convert_from($1, ''UTF8'') AS json)) AS element'
            """,
            // Counts the index entries that a query visits. Its low cost makes the planner evaluate it before other
            // conditions exclude rows.
            """
            CREATE OR REPLACE FUNCTION skylight_seen(bytea) RETURNS boolean LANGUAGE plpgsql VOLATILE COST 0.0001
            AS 'BEGIN
                PERFORM set_config(''skylight.seen'', CAST(CAST(current_setting(''skylight.seen'') AS bigint) + 1 AS text), true);
                RETURN true;
            END'
            """,
        ]

        /// A table with one row: the mark and the notes of the last commit, the version and the print of the tables;
        /// and a table with the last mark of each process.
        private static let mark = [
            """
            CREATE TABLE IF NOT EXISTS lastCommit (mark BIGINT NOT NULL, tables BIGINT NOT NULL,
                \(WriterState.columns.map { "\($0) BIGINT NOT NULL DEFAULT 0" }.joined(separator: ", ")))
            """,
            "ALTER TABLE lastCommit ADD COLUMN IF NOT EXISTS version BIGINT NOT NULL DEFAULT 0",
            "INSERT INTO lastCommit (mark, tables) SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM lastCommit)",
            "CREATE TABLE IF NOT EXISTS writers (process BIGINT PRIMARY KEY, mark BIGINT NOT NULL, moment TIMESTAMPTZ NOT NULL)",
        ]

        /// Stores the writer's notes for a new store.
        static func save(_ notes: WriterState, _ db: SQLConnection) throws {
            try db.run(
                "UPDATE lastCommit SET \(WriterState.columns.map { "\($0) = ?" }.joined(separator: ", "))", notes.values
            )
        }

        /// The epoch of positions. It changes with the database's history (a failover or a restored backup), and if
        /// the tables were restored from a backup.
        static func epoch(of connection: PostgreSQLConnection) throws -> UInt32 {
            let table = try connection.row("SELECT CAST('lastCommit' AS regclass)::oid")
            let hash = FNV1a("\(connection.incarnation) \(table)".utf8).value
            return max(1, UInt32(truncatingIfNeeded: hash >> 32 ^ hash))
        }

        private static func print(of tables: [TableLayout]) -> Int64 {
            Int64(bitPattern: FNV1a(statements(for: tables).joined(separator: "\n").utf8).value)
        }

        /// - Throws: `RecordError` INTERNAL_ERROR if a newer version of Skylight has brought the tables up to date.
        static func areUpToDate(_ tables: [TableLayout], of key: StoreKey, _ db: SQLConnection) throws -> Bool {
            guard try db.driver.hasTable("lastCommit") else { return false }
            // The tables of an early version have no such column.
            let sql = "SELECT CAST(coalesce(to_jsonb(lastCommit) ->> 'version', '0') AS BIGINT) FROM lastCommit"
            let stored = try Int64.fetchOne(db, sql: sql) ?? 0
            if stored > StoreMigrations.version { throw StoreProblem.newer(key) }
            return try stored == StoreMigrations.version
                && Int64.fetchOne(db, sql: "SELECT tables FROM lastCommit") == print(of: tables)
        }

        /// Creates the tables, or what those of an earlier version lack. Usually there is nothing to do.
        /// - Throws: the error of ``areUpToDate(_:of:_:)``.
        static func bringUpToDate(_ tables: [TableLayout], of key: StoreKey, _ db: SQLConnection) throws {
            if try areUpToDate(tables, of: key, db) { return }
            for statement in statements(for: tables) { try db.run(statement) }
            try db.run("UPDATE lastCommit SET tables = ?, version = ?", [print(of: tables), StoreMigrations.version])
        }
    }
#endif
