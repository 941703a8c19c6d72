internal import HTTPTypes
public import Hummingbird
internal import NIOCore

extension Request {
    /// Bytes that a body may have unless a handler says otherwise: 32 MiB, room for 200 operations of usual size.
    public static let bodyLimit = 32 << 20

    /// The whole body, without its content coding.
    /// - Parameter limit: how many bytes it may have without the coding. A body that says it has more is refused before any of it is read.
    /// - Throws: ``Refusal`` 413 when the body is too large, 415 when it is in another coding than gzip, 400 when the coding is damaged, 408
    ///   when it comes too slowly, 503 when there is no room for it; all end the connection.
    public func bodyBytes(limit: Int = bodyLimit) async throws -> [UInt8] {
        var incoming = IncomingBody(body, headers: headers, limit: Int64(limit))
        if try incoming.coding == .gzip { return try await Self.inflatedBytes(&incoming, limit: limit) }
        if let kept = RequestMemory.current?.keptBody, kept.count <= limit { return kept }
        return try await Self.collectedBytes(&incoming)
    }

    /// The whole body as it was sent, in its content coding. Whoever reads it next finds it unread.
    /// - Throws: ``Refusal`` as ``bodyBytes(limit:)``.
    public mutating func readSentBody(limit: Int = bodyLimit) async throws -> [UInt8] {
        if let kept = RequestMemory.current?.keptBody, kept.count <= limit { return kept }
        var incoming = IncomingBody(body, headers: headers, limit: Int64(limit))
        let bytes = try await Self.collectedBytes(&incoming)
        body = RequestMemory.keep(bytes)
        return bytes
    }

    /// Takes the place of a body that was read as ``bodyBytes(limit:)``, for who reads it next.
    public mutating func replaceBody(with bytes: [UInt8]) {
        var head = head
        head.headerFields[.contentEncoding] = nil
        if head.headerFields.contains(.contentLength) { head.headerFields[.contentLength] = String(bytes.count) }
        var replaced = Request(head: head, body: body)
        replaced.body = RequestMemory.keep(bytes)
        self = replaced
    }

    /// Bytes that room is made for at a time, where the head doesn't say how many will come.
    private static let step = 1 << 20

    /// The bytes as they come.
    ///
    /// Room for all that are declared is made at once, when more have come than need none: a head alone holds nothing, and whoever is let in need not
    /// wait in the middle of a body, where several would wait for each other.
    /// - Parameter look: is given each part.
    private static func collectedBytes(_ incoming: inout IncomingBody, _ look: (ByteBuffer) async throws -> Void = { _ in }) async throws -> [UInt8] {
        let declared = try incoming.acceptableSize()
        var bytes: [UInt8] = []
        var room = RequestMemory.uncounted
        while let part = try await incoming.next() {
            let size = bytes.count + part.readableBytes
            if size > room {
                room = declared > 0 ? declared : (size / step + 1) * step
                try await RequestMemory.current?.makeRoom(forBodyOf: room)
                bytes.reserveCapacity(declared)
            }
            try await look(part)
            bytes.append(contentsOf: part.readableBytesView)
        }
        return bytes
    }

    /// What the bytes stand for is counted while they come and kept only when it is known to fit.
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

    /// Bytes that are restored at a time, so that neither side is held twice.
    private static let pieceSize = 64 << 10

    /// - Parameter size: bytes that the compressed ones stand for.
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
