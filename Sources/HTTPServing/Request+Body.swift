internal import AssetStore
internal import HTTPTypes
public import Hummingbird
public import NIOCore
internal import Records
internal import Synchronization

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
    /// - Throws: the same ``Refusal`` as ``bodyBytes(limit:)``.
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
    /// head alone reserves nothing. A body never waits for memory halfway, because several waiting bodies could block
    /// each other.
    /// - Parameter look: receives each part as it arrives.
    private static func collectedBytes(
        _ incoming: inout IncomingBody, _ look: ((ByteBuffer) async throws -> Void)? = nil
    ) async throws -> [UInt8] {
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

    /// Measures the decompressed size while the compressed bytes arrive. Decompresses only when the result is known to
    /// fit.
    private static func inflatedBytes(_ incoming: inout IncomingBody, limit: Int) async throws -> [UInt8] {
        do {
            let meter = try GzipMeter(limit: limit)
            let compressed = try await collectedBytes(&incoming) { try await meter.take($0) }
            guard meter.isComplete || compressed.isEmpty else { throw IncomingBody.damaged() }
            let size = meter.size
            if size > RequestMemory.uncounted {
                try await RequestMemory.current?.makeRoom(forBodyOf: compressed.count + size)
            }
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

// MARK: - Decoded bodies

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

// MARK: - Incoming bodies

/// The body of a request as it arrives, with checks of its size and rate.
struct IncomingBody {
    enum Coding {
        case identity
        case gzip
    }

    /// The minimum rate in bytes per second. It is checked after every ten seconds of waiting.
    private static let slowestRate = 1024.0

    private let limit: Int64
    /// The waiting time between two checks of the rate.
    private let watch: Duration
    private let offered: Result<Coding, Refusal>
    private var parts: RequestBody.AsyncIterator
    /// The waiting time since the last check of the rate.
    private var waited = Duration.zero
    private var arrived: Int64 = 0
    private var isBegun = false
    /// The declared size in bytes, limited to the largest integer.
    let declared: Int64?
    private(set) var received: Int64 = 0

    /// - Parameter limit: the maximum size of the decoded body in bytes.
    init(_ body: RequestBody, headers: HTTPFields, limit: Int64, watch: Duration = .seconds(10)) {
        self.limit = limit
        self.watch = watch
        offered = Self.coding(headers)
        declared = headers.contentLength
        parts = body.makeAsyncIterator()
    }

    /// - Throws: ``Refusal`` 415 for an unsupported coding.
    var coding: Coding {
        get throws { try offered.get() }
    }

    private static func coding(_ headers: HTTPFields) -> Result<Coding, Refusal> {
        guard headers.contains(.contentEncoding) else { return .success(.identity) }
        let codings = headers[values: .contentEncoding].joined(separator: ",").lowercased().split(separator: ",")
            .map { $0.filter { $0 != " " && $0 != "\t" } }.filter { !$0.isEmpty && $0 != "identity" }
        switch codings {
        case []: return .success(.identity)
        case ["gzip"], ["x-gzip"]: return .success(.gzip)
        default:
            let names = codings.joined(separator: ", ").prefix(100)
            return .failure(
                Refusal(
                    .unsupportedMediaType, .badRequest,
                    "The request body is in the coding '\(names)', which is not supported; send gzip or no coding",
                    headers: [.acceptEncoding: "gzip"], endsConnection: true))
        }
    }

    /// The next bytes, before content decoding.
    /// - Throws: ``Refusal`` 413 if there are too many, without reading any if the
    ///   head declares so; 408 if they arrive too slowly; 415 for an unsupported coding.
    mutating func next() async throws -> ByteBuffer? {
        if !isBegun { _ = try acceptableSize() }
        let start = ContinuousClock.now
        guard let part = try await parts.next() else { return nil }
        received += Int64(part.readableBytes)
        if received > (try sentLimit) { throw Self.tooLarge(limit) }
        // Only counts the time of waiting for the client, not that of the server's own work.
        waited += ContinuousClock.now - start
        arrived += Int64(part.readableBytes)
        if waited > watch {
            if Double(arrived) < waited / .seconds(1) * Self.slowestRate {
                throw Refusal(.requestTimeout, .badRequest, "The request body comes too slowly", endsConnection: true)
            }
            (waited, arrived) = (.zero, 0)
        }
        return part
    }

    /// The declared size in bytes; 0 if the head has none.
    /// - Throws: ``Refusal`` 413 if the size exceeds the limit, 415 for an unsupported coding.
    mutating func acceptableSize() throws -> Int {
        isBegun = true
        guard let declared else { return 0 }
        if declared > (try sentLimit) { throw Self.tooLarge(limit) }
        return Int(clamping: max(0, declared))
    }

    /// The maximum size of the encoded body in bytes. Incompressible data grows slightly when compressed.
    private var sentLimit: Int64 {
        get throws { try coding == .gzip ? limit.addingSaturated(limit / 1000 + 1024) : limit }
    }

    static func tooLarge(_ limit: Int64) -> Refusal {
        Refusal(
            .contentTooLarge, .badRequest,
            "The request body is larger than \(limit) bytes; send less at a time, or raise the server's limit",
            endsConnection: true)
    }

    static func damaged() -> Refusal {
        Refusal(
            .badRequest, .badRequest, "The request body is not valid gzip, as Content-Encoding claims",
            endsConnection: true)
    }
}

// MARK: - Decompressed size

/// Measures the decompressed size of a gzip stream without storing the output, so that a decompression bomb costs no
/// memory.
final class GzipMeter: Sendable {
    /// The number of bytes to decompress at a time.
    private static let pieceSize = 64 << 10
    /// The expected ratio of decompressed to compressed size. The maximum for gzip is about a thousand.
    private static let ratio = 64

    private struct State {
        let inflater: Inflater
        var scratch = ByteBuffer()
        var size = 0
    }

    private let limit: Int
    private let state: Mutex<State>

    /// The decompressed size so far, in bytes.
    var size: Int { state.withLock { $0.size } }
    /// True if the stream so far is complete.
    var isComplete: Bool { state.withLock { $0.inflater.isComplete } }

    init(limit: Int) throws {
        self.limit = limit
        state = Mutex(State(inflater: try Inflater()))
    }

    /// Measures the next compressed bytes.
    /// - Throws: ``Refusal`` 413 if the decompressed size exceeds the limit;
    ///   `Inflater.Failed`; `RecordError` TRY_AGAIN_LATER if the server is overloaded.
    func take(_ part: ByteBuffer) async throws {
        try await WorkPool.prompt.run(on: part.readableBytes * Self.ratio) { try self.measure(part) }
    }

    private func measure(_ part: ByteBuffer) throws {
        var part = part
        try state.withLock { state in
            var written = 0
            repeat {
                state.scratch.clear()
                written = try state.inflater.inflate(&part, into: &state.scratch, atMost: Self.pieceSize)
                state.size += written
                if state.size > limit { throw IncomingBody.tooLarge(Int64(limit)) }
            } while written == Self.pieceSize
        }
    }
}

extension HTTPFields {
    /// The declared size of a body in bytes, limited to the largest integer; `nil` if it is not declared.
    package var contentLength: Int64? {
        // The parser refuses a second one. The subscript would join all.
        first { $0.name == .contentLength }.map { Int64($0.value) ?? .max }
    }
}
