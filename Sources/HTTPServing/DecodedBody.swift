internal import Gzip
internal import HTTPTypes
public import Hummingbird
public import NIOCore
internal import Records

/// The body of a request after content decoding, as a stream with backpressure.
///
/// Reading throws a ``Refusal``: 415 for codings other than gzip, 413 if the declared or actual size exceeds
/// the limit, 400 if the body is damaged or incomplete, 408 if it arrives too slowly. Each ends the connection.
public struct DecodedBody: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    let body: RequestBody
    let headers: HTTPFields
    let limit: Int64

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(of: self)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The number of bytes to decompress at a time.
        private static let pieceSize = 64 << 10

        private var incoming: IncomingBody
        private let limit: Int64
        private var inflater: Inflater?
        /// The compressed bytes that are not decompressed yet.
        private var rest = ByteBuffer()
        /// True if the last piece was full. More output may then be available without new input.
        private var isFull = false
        private var restored: Int64 = 0

        init(of body: DecodedBody) {
            incoming = IncomingBody(body.body, headers: body.headers, limit: body.limit)
            limit = body.limit
        }

        public mutating func next() async throws -> ByteBuffer? {
            guard try incoming.coding == .gzip else { return try await incoming.next() }
            let inflater = try self.inflater ?? Inflater()
            self.inflater = inflater
            while true {
                if rest.readableBytes == 0, !isFull {
                    guard let part = try await incoming.next() else {
                        guard inflater.isComplete || incoming.received == 0 else { throw IncomingBody.damaged() }
                        return nil
                    }
                    rest = part
                }
                var piece = ByteBuffer()
                do {
                    _ = try inflater.inflate(&rest, into: &piece, atMost: Self.pieceSize)
                } catch Inflater.Failed.malformed {
                    throw IncomingBody.damaged()
                }
                isFull = piece.readableBytes == Self.pieceSize
                restored += Int64(piece.readableBytes)
                if restored > limit { throw IncomingBody.tooLarge(limit) }
                if piece.readableBytes > 0 { return piece }
            }
        }
    }
}

extension Request {
    /// The body after content decoding, for bodies that are too large for memory.
    /// - Parameter limit: the maximum size of the decoded body in bytes.
    public func decodedBody(limit: Int64) -> DecodedBody {
        DecodedBody(body: body, headers: headers, limit: limit)
    }
}
