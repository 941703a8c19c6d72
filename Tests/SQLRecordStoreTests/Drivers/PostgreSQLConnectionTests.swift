#if PostgreSQL
    import Foundation
    import Synchronization
    import TestSupport
    import Testing

    @testable import SQLRecordStore

    /// The address that `Scripts/with-postgresql` gives.
    private let address = ProcessInfo.processInfo.environment["SKYLIGHT_POSTGRESQL"]

    /// The driver for PostgreSQL, with a server.
    @Suite(.enabled(if: address != nil, "SKYLIGHT_POSTGRESQL names no server"))
    final class PostgreSQLConnectionTests {
        /// With letters that must be quoted.
        private let schema = "Test \"\(UUID().uuidString)"
        private let connection: PostgreSQLConnection
        private let db: SQLConnection

        init() throws {
            connection = try PostgreSQLConnection(try #require(address), schema: schema)
            db = SQLConnection(PostgreSQLDriver(connection))
            try connection.execute("CREATE SCHEMA \(Self.quoted(schema))")
        }

        deinit {
            connection.allow()
            try? connection.execute("DROP SCHEMA \(Self.quoted(schema)) CASCADE")
        }

        private static func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }

        private func another() throws -> PostgreSQLConnection {
            try PostgreSQLConnection(try #require(address), schema: schema)
        }

        /// A table of rows 1, 2, 3 and so on, with their numbers as names.
        private func makeTable(rows: Int, bytes: Int = 10) throws {
            try connection.execute(
                """
                CREATE TABLE items (id BIGINT PRIMARY KEY, name BYTEA, fields BYTEA);
                INSERT INTO items SELECT n, convert_to(CAST(n AS TEXT), 'UTF8'), convert_to(repeat('x', \(bytes)), 'UTF8') FROM generate_series(1, \(rows)) n
                """)
        }

        private static let ids = "SELECT id FROM items ORDER BY id"

        private func failure(_ body: () throws -> Void) -> SQLError? {
            do {
                try body()
                return nil
            } catch {
                return error as? SQLError
            }
        }

        // MARK: Turns

        /// A process that is stopped within a transaction, also between statements that are sent together, where no
        /// limit for idle transactions holds.
        @Test func aSilentWriterLosesItsTurn() throws {
            let (holder, number) = (try another(), Int64.random(in: 1_000_000...2_000_000_000))
            try holder.execute("BEGIN; SELECT pg_advisory_xact_lock(\(PostgreSQLLocks.writing), \(number))")
            // Another store is not concerned.
            #expect(try connection.rows(PostgreSQLWriter.endingSilentWriter(of: number + 1, after: 0)).isEmpty)
            #expect(try connection.rows(PostgreSQLWriter.endingSilentWriter(of: number, after: 600)).isEmpty)
            #expect(try connection.rows(PostgreSQLWriter.endingSilentWriter(of: number, after: 0)).count == 1)
            try connection.execute(
                "SELECT pg_advisory_lock(\(PostgreSQLLocks.writing), \(number)); SELECT pg_advisory_unlock(\(PostgreSQLLocks.writing), \(number))"
            )
            #expect(failure { try holder.execute("SELECT 1") }?.cause == .connectionLost)
        }

        // MARK: Values

        @Test func valuesComeBackAsTheyWere() throws {
            try connection.execute("CREATE TABLE kept (id BIGINT PRIMARY KEY, number BIGINT, name BYTEA, value BYTEA)")
            let values: [SQLValue] = [
                .null, .integer(.min), .integer(-1), .integer(.max), .real(-.infinity), .real(-1.5), .real(0),
                .real(.leastNonzeroMagnitude), .real(.infinity),
                .text(""), .text("a\0é"), .bytes([]), .bytes([0, 255]),
            ]
            let numbers: [Int64?] = [nil, .min, -1, 0, .max]
            let names: [String?] = [nil, "", "\0", "é", "'?$1\\x"]
            try db.writing {
                for (id, value) in values.enumerated() {
                    let (number, name) = (numbers[id % numbers.count], names[id % names.count])
                    try db.run(
                        "INSERT INTO kept (id, number, name, value) VALUES (?, ?, ?, ?)", [id, number, name, value])
                    #expect(db.changesCount == 1)
                }
                return true
            }
            try db.rows("SELECT id, number, name, value FROM kept ORDER BY id") { rows in
                for (id, value) in values.enumerated() {
                    try #require(try rows.next())
                    #expect(try rows.value(0, in: "kept") == id)
                    #expect(try rows.value(1, in: "kept") == numbers[id % numbers.count])
                    #expect(try rows.value(2, in: "kept") == names[id % names.count])
                    #expect(try rows.value(2, in: "kept") == names[id % names.count].map { Array($0.utf8) })
                    #expect(try rows.value(3, in: "kept") == value)
                }
                #expect(try !rows.next())
            }
        }

        @Test(
            arguments: [
                ("CAST(-1 AS SMALLINT)", .integer(-1)), ("CAST(-2 AS INTEGER)", .integer(-2)),
                ("CAST(3 AS OID)", .integer(3)), ("true", .integer(1)), ("false", .integer(0)),
                ("CAST(0 AS NUMERIC)", .integer(0)), ("CAST('9223372036854775807' AS NUMERIC)", .integer(.max)),
                ("CAST('-9223372036854775808' AS NUMERIC)", .integer(.min)),
                ("CAST(120000 AS NUMERIC)", .integer(120_000)),
                ("CAST('70000000.00' AS NUMERIC)", .integer(70_000_000)),
                ("CAST(-99999 AS NUMERIC)", .integer(-99_999)), ("CAST(1.5 AS NUMERIC)", .real(1.5)),
                ("CAST('-0.00015' AS NUMERIC)", .real(-0.00015)),
                ("CAST('9223372036854775808' AS NUMERIC)", .real(0x1p63)), ("CAST('1e30' AS NUMERIC)", .real(1e30)),
                ("CAST('-123456.789' AS NUMERIC)", .real(-123_456.789)), ("CAST(1.25 AS REAL)", .real(1.25)),
                ("CAST('-Infinity' AS FLOAT8)", .real(-.infinity)),
            ] as [(String, SQLValue)])
        func wholeNumbersAreIntegersAndOthersAreReal(_ expression: String, _ number: SQLValue) throws {
            try db.rows("SELECT \(expression)") { rows in
                try #require(try rows.next())
                switch number {
                case .integer(let integer): #expect(rows.cells[0].kind == .integer && rows.cells[0].number == integer)
                case .real(let real): #expect(rows.cells[0].kind == .real && rows.cells[0].real == real)
                default: Issue.record("no number")
                }
            }
        }

        /// The server compares bytes where SQLite compares values.
        @Test func packedValuesAreInOrder() throws {
            func random() -> SQLValue {
                switch Int.random(in: 0..<6) {
                case 0: .integer(.random(in: .min ... .max))
                case 1: .integer(.random(in: -3...3))
                case 2:
                    .real(
                        [-.infinity, -.greatestFiniteMagnitude, -0.0, 0, .leastNonzeroMagnitude, .infinity]
                            .randomElement() ?? 0)
                case 3: .real(.random(in: -10...10))
                case 4:
                    .text(
                        String(
                            (0..<Int.random(in: 0..<4)).map { _ in
                                ["\0", "a", "é", "\u{10FFFF}"].randomElement() ?? "b"
                            }.joined()))
                default: .bytes((0..<Int.random(in: 0..<4)).map { _ in .random(in: 0...255) })
                }
            }
            func isLess(_ left: SQLValue, _ right: SQLValue) -> Bool {
                switch (left, right) {
                case (.integer(let left), .integer(let right)): left < right
                case (.real(let left), .real(let right)): left < right
                case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
                case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
                default: rank(left) < rank(right)
                }
            }
            func rank(_ value: SQLValue) -> Int {
                switch value {
                case .null: 0
                case .real(-.infinity): 1
                case .integer: 2
                case .real: 3
                case .text: 4
                case .bytes: 5
                }
            }
            for _ in 0..<20_000 {
                let (left, right) = (random(), random())
                let (first, second) = (
                    try #require(PackedValue.bytes(of: left)), try #require(PackedValue.bytes(of: right))
                )
                #expect(first.lexicographicallyPrecedes(second) == isLess(left, right), "\(left) \(right)")
                #expect((first == second) == (left == right), "\(left) \(right)")
                #expect(first.withUnsafeBytes { PackedValue.value(of: $0) } == left)
            }
            try connection.execute("CREATE TABLE packed (value BYTEA)")
            try db.writing {
                for _ in 0..<300 { try db.run("INSERT INTO packed (value) VALUES (?)", [random()]) }
                return true
            }
            let sorted = try SQLValue.fetchAll(db, sql: "SELECT value FROM packed ORDER BY value")
            #expect(sorted.count == 300)
            #expect(zip(sorted, sorted.dropFirst()).allSatisfy { !isLess($1, $0) })
        }

        // MARK: Texts

        @Test(arguments: [
            (
                "SELECT a FROM t INDEXED BY i WHERE b = ? AND c = '?' AND d = ?",
                "SELECT a FROM t WHERE b = $1 AND c = '?' AND d = $2"
            ),
            ("SELECT a FROM t NOT INDEXED WHERE b = ?1 AND c = ?1", "SELECT a FROM t WHERE b = $1 AND c = $1"),
            ("SELECT ?, ?5, ?", "SELECT $1, $5, $6"),
            (
                "SELECT a FROM t CROSS JOIN u INDEXED BY i ON u.a = t.a CROSS JOIN v",
                "SELECT a FROM t JOIN u ON u.a = t.a CROSS JOIN v"
            ),
            (
                "SELECT a FROM t CROSS JOIN (SELECT 1 FROM b JOIN c ON c.d) x ON x.a",
                "SELECT a FROM t JOIN (SELECT 1 FROM b JOIN c ON c.d) x ON x.a"
            ),
            (
                "SELECT a FROM (SELECT 1 FROM t CROSS JOIN u) x JOIN y ON y.b",
                "SELECT a FROM (SELECT 1 FROM t CROSS JOIN u) x JOIN y ON y.b"
            ),
        ])
        func textsAreInPostgreSQLsWords(_ text: String, _ expected: String) {
            #expect(PostgreSQLText(text).text == expected)
        }

        @Test func queriesWithoutALimitAreKnown() {
            #expect(PostgreSQLText("SELECT a FROM (SELECT 1 LIMIT 3) x").kind == .query)
            #expect(PostgreSQLText("SELECT a FROM t LIMIT ?").kind == .limitedQuery)
            #expect(PostgreSQLText("WITH a AS (SELECT 1) SELECT * FROM a").kind == .query)
            #expect(PostgreSQLText("WITH a AS (DELETE FROM t RETURNING b) SELECT * FROM a").kind == .change)
            #expect(PostgreSQLText("SAVEPOINT attempt").kind == .command)
        }

        @Test func aStatementRunsAgainAfterAReset() throws {
            try makeTable(rows: 5)
            let sql = "SELECT id, name FROM items WHERE id = ? AND (name = ? OR fields = ?)"
            let statement = try db.driver.statement(sql, isCached: true)
            #expect(statement.parameterCount == 3)
            #expect((0..<statement.columnCount).map(statement.columnName) == ["id", "name"])
            try withUnsafeTemporaryAllocation(of: SQLCell.self, capacity: 2) { cells in
                for id in 1...5 {
                    try statement.bind(Int64(id), at: 1)
                    try Array("\(id)".utf8).withUnsafeBytes { name in
                        try statement.bind(text: name, at: 2, isKept: true)
                        #expect(try statement.step(into: cells))
                        #expect(cells[1].string == "\(id)")
                        #expect(try !statement.step(into: cells))
                        #expect(try !statement.step(into: cells))
                    }
                    statement.reset()
                }
                #expect(try !statement.step(into: cells), "all values are NULL")
                statement.reset()
            }
            #expect(connection.text(sql, isCached: true).prepared.count == 1)
        }

        @Test func preparedStatementsAreBounded() throws {
            connection.preparedLimit = 20
            let held = try db.driver.statement("SELECT CAST(? AS BIGINT) + 1", isCached: true)
            #expect(held.columnCount == 1)
            for round in 0..<3 {
                for number in 0..<50 {
                    #expect(
                        try Int64.fetchOne(db, sql: "SELECT \(number) + CAST(? AS BIGINT)", [round])
                            == Int64(number + round))
                }
            }
            try held.bind(Int64(5), at: 1)
            try withUnsafeTemporaryAllocation(of: SQLCell.self, capacity: 1) { cells in
                let hasRow = try held.step(into: cells)
                #expect(hasRow)
                #expect(cells[0].number == 6)
            }
            held.reset()
            let count = try #require(try Int64.fetchOne(db, sql: "SELECT count(*) FROM pg_prepared_statements"))
            #expect(count <= 20)
        }

        /// After the one error that the change of a table causes.
        @Test func changedTablesAndLostStatementsArePreparedAgain() throws {
            try makeTable(rows: 1)
            let sql = "SELECT * FROM items"
            try db.run(sql)
            try connection.execute("ALTER TABLE items ADD COLUMN more BIGINT")
            #expect(failure { try self.db.run(sql) }?.code == "0A000")
            for _ in 0..<2 { try db.rows(sql) { rows in #expect(rows.columns == ["id", "name", "fields", "more"]) } }
            try connection.execute("DEALLOCATE ALL")
            #expect(failure { try self.db.run(sql) }?.code == "26000")
            try db.run(sql)
        }

        /// Prepared statements read the tables of the schema in use, not of that for which they were prepared.
        @Test func aSchemaHasTablesOfItsOwn() throws {
            try makeTable(rows: 2)
            let other = "\(schema) 2"
            try connection.execute(
                "CREATE SCHEMA \(Self.quoted(other)); CREATE TABLE \(Self.quoted(other)).items (id BIGINT)")
            for _ in 0..<8 {
                #expect(try Int64.fetchAll(db, sql: Self.ids) == [1, 2])
                try connection.use(other)
                #expect(try Int64.fetchAll(db, sql: Self.ids) == [])
                try connection.use("missing")
                #expect(failure { try self.db.run(Self.ids) }?.cause == .noTable)
                // A cancellation that comes late changes nothing.
                connection.cancel()
                try connection.use(schema)
                connection.allow()
            }
            try connection.execute("DROP SCHEMA \(Self.quoted(other)) CASCADE")
        }

        // MARK: Rows

        @Test(arguments: [0, 1, 64, 65, 255, 256, 257, 320, 2000]) func queriesOfAnySizeGiveAllRowsOnce(_ count: Int)
            throws
        {
            try makeTable(rows: 2000)
            let texts = [
                "SELECT id FROM items WHERE id <= ? ORDER BY id",
                "SELECT id FROM items WHERE id <= ? ORDER BY id LIMIT 5000",
                "SELECT id, fields FROM items WHERE id <= ? ORDER BY id LIMIT 5000",
            ]
            for sql in texts {
                // The second time it is known whether there are many.
                for _ in 0..<3 {
                    let ids = try db.snapshot { try Int.fetchAll(db, sql: sql, [count]) }
                    #expect(ids == Array(1..<1 + count))
                }
                #expect(try Int.fetchAll(db, sql: sql, [count]).count == count, "outside of a transaction")
            }
        }

        @Test(arguments: ["", "LIMIT 30000"]) func aLargeResultIsNotInMemoryAsAWhole(_ limit: String) throws {
            try makeTable(rows: 20_000, bytes: 20_000)
            let before = try Self.peakMemory()
            try db.snapshot {
                var count = 0
                try db.rows("SELECT id, fields FROM items \(limit)") { rows in
                    while try rows.next() {
                        count += 1
                        #expect(rows.cells[1].octets.count == 20_000)
                    }
                }
                #expect(count == 20_000)
            }
            // The rows are 400 MB. Other tests run at the same time.
            let growth = try Self.peakMemory() - before
            #expect(growth < 200_000)
        }

        /// Records are at most a megabyte, so a few hundred rows may be too many for one answer.
        @Test func aQueryOfFewLargeRowsComesInPartsFromTheSecondTime() throws {
            try makeTable(rows: 100, bytes: 50_000)
            let sql = "SELECT id, fields FROM items ORDER BY id"
            for _ in 0..<3 {
                #expect(try db.snapshot { try Int.fetchAll(db, sql: sql) } == Array(1...100))
                #expect(connection.text(sql, isCached: true).isLarge)
            }
            try connection.execute("DELETE FROM items WHERE id > 5")
            #expect(try db.snapshot { try Int.fetchAll(db, sql: sql) } == Array(1...5))
            #expect(!connection.text(sql, isCached: true).isLarge, "it is asked for its rows at once again")
        }

        /// In KB; 0 where the system does not tell.
        private static func peakMemory() throws -> Int {
            guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
            return status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }.flatMap { Int($0.filter(\.isNumber)) }
                ?? 0
        }

        @Test func statementsCanBeNestedAndStoppedEarly() throws {
            try makeTable(rows: 2000)
            try db.snapshot {
                // The second time, the text is known to have many rows.
                for _ in 0..<2 {
                    try db.rows(Self.ids) { outer in
                        for id: Int64 in 1...700 {
                            try #require(try outer.next())
                            if id % 50 == 0 {
                                try db.rows(Self.ids) { inner in
                                    for id: Int64 in 1...400 {
                                        try #require(try inner.next())
                                        #expect(inner.cells[0].number == id)
                                    }
                                }
                                #expect(
                                    try String.fetchOne(db, sql: "SELECT name FROM items WHERE id = ?", [id]) == "\(id)"
                                )
                            }
                            #expect(outer.cells[0].number == id)
                        }
                    }
                }
                #expect(try Int64.fetchOne(db, sql: "SELECT count(*) FROM pg_cursors WHERE name <> ''") == 0)
            }
        }

        // MARK: Errors

        @Test func anErrorWithinASavepointUndoesOnlyThat() throws {
            try makeTable(rows: 400)
            try db.writing {
                try db.run("INSERT INTO items (id) VALUES (1000)")
                try db.rows(Self.ids) { rows in
                    for _ in 0..<300 { _ = try rows.next() }
                    let error = failure {
                        try self.db.attempt {
                            try self.db.run("INSERT INTO items (id) VALUES (1001)")
                            try self.db.rows(Self.ids) { inner in
                                for _ in 0..<300 { _ = try inner.next() }
                                try self.db.run("INSERT INTO items (id) VALUES (1)")
                            }
                        }
                    }?.code
                    #expect(error == "23505")
                    #expect(db.isInsideTransaction)
                    #expect(try rows.next())
                    #expect(rows.cells[0].number == 301)
                }
                return true
            }
            #expect(try Int64.fetchAll(db, sql: "SELECT id FROM items WHERE id >= 1000") == [1000])
        }

        @Test func aTransactionThatFailedIsNotCommitted() throws {
            try makeTable(rows: 1)
            let error = failure {
                try self.db.writing {
                    #expect(self.failure { try self.db.run("INSERT INTO items (id) VALUES (1)") }?.code == "23505")
                    return true
                }
            }?.code
            #expect(error == "25P02")
            #expect(connection.isReady)
        }

        @Test func causesAreReported() throws {
            try makeTable(rows: 1)
            #expect(failure { try self.db.snapshot { try self.db.run("DELETE FROM items") } }?.cause == .readOnly)
            #expect(failure { try self.db.run("SELECT * FROM missing WHERE a = ?", [1]) }?.cause == .noTable)
            #expect(failure { try self.db.run("SELECT missing FROM items") }?.cause == .noTable)
            #expect(failure { try self.db.run("SELECT now()") }?.cause == .misuse)
            #expect(failure { try self.db.run("SELECT id FROM items WHERE id = ?") }?.cause == .misuse)
            #expect(failure { try self.db.run("SET statement_timeout = 1; SELECT pg_sleep(5)") }?.cause == .busy)
            try connection.execute("RESET statement_timeout")
            #expect(try db.driver.hasTable("items"))
            #expect(try !db.driver.hasTable("missing"))
        }

        @Test func locksAreBusyAndDeadlocksAreConflicts() throws {
            try makeTable(rows: 2)
            let other = try another()
            let process = try #require(try other.row("SELECT pg_backend_pid()").first)
            @Sendable func update(_ id: Int) -> String { "UPDATE items SET name = '' WHERE id = \(id)" }
            try other.execute("BEGIN; SET LOCAL deadlock_timeout = '600s'; \(update(1))")
            #expect(
                failure { try self.connection.execute("BEGIN; SET LOCAL lock_timeout = 10; \(update(1))") }?.cause
                    == .busy)
            try connection.execute("ROLLBACK")
            try connection.execute("BEGIN; SET LOCAL deadlock_timeout = 10; \(update(2))")
            let waiter = Thread { try? other.execute("\(update(2)); COMMIT") }
            waiter.start()
            try eventuallyBlocking {
                try Int64.fetchOne(db, sql: "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = \(process)") != 0
            }
            #expect(failure { try self.connection.execute(update(1)) }?.cause == .conflict)
            try connection.execute("ROLLBACK")
            try eventuallyBlocking { waiter.isFinished }
        }

        @Test func aLostConnectionIsReportedAndMadeAgain() throws {
            try makeTable(rows: 3)
            let other = SQLConnection(PostgreSQLDriver(try another()))
            func end() throws {
                let process = try #require(try Int64.fetchOne(db, sql: "SELECT CAST(pg_backend_pid() AS BIGINT)"))
                try other.run("SELECT pg_terminate_backend(CAST(? AS INTEGER), 60000)", [process])
            }
            let error = failure {
                try self.db.writing {
                    try self.db.run("DELETE FROM items")
                    try end()
                    try self.db.run(Self.ids)
                    return true
                }
            }?.cause
            #expect(error == .connectionLost)
            #expect(connection.isLost)
            #expect(!connection.isReady)
            #expect(failure { try self.db.run("SELECT 1") }?.cause == .connectionLost)
            try connection.reconnect()
            #expect(try Int64.fetchAll(db, sql: Self.ids) == [1, 2, 3])
            #expect(!connection.isLost)
            try end()
            #expect(connection.isLost, "it is noticed without a statement")
            try connection.reconnect()
        }

        @Test(arguments: [
            "postgres://skylight:secret@127.0.0.1:1/none", "postgre://skylight:secret@localhost/none", "secret",
        ])
        func anUnreachableServerIsReported(_ address: String) {
            do {
                _ = try PostgreSQLConnection(address)
                Issue.record("There is a connection")
            } catch let error as SQLError {
                // An address that can be one may answer later.
                #expect(error.cause == (address.hasPrefix("postgres:") ? .connectionLost : .cannotOpen))
                #expect(!error.message.contains("secret"))
            } catch {
                Issue.record("\(error)")
            }
        }

        /// Its message names the place, the user and the database.
        @Test func aConnectionThatIsRefusedIsForTheLog() throws {
            let address = try #require(address)
            let error = try #require(throws: SQLError.self) {
                try PostgreSQLConnection("\(address)\(address.contains("?") ? "&" : "?")dbname=missing")
            }
            #expect(error.cause == .cannotOpen && error.code == "3D000")
            #expect(error.isForLog && error.message.contains("missing") && !error.reason.contains("missing"))
        }

        /// One that is silent takes the time limit, which also holds for the host that answers, and only once.
        @Test func anotherHostIsTriedAfterOneThatDoesNotAnswer() throws {
            let silent = try SilentHost()
            defer { withExtendedLifetime(silent) {} }
            let address = try #require(address)
            // Of a socket, or of a port (--tcp).
            let host = address.firstMatch(of: #/[?&]host=([^&]+)/#)?.1 ?? "127.0.0.1"
            let port = address.firstMatch(of: #/@[^/:]+:([0-9]+)/#)?.1 ?? "5432"
            // Later parameters count.
            let several = "host=127.0.0.1,\(host)&port=\(silent.port),\(port)&connect_timeout=5"
            let text = "\(address)\(address.contains("?") ? "&" : "?")\(several)"
            try PostgreSQLConnection(text).execute("SELECT 1")
            #expect(silent.takeConnections() > 0)
            try PostgreSQLConnection(text).execute("SELECT 1")
            #expect(silent.takeConnections() == 0, "the host that answered is tried first")
        }

        // MARK: Watching

        @Test func aStatementIsInterruptedByALimitAndACancellation() throws {
            let clock = ContinuousClock()
            func isCancelled(_ body: () throws -> Void) -> Bool {
                do {
                    try db.snapshot(body)
                    return false
                } catch {
                    return error is CancellationError
                }
            }
            let watcher = try another()
            @Sendable func isRunning(_ statement: String) throws -> Bool {
                let sql =
                    "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%\(statement)%' AND pid <> pg_backend_pid()"
                return try watcher.row(sql) == ["1"]
            }
            let begin = clock.now
            #expect(
                isCancelled {
                    try db.driver.limiting({ (try? isRunning("pg_sleep(600)")) == true }) {
                        try db.run("SELECT pg_sleep(600)")
                    }
                })
            #expect(!connection.isReady, "a late cancellation may end another statement")
            // Between statements as well.
            #expect(isCancelled { try db.driver.limiting({ true }) { while true { try db.run("SELECT 1") } } })
            let connection = connection
            Thread.detachNewThread {
                try? eventuallyBlocking { try isRunning("pg_sleep(601)") }
                connection.cancel()
            }
            #expect(isCancelled { try db.run("SELECT pg_sleep(601)") })
            #expect(clock.now - begin < .seconds(100))
            #expect(isCancelled { try db.run("SELECT 1") })
            connection.allow()
            #expect(try Int64.fetchOne(db, sql: "SELECT 1") == 1)
        }

        @Test func plansAreExplained() throws {
            try makeTable(rows: 1)
            let plan = try db.driver.plan(of: "SELECT id FROM items WHERE id = ?", [1], on: db)
            #expect(plan.contains { $0.contains("items") })
        }

        // MARK: Changes that nobody waits for

        @Test func postedChangesArriveWithTheNextStatementThatHasRows() throws {
            try makeTable(rows: 3)
            connection.pipelines = true
            try db.writing {
                for id in 4...600 { try db.run("INSERT INTO items (id) VALUES (?)", [Int64(id)]) }
                try db.run("UPDATE items SET name = ? WHERE id > ?", ["n", 598])
                #expect(db.changesCount == 2)
                #expect(try Int64.fetchOne(db, sql: "SELECT count(*) FROM items WHERE id <= ?", [600]) == 600)
                try db.run("DELETE FROM items WHERE id = ?", [1])
                return true
            }
            #expect(
                try Int64.fetchOne(SQLConnection(PostgreSQLDriver(try another())), sql: "SELECT count(*) FROM items")
                    == 599)
        }

        @Test func aPostedChangeThatFailsIsNeverTakenForAnother() throws {
            try makeTable(rows: 3)
            connection.pipelines = true
            let db = db
            func insert(_ ids: Int64...) throws {
                try db.attempt {
                    for id in ids { try db.run("INSERT INTO items (id) VALUES (?)", [id]) }
                }
            }
            struct Fall: Error {}
            try db.writing {
                try insert(4, 5)
                // A failure that shows within its savepoint undoes that alone.
                #expect(
                    failure {
                        try db.attempt {
                            try db.run("INSERT INTO items (id) VALUES (?)", [3]);
                            _ = try Int64.fetchAll(db, sql: Self.ids)
                        }
                    }?.code == "23505")
                #expect(throws: Fall.self) {
                    try db.attempt {
                        try db.run("INSERT INTO items (id) VALUES (?)", [3]); throw Fall()
                    }
                }
                try insert(8)
                return true
            }
            #expect(try Int64.fetchAll(db, sql: Self.ids) == [1, 2, 3, 4, 5, 8])
            // One that shows later ends the transaction, whatever the savepoint that it shows in does.
            for other in [{ throw Fall() }, { _ = try Int64.fetchAll(db, sql: Self.ids) }, {}] as [() throws -> Void] {
                let code = failure {
                    try db.writing {
                        try insert(10)
                        try insert(6, 3, 7)
                        do { try db.attempt(other) } catch is Fall {}
                        try insert(11)
                        return true
                    }
                }?.code
                #expect(code == "23505")
                #expect(try Int64.fetchAll(db, sql: Self.ids) == [1, 2, 3, 4, 5, 8])
            }
            // Nothing is committed after a failure outside of savepoints.
            #expect(
                failure {
                    try db.writing {
                        try db.run("INSERT INTO items (id) VALUES (?)", [9]);
                        try db.run("INSERT INTO items (id) VALUES (?)", [3]); return true
                    }
                }?.code == "23505")
            #expect(connection.isReady)
            #expect(try Int64.fetchAll(db, sql: Self.ids) == [1, 2, 3, 4, 5, 8])
        }

        @Test func aCommitSaysThatItsTransactionHadFailed() throws {
            try makeTable(rows: 1)
            connection.pipelines = true
            let connection = connection
            let driver = PostgreSQLDriver(
                connection, commit: { try connection.commit(["UPDATE items SET name = NULL"]) })
            let db = SQLConnection(driver)
            let code = failure {
                try db.writing {
                    _ = try? Int64.fetchOne(db, sql: "SELECT 1 / 0 FROM items")
                    return true
                }
            }?.code
            #expect(code == "25P02")
            #expect(connection.isReady)
        }

        @Test func aConnectionThatIsLostUnderPostedChangesSaysSo() throws {
            try makeTable(rows: 1)
            let process = try #require(try connection.row("SELECT pg_backend_pid()").first)
            connection.pipelines = true
            let db = db
            let lost = failure {
                try db.writing {
                    try db.run("INSERT INTO items (id) VALUES (?)", [2])
                    try another().execute("SELECT pg_terminate_backend(\(process), 60000)")
                    for id in 3...2000 { try db.run("INSERT INTO items (id) VALUES (?)", [Int64(id)]) }
                    return true
                }
            }?.cause
            #expect(lost == .connectionLost)
            #expect(!connection.isReady)
            try connection.reconnect()
            #expect(try Int64.fetchAll(db, sql: Self.ids) == [1])
        }

        @Test func wordsAreWrittenWithOneStatement() throws {
            try connection.execute(
                "CREATE TABLE tokens (field BIGINT, zone BIGINT, token BYTEA, name BYTEA, PRIMARY KEY (field, zone, token, name))"
            )
            try db.writing {
                try db.driver.insertWords([("b", ""), ("a", "n\0"), ("", "c")], of: 1, in: 2, on: db)
                #expect(db.changesCount == 3)
                try db.driver.insertWords([], of: 1, in: 2, on: db)
                #expect(db.changesCount == 0)
                try db.driver.insertWords((0..<20_000).map { ("w\($0)", "r") }, of: 1, in: 2, on: db)
                try db.driver.removeWords((0..<20_000).map { "w\($0)" }, of: 1, "r", in: 2, on: db)
                #expect(db.changesCount == 20_000)
                return true
            }
            #expect(try String.fetchAll(db, sql: "SELECT name FROM tokens ORDER BY token") == ["c", "n\0", ""])
        }

        // MARK: Tables

        /// Twice, as after an update of Skylight that adds none.
        @Test func theTablesOfAStoreAreThoseOfSQLite() throws {
            let tables = try SQLiteLayout.ofNewStore()
            for _ in 0..<2 {
                try db.writing {
                    for statement in PostgreSQLTables.statements(for: tables) { try db.run(statement) }
                    return true
                }
            }
            for table in tables {
                #expect(try db.driver.hasTable(table.name))
                try db.run(
                    "SELECT \(table.columns.map { "t.\"\($0.name.lowercased())\"" }.joined(separator: ", ")) FROM \(table.name) t"
                )
            }
            let indexes = try Int.fetchOne(
                db,
                sql:
                    "SELECT count(*) FROM pg_indexes WHERE schemaname = convert_from(?, 'UTF8') AND indexname NOT LIKE '%_pkey'",
                [schema])
            #expect(indexes == tables.reduce(0) { $0 + $1.indexes.count })
            #expect(try Int64.fetchOne(db, sql: "SELECT max(?, ?)", [3, 5]) == 5)
            #expect(
                try Int64.fetchAll(db, sql: "SELECT value FROM json_each(?)", ["[1, -9223372036854775808]"]) == [
                    1, .min,
                ])
            let zone = "INSERT INTO zones (owner, name, position, moment) VALUES (?, ?, ?, ?) RETURNING number"
            #expect(try Int64.fetchOne(db, sql: zone, [1, "z", 1, 1]) == 1)
        }

        /// All entries that the index gives, also those that a later condition drops.
        @Test func visitedEntriesAreCounted() throws {
            for statement in PostgreSQLTables.statements(for: try SQLiteLayout.ofNewStore()) { try db.run(statement) }
            try db.writing {
                for number: Int64 in 0..<10 {
                    try db.run(
                        "INSERT INTO entries (field, zone, value, name) VALUES (1, 1, ?, ?)",
                        [SQLValue.integer(number), "n\(number)"])
                }
                return true
            }
            let count = Mutex(0)
            let sql =
                "SELECT name FROM entries WHERE field = ? AND zone = ? AND value >= ?\(QueryRecorder.condition(on: "name")) AND name <> ? ORDER BY value LIMIT 3"
            let names = try db.snapshot {
                try db.driver.counting({ count.withLock { $0 += 1 } }) {
                    try String.fetchAll(db, sql: sql, [1, 1, SQLValue.integer(4), "n5"])
                }
            }
            #expect(names == ["n4", "n6", "n7"])
            #expect(count.withLock { $0 } == 4)
        }
    }

    /// Takes connections, and says nothing.
    private final class SilentHost {
        private let descriptor: CInt
        let port: UInt16

        init() throws {
            #if canImport(Darwin)
                descriptor = socket(AF_INET, SOCK_STREAM, 0)
            #else
                descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            #endif
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isListening = withUnsafeMutablePointer(to: &place) { [descriptor] pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(descriptor, address, size) == 0 && listen(descriptor, 8) == 0
                        && getsockname(descriptor, address, &size) == 0
                }
            }
            port = UInt16(bigEndian: place.sin_port)
            try #require(isListening)
            try #require(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
        }

        /// The number of connections since the last call. They are closed.
        func takeConnections() -> Int {
            var count = 0
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                close(connection)
                count += 1
            }
            return count
        }

        deinit { close(descriptor) }
    }
#endif
