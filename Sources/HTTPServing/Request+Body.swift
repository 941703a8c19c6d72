internal import HTTPTypes
public import Hummingbird
internal import NIOCore

extension Request {
    /// Bytes that a body may have unless a handler says otherwise: 32 MiB, room for 200 operations of usual size.
    public static let bodyLimit = 32 << 20
    /// Bytes that are restored at a time.
    private static let pieceSize = 64 << 10

    /// The whole body, without its content coding.
    /// - Parameter limit: how many bytes it may have without the coding. A body that says it has more is refused before any of it is read.
    /// - Throws: ``Refusal`` 413 when the body is too large, 415 when it is in another coding than gzip, 400 when the coding is damaged, 408
    ///   when it comes too slowly; all end the connection.
    public func bodyBytes(limit: Int = bodyLimit) async throws -> [UInt8] {
        var incoming = IncomingBody(body, headers: headers, limit: Int64(limit))
        if try incoming.coding == .gzip { return try await Self.inflatedBytes(&incoming, limit: limit) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(Int(incoming.declared ?? 0), limit))
        while let part = try await incoming.next() { bytes.append(contentsOf: part.readableBytesView) }
        return bytes
    }

    /// The whole body as it was sent, in its content coding. Whoever reads it next finds it unread.
    /// - Throws: ``Refusal`` as ``bodyBytes(limit:)``.
    public mutating func readSentBody(limit: Int = bodyLimit) async throws -> [UInt8] {
        var incoming = IncomingBody(body, headers: headers, limit: Int64(limit))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(Int(clamping: incoming.declared ?? 0), limit))
        while let part = try await incoming.next() { bytes.append(contentsOf: part.readableBytesView) }
        body = RequestBody(buffer: ByteBuffer(bytes: bytes))
        return bytes
    }

    /// Takes the place of a body that was read as ``bodyBytes(limit:)``, for who reads it next.
    public mutating func replaceBody(with bytes: [UInt8]) {
        var head = head
        head.headerFields[.contentEncoding] = nil
        if head.headerFields.contains(.contentLength) { head.headerFields[.contentLength] = String(bytes.count) }
        var replaced = Request(head: head, body: body)
        replaced.body = RequestBody(buffer: ByteBuffer(bytes: bytes))
        self = replaced
    }

    /// What the bytes stand for is counted while they come and kept only when it is known to fit: a body made to burst costs no more
    /// memory than its own few bytes.
    private static func inflatedBytes(_ incoming: inout IncomingBody, limit: Int) async throws -> [UInt8] {
        var compressed = ByteBuffer()
        var size = 0
        do {
            let meter = try Inflater()
            var scratch = ByteBuffer()
            while var part = try await incoming.next() {
                compressed.writeImmutableBuffer(part)
                var written = 0
                repeat {
                    scratch.clear()
                    written = try meter.inflate(&part, into: &scratch, atMost: pieceSize)
                    size += written
                    if size > limit { throw IncomingBody.tooLarge(Int64(limit)) }
                } while written == pieceSize
            }
            guard meter.isComplete || compressed.readableBytes == 0 else { throw IncomingBody.damaged() }
            var inflated = ByteBufferAllocator().buffer(capacity: size)
            _ = try Inflater().inflate(&compressed, into: &inflated, atMost: size)
            return Array(inflated.readableBytesView)
        } catch Inflater.Failed.malformed {
            throw IncomingBody.damaged()
        }
    }
}
