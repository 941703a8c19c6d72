internal import JSON
internal import Text

/// Reads the rows of a CSV file, with column names from its header.
struct TableReader {
    private var reader: CSVReader
    /// The names in the header.
    let columns: [Name]
    /// True if quotes tell the empty text from no value. In other files than Skylight's own they don't: many programs quote every cell.
    private let tellsEmptyTexts: Bool

    /// - Throws: `ImportError` if the header is missing or contains a name twice.
    init(_ reader: CSVReader) throws(ImportError) {
        var reader = reader
        guard let header = try reader.next() else {
            throw .unreadable(file: reader.path, line: 1, reason: "the file is empty; its first row must name the columns")
        }
        if let problem = header.problem { throw .unreadable(file: reader.path, line: header.line, reason: "the header can't be read: \(problem)") }
        columns = header.cells.map { Name($0.trimmingWhiteSpace) }
        var seen: Set<Name> = []
        for (index, column) in columns.enumerated() {
            if column.isEmpty { throw .unreadable(file: reader.path, line: header.line, reason: "column \(index + 1) has no name in the header") }
            if column.utf8.contains(0) {
                throw .unreadable(file: reader.path, line: header.line, reason: "column \(index + 1) of the header has NUL bytes; the file seems to be no text")
            }
            if !seen.insert(column).inserted {
                throw .unreadable(file: reader.path, line: header.line, reason: "the header names the column '\(column)' twice")
            }
        }
        tellsEmptyTexts = ExportColumns.areOfExport(columns)
        self.reader = reader
    }

    /// The likely delimiter of a table: the one that gives the header and the first row the same number of cells, and the most. At a tie
    /// it is the one that belongs to the file's name.
    static func delimiter(of file: ImportFile) throws(ImportError) -> UInt8 {
        let usual = UInt8(ascii: file.format == .tsv ? "\t" : ",")
        var best = (delimiter: usual, isEven: false, count: 0)
        for delimiter in [usual, UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t"), UInt8(ascii: "|")] {
            var reader = CSVReader(try file.open(), path: file.path, delimiter: delimiter)
            // What can't be read is reported when the rows are read.
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
                line: row.line, reason: "the row is too \(word): it has \(row.cells.count) cells and the header names \(columns.count) columns")
        }
        let cells = row.cells.enumerated().map { index, text in
            (columns[index], tellsEmptyTexts && row.quotedEmpties.contains(index) ? Cell.json(.string("")) : .text(text))
        }
        return .row(Row(line: row.line, cells: cells))
    }
}
