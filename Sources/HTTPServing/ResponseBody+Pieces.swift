public import Hummingbird
internal import NIOCore

/// Bytes that are handed to the connection at a time.
private let pieceSize = 64 << 10

extension ResponseBody {
    /// Bytes that are all there. The connection is given no more of them than the client takes: what it was given is held once more, and to compress or
    /// encrypt much of it at once would keep others waiting.
    public static func pieces(of bytes: [UInt8]) -> ResponseBody {
        if bytes.count <= pieceSize { return ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)) }
        return ResponseBody(contentLength: bytes.count) { writer in
            try await writer.write(piecesOf: bytes)
            try await writer.finish(nil)
        }
    }
}

extension ResponseBodyWriter {
    /// Writes bytes as ``HummingbirdCore/ResponseBody/pieces(of:)`` sends them.
    public mutating func write(piecesOf bytes: [UInt8]) async throws {
        for start in stride(from: 0, to: bytes.count, by: pieceSize) {
            try await write(ByteBuffer(bytes: bytes[start..<min(start + pieceSize, bytes.count)]))
        }
    }
}
