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
        return try await Self.collectedBytes(&incoming)
    }

    /// The whole body as it was sent, in its content coding. Whoever reads it next finds it unread.
    /// - Throws: ``Refusal`` as ``bodyBytes(limit:)``.
    public mutating func readSentBody(limit: Int = bodyLimit) async throws -> [UInt8] {
        var incoming = IncomingBody(body, headers: headers, limit: Int64(limit))
        let bytes = try await Self.collectedBytes(&incoming)
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

    /// Bytes that room is made for at a time, where the head doesn't say how many will come.
    private static let step = 1 << 20

    /// The bytes as they come. Room for them is made before they are read.
    /// - Parameter look: is given each part.
    private static func collectedBytes(_ incoming: inout IncomingBody, _ look: (ByteBuffer) async throws -> Void = { _ in }) async throws -> [UInt8] {
        let memory = RequestMemory.current
        var bytes: [UInt8] = []
        var room = RequestMemory.uncounted
        let declared = try incoming.acceptableSize()
        if declared > room {
            try await memory?.collect(declared)
            room = declared
            bytes.reserveCapacity(declared)
        }
        while let part = try await incoming.next() {
            if bytes.count + part.readableBytes > room {
                let more = max(step, part.readableBytes)
                try await memory?.collect(more)
                room += more
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
            if size > RequestMemory.uncounted { try await RequestMemory.current?.collect(size) }
            return try await WorkPool.prompt.run(on: size) {
                var (input, inflated) = (ByteBuffer(bytes: compressed), ByteBufferAllocator().buffer(capacity: size))
                _ = try Inflater().inflate(&input, into: &inflated, atMost: size)
                return Array(inflated.readableBytesView)
            }
        } catch Inflater.Failed.malformed {
            throw IncomingBody.damaged()
        }
    }
}
