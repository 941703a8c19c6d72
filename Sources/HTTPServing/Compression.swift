internal import AssetStore
internal import HTTPTypes
public import Hummingbird
public import NIOCore
internal import NIOPosix
internal import Synchronization

/// Compresses text answers for clients that accept gzip.
///
/// Leaves answers unchanged if they are small, already encoded, event streams, or support ranges, because a
/// range of the compressed bytes has other content. Streamed answers are flushed in time, see ``StreamGzip``.
enum Compression {
    /// The minimum size in bytes of answers to compress.
    private static let smallest = 1024

    static func apply(to response: inout Response, for request: Request) {
        guard isCompressible(response) else { return }
        // Caches must know that the answer depends on Accept-Encoding, even if it is not compressed.
        response.headers.vary(on: "Accept-Encoding")
        guard request.headers.contains(.acceptEncoding), AcceptEncoding(request).prefersGzip else { return }
        let body = response.body
        response.headers[.contentEncoding] = "gzip"
        if let tag = response.headers[.eTag], !tag.hasPrefix("W/") { response.headers[.eTag] = "W/" + tag }
        response.body =
            body.contentLength == nil
            ? ResponseBody { writer in try await StreamGzip.write(body, to: &writer) }
            : ResponseBody { writer in try await body.write(GzipWriter(writer)) }
    }

    private static func isCompressible(_ response: Response) -> Bool {
        guard response.body.contentLength ?? .max >= smallest,
            response.status == .ok || response.status.kind == .clientError,
            !response.headers.contains(.contentEncoding), !response.headers.contains(.acceptRanges),
            !response.headers.contains(.contentRange),
            let type = response.headers[.contentType]
        else { return false }
        // Handlers write their types in lower case.
        return !type.hasPrefix("text/event-stream") && types.contains { type.hasPrefix($0) }
    }

    private static let types = [
        "text/", "application/json", "application/x-ndjson", "application/javascript", "image/svg+xml",
    ]
}

extension HTTPFields {
    /// Adds a header name to `Vary`.
    mutating func vary(on name: String) {
        if let others = self[.vary] {
            self[.vary] = others + ", " + name
        } else {
            append(HTTPField(name: .vary, value: name))
        }
    }
}

// MARK: - Accepted codings

/// The content codings that a client accepts, with their weights (RFC 9110, 12.5.3).
public struct AcceptEncoding: Sendable {
    private let weights: [Substring: Double]

    public init(_ request: Request) {
        var weights: [Substring: Double] = [:]
        guard request.headers.contains(.acceptEncoding) else {
            self.weights = weights
            return
        }
        for coding in request.headers[values: .acceptEncoding].joined(separator: ",").lowercased().split(separator: ",")
        {
            let parts = coding.split(separator: ";", omittingEmptySubsequences: false).map {
                $0.filter { $0 != " " && $0 != "\t" }[...]
            }
            guard let name = parts.first, !name.isEmpty else { continue }
            // If a coding occurs twice, the first counts. x-gzip is the old name of gzip (8.4.1.3).
            let key = name == "x-gzip" ? "gzip" : name
            if weights[key] == nil { weights[key] = Self.weight(parts.dropFirst()) }
        }
        self.weights = weights
    }

    /// The client's preference for a coding, from 0 (not acceptable) to 1.
    ///
    /// Codings that are neither named nor covered by `*` are not acceptable. Identity is
    /// acceptable unless it is excluded; if it is not named, it has the lowest preference.
    public func quality(of coding: String) -> Double {
        weights[coding.lowercased()[...]] ?? weights["*"] ?? (coding.lowercased() == "identity" ? Self.leastWeight : 0)
    }

    /// True if the client accepts gzip and prefers it at least as much as identity.
    ///
    /// For files with ranges, ``RequestedForm`` decides.
    public var prefersGzip: Bool {
        let gzip = quality(of: "gzip")
        // A star covers every coding, so only a named identity can be preferred to gzip.
        return gzip > 0 && gzip >= (weights["identity"] ?? 0)
    }

    /// True if the client accepts gzip and excludes identity.
    ///
    /// It is false if the client excludes everything: such a client gets an answer without a coding.
    public var forbidsIdentity: Bool { quality(of: "identity") == 0 && quality(of: "gzip") > 0 }

    /// Less than the smallest weight in a header, which has three decimals.
    private static let leastWeight = 0.0001

    /// The weight among the parameters of a coding: 1 if absent, 0 if it is not a number from 0 to 1.
    private static func weight(_ parameters: ArraySlice<Substring>) -> Double {
        guard let text = parameters.first(where: { $0.hasPrefix("q=") })?.dropFirst(2) else { return 1 }
        guard let weight = Double(text), (0...1).contains(weight) else { return 0 }
        return weight
    }
}

// MARK: - Answers of known length

/// Compresses its input, and writes output when enough has gathered.
struct GzipWriter: ResponseBodyWriter {
    private var parent: any ResponseBodyWriter
    private let deflater: Deflater

    init(_ parent: any ResponseBodyWriter) throws {
        self.parent = parent
        deflater = try Deflater()
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        let output = try deflater.compress(buffer, .whenFull)
        if output.readableBytes > 0 { try await parent.write(output) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.write(deflater.compress(ByteBuffer(), .last))
        try await parent.finish(trailingHeaders)
    }
}

// MARK: - Streamed answers

/// Compresses a streamed answer so that the client sees its progress: output is written when enough has gathered, or a
/// tenth of a second after the last input.
///
/// The answer is made in its own task, which hands over one piece at a time and waits until it is written. It never
/// runs ahead of the client.
enum StreamGzip {
    private static let patience = Duration.milliseconds(100)

    fileprivate enum Event: Sendable {
        case piece(ByteBuffer, CheckedContinuation<Void, any Error>)
        case end(HTTPFields?, CheckedContinuation<Void, any Error>)
        case patienceIsOver
    }

    private enum Job: Sendable {
        case answer
        case patience
    }

    static func write(_ body: ResponseBody, to writer: inout any ResponseBodyWriter) async throws {
        let deflater = try Deflater()
        let (events, source) = AsyncStream.makeStream(of: Event.self)
        try await withThrowingTaskGroup(of: Job.self) { group in
            group.addTask {
                defer { source.finish() }
                try await body.write(CompressionQueue(source: source))
                return .answer
            }
            var isTimed = false
            // Every piece must be acknowledged, even after a failure, because its sender waits.
            var failure: (any Error)?
            for await event in events {
                switch event {
                case .piece(let buffer, let taken):
                    do {
                        if let failure { throw failure }
                        let output = try deflater.compress(buffer, .whenFull)
                        if output.readableBytes > 0 { try await writer.write(output) }
                        taken.resume()
                    } catch {
                        failure = error
                        taken.resume(throwing: error)
                    }
                    if !isTimed {
                        isTimed = true
                        group.addTask {
                            // The sleep is cancelled when the answer is complete. Nothing reads this event then.
                            try? await Task.sleep(for: patience)
                            source.yield(.patienceIsOver)
                            return .patience
                        }
                    }
                case .patienceIsOver:
                    isTimed = false
                    do {
                        if failure == nil { try await writer.write(deflater.compress(ByteBuffer(), .now)) }
                    } catch {
                        failure = error
                    }
                case .end(let trailers, let taken):
                    do {
                        if let failure { throw failure }
                        try await writer.write(deflater.compress(ByteBuffer(), .last))
                        try await writer.finish(trailers)
                        taken.resume()
                    } catch {
                        failure = error
                        taken.resume(throwing: error)
                    }
                    source.finish()
                }
            }
            // Waits for the answer, whose errors propagate. The timer is no longer needed.
            while let job = try await group.next(), job != .answer {}
            group.cancelAll()
            if let failure { throw failure }
        }
    }
}

/// Hands written pieces to the compressing task.
private struct CompressionQueue: ResponseBodyWriter {
    let source: AsyncStream<StreamGzip.Event>.Continuation

    mutating func write(_ buffer: ByteBuffer) async throws {
        try await hand { .piece(buffer, $0) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await hand { .end(trailingHeaders, $0) }
    }

    private func hand(_ event: (CheckedContinuation<Void, any Error>) -> StreamGzip.Event) async throws {
        try await withCheckedThrowingContinuation { taken in
            // The compressing task ends early when the answer is cancelled.
            if case .terminated = source.yield(event(taken)) { taken.resume(throwing: CancellationError()) }
        }
    }
}

// MARK: - Files

extension ResponseBody {
    /// A file that is compressed while it is sent, for clients that only accept gzip. Its length is unknown in advance.
    /// - Parameters:
    ///   - handle: the file, open for reading. The owner closes it; nobody else may read from it meanwhile.
    ///   - size: the size of the file in bytes.
    ///   - level: the compression level, from 1 (fastest) to 9 (smallest).
    ///   - owner: kept alive until the last byte is sent or the client is gone.
    public static func gzip(of handle: NIOFileHandle, size: Int64, level: Int, holding owner: any Sendable)
        -> ResponseBody
    {
        ResponseBody { writer in
            let file = try CompressedFile(handle, size: size, level: level)
            var piece = try await file.next()
            while let ready = piece {
                // Makes the next piece while the client takes this one.
                async let following = file.next()
                try await writer.write(ready)
                piece = try await following
            }
            withExtendedLifetime(owner) {}
            try await writer.finish(nil)
        }
    }
}

/// The compressed pieces of a file. They are made on threads that may block.
private final class CompressedFile: Sendable {
    /// The number of bytes to read at a time.
    private static let chunkSize = 64 << 10
    /// The minimum size in bytes of a piece, except the last one.
    private static let pieceSize = 32 << 10

    private struct State {
        let deflater: Deflater
        var offset: Int64 = 0
        var isFinished = false
    }

    private let handle: NIOFileHandle
    private let size: Int64
    private let state: Mutex<State>

    init(_ handle: NIOFileHandle, size: Int64, level: Int) throws {
        self.handle = handle
        self.size = size
        state = Mutex(State(deflater: try Deflater(level: level)))
    }

    /// - Returns: `nil` after the last piece.
    func next() async throws -> ByteBuffer? {
        try await NIOThreadPool.singleton.runIfActive { try self.makePiece() }
    }

    private func makePiece() throws -> ByteBuffer? {
        try state.withLock { state in
            if state.isFinished { return nil }
            var output = ByteBufferAllocator().buffer(capacity: Self.chunkSize)
            while output.readableBytes < Self.pieceSize, !state.isFinished {
                let count = min(Self.chunkSize, Int(size - state.offset))
                let input = try handle.read(count, from: state.offset)
                state.offset += Int64(count)
                state.isFinished = state.offset == size
                try state.deflater.compress(input, state.isFinished ? .last : .whenFull, into: &output)
            }
            return output
        }
    }
}

// MARK: - Files with ranges

/// The form of a file that a request asks for, if the file is stored twice: uncompressed and compressed (RFC 9110,
/// 12.5.3 and 14.2).
///
/// A range counts the bytes of one form. Clients that request a range mean the uncompressed bytes, even if they accept
/// gzip: most libraries accept it in every request, and would learn only from the answer that the server counted other
/// bytes. A client that continues a compressed download sends the entity tag of that form.
///
/// So the answer also depends on `Range` and `If-Range`. `Vary` does not name them: caches store parts of a file by its
/// entity tag, and each form has its own.
public enum RequestedForm: Sendable, Equatable {
    /// The uncompressed file.
    case identity
    /// The compressed form if it exists, otherwise the uncompressed file.
    case gzip
    /// The compressed form. The client refuses the uncompressed file (`identity;q=0`), so its ranges count compressed
    /// bytes too.
    case onlyGzip

    /// - Parameter compressedTag: the entity tag of the compressed form, without quotes.
    public init(_ request: Request, compressedTag: @autoclosure () -> String) {
        let accepted = AcceptEncoding(request)
        if accepted.forbidsIdentity {
            self = .onlyGzip
        } else if !request.headers.contains(.range) {
            self = accepted.prefersGzip ? .gzip : .identity
        } else {
            // If the tag or date of a range is not that of the compressed form, the answer has uncompressed bytes: the
            // range, or the whole file if the tag is outdated, the range is malformed, or there are several.
            let conditions = Preconditions(request, tag: "\"\(compressedTag())\"", lastModified: 0)
            self = accepted.quality(of: "gzip") > 0 && conditions.continuesDownload ? .gzip : .identity
        }
    }
}
