public import Foundation
internal import JSON
internal import Records

/// A file that was written by an export.
public struct ExportFile: Sendable {
    /// The file's first line.
    public let header: ExportHeader
    let file: ImportFile

    /// Opens a file if its first line identifies it as an export, regardless of its name.
    /// - Returns: `nil` for any other readable file.
    /// - Throws: `ImportError` if the file can't be read, or its header is damaged.
    public init?(_ url: URL) throws {
        let file = try ImportFile(url, format: .ndjson)
        // In other files, the first line may be arbitrarily long, so this reads only its beginning.
        var bytes = try file.open()
        guard try bytes.peek() == UInt8(ascii: "{") else { return nil }
        var start: [UInt8] = []
        while start.count < 64, let byte = try bytes.next() { start.append(byte) }
        let mark = "\"\(ExportHeader.mark.name)\":\"\(ExportHeader.mark.value)\""
        guard String(decoding: start.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self).contains(mark) else { return nil }
        var lines = try file.exportedLines()
        switch try lines.next() {
        case .row(let row)?:
            do {
                header = try ExportHeader(JSONObject(row))
            } catch let error as RecordError {
                throw ImportError.unreadable(file: file.path, line: row.line, reason: error.reason)
            }
        case .bad(let line, let reason)?: throw ImportError.unreadable(file: file.path, line: line, reason: reason)
        case nil: return nil
        }
        self.file = file
    }
}

extension ImportFile {
    /// The lines of an export. The first line contains the schema and all zones, so it may be much longer than a record.
    func exportedLines() throws -> JSONLinesReader {
        JSONLinesReader(try open(), path: path, firstLineLimit: 256 << 20)
    }
}

extension JSONObject {
    /// The members of a line's JSON object.
    init(_ row: Row) {
        self.init(
            row.cells.compactMap { column, cell in
                if case .json(let value) = cell { JSONObject.Member(name: column, value: value) } else { nil }
            })
    }
}
