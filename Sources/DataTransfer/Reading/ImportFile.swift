internal import Foundation

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
        guard let values = try? url.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey, .fileSizeKey, .contentModificationDateKey]) else {
            throw .noFile(path: path, reason: "there is no such file")
        }
        guard values.isRegularFile == true, let size = values.fileSize else {
            throw .noFile(path: path, reason: "it is not a regular file; an import reads its file more than once, so save the data to a file first")
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

    /// What was guessed about the file, in words; `nil` if it is as its name says.
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
                throw ImportError.unreadable(file: path, line: nil, reason: "the file is an archive, such as an Excel workbook; save the table as CSV")
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
            throw .unreadable(file: path, line: nil, reason: "the file was changed while it was being imported; import it again")
        }
    }
}
