internal import JSON

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

    /// The text of the next line, also of an empty one.
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
                    reason: "a line of more than \(limit >> 20) MB; NDJSON has one object in each line. For a JSON array, use --format json")
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
