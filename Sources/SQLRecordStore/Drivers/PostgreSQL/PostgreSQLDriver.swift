#if PostgreSQL
    /// The driver for PostgreSQL, through libpq.
    ///
    /// Each statement with rows takes a round trip. Statements without rows are sent together with the next one.
    struct PostgreSQLDriver: SQLDriver {
        let connection: PostgreSQLConnection
        private let begin: () throws -> Void
        private let commit: () throws -> Void

        /// - Parameters:
        ///   - begin: begins a write transaction; `nil` for the usual way.
        ///   - commit: commits any transaction; `nil` for the usual way.
        init(_ connection: PostgreSQLConnection, begin: (() throws -> Void)? = nil, commit: (() throws -> Void)? = nil)
        {
            self.connection = connection
            self.begin = begin ?? { try connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED") }
            self.commit = commit ?? { try connection.execute("COMMIT") }
        }

        func statement(_ sql: String, isCached: Bool) throws -> any SQLStatement {
            PostgreSQLStatement(sql, isCached: isCached, on: connection)
        }

        // MARK: Transactions

        func begin(_ transaction: SQLTransactionKind) throws {
            switch transaction {
            case .reading: try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            case .writing: try begin()
            }
        }

        func end(isCommitted: Bool) throws {
            if isCommitted { return try commit() }
            // The server rolls back when the connection is lost.
            if connection.isInsideTransaction { try connection.execute("ROLLBACK") }
        }

        func hasTable(_ name: String) throws -> Bool {
            try Bool.fetchOne(
                SQLConnection(self), sql: "SELECT to_regclass(convert_from(?, 'UTF8')) IS NOT NULL", [name]) ?? false
        }

        func lastNumber(in table: TableLayout) throws -> Int64? {
            try Int64.fetchOne(
                SQLConnection(self), sql: "SELECT last_value FROM \(Self.sequence(of: table)) WHERE is_called")
        }

        func setLastNumber(in table: TableLayout, to number: Int64) throws {
            try SQLConnection(self).run("SELECT setval('\(Self.sequence(of: table))', ?)", [max(1, number)])
        }

        /// PostgreSQL's name for the sequence of a column.
        private static func sequence(of table: TableLayout) -> String {
            "\(table.name)_\(table.primaryKey.joined())_seq".lowercased()
        }

        func newSavepoint() -> String { connection.newSavepoint() }
        var keepsSavepointNames: Bool { false }

        var isInsideTransaction: Bool { connection.isInsideTransaction }
        var changesCount: Int { connection.changesCount }

        // MARK: Limits and counts

        /// `isExceeded` is asked before each statement, and every millisecond while one runs.
        func limiting<Value>(_ isExceeded: @escaping () -> Bool, _ body: () throws -> Value) throws -> Value {
            connection.isExceeded = isExceeded
            defer { connection.isExceeded = nil }
            return try body()
        }

        /// The function in the SQL texts increments a setting of the transaction.
        func counting<Value>(_ count: @escaping @Sendable () -> Void, _ body: () throws -> Value) throws -> Value {
            let db = SQLConnection(self)
            try db.run("SELECT set_config('skylight.seen', '0', true)")
            let value = try body()
            let seen: Int64? = try Int64.fetchOne(db, sql: "SELECT CAST(current_setting('skylight.seen') AS BIGINT)")
            for _ in 0..<(seen ?? 0) { count() }
            return value
        }

        func plan(of sql: String, _ values: [(any Bindable)?], on connection: SQLConnection) throws -> [String] {
            try connection.rows("EXPLAIN (COSTS OFF) \(sql)", values, isCached: false) { rows in
                var plan: [String] = []
                while try rows.next() { plan.append(try rows.value(0, in: "EXPLAIN")) }
                return plan
            }
        }

        func text(ofNumber expression: String) -> String { "convert_to(CAST(\(expression) AS TEXT), 'UTF8')" }
        func length(ofColumn name: String) -> String { "length(\(name))" }

        func list(of texts: [String]) -> (any Bindable)? { PostgreSQLTexts(texts) }

        // MARK: Words of texts

        func insertWords(
            _ words: [(word: String, name: String)], of field: Int64, in zone: Int64, on connection: SQLConnection
        ) throws {
            try connection.run(
                "INSERT INTO tokens (field, zone, token, name) SELECT ?, ?, row.token, row.name FROM unnest(?, ?) AS row (token, name)",
                [field, zone, PostgreSQLTexts(words.map(\.word)), PostgreSQLTexts(words.map(\.name))])
        }

        func removeWords(
            _ words: [String], of field: Int64, _ name: String, in zone: Int64, on connection: SQLConnection
        ) throws {
            try connection.run(
                "DELETE FROM tokens WHERE field = ? AND zone = ? AND token = ANY(?) AND name = ?",
                [field, zone, PostgreSQLTexts(words), name])
        }
    }

    /// A list of texts that is bound as one array value.
    private struct PostgreSQLTexts: Bindable {
        private let bytes: [UInt8]

        /// Encodes an array in binary format: the number of dimensions, whether it contains NULLs, and the element
        /// type; then the length and the lower bound of the dimension; then the texts, each preceded by its length.
        init(_ texts: [String]) {
            var bytes: [UInt8] = []
            func append(_ number: Int) {
                withUnsafeBytes(of: Int32(clamping: number).bigEndian) { bytes.append(contentsOf: $0) }
            }
            for number in [texts.isEmpty ? 0 : 1, 0, Int(PostgreSQLType.bytes.rawValue)]
                + (texts.isEmpty ? [] : [texts.count, 1])
            { append(number) }
            for text in texts {
                append(text.utf8.count)
                bytes.append(contentsOf: text.utf8)
            }
            self.bytes = bytes
        }

        func bind(to statement: any SQLStatement, at index: Int) throws {
            guard let statement = statement as? PostgreSQLStatement else {
                throw SQLError(.misuse, "values", "a list is bound to a statement of another database")
            }
            try bytes.withUnsafeBytes { try statement.bind($0, .bytesArray, at: index, isKept: false) }
        }
    }

    // MARK: - Texts

    /// A SQL text of the store, translated for PostgreSQL.
    ///
    /// Parameters are numbered. SQLite's hints about indexes and the order of joins are removed, because PostgreSQL's
    /// planner makes these choices itself.
    final class PostgreSQLText {
        enum Kind {
            /// A query whose text contains its maximum number of rows.
            case limitedQuery
            /// A query without a maximum number of rows.
            case query
            /// A statement that changes or explains something. It returns few rows.
            case change
            /// A statement without parameters and rows, such as `SAVEPOINT`.
            case command
        }

        let original: String
        let text: String
        let kind: Kind
        let parameterCount: Int

        /// The statements prepared from this text on the connection, by the types of the parameters.
        var prepared: [PostgreSQLPreparedText] = []
        /// True if the last execution returned many rows or bytes.
        var isLarge: Bool
        /// Approximate bytes per row in the last execution.
        var bytesOfRow = 1

        init(_ sql: String) {
            original = sql
            var tokens = Self.tokens(of: sql)
            kind = Self.kind(tokens)
            if kind == .command {
                (text, parameterCount) = (sql, 0)
            } else {
                Self.removeIndexes(&tokens)
                Self.removeCrosses(&tokens)
                Self.quoteUser(&tokens)
                parameterCount = Self.number(&tokens)
                text = tokens.map(\.text).joined()
            }
            // A record may have a megabyte, and in such queries the limit is meant for background work.
            isLarge = kind == .limitedQuery && tokens.contains { $0.word == "FIELDS" }
        }

        /// The text to prepare. For a query without a maximum number of rows, it requests one row more than `count`,
        /// which shows that there are more.
        func prepared(asking count: Int) -> String { kind == .query ? "\(text)\nLIMIT \(count + 1)" : text }

        // MARK: Tokens

        private struct Token {
            /// The word in upper case; other tokens as they are.
            let word: String
            var text: String
            /// Nesting depth in parentheses.
            let depth: Int

            var isSpace: Bool { word == " " }
        }

        private static func tokens(of sql: String) -> [Token] {
            var tokens: [Token] = []
            var depth = 0
            var rest = sql.utf8[...]
            while let first = rest.first {
                let end: Substring.UTF8View.Index
                if isSpace(first) {
                    end = rest.firstIndex { !isSpace($0) } ?? rest.endIndex
                } else if first == UInt8(ascii: "'") || first == UInt8(ascii: "\"") {
                    // A doubled quote within quotes is read as two adjacent strings.
                    end = rest.dropFirst().firstIndex(of: first).map { rest.index(after: $0) } ?? rest.endIndex
                } else if isWord(first) || first == UInt8(ascii: "?") {
                    end = rest.dropFirst().firstIndex { !isWord($0) } ?? rest.endIndex
                } else {
                    end = rest.index(after: rest.startIndex)
                }
                let text = String(decoding: rest[..<end], as: UTF8.self)
                if first == UInt8(ascii: ")") { depth -= 1 }
                tokens.append(
                    Token(
                        word: isSpace(first) ? " " : isWord(first) ? text.uppercased() : text, text: text, depth: depth)
                )
                if first == UInt8(ascii: "(") { depth += 1 }
                rest = rest[end...]
            }
            return tokens
        }

        private static func isSpace(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
        }

        private static func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }

        // MARK: Changes

        /// Removes `INDEXED BY name` and `NOT INDEXED`.
        private static func removeIndexes(_ tokens: inout [Token]) {
            while let index = tokens.firstIndex(where: { $0.word == "INDEXED" }) {
                let isNegated = index >= 2 && tokens[index - 2].word == "NOT"
                let end = isNegated ? index + 1 : min(index + 5, tokens.count)
                // Includes the preceding space.
                tokens.removeSubrange(max(0, isNegated ? index - 3 : index - 1)..<end)
            }
        }

        /// Removes `CROSS` from joins with a condition.
        private static func removeCrosses(_ tokens: inout [Token]) {
            let ends: Set<String> = [
                "ON", "JOIN", "CROSS", "LEFT", "INNER", "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", ",",
            ]
            for index in tokens.indices.reversed() where tokens[index].word == "CROSS" {
                // The table after `CROSS JOIN` may be a query in parentheses.
                let depth = tokens[index].depth
                let end = tokens.dropFirst(index + 3).first {
                    $0.depth < depth || $0.depth == depth && ends.contains($0.word)
                }
                if end?.word == "ON" { tokens.removeSubrange(index...index + 1) }
            }
        }

        /// Puts the column name `user` in quotes, since PostgreSQL has a function of this name.
        private static func quoteUser(_ tokens: inout [Token]) {
            for index in tokens.indices where tokens[index].word == "USER" { tokens[index].text = "\"user\"" }
        }

        /// Numbers the parameters: each `?` gets the number after the highest so far.
        private static func number(_ tokens: inout [Token]) -> Int {
            var count = 0
            for index in tokens.indices where tokens[index].text.first == "?" {
                let number = Int(tokens[index].text.dropFirst()) ?? count + 1
                count = max(count, number)
                tokens[index].text = "$\(number)"
            }
            return count
        }

        private static func kind(_ tokens: [Token]) -> Kind {
            let changes: Set<String> = ["INSERT", "UPDATE", "DELETE", "EXPLAIN"]
            guard let first = tokens.first(where: { !$0.isSpace })?.word else { return .command }
            if first == "SELECT" || first == "WITH" && !tokens.contains(where: { changes.contains($0.word) }) {
                return tokens.contains { $0.depth == 0 && $0.word == "LIMIT" } ? .limitedQuery : .query
            }
            return first == "WITH" || changes.contains(first) ? .change : .command
        }
    }

    /// A text prepared on a connection for parameters of certain types.
    struct PostgreSQLPreparedText {
        let name: String
        let types: [PostgreSQLType]
        let columns: PostgreSQLColumns
        /// The connection's generation when the text was prepared. See ``PostgreSQLConnection``.
        let generation: Int

        /// True if values of these types can be bound to the statement. NULL fits any type.
        func fits(_ types: [PostgreSQLType], in generation: Int) -> Bool {
            generation == self.generation && zip(types, self.types).allSatisfy { $0 == .unknown || $0 == $1 }
        }
    }
#endif
