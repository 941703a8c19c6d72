internal import Foundation

/// Reads a file byte by byte as UTF-8, with one chunk in memory.
struct ByteReader {
    private static let chunkSize = 1 << 18

    private let handle: FileHandle
    private let path: String
    private let encoding: TextEncoding
    /// The chunk as UTF-8.
    private var chunk: [UInt8] = []
    private var index = 0
    /// The start of a character that goes on in the next chunk.
    private var rest: [UInt8] = []
    /// The number of bytes of the file before the current chunk, and in it.
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

    /// The byte that the next call of ``next()`` returns.
    mutating func peek() throws(ImportError) -> UInt8? {
        if index == chunk.count { try fill() }
        return index < chunk.count ? chunk[index] : nil
    }

    private mutating func fill() throws(ImportError) {
        index = 0
        // A chunk may have no whole character.
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
