public import Hummingbird
internal import NIOCore

/// The number of bytes to write to the connection at a time.
private let pieceSize = 64 << 10

extension ResponseBody {
    /// A body of bytes in memory, written in pieces as fast as the client takes them. The connection
    /// copies each write, and compressing or encrypting a large one would block other clients.
    public static func pieces(of bytes: [UInt8]) -> ResponseBody {
        if bytes.count <= pieceSize { return ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)) }
        return ResponseBody(contentLength: bytes.count) { writer in
            try await writer.write(piecesOf: bytes)
            try await writer.finish(nil)
        }
    }
}

extension ResponseBodyWriter {
    /// Writes bytes in pieces, like ``HummingbirdCore/ResponseBody/pieces(of:)``.
    public mutating func write(piecesOf bytes: [UInt8]) async throws {
        for start in stride(from: 0, to: bytes.count, by: pieceSize) {
            try await write(ByteBuffer(bytes: bytes[start..<min(start + pieceSize, bytes.count)]))
        }
    }
}
