internal import AsyncHTTPClient
public import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// The bytes of a file, streamed with backpressure. Broken connections are resumed while it is read.
public struct AssetStream: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    static let action = "asset download"

    /// The number of bytes before the first one of the stream.
    public let offset: Int64
    /// The size of the whole file in bytes.
    public let size: Int64
    private let attempts: FileAttempts
    private let progress: @Sendable (TransferProgress) -> Void
    private let opened: Opened

    /// The first response, which the first reader takes.
    private final class Opened: Sendable {
        let source: Mutex<Source?>

        init(_ source: Source) {
            self.source = Mutex(source)
        }
    }

    /// A response, and the bytes of it that the reader has already.
    fileprivate struct Source: Sendable {
        var body: HTTPClientResponse.Body?
        var skipping: Int64 = 0
        /// Identifies the file's content, if the server does.
        var tag: String?
    }

    /// Sends the first request.
    init(_ attempts: FileAttempts, from offset: Int64, size: Int64, _ progress: @escaping @Sendable (TransferProgress) -> Void) async throws {
        var attempts = attempts
        guard offset >= 0, offset <= size else { throw attempts.failure(.invalidRequest("There is no byte \(offset) in a file of \(size)")) }
        opened = Opened(offset == size ? Source() : try await attempts.open(at: offset, tag: nil))
        self.attempts = attempts
        self.offset = offset
        self.size = size
        self.progress = progress
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let size: Int64
        private let progress: @Sendable (TransferProgress) -> Void
        private var attempts: FileAttempts
        private var position: Int64
        private var tag: String?
        private var skipping: Int64 = 0
        private var body: HTTPClientResponse.Body.AsyncIterator?

        fileprivate init(_ stream: AssetStream, _ source: Source?) {
            size = stream.size
            progress = stream.progress
            attempts = stream.attempts
            position = stream.offset
            if let source { take(source) }
        }

        private mutating func take(_ source: Source) {
            body = source.body?.makeAsyncIterator()
            skipping = source.skipping
            tag = source.tag
        }

        /// - Throws: ``CloudKitFailure``; `CancellationError`. The bytes before it are good: a new stream may begin after them.
        public mutating func next() async throws -> ByteBuffer? {
            while true {
                if position < size { try attempts.checkDeadline() }
                if body == nil {
                    guard position < size else { return nil }
                    take(try await attempts.open(at: position, tag: tag))
                }
                do {
                    guard var part = try await body?.next() else {
                        body = nil
                        guard position < size else { return nil }
                        throw Transport.Trouble.lost("the file ended at byte \(position) of \(size)")
                    }
                    let skipped = Swift.min(skipping, Int64(part.readableBytes))
                    part.moveReaderIndex(forwardBy: Int(skipped))
                    skipping -= skipped
                    if part.readableBytes == 0 { continue }
                    position += Int64(part.readableBytes)
                    guard position <= size else { throw attempts.failure(.unexpectedAnswer(status: 200, "the file has more than its \(size) bytes")) }
                    attempts.succeeded()
                    progress(TransferProgress(bytes: position, size: size))
                    return part
                } catch let failure as CloudKitFailure {
                    throw failure
                } catch {
                    body = nil
                    // All of it is there, even if the connection broke at the end.
                    if position == size { return nil }
                    try await attempts.failed(attempts.transport.trouble(error))
                }
            }
        }
    }

    /// The first reader takes the response that is open. Further ones send requests of their own.
    public func makeAsyncIterator() -> AsyncIterator {
        let source = opened.source.withLock { source in
            defer { source = nil }
            return source
        }
        return AsyncIterator(self, source)
    }
}

extension FileAttempts {
    /// Requests the file from a position on, until a response begins.
    /// - Parameter tag: identifies the content of the part that is there already.
    fileprivate mutating func open(at position: Int64, tag: String?) async throws -> AssetStream.Source {
        while true {
            var request = try next(.GET)
            // With compression, the position would count compressed bytes.
            request.headers.add(name: "Accept-Encoding", value: "identity")
            if position > 0 {
                request.headers.add(name: "Range", value: "bytes=\(position)-")
                // Only a strong tag promises the same bytes.
                if let tag, !tag.hasPrefix("W/") { request.headers.add(name: "If-Range", value: tag) }
            }
            let response: HTTPClientResponse
            switch await transport.file(request, within: timeLeft ?? patience) {
            case .success(let begun): response = begun
            case .failure(let trouble):
                try await failed(trouble)
                continue
            }
            let begun = Transport.Reply(status: Int(response.status.code), headers: response.headers)
            guard begun.status == 200 || begun.status == 206 else {
                // An answer that breaks off says no more than its status.
                try await refused((try? await transport.reply(of: response).get()) ?? begun)
                continue
            }
            answered(begun)
            if begun.status == 206, begun.headers.first(name: "Content-Range")?.hasPrefix("bytes \(position)-") != true {
                throw failure(.unexpectedAnswer(status: 206, "it is not the part that was asked for"))
            }
            let newTag = begun.headers.first(name: "ETag")
            if position > 0, let tag, let newTag, tag != newTag {
                throw failure(.unexpectedAnswer(status: begun.status, "the file is another one than before the connection broke"))
            }
            return AssetStream.Source(body: response.body, skipping: begun.status == 200 ? position : 0, tag: newTag ?? tag)
        }
    }
}
