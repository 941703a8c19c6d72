internal import HTTPTypes
public import Hummingbird
public import NIOCore
internal import Records

/// The body of a request without its content coding, piece by piece and never ahead of who reads it.
///
/// Reading throws a ``Refusal``: 415 for codings other than gzip, 413 when the body turns out or says itself to be larger than the limit, 400
/// when it is damaged or ends early, 408 when it comes too slowly. Each ends the connection.
public struct DecodedBody: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    let body: RequestBody
    let headers: HTTPFields
    let limit: Int64

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(of: self)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        /// Bytes that are restored at a time.
        private static let pieceSize = 64 << 10

        private var incoming: IncomingBody
        private let limit: Int64
        private var inflater: Inflater?
        /// What is still to be restored.
        private var rest = ByteBuffer()
        /// Whether the last piece was as large as it may be, so that more may be had without new bytes.
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
    /// The body without its content coding, for what is too large to be held.
    /// - Parameter limit: how many bytes it may have, counted as they are without the coding.
    public func decodedBody(limit: Int64) -> DecodedBody {
        DecodedBody(body: body, headers: headers, limit: limit)
    }
}
