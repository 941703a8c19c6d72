internal import JSON

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

    /// The columns in the header, known before any row; empty for formats whose rows name their own.
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
