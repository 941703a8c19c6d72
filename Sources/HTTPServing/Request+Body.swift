internal import Gzip
internal import HTTPTypes
public import Hummingbird
internal import NIOCore

extension Request {
    /// The default size limit of a body in bytes: 32 MiB, enough for 200 operations of usual size.
    public static let bodyLimit = 32 << 20

    /// The whole body after content decoding.
    /// - Parameter limit: the maximum decoded size in bytes. A body whose declared size exceeds it is refused unread.
    /// - Throws: ``Refusal`` 413 if the body is too large, 415 for a coding other than gzip, 400 if the coding
    ///   is damaged, 408 if it arrives too slowly, 503 if there is no memory for it; all end the connection.
    public func bodyBytes(limit: Int = bodyLimit) async throws -> [UInt8] {
        var incoming = IncomingBody(body, headers: headers, limit: Int64(limit))
        if try incoming.coding == .gzip { return try await Self.inflatedBytes(&incoming, limit: limit) }
        if let kept = RequestMemory.current?.keptBody, kept.count <= limit { return kept }
        return try await Self.collectedBytes(&incoming)
    }

    /// The whole body as sent, before content decoding. It can be read again.
    /// - Throws: ``Refusal`` as ``bodyBytes(limit:)``.
    public mutating func readSentBody(limit: Int = bodyLimit) async throws -> [UInt8] {
        if let kept = RequestMemory.current?.keptBody, kept.count <= limit { return kept }
        var incoming = IncomingBody(body, headers: headers, limit: Int64(limit))
        let bytes = try await Self.collectedBytes(&incoming)
        body = RequestMemory.keep(bytes)
        return bytes
    }

    /// Replaces a body that was read with ``bodyBytes(limit:)``, so that it can be read again.
    public mutating func replaceBody(with bytes: [UInt8]) {
        var head = head
        head.headerFields[.contentEncoding] = nil
        if head.headerFields.contains(.contentLength) { head.headerFields[.contentLength] = String(bytes.count) }
        var replaced = Request(head: head, body: body)
        replaced.body = RequestMemory.keep(bytes)
        self = replaced
    }

    /// The step in bytes for reserving memory if the head has no length.
    private static let step = 1 << 20

    /// Collects the bytes as they arrive.
    ///
    /// Memory for the declared size is reserved at once, but only after more than the uncounted size has arrived. So a
    /// head alone reserves nothing, and a body never waits for memory halfway, where several could block each other.
    /// - Parameter look: receives each part.
    private static func collectedBytes(_ incoming: inout IncomingBody, _ look: ((ByteBuffer) async throws -> Void)? = nil) async throws -> [UInt8] {
        let declared = try incoming.acceptableSize()
        var bytes: [UInt8] = []
        var room = RequestMemory.uncounted
        while let part = try await incoming.next() {
            let size = bytes.count + part.readableBytes
            if size > room {
                room = declared > 0 ? declared : (size / step + 1) * step
                try await RequestMemory.current?.makeRoom(forBodyOf: room)
                bytes.reserveCapacity(declared)
            } else if bytes.isEmpty {
                bytes.reserveCapacity(min(declared, room))
            }
            try await look?(part)
            bytes.append(contentsOf: part.readableBytesView)
        }
        return bytes
    }

    /// Measures the decompressed size while the compressed bytes arrive. Decompresses only when the result is known to fit.
    private static func inflatedBytes(_ incoming: inout IncomingBody, limit: Int) async throws -> [UInt8] {
        do {
            let meter = try GzipMeter(limit: limit)
            let compressed = try await collectedBytes(&incoming) { try await meter.take($0) }
            guard meter.isComplete || compressed.isEmpty else { throw IncomingBody.damaged() }
            let size = meter.size
            if size > RequestMemory.uncounted { try await RequestMemory.current?.makeRoom(forBodyOf: compressed.count + size) }
            return try await WorkPool.prompt.run(on: size) { try inflated(compressed, size: size) }
        } catch Inflater.Failed.malformed {
            throw IncomingBody.damaged()
        }
    }

    /// The number of bytes to decompress at a time, so that no full copy of either side is made.
    private static let pieceSize = 64 << 10

    /// - Parameter size: the decompressed size in bytes.
    private static func inflated(_ compressed: [UInt8], size: Int) throws -> [UInt8] {
        let inflater = try Inflater()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        var piece = ByteBuffer()
        for start in stride(from: 0, to: compressed.count, by: pieceSize) {
            var input = ByteBuffer(bytes: compressed[start..<min(start + pieceSize, compressed.count)])
            repeat {
                piece.clear()
                _ = try inflater.inflate(&input, into: &piece, atMost: pieceSize)
                bytes.append(contentsOf: piece.readableBytesView)
            } while piece.readableBytes == pieceSize
        }
        return bytes
    }
}
