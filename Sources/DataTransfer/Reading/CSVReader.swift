/// A streaming CSV reader (RFC 4180): supports quoted cells with doubled quotes, line breaks
/// in quotes, a byte order mark, and the line ends CR LF, LF and CR. Skips empty lines.
struct CSVReader {
    /// The size limit of a row in bytes, so that an unclosed quote does not read the rest of a large file into memory.
    static let rowLimit = 4 << 20

    struct Row {
        /// The line at which the row begins.
        var line: Int
        var cells: [String]
        /// The indexes of empty cells in quotes: some programs, such as Skylight, write the empty text so, and no value without quotes.
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
            guard isLineEnd(byte) else { return try row() }
            try skipLineEnd()
        }
        return nil
    }

    private mutating func row() throws(ImportError) -> Row {
        var row = Row(line: line, cells: [], problem: nil)
        var size = 0
        while true {
            var cell: [UInt8] = []
            if try bytes.peek() == UInt8(ascii: "\"") {
                cell = try quotedCell(of: &row, size: &size)
            }
            // The text up to the next delimiter: the whole cell if it has no quotes, otherwise empty.
            var rest: [UInt8] = []
            while let byte = try bytes.peek(), byte != delimiter, !isLineEnd(byte) {
                rest.append(byte)
                _ = try bytes.next()
                try count(&size, row.line)
            }
            if !rest.isEmpty, !cell.isEmpty || wasQuoted { row.problem = row.problem ?? "text after the closing quote of cell \(row.cells.count + 1)" }
            if wasQuoted, cell.isEmpty, rest.isEmpty { row.quotedEmpties.insert(row.cells.count) }
            wasQuoted = false
            cell += rest
            if let text = String(validating: cell, as: UTF8.self) {
                row.cells.append(text)
            } else {
                row.cells.append("")
                row.problem = row.problem ?? "cell \(row.cells.count) is not valid UTF-8"
            }
            guard try bytes.peek() == delimiter else { break }
            _ = try bytes.next()
            try count(&size, row.line)
        }
        try skipLineEnd()
        return row
    }

    /// True if the current cell began with a quote.
    private var wasQuoted = false

    private mutating func quotedCell(of row: inout Row, size: inout Int) throws(ImportError) -> [UInt8] {
        wasQuoted = true
        let start = line
        var cell: [UInt8] = []
        _ = try bytes.next()
        while let byte = try bytes.next() {
            try count(&size, row.line)
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

    private func count(_ size: inout Int, _ line: Int) throws(ImportError) {
        size += 1
        if size > Self.rowLimit {
            throw .unreadable(
                file: path, line: line, reason: "a row of more than \(Self.rowLimit >> 20) MB begins here; check for an unclosed quote")
        }
    }

    private func isLineEnd(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    private mutating func skipLineEnd() throws(ImportError) {
        guard let byte = try bytes.next() else { return }
        if byte == UInt8(ascii: "\r"), try bytes.peek() == UInt8(ascii: "\n") { _ = try bytes.next() }
        line += 1
    }
}
