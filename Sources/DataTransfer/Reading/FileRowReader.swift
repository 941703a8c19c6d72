internal import Records

/// Reads the rows of a file in any format.
struct FileRowReader {
    private enum Reader {
        case table(TableReader)
        case array(JSONArrayReader)
        case lines(JSONLinesReader)
    }

    private var reader: Reader

    /// - Throws: `ImportError` if the file can't be read or has no valid header.
    init(_ file: ImportFile) throws(ImportError) {
        let bytes = try file.open()
        switch file.format {
        case .csv, .tsv: reader = .table(try TableReader(CSVReader(bytes, path: file.path, delimiter: file.delimiter)))
        case .json: reader = .array(JSONArrayReader(bytes, path: file.path))
        case .ndjson: reader = .lines(JSONLinesReader(bytes, path: file.path))
        }
    }

    /// The columns in the header, known before the first row; empty for formats without a header.
    var header: [Name] {
        if case .table(let table) = reader { table.columns } else { [] }
    }

    /// The number of bytes read so far.
    var offset: Int {
        switch reader {
        case .table(let table): table.offset
        case .array(let array): array.offset
        case .lines(let lines): lines.offset
        }
    }

    /// The next row; `nil` after the last one.
    /// - Throws: `ImportError` if the rest of the file can't be read.
    mutating func next() throws(ImportError) -> RowOutcome? {
        switch reader {
        case .table(var table):
            defer { reader = .table(table) }
            return try table.next()
        case .array(var array):
            defer { reader = .array(array) }
            return try array.next()
        case .lines(var lines):
            defer { reader = .lines(lines) }
            return try lines.next()
        }
    }
}

// MARK: - Cells

/// One value of a row before its type is determined.
enum Cell: Sendable, Hashable {
    /// A value from CSV, where any type is written as text.
    case text(String)
    /// A value from JSON, where strings are distinct from other types.
    case json(JSONValue)

    /// True for an empty text and a JSON null, which mean no value.
    var isEmpty: Bool {
        switch self {
        case .text(let text): text.isEmpty
        case .json(let json): json == .null
        }
    }

    /// The beginning of the value, for error messages.
    var shown: String {
        let text =
            switch self {
            case .text(let text): "'\(text)'"
            case .json(let json): String(decoding: JSONWriter.bytes(of: json), as: UTF8.self)
            }
        return text.count > 60 ? text.prefix(60) + "…" : text
    }
}

/// One row of a file: its cells by column name.
struct Row: Sendable {
    /// The line at which the row begins, counted from 1.
    let line: Int
    let cells: [(column: Name, cell: Cell)]
}

/// A row, or the reason why a line has no valid row.
enum RowOutcome: Sendable {
    case row(Row)
    case bad(line: Int, reason: String)
}

// MARK: - CSV

/// Reads the rows of a CSV file, with column names from its header.
struct TableReader {
    private var reader: CSVReader
    /// The names in the header.
    let columns: [Name]
    /// True if quotes distinguish an empty text from a missing value. This holds only for Skylight's own files, because
    /// many other programs quote every cell.
    private let tellsEmptyTexts: Bool

    /// - Throws: `ImportError` if the header is missing or contains a name twice.
    init(_ reader: CSVReader) throws(ImportError) {
        var reader = reader
        guard let header = try reader.next() else {
            throw .unreadable(
                file: reader.path, line: 1, reason: "the file is empty; its first row must name the columns")
        }
        if let problem = header.problem {
            throw .unreadable(file: reader.path, line: header.line, reason: "the header can't be read: \(problem)")
        }
        columns = header.cells.map { Name($0.trimmingWhiteSpace) }
        var seen: Set<Name> = []
        for (index, column) in columns.enumerated() {
            if column.isEmpty {
                throw .unreadable(
                    file: reader.path, line: header.line, reason: "column \(index + 1) has no name in the header")
            }
            if column.utf8.contains(0) {
                throw .unreadable(
                    file: reader.path, line: header.line,
                    reason: "column \(index + 1) of the header has NUL bytes; the file seems to be no text")
            }
            if !seen.insert(column).inserted {
                throw .unreadable(
                    file: reader.path, line: header.line, reason: "the header names the column '\(column)' twice")
            }
        }
        tellsEmptyTexts = ExportColumns.areOfExport(columns)
        self.reader = reader
    }

    /// The likely delimiter of a table: the one that gives the header and the first row the same number of cells, and
    /// the most. If several are equal, it is the one that the file's extension suggests.
    static func delimiter(of file: ImportFile) throws(ImportError) -> UInt8 {
        let usual = UInt8(ascii: file.format == .tsv ? "\t" : ",")
        var best = (delimiter: usual, isEven: false, count: 0)
        for delimiter in [usual, UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t"), UInt8(ascii: "|")] {
            var reader = CSVReader(try file.open(), path: file.path, delimiter: delimiter)
            // Errors are reported when the rows are read.
            guard let header = try? reader.next() else { continue }
            let count = header.cells.count
            let first = (try? reader.next())?.cells.count
            let isEven = count > 1 && (first == nil || first == count)
            if (isEven ? 1 : 0, count) > (best.isEven ? 1 : 0, best.count) { best = (delimiter, isEven, count) }
        }
        return best.delimiter
    }

    var offset: Int { reader.offset }

    mutating func next() throws(ImportError) -> RowOutcome? {
        guard let row = try reader.next() else { return nil }
        if let problem = row.problem { return .bad(line: row.line, reason: problem) }
        if row.cells.count != columns.count {
            let word = row.cells.count < columns.count ? "short" : "long"
            return .bad(
                line: row.line,
                reason:
                    "the row is too \(word): it has \(row.cells.count) cells and the header names \(columns.count) columns"
            )
        }
        let cells = row.cells.enumerated().map { index, text in
            let isEmptyText = tellsEmptyTexts && row.quotedEmpties.contains(index)
            return (column: columns[index], cell: isEmptyText ? Cell.json(.string("")) : .text(text))
        }
        return .row(Row(line: row.line, cells: cells))
    }
}

/// A streaming CSV reader (RFC 4180): supports quoted cells with doubled quotes, line breaks
/// in quotes, a byte order mark, and the line ends CR LF, LF and CR. Skips empty lines.
struct CSVReader {
    /// The size limit of a row in bytes, so that an unclosed quote does not read the rest of a large file into memory.
    static let rowLimit = 4 << 20

    struct Row {
        /// The line at which the row begins.
        var line: Int
        var cells: [String]
        /// The indexes of quoted empty cells. Some programs, such as Skylight, quote an empty text and leave a missing
        /// value unquoted.
        var quotedEmpties: Set<Int> = []
        /// The reason why the row is invalid.
        var problem: String?
    }

    private var bytes: ByteReader
    let path: String
    let delimiter: UInt8
    private var line = 1

    init(_ bytes: ByteReader, path: String, delimiter: UInt8 = UInt8(ascii: ",")) {
        self.bytes = bytes
        self.path = path
        self.delimiter = delimiter
    }

    var offset: Int { bytes.offset }

    /// The next row; `nil` at the end.
    /// - Throws: `ImportError` if a quote is not closed or a row exceeds the size limit.
    mutating func next() throws(ImportError) -> Row? {
        while let byte = try bytes.peek() {
            guard Self.isLineEnd(byte) else { return try row() }
            try skipLineEnd()
        }
        return nil
    }

    private mutating func row() throws(ImportError) -> Row {
        var row = Row(line: line, cells: [], problem: nil)
        var (size, cell) = (0, [UInt8]())
        while true {
            cell.removeAll(keepingCapacity: true)
            let isQuoted = try bytes.peek() == UInt8(ascii: "\"")
            if isQuoted { cell = try quotedCell(of: &row, size: &size) }
            // The text up to the next delimiter: the whole cell if it has no quotes, otherwise empty.
            let (delimiter, quotedCount) = (delimiter, cell.count)
            try bytes.append(to: &cell, limit: Self.rowLimit) { $0 == delimiter || Self.isLineEnd($0) }
            try count(cell.count - quotedCount, &size, row.line)
            if isQuoted, cell.count > quotedCount {
                row.problem = row.problem ?? "text after the closing quote of cell \(row.cells.count + 1)"
            }
            if isQuoted, cell.isEmpty { row.quotedEmpties.insert(row.cells.count) }
            // ASCII needs no validation, which takes half of the time to read a cell.
            let isASCII = cell.allSatisfy { $0 < 0x80 }
            if let text = isASCII ? String(decoding: cell, as: UTF8.self) : String(validating: cell, as: UTF8.self) {
                row.cells.append(text)
            } else {
                row.cells.append("")
                row.problem = row.problem ?? "cell \(row.cells.count) is not valid UTF-8"
            }
            guard try bytes.peek() == delimiter else { break }
            _ = try bytes.next()
            try count(1, &size, row.line)
        }
        try skipLineEnd()
        return row
    }

    private mutating func quotedCell(of row: inout Row, size: inout Int) throws(ImportError) -> [UInt8] {
        let start = line
        var cell: [UInt8] = []
        _ = try bytes.next()
        while let byte = try bytes.next() {
            try count(1, &size, row.line)
            if byte == UInt8(ascii: "\"") {
                guard try bytes.peek() == UInt8(ascii: "\"") else { return cell }
                _ = try bytes.next()
            } else if byte == UInt8(ascii: "\n") {
                line += 1
            } else if byte == UInt8(ascii: "\r"), try bytes.peek() != UInt8(ascii: "\n") {
                line += 1
            }
            cell.append(byte)
        }
        throw .unreadable(file: path, line: start, reason: "the quote that opens here is not closed")
    }

    private func count(_ more: Int, _ size: inout Int, _ line: Int) throws(ImportError) {
        size += more
        if size > Self.rowLimit {
            throw .unreadable(
                file: path, line: line,
                reason: "a row of more than \(Self.rowLimit >> 20) MB begins here; check for an unclosed quote")
        }
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    private mutating func skipLineEnd() throws(ImportError) {
        guard let byte = try bytes.next() else { return }
        if byte == UInt8(ascii: "\r"), try bytes.peek() == UInt8(ascii: "\n") { _ = try bytes.next() }
        line += 1
    }
}

// MARK: - NDJSON

/// A streaming NDJSON reader: one object per line. Skips empty lines.
struct JSONLinesReader {
    /// The size limit of a line, in bytes.
    static let lineLimit = 4 << 20

    private var bytes: ByteReader
    private let path: String
    private let firstLineLimit: Int
    private(set) var line = 0

    /// - Parameter firstLineLimit: the size limit of the first line in bytes, if it is a header.
    init(_ bytes: ByteReader, path: String, firstLineLimit: Int = lineLimit) {
        self.bytes = bytes
        self.path = path
        self.firstLineLimit = firstLineLimit
    }

    var offset: Int { bytes.offset }

    mutating func next() throws(ImportError) -> RowOutcome? {
        while let text = try nextLine() {
            if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
            return RowOutcome(jsonObject: text, line: line)
        }
        return nil
    }

    /// The text of the next line, which may be empty.
    mutating func nextLine() throws(ImportError) -> [UInt8]? {
        guard try bytes.peek() != nil else { return nil }
        line += 1
        let limit = line == 1 ? firstLineLimit : Self.lineLimit
        var text: [UInt8] = []
        while let byte = try bytes.next(), byte != UInt8(ascii: "\n") {
            text.append(byte)
            if text.count > limit {
                throw .unreadable(
                    file: path, line: line,
                    reason:
                        "a line of more than \(limit >> 20) MB; NDJSON has one object in each line. For a JSON array, use --format json"
                )
            }
        }
        return text
    }
}

extension RowOutcome {
    /// Parses one JSON object as a row.
    init(jsonObject text: [UInt8], line: Int) {
        do {
            let json = try JSONReader.value(of: text)
            guard case .object(let object) = json else {
                self = .bad(line: line, reason: "\(json.kind) where an object is expected")
                return
            }
            self = .row(Row(line: line, cells: object.map { ($0.name, .json($0.value)) }))
        } catch {
            let lines = text.prefix(error.offset).count { $0 == UInt8(ascii: "\n") }
            self = .bad(line: line + lines, reason: "bad JSON: \(error)")
        }
    }
}

// MARK: - JSON

/// A streaming reader for the elements of one JSON array. It finds each element by its brackets and parses it
/// separately, so that memory use is bounded by the largest element, and an invalid element does not affect others.
struct JSONArrayReader {
    /// The size limit of an element, in bytes.
    static let elementLimit = 4 << 20

    private enum State {
        case start, afterElement, end
    }

    private var bytes: ByteReader
    private let path: String
    private var line = 1
    private var state = State.start

    init(_ bytes: ByteReader, path: String) {
        self.bytes = bytes
        self.path = path
    }

    var offset: Int { bytes.offset }

    mutating func next() throws(ImportError) -> RowOutcome? {
        switch state {
        case .start:
            guard let byte = try skipBlanks() else { throw failure("the file is empty; expected an array of objects") }
            guard byte == UInt8(ascii: "[") else {
                let hint =
                    byte == UInt8(ascii: "{") ? "; for NDJSON, with one object in each line, use --format ndjson" : ""
                throw failure("expected an array of objects, which begins with [\(hint)")
            }
            _ = try bytes.next()
            if try skipBlanks() == UInt8(ascii: "]") { return try finish() }
        case .afterElement:
            switch try skipBlanks() {
            case UInt8(ascii: ",")?: _ = try bytes.next()
            case UInt8(ascii: "]")?: return try finish()
            case nil: throw failure("the array is not closed: expected , or ]")
            default: throw failure("expected , or ] after an element of the array")
            }
        case .end: return nil
        }
        guard let byte = try skipBlanks() else { throw failure("the array is not closed: expected an object") }
        if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") {
            throw failure("expected an object before \(Character(Unicode.Scalar(byte)))")
        }
        state = .afterElement
        let start = line
        return RowOutcome(jsonObject: try element(), line: start)
    }

    /// The text of one element, up to the next comma or bracket.
    private mutating func element() throws(ImportError) -> [UInt8] {
        let start = line
        var text: [UInt8] = []
        var depth = 0
        var isString = false
        while let byte = try bytes.peek() {
            if !isString, depth == 0, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") { return text }
            _ = try bytes.next()
            text.append(byte)
            switch byte {
            case UInt8(ascii: "\n"): line += 1
            case UInt8(ascii: "\""): isString.toggle()
            case UInt8(ascii: "\\") where isString:
                if let escaped = try bytes.next() { text.append(escaped) }
            case UInt8(ascii: "{") where !isString, UInt8(ascii: "[") where !isString: depth += 1
            case UInt8(ascii: "}") where !isString, UInt8(ascii: "]") where !isString: depth = max(0, depth - 1)
            default: break
            }
            if text.count > Self.elementLimit {
                throw .unreadable(
                    file: path, line: start,
                    reason:
                        "an element of more than \(Self.elementLimit >> 20) MB; check for an unclosed string or object")
            }
        }
        throw .unreadable(file: path, line: start, reason: "the file ends in the middle of this element")
    }

    private mutating func finish() throws(ImportError) -> RowOutcome? {
        _ = try bytes.next()
        state = .end
        if try skipBlanks() != nil { throw failure("text after the end of the array") }
        return nil
    }

    /// Skips white space and returns the next byte.
    private mutating func skipBlanks() throws(ImportError) -> UInt8? {
        while let byte = try bytes.peek() {
            switch byte {
            case UInt8(ascii: "\n"): line += 1
            case 0x20, 0x09, 0x0D: break
            default: return byte
            }
            _ = try bytes.next()
        }
        return nil
    }

    private func failure(_ reason: String) -> ImportError {
        .unreadable(file: path, line: line, reason: reason)
    }
}
