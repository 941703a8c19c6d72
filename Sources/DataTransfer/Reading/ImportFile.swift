public import Foundation

/// A file to import. Each pass opens it again.
struct ImportFile: Sendable {
    let url: URL
    let format: FileFormat
    let encoding: TextEncoding
    /// The byte between the cells of a table; no other format has one.
    private(set) var delimiter = UInt8(ascii: ",")
    /// The size in bytes.
    let size: Int
    private let modified: Date?

    /// - Throws: `ImportError` if the file can't be read, or its format is unknown.
    init(_ url: URL, format: FileFormat?) throws(ImportError) {
        let path = url.relativePath
        // Follows symbolic links. The next check detects other kinds of files.
        guard
            let values = try? url.resolvingSymlinksInPath().resourceValues(forKeys: [
                .isRegularFileKey, .fileSizeKey, .contentModificationDateKey,
            ])
        else {
            throw .noFile(path: path, reason: "there is no such file")
        }
        guard values.isRegularFile == true, let size = values.fileSize else {
            throw .noFile(
                path: path,
                reason:
                    "it is not a regular file; an import reads its file more than once, so save the data to a file first"
            )
        }
        guard let format = format ?? FileFormat(of: url) else {
            throw .invalid("The format of '\(path)' is unknown: name it .csv, .tsv, .json or .ndjson, or give --format")
        }
        self.url = url
        self.format = format
        self.size = size
        modified = values.contentModificationDate
        encoding = try Self.encoding(of: url, format)
        if format == .csv || format == .tsv { delimiter = try TableReader.delimiter(of: self) }
    }

    /// A description of what was guessed about the file; `nil` if the file is what its name says.
    var guess: String? {
        let usual: [FileFormat: UInt8] = [.csv: UInt8(ascii: ","), .tsv: UInt8(ascii: "\t")]
        var parts: [String] = []
        if encoding != .utf8 { parts.append("as \(encoding.rawValue)") }
        if let usual = usual[format], delimiter != usual {
            let words = delimiter == UInt8(ascii: "\t") ? "tabs" : "'\(Character(Unicode.Scalar(delimiter)))'"
            parts.append("with \(words) between the cells")
        }
        return parts.isEmpty ? nil : "'\(path)' is read \(parts.joined(separator: ", "))"
    }

    /// JSON is UTF-8 if no mark says otherwise (RFC 8259). Spreadsheets save tables in several encodings.
    private static func encoding(of url: URL, _ format: FileFormat) throws(ImportError) -> TextEncoding {
        let path = url.relativePath
        do {
            let handle = try FileHandle(forReadingFrom: url)
            defer { try? handle.close() }
            let start = try handle.read(upToCount: 4).map { [UInt8]($0) } ?? []
            if start.starts(with: Array("PK\u{3}\u{4}".utf8)) {
                throw ImportError.unreadable(
                    file: path, line: nil,
                    reason: "the file is an archive, such as an Excel workbook; save the table as CSV")
            }
            if let encoding = TextEncoding(startingWith: start) { return encoding }
            guard format == .csv || format == .tsv else { return .utf8 }
            try handle.seek(toOffset: 0)
            return try TextEncoding(ofUnmarked: handle)
        } catch let error as ImportError {
            throw error
        } catch {
            throw .noFile(path: path, reason: "it can't be read; check its permissions (\(error.localizedDescription))")
        }
    }

    var path: String { url.relativePath }

    /// A reader at the start of the file.
    func open() throws(ImportError) -> ByteReader {
        let handle: FileHandle
        do {
            handle = try FileHandle(forReadingFrom: url)
        } catch {
            throw .noFile(path: path, reason: "it can't be read; check its permissions (\(error.localizedDescription))")
        }
        return try ByteReader(handle, file: self)
    }

    /// - Throws: `ImportError` if the file was modified during the import, so that passes would read different rows.
    func checkUnchanged() throws(ImportError) {
        var url = url.resolvingSymlinksInPath()
        url.removeAllCachedResourceValues()
        // A deleted file counts as modified.
        let values = try? url.resourceValues(forKeys: [.fileSizeKey, .contentModificationDateKey])
        if values?.fileSize != size || values?.contentModificationDate != modified {
            throw .unreadable(
                file: path, line: nil, reason: "the file was changed while it was being imported; import it again")
        }
    }
}

// MARK: - Formats

/// The format of a file's rows.
public enum FileFormat: String, Sendable, Hashable, CaseIterable {
    /// Comma-separated values (RFC 4180) with a header row. Semicolons, tabs and bars are recognized, too.
    case csv
    /// Tab-separated values with a header row. Like ``csv``, except that tabs are preferred if several delimiters are
    /// equally likely.
    case tsv
    /// One JSON array of objects.
    case json
    /// One JSON object per line.
    case ndjson

    /// The format for a file name extension; `nil` if it is unknown.
    public init?(of file: URL) {
        switch file.pathExtension.lowercased() {
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        case "json": self = .json
        case "ndjson", "jsonl": self = .ndjson
        default: return nil
        }
    }
}

// MARK: - Encodings

/// The encoding of a text file.
enum TextEncoding: String, Sendable, Hashable {
    case utf8 = "UTF-8"
    case utf16LittleEndian = "UTF-16, little-endian"
    case utf16BigEndian = "UTF-16, big-endian"
    /// The characters of Latin-1, with typographic characters in place of most control characters from 0x80 to 0x9F.
    case windows1252 = "Windows-1252 (Latin-1)"

    /// The encoding that the first bytes show: by a byte order mark, or by the zeros between the ASCII letters of
    /// UTF-16.
    /// - Returns: `nil` if they do not show it.
    init?(startingWith start: [UInt8]) {
        switch start.prefix(4) {
        case let mark where mark.starts(with: [0xEF, 0xBB, 0xBF]): self = .utf8
        case let mark where mark.starts(with: [0xFF, 0xFE]): self = .utf16LittleEndian
        case let mark where mark.starts(with: [0xFE, 0xFF]): self = .utf16BigEndian
        case let bytes where bytes.count == 4 && bytes[0] != 0 && bytes[1] == 0 && bytes[2] != 0 && bytes[3] == 0:
            self = .utf16LittleEndian
        case let bytes where bytes.count == 4 && bytes[0] == 0 && bytes[1] != 0 && bytes[2] == 0 && bytes[3] != 0:
            self = .utf16BigEndian
        default: return nil
        }
    }

    /// The encoding of a file without a mark: Windows-1252 if no byte above ASCII is part of a valid UTF-8 character,
    /// else UTF-8. So one damaged character does not change how the valid ones are read.
    init(ofUnmarked handle: FileHandle) throws {
        var (isValid, isInvalid) = (false, false)
        var rest: [UInt8] = []
        while !isValid, let data = try handle.read(upToCount: 1 << 18), !data.isEmpty {
            let bytes = rest + data
            rest = []
            if bytes.allSatisfy({ $0 < 0x80 }) { continue }
            var index = 0
            while index < bytes.count {
                guard bytes[index] >= 0x80 else {
                    index += 1
                    continue
                }
                let length = bytes[index] >= 0xF0 ? 4 : bytes[index] >= 0xE0 ? 3 : 2
                if index + length > bytes.count, data.count == 1 << 18 {
                    rest = Array(bytes[index...])
                    break
                }
                if String(validating: bytes[index..<min(bytes.count, index + length)], as: UTF8.self) != nil {
                    isValid = true
                    break
                }
                isInvalid = true
                index += 1
            }
        }
        self = isInvalid && !isValid ? .windows1252 : .utf8
    }

    /// Converts bytes to UTF-8. Bytes of a UTF-8 file are not changed, even if they are invalid.
    /// - Parameter rest: the bytes of a character that continues after the chunk. They are prepended to the next chunk.
    /// - Returns: `nil` if the bytes are not valid UTF-16.
    func utf8(of bytes: [UInt8], rest: inout [UInt8], isLast: Bool) -> [UInt8]? {
        switch self {
        case .utf8: return bytes
        case .windows1252:
            var text = String.UnicodeScalarView()
            for byte in bytes { text.append(Self.windows1252Scalar(byte)) }
            return Array(String(text).utf8)
        case .utf16LittleEndian, .utf16BigEndian:
            let all = rest + bytes
            var units: [UInt16] = []
            units.reserveCapacity(all.count / 2)
            for index in stride(from: 0, to: all.count - 1, by: 2) {
                let (first, second) = (UInt16(all[index]), UInt16(all[index + 1]))
                units.append(self == .utf16LittleEndian ? second << 8 | first : first << 8 | second)
            }
            rest = all.count % 2 == 1 ? [all[all.count - 1]] : []
            if let last = units.last, UTF16.isLeadSurrogate(last) {
                units.removeLast()
                rest = Array(all[(units.count * 2)...])
            }
            if isLast, !rest.isEmpty { return nil }
            return String(validating: units, as: UTF16.self).map { Array($0.utf8) }
        }
    }

    private static func windows1252Scalar(_ byte: UInt8) -> Unicode.Scalar {
        guard (0x80...0x9F).contains(byte) else { return Unicode.Scalar(byte) }
        return typographic[Int(byte - 0x80)]
    }

    /// The characters of 0x80 to 0x9F. The five bytes that have none stay control characters, as on the web.
    private static let typographic = Array("€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ".unicodeScalars)
}

// MARK: - Bytes

/// Reads a file byte by byte as UTF-8, with one chunk in memory.
struct ByteReader {
    private static let chunkSize = 1 << 18

    private let handle: FileHandle
    private let path: String
    private let encoding: TextEncoding
    /// The chunk as UTF-8.
    private var chunk: [UInt8] = []
    private var index = 0
    /// The beginning of a character that continues in the next chunk.
    private var rest: [UInt8] = []
    /// The number of the file's bytes before the current chunk, and in it.
    private var consumed = 0
    private var chunkLength = 0

    /// The position in the file, in bytes. In other encodings than UTF-8 it is approximate within a chunk.
    var offset: Int { chunk.isEmpty ? consumed : consumed + chunkLength * index / chunk.count }

    /// Skips a byte order mark.
    /// - Throws: `ImportError` if the file can't be read.
    init(_ handle: FileHandle, file: ImportFile) throws(ImportError) {
        self.handle = handle
        path = file.path
        encoding = file.encoding
        try fill()
        if chunk.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    mutating func next() throws(ImportError) -> UInt8? {
        if index == chunk.count {
            try fill()
            if chunk.isEmpty { return nil }
        }
        defer { index += 1 }
        return chunk[index]
    }

    /// Appends the bytes up to the next one for which `isEnd` is true, without it, or up to the end of the file. Stops
    /// before that once a chunk makes them longer than the limit.
    mutating func append(
        to bytes: inout [UInt8], limit: Int, until isEnd: (UInt8) -> Bool
    ) throws(ImportError) {
        while try peek() != nil {
            let end = chunk[index...].firstIndex(where: isEnd) ?? chunk.count
            bytes += chunk[index..<end]
            index = end
            if end < chunk.count || bytes.count > limit { return }
        }
    }

    /// The byte that the next call of ``next()`` returns.
    mutating func peek() throws(ImportError) -> UInt8? {
        if index == chunk.count { try fill() }
        return index < chunk.count ? chunk[index] : nil
    }

    private mutating func fill() throws(ImportError) {
        index = 0
        // A chunk may contain no complete character.
        repeat {
            consumed += chunkLength
            let bytes: [UInt8]
            do {
                bytes = try handle.read(upToCount: Self.chunkSize).map { [UInt8]($0) } ?? []
            } catch {
                throw .unreadable(file: path, line: nil, reason: "reading failed: \(error.localizedDescription)")
            }
            chunkLength = bytes.count
            guard let text = encoding.utf8(of: bytes, rest: &rest, isLast: bytes.isEmpty) else {
                throw .unreadable(file: path, line: nil, reason: "the file is not valid UTF-16; save it as UTF-8")
            }
            chunk = text
        } while chunk.isEmpty && chunkLength > 0
    }
}
