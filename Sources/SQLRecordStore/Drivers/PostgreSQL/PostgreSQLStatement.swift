#if PostgreSQL
    internal import CPostgreSQL

    /// A PostgreSQL statement. Values are sent in binary format.
    ///
    /// A query may return any number of rows, but its memory is bounded. Without a limit in its text it first requests
    /// a few rows; if there are more, it runs again with a cursor that returns them in parts. A query uses a cursor
    /// from the start if it reads the fields of records with a limit, or if its last result was large. Other results
    /// are held in memory as a whole.
    final class PostgreSQLStatement: SQLStatement {
        private let connection: PostgreSQLConnection
        private let text: PostgreSQLText
        private let isCached: Bool

        // Values

        private enum Value {
            /// A range of `octets`.
            case copied(Int, Int)
            case kept(UnsafeRawBufferPointer)
        }

        private var types: [PostgreSQLType]
        private var values: [Value?]
        private var octets: [UInt8] = []

        // Rows

        /// Number of rows requested at first. If there are more, the query counts as large.
        static let fewRows = 256
        /// Number of rows that a cursor returns at once: at first, and at most. The last number is the approximate
        /// maximum in bytes.
        private static let (firstPart, largestPart, largestMemory) = (64, 1024, 1 << 20)

        private struct Cursor {
            let name: String
            let undoCount: Int
            var part: Int
            var isAtEnd = false
        }

        private var result: OpaquePointer?
        private var columns: PostgreSQLColumns?
        private var row: Int32 = 0
        private var rowCount: Int32 = 0
        private var cursor: Cursor?
        /// An error found by ``columnCount``, which the next step throws.
        private var failure: (any Error)?

        init(_ sql: String, isCached: Bool, on connection: PostgreSQLConnection) {
            self.connection = connection
            self.isCached = isCached
            text = connection.text(sql, isCached: isCached)
            types = Array(repeating: .unknown, count: text.parameterCount)
            values = Array(repeating: nil, count: text.parameterCount)
        }

        deinit { reset() }

        var parameterCount: Int { text.parameterCount }

        /// The number of columns. A text that is not cached is not prepared; it is executed to find its columns.
        var columnCount: Int {
            if text.kind == .command { return 0 }
            if columns == nil, failure == nil {
                do {
                    if isCached {
                        columns = try connection.prepare(text, types, asking: Self.fewRows).columns
                    } else {
                        try run()
                    }
                } catch {
                    failure = error
                }
            }
            return columns?.names.count ?? 0
        }

        func columnName(_ column: Int) -> String { columns?.names[column] ?? "" }

        // MARK: Values

        func bind(_ integer: Int64, at index: Int) throws {
            try bind(bits: UInt64(bitPattern: integer), .int8, at: index)
        }
        func bind(_ real: Double, at index: Int) throws { try bind(bits: real.bitPattern, .float8, at: index) }

        private func bind(bits: UInt64, _ type: PostgreSQLType, at index: Int) throws {
            try withUnsafeBytes(of: bits.bigEndian) { try bind($0, type, at: index, isKept: false) }
        }

        func bind(text: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws {
            try bind(text, .bytes, at: index, isKept: isKept)
        }
        func bind(bytes: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws {
            try bind(bytes, .bytes, at: index, isKept: isKept)
        }

        func bind(_ value: SQLValue, at index: Int) throws {
            if let bytes = PackedValue.bytes(of: value) {
                try bytes.withUnsafeBytes { try bind($0, .bytes, at: index, isKept: false) }
            } else {
                try note(nil, .unknown, at: index)
            }
        }

        func bind(_ bytes: UnsafeRawBufferPointer, _ type: PostgreSQLType, at index: Int, isKept: Bool) throws {
            if isKept {
                try note(.kept(bytes), type, at: index)
            } else {
                try note(.copied(octets.count, bytes.count), type, at: index)
                octets.append(contentsOf: bytes)
            }
        }

        private func note(_ value: Value?, _ type: PostgreSQLType, at index: Int) throws {
            guard values.indices.contains(index - 1) else {
                throw SQLError(.misuse, "values", "there is no parameter \(index)", text.original)
            }
            values[index - 1] = value
            types[index - 1] = type
        }

        // MARK: Running

        func step(into cells: UnsafeMutableBufferPointer<SQLCell>) throws -> Bool {
            if let failure {
                self.failure = nil
                throw failure
            }
            if result == nil { try run() }
            while row == rowCount {
                guard let cursor, !cursor.isAtEnd else { return false }
                try fetch()
            }
            guard let result, let columns else { return false }
            if cells.count > 0 { columns.read(row, of: result, into: cells) }
            row += 1
            return true
        }

        private func run() throws {
            switch text.kind {
            case .command:
                if connection.pipelines, ["SAVEPOINT", "RELEASE"].contains(where: text.text.hasPrefix) {
                    try connection.post(text.text)
                } else {
                    try connection.execute(text.text)
                }
                columns = PostgreSQLColumns.none
                // A step executes it again only after a reset.
                use(PQmakeEmptyPGresult(nil, PGRES_COMMAND_OK))
            case .query where text.isLarge && connection.isInsideTransaction,
                .limitedQuery where text.isLarge && connection.isInsideTransaction:
                try open()
            case .query:
                try execute()
                noteSize()
                guard rowCount > Self.fewRows else { return }
                text.isLarge = true
                if connection.isInsideTransaction { try open() } else { use(try send(text.text)) }
            case .limitedQuery:
                try execute()
                noteSize()
            case .change: try execute()
            }
        }

        /// Records the size of the current rows in bytes.
        private func noteSize() {
            guard let result, rowCount > 0 else { return }
            let memory = PQresultMemorySize(result)
            text.bytesOfRow = max(1, memory / Int(rowCount))
            if memory > Self.largestMemory { text.isLarge = true }
        }

        private func execute() throws {
            if isCached {
                let prepared = try connection.prepare(text, types, asking: Self.fewRows)
                columns = prepared.columns
                if connection.pipelines, text.kind == .change, prepared.columns.names.isEmpty {
                    try withValues { count, addresses, lengths, formats in
                        let bytes = (0..<Int(count)).reduce(0) { $0 + Int(lengths[$1]) }
                        try connection.post(text.original, bytes: bytes) {
                            PQsendQueryPrepared($0, prepared.name, count, addresses, lengths, formats, 1)
                        }
                    }
                    return use(PQmakeEmptyPGresult(nil, PGRES_COMMAND_OK))
                }
                use(try answer { PQsendQueryPrepared($0, prepared.name, $1, $2, $3, $4, 1) })
            } else {
                use(try send(text.prepared(asking: Self.fewRows)))
                columns = try PostgreSQLColumns(of: result, text.original)
            }
        }

        /// Executes a text with the statement's values without preparing it.
        private func send(_ sql: String) throws -> OpaquePointer {
            let numbers = types.map(\.rawValue)
            return try answer { PQsendQueryParams($0, sql, $1, numbers, $2, $3, $4, 1) }
        }

        private typealias Sending = (
            OpaquePointer, Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Int32

        private func answer(_ send: Sending) throws -> OpaquePointer {
            try withValues { count, addresses, lengths, formats in
                try connection.answer(text.original) { send($0, count, addresses, lengths, formats) }
            }
        }

        /// Calls `body` with the values for libpq: their number, addresses, lengths and formats (binary).
        private func withValues<Value>(
            _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>) throws ->
                Value
        ) throws -> Value {
            try octets.withUnsafeBytes { octets in
                var lengths: [Int32] = []
                lengths.reserveCapacity(values.count)
                let addresses = values.map { value -> UnsafePointer<CChar>? in
                    let bytes: UnsafeRawBufferPointer
                    switch value {
                    case nil:
                        lengths.append(0)
                        return nil
                    case .copied(let start, let count):
                        bytes = UnsafeRawBufferPointer(rebasing: octets[start..<start + count])
                    case .kept(let kept): bytes = kept
                    }
                    lengths.append(Int32(clamping: bytes.count))
                    // A null address would mean NULL.
                    return
                        (bytes.isEmpty
                        ? UnsafeRawPointer(Self.empty) : bytes.baseAddress ?? UnsafeRawPointer(Self.empty))
                        .assumingMemoryBound(to: CChar.self)
                }
                let formats = Array(repeating: Int32(1), count: values.count)
                return try body(Int32(values.count), addresses, lengths, formats)
            }
        }

        /// The address of values without bytes.
        private nonisolated(unsafe) static let empty = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)

        private func use(_ result: OpaquePointer?) {
            PQclear(self.result)
            self.result = result
            row = 0
            rowCount = result.map { PQntuples($0) } ?? 0
        }

        // MARK: Cursor

        private func open() throws {
            let name = connection.cursorName()
            use(nil)
            let undoCount = connection.undoCount
            PQclear(try send("DECLARE \(name) NO SCROLL CURSOR FOR \(text.text)"))
            cursor = Cursor(
                name: name, undoCount: undoCount,
                part: max(1, min(Self.firstPart, Self.largestMemory / text.bytesOfRow)))
            try fetch()
            // If a query has become small again, its rows are requested at once next time.
            if text.kind == .query, cursor?.isAtEnd ?? false { text.isLarge = false }
        }

        private func fetch() throws {
            guard var cursor else { return }
            let sql = "FETCH \(cursor.part) FROM \(cursor.name)"
            use(nil)
            use(try connection.answer(text.original) { PQsendQueryParams($0, sql, 0, nil, nil, nil, nil, 1) })
            columns = try columns ?? PostgreSQLColumns(of: result, text.original)
            cursor.isAtEnd = rowCount < cursor.part
            noteSize()
            cursor.part = max(1, min(4 * cursor.part, Self.largestPart, Self.largestMemory / text.bytesOfRow))
            self.cursor = cursor
        }

        func reset() {
            use(nil)
            columns = nil
            failure = nil
            // A rollback has already closed the cursor. Closing it again would be an error, which would abort the
            // transaction.
            if let cursor, cursor.undoCount == connection.undoCount, connection.isInsideTransaction,
                !connection.hasFailed
            {
                connection.close(cursor.name)
            }
            cursor = nil
            octets.removeAll(keepingCapacity: true)
            for index in values.indices {
                values[index] = nil
                types[index] = .unknown
            }
        }
    }

    // MARK: - Types and columns

    /// A PostgreSQL type, identified by its OID in `pg_type`.
    struct PostgreSQLType: RawRepresentable, Hashable {
        let rawValue: UInt32

        /// Lets the server infer the type.
        static let unknown = PostgreSQLType(rawValue: 0)
        static let bool = PostgreSQLType(rawValue: 16)
        static let bytes = PostgreSQLType(rawValue: 17)
        static let int8 = PostgreSQLType(rawValue: 20)
        static let int2 = PostgreSQLType(rawValue: 21)
        static let int4 = PostgreSQLType(rawValue: 23)
        static let oid = PostgreSQLType(rawValue: 26)
        static let float4 = PostgreSQLType(rawValue: 700)
        static let float8 = PostgreSQLType(rawValue: 701)
        static let numeric = PostgreSQLType(rawValue: 1700)
        static let bytesArray = PostgreSQLType(rawValue: 1001)
        /// `"char"`, `name`, `text`, `json`, `unknown`, `char(n)`, `varchar` and `void`. Their binary format is the
        /// text.
        static let texts: Set<PostgreSQLType> = Set(
            [18, 19, 25, 114, 705, 1042, 1043, 2278].map(PostgreSQLType.init(rawValue:)))
    }

    /// The columns of a result, with the decoding of their binary values.
    struct PostgreSQLColumns {
        private enum Form {
            case integer, real, numeric, octets
        }

        let names: [String]
        private let forms: [Form]

        static let none = PostgreSQLColumns(names: [], forms: [])

        private init(names: [String], forms: [Form]) {
            self.names = names
            self.forms = forms
        }

        /// - Throws: ``SQLError`` if the type of a column can't be decoded.
        init(of result: OpaquePointer?, _ sql: String) throws {
            let columns = 0..<PQnfields(result)
            let names = columns.map { PQfname(result, $0).map { String(cString: $0) } ?? "" }
            self.names = names
            forms = try columns.map { column in
                switch PostgreSQLType(rawValue: PQftype(result, column)) {
                case .int8, .int4, .int2, .bool, .oid: .integer
                case .float8, .float4: .real
                case .numeric: .numeric
                case .bytes: .octets
                case let type where PostgreSQLType.texts.contains(type): .octets
                case let type:
                    let problem =
                        "the column '\(names[Int(column)])' has the type number \(type.rawValue) of pg_type, which can't be read; cast it in the text"
                    throw SQLError(.misuse, "type", problem, sql)
                }
            }
        }

        /// Reads a row. Its values remain in the memory of the result.
        func read(_ row: Int32, of result: OpaquePointer, into cells: UnsafeMutableBufferPointer<SQLCell>) {
            for column in cells.indices { cells.initializeElement(at: column, to: cell(row, Int32(column), result)) }
        }

        @inline(__always) private func cell(_ row: Int32, _ column: Int32, _ result: OpaquePointer) -> SQLCell {
            guard PQgetisnull(result, row, column) == 0 else { return .null }
            let octets = UnsafeRawBufferPointer(
                start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
            return switch forms[Int(column)] {
            case .octets: SQLCell(kind: .textOrBytes, number: 0, octets: octets)
            case .integer: .integer(Self.integer(octets))
            case .real:
                .real(
                    octets.count == 4
                        ? Double(Float(bitPattern: Self.bits(octets))) : Double(bitPattern: Self.bits(octets)))
            case .numeric: Self.numeric(octets)
            }
        }

        private static func bits<Bits: FixedWidthInteger>(_ octets: UnsafeRawBufferPointer, at offset: Int = 0) -> Bits
        {
            Bits(bigEndian: octets.loadUnaligned(fromByteOffset: offset, as: Bits.self))
        }

        private static func integer(_ octets: UnsafeRawBufferPointer) -> Int64 {
            switch octets.count {
            case 8: bits(octets)
            case 4: Int64(bits(octets) as Int32)
            case 2: Int64(bits(octets) as Int16)
            default: Int64(octets[0])
            }
        }

        /// Decodes a decimal number, such as a sum, from its digits to the base 10,000. If it is not whole or exceeds
        /// 64 bits, the result is a real number.
        private static func numeric(_ octets: UnsafeRawBufferPointer) -> SQLCell {
            let count = Int(bits(octets) as Int16)
            /// Number of digits before the decimal point.
            let whole = 1 + Int(bits(octets, at: 2) as Int16)
            let sign: UInt16 = bits(octets, at: 4)
            switch sign {
            case 0, 0x4000:
                let digits = (0..<count).map {
                    String(String(10_000 + Int(bits(octets, at: 8 + 2 * $0) as Int16)).dropFirst())
                }
                let text = (sign == 0 ? "" : "-") + "0" + digits.joined()
                if count <= whole, whole < 6,
                    let integer = Int64(text + String(repeating: "0000", count: whole - count))
                {
                    return .integer(integer)
                }
                return .real(Double("\(text)e\(4 * (whole - count))") ?? .nan)
            case 0xD000: return .real(.infinity)
            case 0xF000: return .real(-.infinity)
            default: return .real(.nan)
            }
        }
    }
#endif
