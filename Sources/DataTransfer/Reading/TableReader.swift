internal import JSON
internal import Text

/// Reads the rows of a CSV file, with column names from its header.
struct TableReader {
    private var reader: CSVReader
    private let columns: [Name]

    /// - Throws: `ImportError` if the header is missing or contains a name twice.
    init(_ reader: CSVReader) throws(ImportError) {
        var reader = reader
        guard let header = try reader.next() else {
            throw .unreadable(file: reader.path, line: 1, reason: "the file is empty; its first row must name the columns")
        }
        if let problem = header.problem { throw .unreadable(file: reader.path, line: header.line, reason: "the header can't be read: \(problem)") }
        columns = header.cells.map { Name($0.trimmingWhiteSpace) }
        if columns.count == 1, let separator = [";", "\t", "|"].first(where: header.cells[0].contains) {
            let shown = separator == "\t" ? "tabs" : "'\(separator)'"
            let remedy = separator == "\t" ? "name the file .tsv or use --format tsv" : "save it with commas"
            throw .unreadable(file: reader.path, line: header.line, reason: "the columns seem to be separated by \(shown); \(remedy)")
        }
        var seen: Set<Name> = []
        for (index, column) in columns.enumerated() {
            if column.isEmpty { throw .unreadable(file: reader.path, line: header.line, reason: "column \(index + 1) has no name in the header") }
            if !seen.insert(column).inserted {
                throw .unreadable(file: reader.path, line: header.line, reason: "the header names the column '\(column)' twice")
            }
        }
        self.reader = reader
    }

    var offset: Int { reader.offset }

    mutating func next() throws(ImportError) -> RowOutcome? {
        guard let row = try reader.next() else { return nil }
        if let problem = row.problem { return .bad(line: row.line, reason: problem) }
        if row.cells.count != columns.count {
            let word = row.cells.count < columns.count ? "short" : "long"
            return .bad(
                line: row.line, reason: "the row is too \(word): it has \(row.cells.count) cells and the header names \(columns.count) columns")
        }
        return .row(Row(line: row.line, cells: zip(columns, row.cells).map { ($0, .text($1)) }))
    }
}
