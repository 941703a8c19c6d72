#if PostgreSQL
internal import CPostgreSQL

/// A statement of PostgreSQL. Values go over the connection in binary form.
///
/// A query may have any number of rows, but its memory is bounded. Without a limit in its text, it is asked for a few rows; if it has more, it runs again
/// with a cursor, which gives them in parts. It has the cursor from the beginning if it reads the fields of records up to a limit, or if its last answer
/// was large. The other answers are in memory as a whole.
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

    /// Rows that are asked for at first. More are taken for many.
    static let fewRows = 256
    /// Rows and about as many bytes that a cursor gives at once.
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
    /// An error of ``columnCount``, thrown by the next step.
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

    /// A text that is not kept is not prepared either; it runs when its columns are asked for.
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

    func bind(_ integer: Int64, at index: Int) throws { try bind(bits: UInt64(bitPattern: integer), .int8, at: index) }
    func bind(_ real: Double, at index: Int) throws { try bind(bits: real.bitPattern, .float8, at: index) }

    private func bind(bits: UInt64, _ type: PostgreSQLType, at index: Int) throws {
        try withUnsafeBytes(of: bits.bigEndian) { try bind($0, type, at: index, isKept: false) }
    }

    func bind(text: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws { try bind(text, .bytes, at: index, isKept: isKept) }
    func bind(bytes: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws { try bind(bytes, .bytes, at: index, isKept: isKept) }

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
        guard values.indices.contains(index - 1) else { throw SQLError(.misuse, "values", "there is no parameter \(index)", text.original) }
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
            // A step runs it again only after a reset.
            use(PQmakeEmptyPGresult(nil, PGRES_COMMAND_OK))
        case .query where text.isLarge && connection.isInsideTransaction, .limitedQuery where text.isLarge && connection.isInsideTransaction: try open()
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

    /// Notes how many bytes the rows at hand have.
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
                    try connection.post(text.original, bytes: bytes) { PQsendQueryPrepared($0, prepared.name, count, addresses, lengths, formats, 1) }
                }
                return use(PQmakeEmptyPGresult(nil, PGRES_COMMAND_OK))
            }
            use(try answer { PQsendQueryPrepared($0, prepared.name, $1, $2, $3, $4, 1) })
        } else {
            use(try send(text.prepared(asking: Self.fewRows)))
            columns = try PostgreSQLColumns(of: result, text.original)
        }
    }

    /// Runs a text with the statement's values, without preparing it.
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

    /// Lends the values: their number, addresses, lengths, and that they are in binary form.
    private func withValues<Value>(
        _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>) throws -> Value
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
                case .copied(let start, let count): bytes = UnsafeRawBufferPointer(rebasing: octets[start..<start + count])
                case .kept(let kept): bytes = kept
                }
                lengths.append(Int32(clamping: bytes.count))
                // No address would be NULL.
                return (bytes.isEmpty ? UnsafeRawPointer(Self.empty) : bytes.baseAddress ?? UnsafeRawPointer(Self.empty)).assumingMemoryBound(to: CChar.self)
            }
            let formats = Array(repeating: Int32(1), count: values.count)
            return try body(Int32(values.count), addresses, lengths, formats)
        }
    }

    /// An address for values without bytes.
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
        cursor = Cursor(name: name, undoCount: undoCount, part: max(1, min(Self.firstPart, Self.largestMemory / text.bytesOfRow)))
        try fetch()
        // A query that has become small again is asked for its rows at once.
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
        // A rollback has closed the cursor, and to close it again would be an error that ends the transaction.
        if let cursor, cursor.undoCount == connection.undoCount, connection.isInsideTransaction, !connection.hasFailed { connection.close(cursor.name) }
        cursor = nil
        octets.removeAll(keepingCapacity: true)
        for index in values.indices {
            values[index] = nil
            types[index] = .unknown
        }
    }
}
#endif
