internal import Foundation

/// Reads a file byte by byte, with one chunk in memory.
struct ByteReader {
    private static let chunkSize = 1 << 18

    private let handle: FileHandle
    private let path: String
    private var chunk: [UInt8] = []
    private var index = 0
    /// The number of bytes read before the current chunk.
    private var consumed = 0

    var offset: Int { consumed + index }

    /// Skips a byte order mark.
    /// - Throws: `ImportError` if the file is UTF-16.
    init(_ handle: FileHandle, file: ImportFile) throws(ImportError) {
        self.handle = handle
        path = file.path
        try fill()
        if chunk.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
        if chunk.starts(with: [0xFF, 0xFE]) || chunk.starts(with: [0xFE, 0xFF]) {
            throw .unreadable(file: path, line: 1, reason: "the file is UTF-16; save it as UTF-8")
        }
    }

    mutating func next() throws(ImportError) -> UInt8? {
        if index == chunk.count {
            try fill()
            if chunk.isEmpty { return nil }
        }
        defer { index += 1 }
        return chunk[index]
    }

    /// The byte that the next call of ``next()`` returns.
    mutating func peek() throws(ImportError) -> UInt8? {
        if index == chunk.count { try fill() }
        return index < chunk.count ? chunk[index] : nil
    }

    private mutating func fill() throws(ImportError) {
        consumed += index
        index = 0
        do {
            chunk = try handle.read(upToCount: Self.chunkSize).map { [UInt8]($0) } ?? []
        } catch {
            throw .unreadable(file: path, line: nil, reason: "reading failed: \(error.localizedDescription)")
        }
    }
}
