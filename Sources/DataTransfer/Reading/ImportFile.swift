internal import Foundation

/// A file to import, opened anew for each pass over it.
struct ImportFile: Sendable {
    let url: URL
    let format: FileFormat
    /// Bytes.
    let size: Int
    private let modified: Date?

    /// - Throws: `ImportError` when the file can't be read, or its format is not known.
    init(_ url: URL, format: FileFormat?) throws(ImportError) {
        let path = url.relativePath
        // A path that leads to something else is told apart below.
        guard let values = try? url.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey, .fileSizeKey, .contentModificationDateKey]) else {
            throw .noFile(path: path, reason: "there is no such file")
        }
        guard values.isRegularFile == true, let size = values.fileSize else {
            throw .noFile(path: path, reason: "it is not a regular file; an import reads its file more than once, so save the data to a file first")
        }
        guard let format = format ?? FileFormat(of: url) else {
            throw .invalid("The name of '\(path)' does not say its format: name it .csv, .tsv, .json or .ndjson, or give --format")
        }
        self.url = url
        self.format = format
        self.size = size
        modified = values.contentModificationDate
    }

    var path: String { url.relativePath }

    /// The bytes from the start.
    func open() throws(ImportError) -> ByteReader {
        let handle: FileHandle
        do {
            handle = try FileHandle(forReadingFrom: url)
        } catch {
            throw .noFile(path: path, reason: "it can't be read; look at its permissions (\(error.localizedDescription))")
        }
        return try ByteReader(handle, file: self)
    }

    /// - Throws: `ImportError` when the file was written to since the import began: its passes would not see the same rows.
    func checkUnchanged() throws(ImportError) {
        var url = url.resolvingSymlinksInPath()
        url.removeAllCachedResourceValues()
        // A file that is gone has changed, too.
        let values = try? url.resourceValues(forKeys: [.fileSizeKey, .contentModificationDateKey])
        if values?.fileSize != size || values?.contentModificationDate != modified {
            throw .unreadable(file: path, line: nil, reason: "the file was changed while it was being imported; import it again")
        }
    }
}
