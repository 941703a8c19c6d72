internal import Foundation

/// A file to import. Each pass opens it again.
struct ImportFile: Sendable {
    let url: URL
    let format: FileFormat
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
